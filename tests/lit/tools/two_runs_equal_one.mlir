// Two piped runs print what one pipeline prints.
// RUN: pelton-opt %s -p cse,dce | filecheck %s
// RUN: pelton-opt %s -p cse | pelton-opt -p dce | filecheck %s

// CHECK:      func.func @f(%x: i32) -> i32 {
// CHECK-NEXT:   %a = arith.addi %x, %x : i32
// CHECK-NEXT:   %c = arith.muli %a, %a : i32
// CHECK-NEXT:   func.return %c : i32
func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %unused = arith.subi %x, %x : i32
  %c = arith.muli %a, %b : i32
  func.return %c : i32
}
