// RUN: pelton-opt %s -p choose-kernels,fuse-groups,lower-groups -t numba-cpu | filecheck %s
// RUN: pelton-opt %s -p 'choose-kernels{top-k=old},fuse-groups,lower-groups' -t numba-cpu | filecheck %s --check-prefix=OLD

// A vector is compared with the worst of the best at once; its lanes are looked at where one of them wins.
// CHECK:      def top_k_select(x0, out, n0, n1, lo, hi, ctx):
// CHECK:      best = tile_i32(3)
// CHECK:      for row in range(lo, hi):
// CHECK:      if kept < 3 or stop - q < W or any_of(~order_key(f16_to_f32(load(x0, start + q))) > bar):
// CHECK:      out[row * 3 + j] = places[j]

// The other kernel sorts the indices in place; a slice takes the first.
// OLD:        def top_k_sort(x0, out, n0, n1, lo, hi, ctx):
// OLD:        key = ~order_key(f16_to_f32(x0[start + place]))
// OLD:        def slice(
func.func @main(%x : !nn.tensor<[n, m], f16>) -> !nn.tensor<[n, 3], i64> {
  %y = nn.top_k %x {largest = false, k = #nn.dims[3]} : (!nn.tensor<[n, m], f16>) -> !nn.tensor<[n, 3], i64>
  func.return %y : !nn.tensor<[n, 3], i64>
}
