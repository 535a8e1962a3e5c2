// RUN: not pelton-opt %s -p 'choose-kernels{target=avx2}' 2>&1 | filecheck %s

// CHECK: no kernel computes this nn.matmul
// CHECK: got: matmul: i32: it takes f32 and f64
func.func @main(%x : !nn.tensor<[n, 8], i32>, %w : !nn.tensor<[8, 3], i32>) -> !nn.tensor<[n, 3], i32> {
  %y = nn.matmul %x, %w : (!nn.tensor<[n, 8], i32>, !nn.tensor<[8, 3], i32>) -> !nn.tensor<[n, 3], i32>
  func.return %y : !nn.tensor<[n, 3], i32>
}
