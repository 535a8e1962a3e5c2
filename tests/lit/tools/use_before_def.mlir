// The parser accepts a forward reference; the check after it does not.
// RUN: pelton-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: use_before_def.mlir:6:3: error: value %b is used before it is defined, or out of its scope (defined at {{.*}}use_before_def.mlir:7:3)
func.func @later_in_the_block(%x: i32) -> i32 {
  %a = arith.addi %x, %b : i32
  %b = arith.addi %x, %x : i32
  func.return %a : i32
}
// -----
// CHECK: use_before_def.mlir:17:3: error: value %b is used before it is defined, or out of its scope
func.func @inside_a_region(%c: i1, %x: i32) -> i32 {
  "test.op"() ({
    %b = arith.addi %x, %x : i32
    "test.termop"() : () -> ()
  }) : () -> ()
  %a = arith.addi %x, %b : i32
  %b = arith.addi %x, %x : i32
  func.return %a : i32
}
// -----
// An op does not see its own results.
// CHECK: use_before_def.mlir:25:3: error: value %a is used before it is defined
func.func @itself(%x: i32) -> i32 {
  %a = arith.addi %x, %a : i32
  func.return %a : i32
}
// -----
// A value of a block that does not dominate.
// CHECK: use_before_def.mlir:37:3: error: value %b is used before it is defined
func.func @blocks(%c: i1, %x: i32) -> i32 {
  cf.cond_br %c, ^left, ^right
^left:
  %b = arith.addi %x, %x : i32
  cf.br ^right
^right:
  func.return %b : i32
}
// -----
// CHECK: func.func @dominated
func.func @dominated(%c: i1, %x: i32) -> i32 {
  %b = arith.addi %x, %x : i32
  cf.cond_br %c, ^left, ^right
^left:
  %d = arith.addi %x, %b : i32
  cf.br ^right
^right:
  func.return %b : i32
}
