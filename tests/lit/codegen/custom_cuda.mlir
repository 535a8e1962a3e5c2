// A body for CPUs alone; the error names the user's op and its line, and says what runs everywhere.
// RUN: not pelton-opt %s --extension %S/Inputs/scaled.py -p cuda -t numba-cuda 2>&1 | filecheck %s

// CHECK: custom_cuda.mlir:8:3: error: the custom op 'scaled' has no body for a GPU
// CHECK: expected: a body given as cuda=, or a scalar body
// CHECK: remedy:   give pelton.register a cuda= body, or keep the op on the CPU
func.func @main(%x: !nn.tensor<[b, n], f32>, %w: !nn.tensor<[n], f32>) -> !nn.tensor<[b, n], f32> {
  %y = nn.custom %x, %w {op = "scaled", body = "7a7967b1753f7db1", looped = #nn.dims[1, 0, 1], parameters = {by = 0.5 : f64}} : (!nn.tensor<[b, n], f32>, !nn.tensor<[n], f32>) -> !nn.tensor<[b, n], f32>
  func.return %y : !nn.tensor<[b, n], f32>
}
