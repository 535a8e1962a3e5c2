// RUN: pelton-opt %s -p insert-barriers -t numba-cuda | filecheck %s

// A block per item; a reduction is a thread's partial value, then one tree over the block; only thread 0 stores outside lanes.

// CHECK:      def row_sums(x, y, m, n, lo, hi, ctx):
// CHECK-NEXT:     """x[m, n] f32, y[m, 2] f32"""
// CHECK-NEXT:     tid = i64(cuda.threadIdx.x)
// CHECK-NEXT:     row_f32 = tile_f32(32)
// CHECK-NEXT:     i = lo + cuda.blockIdx.x
// CHECK-NEXT:     sum = f32(0.0)
// CHECK-NEXT:     top = f32(-inf)
// CHECK-NEXT:     for j in range(tid, n, T):
// CHECK-NEXT:         v = x[i * n + j]
// CHECK-NEXT:         sum = sum + v
// CHECK-NEXT:         top = maximum(top, v)
// CHECK-NEXT:     sum = across_add(sum, row_f32)
// CHECK-NEXT:     top = across_max(top, row_f32)
// CHECK-NEXT:     if tid == 0:
// CHECK-NEXT:         y[i * 2] = sum
// CHECK-NEXT:     if tid == 0:
// CHECK-NEXT:         y[i * 2 + 1] = top
kernel.func @row_sums(%x : !kernel.buf<[m, n], f32>, %y : !kernel.buf<[m, 2], f32>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  kernel.grid (%i) in (%m) {
    %sum, %top = kernel.reduce add, max (%j) in (%n) {
      %v = kernel.load %x[%i, %j] : !kernel.buf<[m, n], f32>
      kernel.yield %v, %v : f32, f32
    }
    kernel.store %sum, %y[%i, %zero] : !kernel.buf<[m, 2], f32>
    kernel.store %top, %y[%i, %one] : !kernel.buf<[m, 2], f32>
  }
}

// One warp needs no shared memory.

// CHECK:      def one_warp(x, y, n, lo, hi, ctx):
// CHECK-NOT:      tile_
// CHECK:          sum = warp_add(sum)
kernel.func @one_warp(%x : !kernel.buf<[n], i32>, %y : !kernel.buf<[1], i32>) sizes [n] attributes {threads = 32 : i64} {
  %n = kernel.dim n
  %zero = arith.constant 0 : index
  kernel.grid () in () {
    %sum = kernel.reduce add (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], i32>
      kernel.yield %v : i32
    }
    kernel.store %sum, %y[%zero] : !kernel.buf<[1], i32>
  }
}

// Several indices share one strided loop; guards, bools, checks, narrow integers.

// CHECK:      def table(t, i1_, y, n, lo, hi, ctx):
// CHECK:          for lane in range(tid, n * 4, T):
// CHECK-NEXT:         b = lane % 4
// CHECK-NEXT:         a = lane // 4
// CHECK-NEXT:         raw = i1_[a]
// CHECK-NEXT:         ok = ult(raw, 9)
// CHECK-NEXT:         check(ok, a, raw, ctx, 1)
// CHECK-NEXT:         v = t[raw] if ok else i8(0)
// CHECK-NEXT:         w = i8(v * v)
// CHECK-NEXT:         if ok:
// CHECK-NEXT:             y[a * 4 + b] = as_bytes(w == i8(4))
kernel.func @table(%t : !kernel.buf<[9], i8>, %i1_ : !kernel.buf<[n], i64>, %y : !kernel.buf<[n, 4], i1>) sizes [n] {
  %n = kernel.dim n
  %four = arith.constant 4 : index
  %nine = arith.constant 9 : index
  %none = arith.constant 0 : i8
  %c = arith.constant 4 : i8
  kernel.grid () in () {
    kernel.lanes (%a, %b) in (%n, %four) {
      %raw = kernel.load %i1_[%a] : !kernel.buf<[n], i64>
      %k = arith.index_cast %raw : i64 to index
      %ok = arith.cmpi ult, %k, %nine : index
      kernel.check 1 %ok at %a, %k : index
      %v = kernel.load %t[%k] if %ok else %none : !kernel.buf<[9], i8>
      %w = arith.muli %v, %v : i8
      %0 = arith.cmpi eq, %w, %c : i8
      kernel.store %0, %y[%a, %b] if %ok : !kernel.buf<[n, 4], i1>
    }
  }
}

// Team scratch is shared memory, a barrier is syncthreads.

// CHECK:      def exchange(x, y, lo, hi, ctx):
// CHECK:          tile = tile_u16(64)
// CHECK:              tile[j] = v
// CHECK-NEXT:     cuda.syncthreads()
// CHECK-NEXT:     for j in range(tid, 64, T):
// CHECK:              y[j] = bf16_to_f32(v1)
kernel.func @exchange(%x : !kernel.buf<[64], bf16>, %y : !kernel.buf<[64], f32>) sizes [] {
  %n = arith.constant 64 : index
  %last = arith.constant 63 : index
  kernel.grid () in () {
    %tile = kernel.scratch : !kernel.buf<[64], bf16, team>
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[64], bf16>
      kernel.store %v, %tile[%j] : !kernel.buf<[64], bf16, team>
    }
    kernel.lanes (%j) in (%n) {
      %k = arith.subi %last, %j : index
      %v = kernel.load %tile[%k] : !kernel.buf<[64], bf16, team>
      %0 = arith.extf %v : bf16 to f32
      kernel.store %0, %y[%j] : !kernel.buf<[64], f32>
    }
  }
}

// A hand schedule: a turn loads the next slab, adds the products of the one before, and stores what it loaded. The epilogue stands once,
// all else twice: for runs of few rows, and for others.

// CHECK:      def linear(a, w, bias, y, m, k, n, lo, hi, ctx):
// CHECK:          mm_acc_few = zeros_f32(2)
// CHECK:          mm_acc = zeros_f32(16)
// CHECK:          if m <= 8:
// CHECK:                      tile_madd(mm_acc_few, 1, 2, mm_s, mm_l + mm_q * 12, mm_r + mm_q * 64)
// CHECK:              tile_put(mm_sum_few, 1, 2, mm_s, mm_y * 68 + mm_x, 68)
// CHECK-NEXT:     else:
// CHECK:          for mm_k in range(0, k + 16, 16):
// CHECK:              for mm_r in range(4):
// CHECK:                  mm_pa[mm_r] = a[mm_ia * k + mm_ka] if mm_ia < m and mm_ka < k else f32(0)
// CHECK:              if mm_k > 0:
// CHECK:                  tile_madd(mm_acc, 4, 4, mm_s, mm_l + mm_q * 68, mm_r + mm_q * 64)
// CHECK-NEXT:         if mm_k & 1023 == 0 and mm_k < k:
// CHECK-NEXT:             tile_fold(mm_sum, mm_acc, 16)
// CHECK:              mm_s[mm_put + mm_la * 68 + mm_ra + mm_r * 16] = mm_pa[mm_r]
// CHECK:              cuda.syncthreads()
// CHECK-NEXT:     tile_fold(mm_sum, mm_acc, 16)
// CHECK-NEXT:     tile_put(mm_sum, 4, 4, mm_s, mm_y * 68 + mm_x, 68)
// CHECK-NEXT:     cuda.syncthreads()
// CHECK-NEXT:     for mm_e in range(tid, 512 if m <= 8 else 4096, T):
// CHECK:              if mm_i < m and mm_j < n:
// CHECK-NEXT:             mm_value = mm_s[(mm_e >> 6) * 68 + (mm_e & 63)]
// CHECK-NEXT:             b = bias[mm_j]
// CHECK-NEXT:             y[mm_i * n + mm_j] = mm_value + b
kernel.func @linear(%a : !kernel.buf<[m, k], f32>, %w : !kernel.buf<[k, n], f32>, %bias : !kernel.buf<[n], f32>, %y : !kernel.buf<[m, n], f32>) sizes [m, k, n] {
  kernel.call @matmul(%a, %w) : (!kernel.buf<[m, k], f32>, !kernel.buf<[k, n], f32>) epilogue (%acc : f32, %i : index, %j : index) {
    %b = kernel.load %bias[%j] : !kernel.buf<[n], f32>
    %0 = arith.addf %acc, %b : f32
    kernel.store %0, %y[%i, %j] : !kernel.buf<[m, n], f32>
  }
}
