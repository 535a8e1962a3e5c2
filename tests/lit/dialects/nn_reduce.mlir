// Reductions, norms and products of `nn`, in pretty and generic form.
// RUN: pelton-opt %s | filecheck %s
// RUN: pelton-opt %s | pelton-opt | filecheck %s
// RUN: pelton-opt %s --print-op-generic | pelton-opt | filecheck %s

// CHECK:      func.func @reductions(%x: !nn.tensor<[n, 4], f32>) {
// CHECK-NEXT:   %sum = nn.sum %x {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
// CHECK-NEXT:   %prod = nn.prod %x {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
// CHECK-NEXT:   %max = nn.max %x {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
// CHECK-NEXT:   %min = nn.min %x {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
// CHECK-NEXT:   %mean = nn.mean %x {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
// CHECK-NEXT:   %argmax = nn.argmax %x {axis = 0} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[1, 4], i64>
// CHECK-NEXT:   %argmin = nn.argmin %x {axis = 0} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[1, 4], i64>
func.func @reductions(%x: !nn.tensor<[n, 4], f32>) {
  %sum = nn.sum %x {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
  %prod = nn.prod %x {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
  %max = nn.max %x {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
  %min = nn.min %x {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
  %mean = nn.mean %x {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
  %argmax = nn.argmax %x {axis = 0} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[1, 4], i64>
  %argmin = nn.argmin %x {axis = 0} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[1, 4], i64>
  func.return
}

// CHECK:      func.func @norms(%x: !nn.tensor<[n, 4], f32>, %w: !nn.tensor<[4], f32>) {
// CHECK-NEXT:   %softmax = nn.softmax %x {axis = 1} : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %logsoftmax = nn.logsoftmax %x {axis = 0} : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %layer = nn.layer_norm %x, %w, %w {epsilon = 1.000000e-05} : (!nn.tensor<[n, 4], f32>, !nn.tensor<[4], f32>, !nn.tensor<[4], f32>) -> !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %rms = nn.rms_norm %x, %w {epsilon = 1.000000e-06, weight_offset = 1.000000e+00, multiply_before_cast = true} : (!nn.tensor<[n, 4], f32>, !nn.tensor<[4], f32>) -> !nn.tensor<[n, 4], f32>
func.func @norms(%x: !nn.tensor<[n, 4], f32>, %w: !nn.tensor<[4], f32>) {
  %softmax = nn.softmax %x {axis = 1} : !nn.tensor<[n, 4], f32>
  %logsoftmax = nn.logsoftmax %x {axis = 0} : !nn.tensor<[n, 4], f32>
  %layer = nn.layer_norm %x, %w, %w {epsilon = 1.000000e-05} : (!nn.tensor<[n, 4], f32>, !nn.tensor<[4], f32>, !nn.tensor<[4], f32>) -> !nn.tensor<[n, 4], f32>
  %rms = nn.rms_norm %x, %w {epsilon = 1.000000e-06, weight_offset = 1.000000e+00, multiply_before_cast = true} : (!nn.tensor<[n, 4], f32>, !nn.tensor<[4], f32>) -> !nn.tensor<[n, 4], f32>
  func.return
}

// CHECK:      func.func @products(%a: !nn.tensor<[batch, m, k], f32>, %b: !nn.tensor<[k, n], f32>) {
// CHECK-NEXT:   %matmul = nn.matmul %a, %b : (!nn.tensor<[batch, m, k], f32>, !nn.tensor<[k, n], f32>) -> !nn.tensor<[batch, m, n], f32>
// CHECK-NEXT:   %pack = nn.pack %b {width = 16} : (!nn.tensor<[k, n], f32>) -> !nn.tensor<[((n + 15) floordiv 16), k, 16], f32>
// CHECK-NEXT:   %packed = nn.packed_matmul %a, %pack {n = #nn.dims[n]} : (!nn.tensor<[batch, m, k], f32>, !nn.tensor<[((n + 15) floordiv 16), k, 16], f32>) -> !nn.tensor<[batch, m, n], f32>
func.func @products(%a: !nn.tensor<[batch, m, k], f32>, %b: !nn.tensor<[k, n], f32>) {
  %matmul = nn.matmul %a, %b : (!nn.tensor<[batch, m, k], f32>, !nn.tensor<[k, n], f32>) -> !nn.tensor<[batch, m, n], f32>
  %pack = nn.pack %b {width = 16} : (!nn.tensor<[k, n], f32>) -> !nn.tensor<[((n + 15) floordiv 16), k, 16], f32>
  %packed = nn.packed_matmul %a, %pack {n = #nn.dims[n]} : (!nn.tensor<[batch, m, k], f32>, !nn.tensor<[((n + 15) floordiv 16), k, 16], f32>) -> !nn.tensor<[batch, m, n], f32>
  func.return
}
