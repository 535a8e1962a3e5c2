// RUN: pelton-opt %s -p 'choose-kernels{target=cuda}' | filecheck %s

// A GPU reads operands as they are; how large a block's tile is depends on the sizes that are known.
// CHECK-NOT:  nn.pack
// CHECK:      %y = nn.matmul %x, %w {choice = {op = "nn.matmul", kernel = "matmul"
// CHECK-SAME: reason = "64 x 64 tiles, 4 x 4 in a thread's registers; larger ones might leave multiprocessors without any; 8 x 64 tiles, 1 x 2 in a thread's registers, in runs of at most 8 rows"
// CHECK:      %z = nn.matmul %a, %w {choice = {op = "nn.matmul", kernel = "matmul"
// CHECK-SAME: reason = "8 x 32 tiles, 1 x 1 in a thread's registers; at most 8 rows, so it is the right operand that takes time"
// CHECK:      %u = nn.matmul %b, %w {choice = {op = "nn.matmul", kernel = "matmul"
// CHECK-SAME: reason = "128 x 64 tiles, 8 x 4 in a thread's registers; at least two for each of 132 multiprocessors"
func.func @main(%x : !nn.tensor<[n, 8], f32>, %a : !nn.tensor<[4, 8], f32>, %b : !nn.tensor<[40000, 8], f32>, %w : !nn.tensor<[8, 40], f32>) -> (!nn.tensor<[n, 40], f32>, !nn.tensor<[4, 40], f32>, !nn.tensor<[40000, 40], f32>) {
  %y = nn.matmul %x, %w : (!nn.tensor<[n, 8], f32>, !nn.tensor<[8, 40], f32>) -> !nn.tensor<[n, 40], f32>
  %z = nn.matmul %a, %w : (!nn.tensor<[4, 8], f32>, !nn.tensor<[8, 40], f32>) -> !nn.tensor<[4, 40], f32>
  %u = nn.matmul %b, %w : (!nn.tensor<[40000, 8], f32>, !nn.tensor<[8, 40], f32>) -> !nn.tensor<[40000, 40], f32>
  func.return %y, %z, %u : !nn.tensor<[n, 40], f32>, !nn.tensor<[4, 40], f32>, !nn.tensor<[40000, 40], f32>
}
