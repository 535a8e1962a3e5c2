// RUN: pelton-opt %s -p 'choose-kernels{target=cuda}' | filecheck %s

// A GPU reads operands as they are.
// CHECK-NOT:  nn.pack
// CHECK:      %y = nn.matmul %x, %w {choice = {op = "nn.matmul", kernel = "matmul"
// CHECK-SAME: reason = "16 x 16 tiles in shared memory, a block each"
func.func @main(%x : !nn.tensor<[n, 8], f32>, %w : !nn.tensor<[8, 40], f32>) -> !nn.tensor<[n, 40], f32> {
  %y = nn.matmul %x, %w : (!nn.tensor<[n, 8], f32>, !nn.tensor<[8, 40], f32>) -> !nn.tensor<[n, 40], f32>
  func.return %y : !nn.tensor<[n, 40], f32>
}
