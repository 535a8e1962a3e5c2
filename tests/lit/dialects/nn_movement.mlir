// Ops of `nn` that move and pick elements, in pretty and generic form.
// RUN: pelton-opt %s | filecheck %s
// RUN: pelton-opt %s | pelton-opt | filecheck %s
// RUN: pelton-opt %s --print-op-generic | pelton-opt | filecheck %s

// CHECK:      func.func @movement(%x: !nn.tensor<[n, 4], f32>, %i: !nn.tensor<[m], i64>, %g: !nn.tensor<[n, 4], f32, "gpu:0">) {
// CHECK-NEXT:   %reshape = nn.reshape %x {shape = #nn.dims[2*n, 2]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[2*n, 2], f32>
// CHECK-NEXT:   %permute = nn.permute %x {order = #nn.dims[1, 0]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[4, n], f32>
// CHECK-NEXT:   %broadcast = nn.broadcast_to %x {shape = #nn.dims[batch, n, 4]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[batch, n, 4], f32>
// CHECK-NEXT:   %rebind = nn.rebind %x {shape = #nn.dims[m, 4], message = "rows"} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[m, 4], f32>
// CHECK-NEXT:   %slice = nn.slice %x {starts = #nn.dims[0, 3], stops = #nn.dims[n, -1], steps = #nn.dims[1, -2]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 2], f32>
// CHECK-NEXT:   %concat = nn.concat %x, %slice, %x {axis = 1} : (!nn.tensor<[n, 4], f32>, !nn.tensor<[n, 2], f32>, !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 10], f32>
// CHECK-NEXT:   %gather = nn.gather %x, %i {axis = 0} : (!nn.tensor<[n, 4], f32>, !nn.tensor<[m], i64>) -> !nn.tensor<[m, 4], f32>
// CHECK-NEXT:   %device = nn.reshape %g {shape = #nn.dims[4*n]} : (!nn.tensor<[n, 4], f32, "gpu:0">) -> !nn.tensor<[4*n], f32, "gpu:0">
func.func @movement(%x: !nn.tensor<[n, 4], f32>, %i: !nn.tensor<[m], i64>, %g: !nn.tensor<[n, 4], f32, "gpu:0">) {
  %reshape = nn.reshape %x {shape = #nn.dims[2*n, 2]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[2*n, 2], f32>
  %permute = nn.permute %x {order = #nn.dims[1, 0]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[4, n], f32>
  %broadcast = nn.broadcast_to %x {shape = #nn.dims[batch, n, 4]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[batch, n, 4], f32>
  %rebind = nn.rebind %x {shape = #nn.dims[m, 4], message = "rows"} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[m, 4], f32>
  %slice = nn.slice %x {starts = #nn.dims[0, 3], stops = #nn.dims[n, -1], steps = #nn.dims[1, -2]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 2], f32>
  %concat = nn.concat %x, %slice, %x {axis = 1} : (!nn.tensor<[n, 4], f32>, !nn.tensor<[n, 2], f32>, !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 10], f32>
  %gather = nn.gather %x, %i {axis = 0} : (!nn.tensor<[n, 4], f32>, !nn.tensor<[m], i64>) -> !nn.tensor<[m, 4], f32>
  %device = nn.reshape %g {shape = #nn.dims[4*n]} : (!nn.tensor<[n, 4], f32, "gpu:0">) -> !nn.tensor<[4*n], f32, "gpu:0">
  func.return
}
