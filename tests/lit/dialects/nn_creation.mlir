// Ops of `nn` that make tensors, in pretty and generic form; every element reads back bit for bit.
// RUN: pelton-opt %s | filecheck %s
// RUN: pelton-opt %s | pelton-opt | filecheck %s
// RUN: pelton-opt %s --print-op-generic | pelton-opt | filecheck %s
// RUN: pelton-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC

// GENERIC: %vector = "nn.constant"() <{value = #nn.dense<[7], f32, [1.0, -0.0, inf, -inf, nan, bits(0x7fc00001), 1.0e-40]>}> : () -> !nn.tensor<[7], f32>
// CHECK:      func.func @creation(%s: !nn.tensor<[], f32>) {
// CHECK-NEXT:   %vector = nn.constant [1.0, -0.0, inf, -inf, nan, bits(0x7fc00001), 1.0e-40] : !nn.tensor<[7], f32>
// CHECK-NEXT:   %half = nn.constant [0.1, 65504.0, inf, nan, bits(0x7c01)] : !nn.tensor<[5], f16>
// CHECK-NEXT:   %brain = nn.constant [0.1, 3.39e+38, -inf, bits(0xffc1)] : !nn.tensor<[4], bf16>
// CHECK-NEXT:   %double = nn.constant [0.1, 5.0e-324] : !nn.tensor<[2], f64>
// CHECK-NEXT:   %matrix = nn.constant [1, -2, 3, 9223372036854775807] : !nn.tensor<[2, 2], i64>
// CHECK-NEXT:   %small = nn.constant [-128, 127] : !nn.tensor<[2], i8>
// CHECK-NEXT:   %bytes = nn.constant [0, 255] : !nn.tensor<[2], ui8>
// CHECK-NEXT:   %bools = nn.constant [true, false] : !nn.tensor<[2], i1>
// CHECK-NEXT:   %scalar = nn.constant 0.5 : !nn.tensor<[], f32>
// CHECK-NEXT:   %empty = nn.constant [] : !nn.tensor<[0, 3], f32>
// CHECK-NEXT:   %weight = nn.weight {key = "layer.0.w"} : !nn.tensor<[4, 4], bf16>
// CHECK-NEXT:   %iota = nn.iota {axis = 1} : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %dim = nn.dim {value = #nn.dims[4*n + 1]} : !nn.tensor<[], i64>
// CHECK-NEXT:   %range = nn.range %s, %s {length = #nn.dims[n]} : (!nn.tensor<[], f32>, !nn.tensor<[], f32>) -> !nn.tensor<[n], f32>
// CHECK-NEXT:   %shape = nn.shape_to_tensor {shape = #nn.dims[n, 4]} : !nn.tensor<[2], i64>
func.func @creation(%s: !nn.tensor<[], f32>) {
  %vector = nn.constant [1.0, -0.0, inf, -inf, nan, bits(0x7fc00001), 1.0e-40] : !nn.tensor<[7], f32>
  %half = nn.constant [0.1, 65504.0, inf, nan, bits(0x7c01)] : !nn.tensor<[5], f16>
  %brain = nn.constant [0.1, 3.39e+38, -inf, bits(0xffc1)] : !nn.tensor<[4], bf16>
  %double = nn.constant [0.1, 5.0e-324] : !nn.tensor<[2], f64>
  %matrix = nn.constant [1, -2, 3, 9223372036854775807] : !nn.tensor<[2, 2], i64>
  %small = nn.constant [-128, 127] : !nn.tensor<[2], i8>
  %bytes = nn.constant [0, 255] : !nn.tensor<[2], ui8>
  %bools = nn.constant [true, false] : !nn.tensor<[2], i1>
  %scalar = nn.constant 0.5 : !nn.tensor<[], f32>
  %empty = nn.constant [] : !nn.tensor<[0, 3], f32>
  %weight = nn.weight {key = "layer.0.w"} : !nn.tensor<[4, 4], bf16>
  %iota = nn.iota {axis = 1} : !nn.tensor<[n, 4], f32>
  %dim = nn.dim {value = #nn.dims[4*n + 1]} : !nn.tensor<[], i64>
  %range = nn.range %s, %s {length = #nn.dims[n]} : (!nn.tensor<[], f32>, !nn.tensor<[], f32>) -> !nn.tensor<[n], f32>
  %shape = nn.shape_to_tensor {shape = #nn.dims[n, 4]} : !nn.tensor<[2], i64>
  func.return
}
