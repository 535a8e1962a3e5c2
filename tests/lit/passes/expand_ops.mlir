// Ops in terms of others, until only primitive ones are left.
// RUN: pelton-opt %s -p expand-ops | filecheck %s

// Halves are computed in f32 and rounded once.
// CHECK-LABEL: func.func @softmax(
// CHECK-NEXT:    %0 = nn.cast %x {dtype = f32} : (!nn.tensor<[n, 4], f16>) -> !nn.tensor<[n, 4], f32>
// CHECK-NEXT:    %1 = nn.max %0 {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
// CHECK-NEXT:    %2 = nn.broadcast_to %1 {shape = #nn.dims[n, 4]} : (!nn.tensor<[n, 1], f32>) -> !nn.tensor<[n, 4], f32>
// CHECK-NEXT:    %3 = nn.sub %0, %2 : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:    %4 = nn.exp %3 : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:    %5 = nn.sum %4 {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
// CHECK-NEXT:    %6 = nn.broadcast_to %5 {shape = #nn.dims[n, 4]} : (!nn.tensor<[n, 1], f32>) -> !nn.tensor<[n, 4], f32>
// CHECK-NEXT:    %7 = nn.div %4, %6 : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:    %y = nn.cast %7 {dtype = f16} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], f16>
// CHECK-NEXT:    func.return %y : !nn.tensor<[n, 4], f16>
func.func @softmax(%x : !nn.tensor<[n, 4], f16>) -> !nn.tensor<[n, 4], f16> {
  %y = nn.softmax %x {axis = 1} : !nn.tensor<[n, 4], f16>
  func.return %y : !nn.tensor<[n, 4], f16>
}

// CHECK-LABEL: func.func @logsoftmax(
// CHECK-NEXT:    %0 = nn.max %x {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
// CHECK-NEXT:    %1 = nn.broadcast_to %0 {shape = #nn.dims[n, 4]} : (!nn.tensor<[n, 1], f32>) -> !nn.tensor<[n, 4], f32>
// CHECK-NEXT:    %2 = nn.sub %x, %1 : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:    %3 = nn.exp %2 : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:    %4 = nn.sum %3 {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
// CHECK-NEXT:    %5 = nn.log %4 : !nn.tensor<[n, 1], f32>
// CHECK-NEXT:    %6 = nn.broadcast_to %5 {shape = #nn.dims[n, 4]} : (!nn.tensor<[n, 1], f32>) -> !nn.tensor<[n, 4], f32>
// CHECK-NEXT:    %y = nn.sub %2, %6 : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:    func.return %y : !nn.tensor<[n, 4], f32>
func.func @logsoftmax(%x : !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], f32> {
  %y = nn.logsoftmax %x {axis = 1} : !nn.tensor<[n, 4], f32>
  func.return %y : !nn.tensor<[n, 4], f32>
}

// A size that only a run knows is an nn.dim.
// CHECK-LABEL: func.func @layer_norm(
// CHECK-NEXT:    %0 = nn.sum %x {axis = 1} : (!nn.tensor<[m, n], f32>) -> !nn.tensor<[m, 1], f32>
// CHECK-NEXT:    %1 = nn.dim {value = #nn.dims[n]} : !nn.tensor<[], i64>
// CHECK-NEXT:    %2 = nn.cast %1 {dtype = f32} : (!nn.tensor<[], i64>) -> !nn.tensor<[], f32>
// CHECK-NEXT:    %3 = nn.broadcast_to %2 {shape = #nn.dims[m, 1]} : (!nn.tensor<[], f32>) -> !nn.tensor<[m, 1], f32>
// CHECK-NEXT:    %4 = nn.div %0, %3 : !nn.tensor<[m, 1], f32>
// CHECK-NEXT:    %5 = nn.broadcast_to %4 {shape = #nn.dims[m, n]} : (!nn.tensor<[m, 1], f32>) -> !nn.tensor<[m, n], f32>
// CHECK-NEXT:    %6 = nn.sub %x, %5 : !nn.tensor<[m, n], f32>
// CHECK-NEXT:    %7 = nn.mul %6, %6 : !nn.tensor<[m, n], f32>
// CHECK-NEXT:    %8 = nn.sum %7 {axis = 1} : (!nn.tensor<[m, n], f32>) -> !nn.tensor<[m, 1], f32>
// CHECK-NEXT:    %9 = nn.dim {value = #nn.dims[n]} : !nn.tensor<[], i64>
// CHECK-NEXT:    %10 = nn.cast %9 {dtype = f32} : (!nn.tensor<[], i64>) -> !nn.tensor<[], f32>
// CHECK-NEXT:    %11 = nn.broadcast_to %10 {shape = #nn.dims[m, 1]} : (!nn.tensor<[], f32>) -> !nn.tensor<[m, 1], f32>
// CHECK-NEXT:    %12 = nn.div %8, %11 : !nn.tensor<[m, 1], f32>
// CHECK-NEXT:    %13 = nn.constant 1.0e-05 : !nn.tensor<[], f32>
// CHECK-NEXT:    %14 = nn.broadcast_to %13 {shape = #nn.dims[m, 1]} : (!nn.tensor<[], f32>) -> !nn.tensor<[m, 1], f32>
// CHECK-NEXT:    %15 = nn.add %12, %14 : !nn.tensor<[m, 1], f32>
// CHECK-NEXT:    %16 = nn.rsqrt %15 : !nn.tensor<[m, 1], f32>
// CHECK-NEXT:    %17 = nn.broadcast_to %16 {shape = #nn.dims[m, n]} : (!nn.tensor<[m, 1], f32>) -> !nn.tensor<[m, n], f32>
// CHECK-NEXT:    %18 = nn.mul %6, %17 : !nn.tensor<[m, n], f32>
// CHECK-NEXT:    %19 = nn.broadcast_to %w {shape = #nn.dims[m, n]} : (!nn.tensor<[n], f32>) -> !nn.tensor<[m, n], f32>
// CHECK-NEXT:    %20 = nn.mul %18, %19 : !nn.tensor<[m, n], f32>
// CHECK-NEXT:    %21 = nn.broadcast_to %w {shape = #nn.dims[m, n]} : (!nn.tensor<[n], f32>) -> !nn.tensor<[m, n], f32>
// CHECK-NEXT:    %y = nn.add %20, %21 : !nn.tensor<[m, n], f32>
// CHECK-NEXT:    func.return %y : !nn.tensor<[m, n], f32>
func.func @layer_norm(%x : !nn.tensor<[m, n], f32>, %w : !nn.tensor<[n], f32>) -> !nn.tensor<[m, n], f32> {
  %y = nn.layer_norm %x, %w, %w {epsilon = 1.0e-5} : (!nn.tensor<[m, n], f32>, !nn.tensor<[n], f32>, !nn.tensor<[n], f32>) -> !nn.tensor<[m, n], f32>
  func.return %y : !nn.tensor<[m, n], f32>
}

// CHECK-LABEL: func.func @rms_norm(
// CHECK-NEXT:    %0 = nn.cast %x {dtype = f32} : (!nn.tensor<[m, 64], bf16>) -> !nn.tensor<[m, 64], f32>
// CHECK-NEXT:    %1 = nn.cast %w {dtype = f32} : (!nn.tensor<[64], bf16>) -> !nn.tensor<[64], f32>
// CHECK-NEXT:    %2 = nn.mul %0, %0 : !nn.tensor<[m, 64], f32>
// CHECK-NEXT:    %3 = nn.sum %2 {axis = 1} : (!nn.tensor<[m, 64], f32>) -> !nn.tensor<[m, 1], f32>
// CHECK-NEXT:    %4 = nn.constant 64.0 : !nn.tensor<[], f32>
// CHECK-NEXT:    %5 = nn.broadcast_to %4 {shape = #nn.dims[m, 1]} : (!nn.tensor<[], f32>) -> !nn.tensor<[m, 1], f32>
// CHECK-NEXT:    %6 = nn.div %3, %5 : !nn.tensor<[m, 1], f32>
// CHECK-NEXT:    %7 = nn.constant 1.0e-06 : !nn.tensor<[], f32>
// CHECK-NEXT:    %8 = nn.broadcast_to %7 {shape = #nn.dims[m, 1]} : (!nn.tensor<[], f32>) -> !nn.tensor<[m, 1], f32>
// CHECK-NEXT:    %9 = nn.add %6, %8 : !nn.tensor<[m, 1], f32>
// CHECK-NEXT:    %10 = nn.rsqrt %9 : !nn.tensor<[m, 1], f32>
// CHECK-NEXT:    %11 = nn.broadcast_to %10 {shape = #nn.dims[m, 64]} : (!nn.tensor<[m, 1], f32>) -> !nn.tensor<[m, 64], f32>
// CHECK-NEXT:    %12 = nn.mul %0, %11 : !nn.tensor<[m, 64], f32>
// CHECK-NEXT:    %13 = nn.cast %12 {dtype = bf16} : (!nn.tensor<[m, 64], f32>) -> !nn.tensor<[m, 64], bf16>
// CHECK-NEXT:    %14 = nn.cast %1 {dtype = bf16} : (!nn.tensor<[64], f32>) -> !nn.tensor<[64], bf16>
// CHECK-NEXT:    %15 = nn.broadcast_to %14 {shape = #nn.dims[m, 64]} : (!nn.tensor<[64], bf16>) -> !nn.tensor<[m, 64], bf16>
// CHECK-NEXT:    %y = nn.mul %13, %15 : !nn.tensor<[m, 64], bf16>
// CHECK-NEXT:    func.return %y : !nn.tensor<[m, 64], bf16>
func.func @rms_norm(%x : !nn.tensor<[m, 64], bf16>, %w : !nn.tensor<[64], bf16>) -> !nn.tensor<[m, 64], bf16> {
  %y = nn.rms_norm %x, %w {epsilon = 1.0e-6} : (!nn.tensor<[m, 64], bf16>, !nn.tensor<[64], bf16>) -> !nn.tensor<[m, 64], bf16>
  func.return %y : !nn.tensor<[m, 64], bf16>
}

// The smallest index whose element is the largest, or NaN.
// CHECK-LABEL: func.func @argmax(
// CHECK-NEXT:    %0 = nn.max %x {axis = 1} : (!nn.tensor<[m, 64], f32>) -> !nn.tensor<[m, 1], f32>
// CHECK-NEXT:    %1 = nn.broadcast_to %0 {shape = #nn.dims[m, 64]} : (!nn.tensor<[m, 1], f32>) -> !nn.tensor<[m, 64], f32>
// CHECK-NEXT:    %2 = nn.equal %x, %1 : (!nn.tensor<[m, 64], f32>, !nn.tensor<[m, 64], f32>) -> !nn.tensor<[m, 64], i1>
// CHECK-NEXT:    %3 = nn.is_nan %x : (!nn.tensor<[m, 64], f32>) -> !nn.tensor<[m, 64], i1>
// CHECK-NEXT:    %4 = nn.logical_or %2, %3 : !nn.tensor<[m, 64], i1>
// CHECK-NEXT:    %5 = nn.iota {axis = 1} : !nn.tensor<[m, 64], i32>
// CHECK-NEXT:    %6 = nn.constant 2147483647 : !nn.tensor<[], i32>
// CHECK-NEXT:    %7 = nn.broadcast_to %6 {shape = #nn.dims[m, 64]} : (!nn.tensor<[], i32>) -> !nn.tensor<[m, 64], i32>
// CHECK-NEXT:    %8 = nn.where %4, %5, %7 : (!nn.tensor<[m, 64], i1>, !nn.tensor<[m, 64], i32>, !nn.tensor<[m, 64], i32>) -> !nn.tensor<[m, 64], i32>
// CHECK-NEXT:    %9 = nn.min %8 {axis = 1} : (!nn.tensor<[m, 64], i32>) -> !nn.tensor<[m, 1], i32>
// CHECK-NEXT:    %y = nn.cast %9 {dtype = i64} : (!nn.tensor<[m, 1], i32>) -> !nn.tensor<[m, 1], i64>
// CHECK-NEXT:    func.return %y : !nn.tensor<[m, 1], i64>
func.func @argmax(%x : !nn.tensor<[m, 64], f32>) -> !nn.tensor<[m, 1], i64> {
  %y = nn.argmax %x {axis = 1} : (!nn.tensor<[m, 64], f32>) -> !nn.tensor<[m, 1], i64>
  func.return %y : !nn.tensor<[m, 1], i64>
}

// CHECK-LABEL: func.func @half_matmul(
// CHECK-NEXT:    %0 = nn.cast %a {dtype = f32} : (!nn.tensor<[m, k], f16>) -> !nn.tensor<[m, k], f32>
// CHECK-NEXT:    %1 = nn.cast %b {dtype = f32} : (!nn.tensor<[k, n], f16>) -> !nn.tensor<[k, n], f32>
// CHECK-NEXT:    %2 = nn.matmul %0, %1 : (!nn.tensor<[m, k], f32>, !nn.tensor<[k, n], f32>) -> !nn.tensor<[m, n], f32>
// CHECK-NEXT:    %y = nn.cast %2 {dtype = f16} : (!nn.tensor<[m, n], f32>) -> !nn.tensor<[m, n], f16>
// CHECK-NEXT:    func.return %y : !nn.tensor<[m, n], f16>
func.func @half_matmul(%a : !nn.tensor<[m, k], f16>, %b : !nn.tensor<[k, n], f16>) -> !nn.tensor<[m, n], f16> {
  %y = nn.matmul %a, %b : (!nn.tensor<[m, k], f16>, !nn.tensor<[k, n], f16>) -> !nn.tensor<[m, n], f16>
  func.return %y : !nn.tensor<[m, n], f16>
}

// Integers: products, then their sum; fusion keeps the products out of memory.
// CHECK-LABEL: func.func @integer_matmul(
// CHECK-NEXT:    %0 = nn.permute %b {order = #nn.dims[1, 0]} : (!nn.tensor<[k, n], i32>) -> !nn.tensor<[n, k], i32>
// CHECK-NEXT:    %1 = nn.reshape %a {shape = #nn.dims[m, 1, k]} : (!nn.tensor<[m, k], i32>) -> !nn.tensor<[m, 1, k], i32>
// CHECK-NEXT:    %2 = nn.broadcast_to %1 {shape = #nn.dims[m, n, k]} : (!nn.tensor<[m, 1, k], i32>) -> !nn.tensor<[m, n, k], i32>
// CHECK-NEXT:    %3 = nn.reshape %0 {shape = #nn.dims[1, n, k]} : (!nn.tensor<[n, k], i32>) -> !nn.tensor<[1, n, k], i32>
// CHECK-NEXT:    %4 = nn.broadcast_to %3 {shape = #nn.dims[m, n, k]} : (!nn.tensor<[1, n, k], i32>) -> !nn.tensor<[m, n, k], i32>
// CHECK-NEXT:    %5 = nn.mul %2, %4 : !nn.tensor<[m, n, k], i32>
// CHECK-NEXT:    %6 = nn.sum %5 {axis = 2} : (!nn.tensor<[m, n, k], i32>) -> !nn.tensor<[m, n, 1], i32>
// CHECK-NEXT:    %y = nn.reshape %6 {shape = #nn.dims[m, n]} : (!nn.tensor<[m, n, 1], i32>) -> !nn.tensor<[m, n], i32>
// CHECK-NEXT:    func.return %y : !nn.tensor<[m, n], i32>
func.func @integer_matmul(%a : !nn.tensor<[m, k], i32>, %b : !nn.tensor<[k, n], i32>) -> !nn.tensor<[m, n], i32> {
  %y = nn.matmul %a, %b : (!nn.tensor<[m, k], i32>, !nn.tensor<[k, n], i32>) -> !nn.tensor<[m, n], i32>
  func.return %y : !nn.tensor<[m, n], i32>
}

// CHECK-LABEL: func.func @shape(
// CHECK-NEXT:    %0 = nn.dim {value = #nn.dims[m]} : !nn.tensor<[], i64>
// CHECK-NEXT:    %1 = nn.reshape %0 {shape = #nn.dims[1]} : (!nn.tensor<[], i64>) -> !nn.tensor<[1], i64>
// CHECK-NEXT:    %2 = nn.dim {value = #nn.dims[4]} : !nn.tensor<[], i64>
// CHECK-NEXT:    %3 = nn.reshape %2 {shape = #nn.dims[1]} : (!nn.tensor<[], i64>) -> !nn.tensor<[1], i64>
// CHECK-NEXT:    %y = nn.concat %1, %3 {axis = 0} : (!nn.tensor<[1], i64>, !nn.tensor<[1], i64>) -> !nn.tensor<[2], i64>
// CHECK-NEXT:    func.return %y : !nn.tensor<[2], i64>
func.func @shape() -> !nn.tensor<[2], i64> {
  %y = nn.shape_to_tensor {shape = #nn.dims[m, 4]} : !nn.tensor<[2], i64>
  func.return %y : !nn.tensor<[2], i64>
}

// f32 and f64 products have kernels of their own.
// CHECK-LABEL: func.func @primitive(
// CHECK-NEXT:    %y = nn.matmul %a, %b : (!nn.tensor<[m, k], f32>, !nn.tensor<[k, n], f32>) -> !nn.tensor<[m, n], f32>
// CHECK-NEXT:    func.return %y : !nn.tensor<[m, n], f32>
func.func @primitive(%a : !nn.tensor<[m, k], f32>, %b : !nn.tensor<[k, n], f32>) -> !nn.tensor<[m, n], f32> {
  %y = nn.matmul %a, %b : (!nn.tensor<[m, k], f32>, !nn.tensor<[k, n], f32>) -> !nn.tensor<[m, n], f32>
  func.return %y : !nn.tensor<[m, n], f32>
}
