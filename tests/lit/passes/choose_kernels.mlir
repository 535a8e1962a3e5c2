// RUN: pelton-opt %s -p choose-kernels | filecheck %s
// RUN: pelton-opt %s -p 'choose-kernels{target=avx512}' | filecheck %s --check-prefix=WIDE
// RUN: pelton-opt %s -p 'choose-kernels{target=cuda}' | filecheck %s --check-prefix=CUDA

// A CPU reads the right operand in panels as wide as its register tile.
// CHECK:      %[[P:.*]] = nn.pack %w {width = 16} : (!nn.tensor<[8, 40], f32>) -> !nn.tensor<[3, 8, 16], f32>
// CHECK-NEXT: nn.packed_matmul %x, %[[P]] {n = #nn.dims[40]}
// WIDE:       nn.pack %w {width = 32}
// CUDA-NOT:   nn.pack
// CUDA:       %y = nn.matmul %x, %w
func.func @main(%x : !nn.tensor<[n, 8], f32>, %w : !nn.tensor<[8, 40], f32>) -> !nn.tensor<[n, 40], f32> {
  %y = nn.matmul %x, %w : (!nn.tensor<[n, 8], f32>, !nn.tensor<[8, 40], f32>) -> !nn.tensor<[n, 40], f32>
  func.return %y : !nn.tensor<[n, 40], f32>
}
