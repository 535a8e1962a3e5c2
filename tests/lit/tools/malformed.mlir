// RUN: pelton-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: malformed.mlir:4:1: error: unknown dialect 'nowhere' (known: arith, builtin, cf, func, kernel, math, nn, plan, scf, test)
nowhere.op
// -----
// CHECK: malformed.mlir:8:8: error: unknown operation 'arith.adi', did you mean 'arith.andi'?
func.func @f(%x: i32) -> i32 {
  %d = arith.adi %x, %x : i32
  func.return %d : i32
}
// -----
// CHECK: malformed.mlir:14:1: error: expected an operation
// CHECK-NEXT: got: )
)
// -----
// CHECK: malformed.mlir:18:19: error: operand is used with type i64, but has been previously used or defined with type i32
func.func @f(%x: i32) -> i32 {
  %d = arith.addi %x, %x : i64
}
