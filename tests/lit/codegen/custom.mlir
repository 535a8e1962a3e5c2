// The text of a user's kernel: its body with constants and parameters put in, and the arrays of one item.
// RUN: pelton-opt %s --extension %S/Inputs/scaled.py -p cpu-avx2 -t numba-cpu | filecheck %s
// RUN: pelton-opt %s --extension %S/Inputs/scaled.py -p cpu-avx2 -t 'asm{cpu=avx2}' | filecheck %s --check-prefix ASM

// CHECK:      def scaled(out, x, w):
// CHECK-NEXT:     """Two factors."""
// CHECK-NEXT:     for i in range(x.shape[0]):
// CHECK-NEXT:         out[i] = x[i] * w[i] * 0.5 * 2.0
// CHECK:      def item_of_scaled(x0, x1, out0, n0, n1, item):
// CHECK-NEXT:     scaled(
// CHECK-NEXT:         _written_f32(out0, item * n1, (n1,)),
// CHECK-NEXT:         _read_f32(x0, item * n1, (n1,)),
// CHECK-NEXT:         _read_f32(x1, 0, (n1,)),
// CHECK-NEXT:     )
// ASM: scaled:
func.func @main(%x: !nn.tensor<[b, n], f32>, %w: !nn.tensor<[n], f32>) -> !nn.tensor<[b, n], f32> {
  %y = nn.custom %x, %w {op = "scaled", body = "7a7967b1753f7db1", looped = #nn.dims[1, 0, 1], parameters = {by = 0.5 : f64}} : (!nn.tensor<[b, n], f32>, !nn.tensor<[n], f32>) -> !nn.tensor<[b, n], f32>
  func.return %y : !nn.tensor<[b, n], f32>
}
