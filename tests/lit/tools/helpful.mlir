// Mistakes of order get an answer, not an internal error.
// RUN: not pelton-opt %s -p fuse-groups,lower-groups 2>&1 | filecheck %s --check-prefix=SHORTHAND
// RUN: not pelton-opt %s -t numba-cpu 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not pelton-opt %s -t numba-cuda 2>&1 | filecheck %s --check-prefix=NONE

// SHORTHAND:      error: nn.softmax is no op that a lane can compute
// SHORTHAND:      remedy:   run expand-ops before fuse-groups
// NONE:           error: there is no kernel to print
// NONE:           remedy:   lower the graph first: -p cpu-avx2, or another pipeline
func.func @main(%x : !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], f32> {
  %y = nn.softmax %x {axis = 1} : !nn.tensor<[n, 4], f32>
  func.return %y : !nn.tensor<[n, 4], f32>
}
