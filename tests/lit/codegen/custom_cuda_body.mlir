// The text of a body for a GPU: its parameters are constants, and a block shows it the arrays of one item.
// RUN: pelton-opt %s --extension %S/Inputs/scaled_cuda.py -p cuda -t numba-cuda | filecheck %s

// CHECK:      def scaled_on_gpu(out, x, w):
// CHECK-NEXT:     """The threads of a block share a row."""
// CHECK-NEXT:     for i in range(cuda.threadIdx.x, x.shape[0], cuda.blockDim.x):
// CHECK-NEXT:         out[i] = x[i] * w[i] * 0.5
// CHECK:      def scaled_there(x0, x1, out0, n0, n1, lo, hi, ctx):
// CHECK-NEXT:     item = lo + _grid.blockIdx.x
// CHECK-NEXT:     scaled_on_gpu(
// CHECK-NEXT:         _written_f32(out0, item * n1, (n1,)),
// CHECK-NEXT:         _read_f32(x0, item * n1, (n1,)),
// CHECK-NEXT:         _read_f32(x1, 0, (n1,)),
// CHECK-NEXT:     )
func.func @main(%x: !nn.tensor<[b, n], f32>, %w: !nn.tensor<[n], f32>) -> !nn.tensor<[b, n], f32> {
  %y = nn.custom %x, %w {op = "scaled_there", body = "35dd31b4666cf79a", looped = #nn.dims[1, 0, 1], parameters = {by = 0.5 : f64}} : (!nn.tensor<[b, n], f32>, !nn.tensor<[n], f32>) -> !nn.tensor<[b, n], f32>
  func.return %y : !nn.tensor<[b, n], f32>
}
