// Verification errors stand at the op, and name what was expected and got.
// RUN: pelton-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: wrong_types.mlir:7:3: error: operand 'cond' at position 0 does not verify: Expected attribute i1 but got i32
// CHECK-NEXT: op: scf.if %x {
func.func @operand(%x: i32) {
  "scf.if"(%x) ({
    "scf.yield"() : () -> ()
  }, {
  }) : (i32) -> ()
  func.return
}
// -----
// CHECK: wrong_types.mlir:17:3: error: Expected arguments to have the same types as the function output types
// CHECK-NEXT: op: func.return %x : i32
func.func @returned(%x: i32) -> i64 {
  func.return %x : i32
}
// -----
// CHECK: wrong_types.mlir:22:1: error: holds an empty block where at least a terminator is expected
// CHECK-NEXT: op: func.func @empty() {
"func.func"() <{sym_name = "empty", function_type = () -> ()}> ({
^bb0:
}) : () -> ()
// -----
// CHECK: wrong_types.mlir:29:19: error: operand is used with type !nn.tensor<[n], f32>, but has been previously used or defined with type !nn.tensor<[m], f32>
// CHECK-NOT: error
func.func @sizes(%x: !nn.tensor<[n], f32>, %y: !nn.tensor<[m], f32>) -> !nn.tensor<[n], f32> {
  %0 = nn.add %x, %y : !nn.tensor<[n], f32>
  func.return %0 : !nn.tensor<[n], f32>
}
