// `pelton explain`: which kernels a graph becomes, what they compute, what they cost, where they come from, and why.
// RUN: pelton explain %s --target avx2 | filecheck %s
// RUN: pelton explain %s --target baseline | filecheck %s --check-prefix=BASELINE

// BASELINE: explain for baseline: 4 kernels, 5 launches
// BASELINE: accumulators in registers

// CHECK:      explain for avx2: 4 kernels, 5 launches
// CHECK-NEXT:   in     kernel {{ +}}loops        launches  result {{ +}}bytes       flops  made at{{ +}}computes
// CHECK-NEXT:   @main  tanh {{ +}}elementwise         2  <[n, 8], f32> {{ +}}64*n        -      explain.mlir:{{.*}}  tanh
// CHECK-NEXT:   @main  add_sum {{ +}}row                 1  <[n, 1], f32> {{ +}}68*n        -      explain.mlir:{{.*}}  add sum
// CHECK:        @main  packed_matmul  matmul              1  <[n, 8], f32>      64*n + 512  128*n  explain.mlir:{{.*}}
// CHECK-EMPTY:
// CHECK-NEXT: why
// CHECK-NEXT:   tanh, pack: element by element
// CHECK-NEXT:   add_sum: reduces along the last axis
// CHECK:        packed_matmul: {{.*}} accumulators in registers
// CHECK-NEXT:     matmul for nn.matmul: 128*n FLOP
func.func @main(%x: !nn.tensor<[n, 8], f32>, %y: !nn.tensor<[n, 8], f32>, %w: !nn.tensor<[8, 8], f32>)
    -> (!nn.tensor<[n, 8], f32>, !nn.tensor<[n, 8], f32>, !nn.tensor<[n, 1], f32>, !nn.tensor<[n, 8], f32>) {
  %a = nn.tanh %x : (!nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 8], f32>
  %b = nn.tanh %y : (!nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 8], f32>
  %c = nn.add %a, %b : (!nn.tensor<[n, 8], f32>, !nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 8], f32>
  %d = nn.sum %c {axis = 1} : (!nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 1], f32>
  %e = nn.matmul %x, %w : (!nn.tensor<[n, 8], f32>, !nn.tensor<[8, 8], f32>) -> !nn.tensor<[n, 8], f32>
  func.return %a, %b, %d, %e : !nn.tensor<[n, 8], f32>, !nn.tensor<[n, 8], f32>, !nn.tensor<[n, 1], f32>, !nn.tensor<[n, 8], f32>
}
