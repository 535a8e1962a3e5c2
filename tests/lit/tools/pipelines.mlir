// A pipeline is named like a pass, alone or among passes; the target is part of its name.
// RUN: pelton-opt %s -p graph | filecheck %s --check-prefix=GRAPH
// RUN: pelton-opt %s -p cpu-avx512 | filecheck %s
// RUN: pelton-opt %s -p cpu-avx2 | filecheck %s
// RUN: pelton-opt %s -p cpu-baseline | filecheck %s
// RUN: pelton-opt %s -p graph,cpu-avx2,cse | filecheck %s
// RUN: pelton-opt %s -p graph | pelton-opt -p cpu-avx2 | pelton-opt | filecheck %s
// RUN: pelton-opt %s -p cpu-avx2 --print-op-generic | pelton-opt | filecheck %s
// RUN: pelton-opt %s -p cpu-avx2 -t numba-cpu | filecheck %s --check-prefix=SOURCE

// GRAPH:      func.func @main
// GRAPH-NEXT:   %0 = nn.add %x, %y
// GRAPH-NEXT:   %1 = nn.relu %0
// GRAPH-NEXT:   func.return %1

// CHECK:      kernel.func @add_relu(
// CHECK:          kernel.lanes
// CHECK-NOT:      kernel.lanes
// CHECK:      plan.func @main(
// CHECK:        plan.launch @add_relu(%x, %y)

// SOURCE:     def add_relu(x0, x1, out, n0, lo, hi, ctx):
// SOURCE-NOT: def
func.func @main(%x: !nn.tensor<[n], f32>, %y: !nn.tensor<[n], f32>) -> !nn.tensor<[n], f32> {
  %0 = nn.add %x, %y : !nn.tensor<[n], f32>
  %1 = nn.relu %0 : !nn.tensor<[n], f32>
  func.return %1 : !nn.tensor<[n], f32>
}
