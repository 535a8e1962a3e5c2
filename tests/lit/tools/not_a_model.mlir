// Functions of other types, and ones without a body.
// RUN: pelton-opt %s -p cpu-avx2 --split-input-file --verify-diagnostics | filecheck %s

// CHECK: error: a plan holds tensors only
// CHECK: expected: a !nn.tensor type
// CHECK: got:      tensor<4xf32>
func.func @main(%x : tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
// -----
// CHECK: error: a tensor's sizes are 0 or more, got -4
func.func @main(%x : !nn.tensor<[-4], f32>) -> !nn.tensor<[-4], f32> {
  func.return %x : !nn.tensor<[-4], f32>
}
// -----
// CHECK: builtin.module {
func.func private @main(!nn.tensor<[4], f32>) -> !nn.tensor<[4], f32>
