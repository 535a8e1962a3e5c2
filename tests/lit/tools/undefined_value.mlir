// The error stands at the use, not at the closing brace.
// RUN: not pelton-opt %s 2>&1 | filecheck %s

// CHECK:      undefined_value.mlir:[[# @LINE + 5]]:23: error: use of undefined value %y
// CHECK-NEXT:   got:        %z = arith.addi %x, %y : i32
// CHECK-NEXT:                                   ^
// CHECK-NOT:  Traceback
func.func @f(%x: i32) -> i32 {
  %z = arith.addi %x, %y : i32
  func.return %z : i32
}
