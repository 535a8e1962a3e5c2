// RUN: pelton-opt %s -p choose-kernels,fuse-groups,lower-groups -t numba-cpu | filecheck %s
// RUN: pelton-opt %s -p 'choose-kernels{top-k=old},fuse-groups,lower-groups' -t numba-cpu | filecheck %s --check-prefix=OLD
// RUN: pelton-opt %s -p 'choose-kernels{target=cuda},fuse-groups,lower-groups' -t numba-cuda | filecheck %s --check-prefix=CUDA
// RUN: pelton-opt %s -p 'choose-kernels{target=cuda top-k=old},fuse-groups,lower-groups' -t numba-cuda | filecheck %s --check-prefix=CUDA-OLD

// The k-th largest head of the groups is the bar; a vector is compared with it at once, and what reaches it is noted.
// CHECK:      def top_k_select(x0, out, n0, n1, lo, hi, ctx):
// CHECK:      best = tile_i32(7)
// CHECK:      for row in range(lo, hi):
// CHECK:      groups = where(n1 >= 4096, 256, 32)
// CHECK:      store(heads, g, maximum(load(heads, g), ~order_key(f16_to_f32(load(x0, start + q)))))
// CHECK:      if count >= 3:
// CHECK:      hits = bits_of(~order_key(f16_to_f32(load(x0, start + q))) >= bar)
// CHECK:      bar = worst + 1
// CHECK:      out[row * 3 + j] = spots[home + j]

// The other kernel sorts the indices, in its result and in memory to work in; a slice takes the first.
// OLD:        def top_k_sort(x0, out, work, n0, n1, lo, hi, ctx):
// OLD:        d = first + ((~to_i64(~order_key(f16_to_f32(x0[start + place]))) >> shift) & 255)
// OLD:        def slice(

// On a GPU the first chunk is sorted; what beats its third best is put behind it.
// CUDA:       def top_k_select(x0, out, n0, n1, lo, hi, ctx):
// CUDA:       rk_keys = tile_i32(2048)
// CUDA:       rk_keys[rk_q] = i32(~order_key(f16_to_f32(x0[rk_row + rk_q])))
// CUDA:       rk_high = rk_low ^ rk_flip
// CUDA:       if rk_its > rk_bar:
// CUDA-NEXT:      rk_at = claim(rk_kept)
// CUDA:       out[rk_item * 3 + rk_q] = rk_places[rk_q]

// CUDA-OLD:   def top_k_sort(x0, out, work, n0, n1, lo, hi, ctx):
// CUDA-OLD:   rk_keys = tile_i32(1024)
// CUDA-OLD:   while rk_whole < n1:
// CUDA-OLD:       rk_other = out[rk_row + rk_high]
func.func @main(%x : !nn.tensor<[n, m], f16>) -> !nn.tensor<[n, 3], i64> {
  %y = nn.top_k %x {largest = false, k = #nn.dims[3]} : (!nn.tensor<[n, m], f16>) -> !nn.tensor<[n, 3], i64>
  func.return %y : !nn.tensor<[n, 3], i64>
}
