// RUN: pelton-opt %s | filecheck %s
// RUN: pelton-opt %s | pelton-opt | filecheck %s
// RUN: pelton-opt %s --print-op-generic | pelton-opt | filecheck %s
// RUN: pelton-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK:      func.func @twice(%x: i32) -> i32 {
// CHECK-NEXT:   %y = arith.addi %x, %x : i32
// CHECK-NEXT:   func.return %y : i32
// GENERIC:    %y = "arith.addi"(%x, %x)
func.func @twice(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32
  func.return %y : i32
}
