// RUN: pelton-opt %s -p choose-kernels | filecheck %s
// RUN: pelton-opt %s -p 'choose-kernels{target=avx512}' | filecheck %s --check-prefix=WIDE
// RUN: pelton-opt %s -p 'choose-kernels{target=cuda}' | filecheck %s --check-prefix=CUDA
// RUN: not pelton-opt %s -p 'choose-kernels{target=neon}' 2>&1 | filecheck %s --check-prefix=WRONG

// WRONG: choose-kernels has no such target
// WRONG: expected: one of baseline, avx2, avx512, cuda
// WRONG: got: neon

// A CPU reads the right operand in panels as wide as its register tile.
// CHECK:      %[[P:.*]] = nn.pack %w {width = 16} : (!nn.tensor<[8, 40], f32>) -> !nn.tensor<[3, 8, 16], f32>
// CHECK-NEXT: nn.packed_matmul %x, %[[P]] {n = #nn.dims[40], choice = {op = "nn.matmul", kernel = "matmul"
// CHECK-SAME: reason = "6 x 16 accumulators in registers; the right operand in panels of 16 columns"
// CHECK-SAME: cost = "640*n FLOP, 192*n + 1280 B, ((n + 47) floordiv 48) items", lost = []
// WIDE:       nn.pack %w {width = 32}
// CUDA-NOT:   nn.pack
// CUDA:       %y = nn.matmul %x, %w {choice = {op = "nn.matmul", kernel = "matmul"
// CUDA-SAME:  reason = "16 x 16 tiles in shared memory, a block each"
func.func @main(%x : !nn.tensor<[n, 8], f32>, %w : !nn.tensor<[8, 40], f32>) -> !nn.tensor<[n, 40], f32> {
  %y = nn.matmul %x, %w : (!nn.tensor<[n, 8], f32>, !nn.tensor<[8, 40], f32>) -> !nn.tensor<[n, 40], f32>
  func.return %y : !nn.tensor<[n, 40], f32>
}
