// RUN: pelton-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: %g = nn.transfer %x {device = "gpu:0"} : (!nn.tensor<[n], f32>) -> !nn.tensor<[n], f32, "gpu:0">
func.func @main(%x : !nn.tensor<[n], f32>) -> !nn.tensor<[n], f32, "gpu:0"> {
  %g = nn.transfer %x {device = "gpu:0"} : (!nn.tensor<[n], f32>) -> !nn.tensor<[n], f32, "gpu:0">
  func.return %g : !nn.tensor<[n], f32, "gpu:0">
}

// -----

// CHECK: 'nn.transfer' expects a device such as cpu:0 or gpu:1, got 'gpu'
func.func @main(%x : !nn.tensor<[n], f32>) -> !nn.tensor<[n], f32, "gpu"> {
  %g = nn.transfer %x {device = "gpu"} : (!nn.tensor<[n], f32>) -> !nn.tensor<[n], f32, "gpu">
  func.return %g : !nn.tensor<[n], f32, "gpu">
}
