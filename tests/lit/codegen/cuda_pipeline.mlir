// From a graph to CUDA text in one pipeline: operands stay unpacked, barriers stand where the block exchanges data.
// RUN: pelton-opt %s -p cuda -t numba-cuda | filecheck %s
// RUN: pelton-opt %s -p cuda | pelton-opt -t numba-cuda | filecheck %s
// RUN: pelton-opt %s -p cuda | filecheck %s --check-prefix=IR

// IR:      kernel.func @matmul
// IR:        kernel.call @matmul(%x0, %x1) with {}
// IR:      kernel.func @permute
// IR:        kernel.barrier
// IR:      plan.func @main

// CHECK:       def matmul{{.*}}(x0, x1, out, n0, lo, hi, ctx):
// CHECK:           tile_madd(mm_acc, 4, 4, mm_s, 
// CHECK:       def permute(x0, out, n0, n1, lo, hi, ctx):
// CHECK:           tile = tile_f32(1056)
// CHECK:           tile[
// CHECK-NEXT:      cuda.syncthreads()
func.func @main(%x: !nn.tensor<[n, 40], f32>, %w: !nn.tensor<[40, 64], f32>) -> !nn.tensor<[64, n], f32> {
  %0 = nn.matmul %x, %w : (!nn.tensor<[n, 40], f32>, !nn.tensor<[40, 64], f32>) -> !nn.tensor<[n, 64], f32>
  %1 = nn.permute %0 {order = #nn.dims[1, 0]} : (!nn.tensor<[n, 64], f32>) -> !nn.tensor<[64, n], f32>
  func.return %1 : !nn.tensor<[64, n], f32>
}
