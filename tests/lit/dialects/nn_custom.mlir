// Ops of users, in pretty and generic form.
// RUN: pelton-opt %s | filecheck %s
// RUN: pelton-opt %s | pelton-opt | filecheck %s
// RUN: pelton-opt %s --print-op-generic | pelton-opt | filecheck %s

// CHECK:      func.func @custom(%x: !nn.tensor<[b, n], f32>, %c: !nn.buffer<[b, 4], f32>) {
// CHECK-NEXT:   %y, %t = nn.custom %x {op = "scan", body = "0123456789abcdef", looped = #nn.dims[1, 1, 1], parameters = {scale = 5.000000e-01 : f64, kind = f32, twice = true}} : (!nn.tensor<[b, n], f32>) -> (!nn.tensor<[b, n], f32>, !nn.tensor<[b], f32>)
// CHECK-NEXT:   nn.custom %x, %c {op = "append", body = "fedcba9876543210", looped = #nn.dims[0, 0], parameters = {}} : (!nn.tensor<[b, n], f32>, !nn.buffer<[b, 4], f32>) -> ()
func.func @custom(%x: !nn.tensor<[b, n], f32>, %c: !nn.buffer<[b, 4], f32>) {
  %y, %t = nn.custom %x {op = "scan", body = "0123456789abcdef", looped = #nn.dims[1, 1, 1], parameters = {scale = 0.5 : f64, kind = f32, twice = true}} : (!nn.tensor<[b, n], f32>) -> (!nn.tensor<[b, n], f32>, !nn.tensor<[b], f32>)
  nn.custom %x, %c {op = "append", body = "fedcba9876543210", looped = #nn.dims[0, 0], parameters = {}} : (!nn.tensor<[b, n], f32>, !nn.buffer<[b, 4], f32>) -> ()
  func.return
}
