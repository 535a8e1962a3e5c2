// RUN: not pelton-opt %s -p 'choose-kernels{target=cuda}' 2>&1 | filecheck %s

// CHECK: no kernel computes this nn.top_k
// CHECK: got: top_k_select: cuda: only CPU targets have its schedule; top_k_sort: cuda: only CPU targets
func.func @main(%x : !nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 3], i64> {
  %y = nn.top_k %x {largest = true, k = #nn.dims[3]} : (!nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 3], i64>
  func.return %y : !nn.tensor<[n, 3], i64>
}
