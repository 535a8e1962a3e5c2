// An op of a user stands in no group, and becomes a call of its body; its body is not in the text.
// RUN: pelton-opt %s -p fuse-groups,lower-groups | filecheck %s
// RUN: pelton-opt %s -p fuse-groups,lower-groups -t numba-cpu --verify-diagnostics | filecheck %s --check-prefix BODY

// CHECK:      kernel.func @abs(
// CHECK:      kernel.func @scan(%x0: !kernel.buf<[n0, n1], f32>, %out0: !kernel.buf<[n0, n1], f32>, %out1: !kernel.buf<[n0], f32>) sizes [n0, n1] {
// CHECK-NEXT:   kernel.call @custom(%x0, %out0, %out1) with {op = "scan", body = "0123456789abcdef", results = 2 : i64, looped = #nn.dims[1, 1, 1], changed = #nn.dims[], parameters = {limit = 3 : i64}}
// CHECK:      plan.launch @scan(%a) -> (%y, %t) sizes [b, 2*n]
// BODY: the body of the custom op 'scan' is not here
// BODY: expected: an extension with the body 0123456789abcdef
func.func @main(%x: !nn.tensor<[b, 2*n], f32>, %n: !nn.tensor<[n], f32>) -> (!nn.tensor<[b, 2*n], f32>, !nn.tensor<[b], f32>) {
  %a = nn.abs %x : !nn.tensor<[b, 2*n], f32>
  %y, %t = nn.custom %a {op = "scan", body = "0123456789abcdef", looped = #nn.dims[1, 1, 1], parameters = {limit = 3}} : (!nn.tensor<[b, 2*n], f32>) -> (!nn.tensor<[b, 2*n], f32>, !nn.tensor<[b], f32>)
  func.return %y, %t : !nn.tensor<[b, 2*n], f32>, !nn.tensor<[b], f32>
}
