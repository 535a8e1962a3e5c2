// `pelton explain`: which kernels a graph becomes, what they compute, what they cost, which line they come from.
// RUN: pelton explain %s --target avx2 | filecheck %s
// RUN: pelton explain %s --target baseline | filecheck %s --check-prefix=BASELINE

// BASELINE: explain for baseline: 2 kernels, 3 launches

// CHECK:      explain for avx2: 2 kernels, 3 launches
// CHECK-NEXT:   in     kernel   loops        launches  result         bytes    flops  made at          computes
// CHECK-NEXT:   @main  tanh     elementwise         2  <[n, 8], f32>  64*n     -      explain.mlir:{{.*}}  tanh
// CHECK-NEXT:   @main  add_sum  row                 1  <[n, 1], f32>  68*n     -      explain.mlir:{{.*}}  add sum
func.func @main(%x: !nn.tensor<[n, 8], f32>, %y: !nn.tensor<[n, 8], f32>) -> (!nn.tensor<[n, 8], f32>, !nn.tensor<[n, 8], f32>, !nn.tensor<[n, 1], f32>) {
  %a = nn.tanh %x : (!nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 8], f32>
  %b = nn.tanh %y : (!nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 8], f32>
  %c = nn.add %a, %b : (!nn.tensor<[n, 8], f32>, !nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 8], f32>
  %d = nn.sum %c {axis = 1} : (!nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 1], f32>
  func.return %a, %b, %d : !nn.tensor<[n, 8], f32>, !nn.tensor<[n, 8], f32>, !nn.tensor<[n, 1], f32>
}
