// RUN: pelton-opt %s -t numba-cpu | filecheck %s
// RUN: pelton-opt %s -p split-lanes -t numba-cpu | filecheck %s --check-prefix=SPLIT

// Sum over the first axis: lanes run along the kept axis, a sequential loop carries one accumulator per lane.
// CHECK-LABEL: def column_sum(x, y, m, n, lo, hi, ctx):
// CHECK-NEXT:     """x[m, n] f32, y[n] f32"""
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             acc = splat(f32(0.0))
// CHECK-NEXT:             for r in range(m):
// CHECK-NEXT:                 v = load(x, r * n + j)
// CHECK-NEXT:                 acc = acc + v
// CHECK-NEXT:             store(y, j, acc)
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             acc = splat(f32(0.0))
// CHECK-NEXT:             for r in range(m):
// CHECK-NEXT:                 v = load_masked(x, r * n + j, tail, 0)
// CHECK-NEXT:                 acc = acc + v
// CHECK-NEXT:             store_masked(y, j, acc, tail)
// SPLIT-LABEL: def column_sum(x, y, m, n, lo, hi, ctx):
// SPLIT-NEXT:     """x[m, n] f32, y[n] f32"""
// SPLIT-NEXT:     chunks = floordiv(n + 255, 256)
// SPLIT-NEXT:     for chunk in range(lo, hi):
// SPLIT-NEXT:         start = chunk * 256
// SPLIT-NEXT:         count = minimum(256, n - start)
// SPLIT-NEXT:         q = 0
// SPLIT-NEXT:         while q + W <= count:
// SPLIT-NEXT:             j = start + q
// SPLIT-NEXT:             acc = splat(f32(0.0))
// SPLIT-NEXT:             for r in range(m):
// SPLIT-NEXT:                 v = load(x, r * n + j)
// SPLIT-NEXT:                 acc = acc + v
// SPLIT-NEXT:             store(y, j, acc)
// SPLIT-NEXT:             q += W
// SPLIT-NEXT:         if q < count:
// SPLIT-NEXT:             tail = below(count - q)
// SPLIT-NEXT:             j = start + q
// SPLIT-NEXT:             acc = splat(f32(0.0))
// SPLIT-NEXT:             for r in range(m):
// SPLIT-NEXT:                 v = load_masked(x, r * n + j, tail, 0)
// SPLIT-NEXT:                 acc = acc + v
// SPLIT-NEXT:             store_masked(y, j, acc, tail)
kernel.func @column_sum(%x : !kernel.buf<[m, n], f32>, %y : !kernel.buf<[n], f32>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %init = arith.constant 0.0 : f32
      %sum = scf.for %r = %zero to %m step %one iter_args(%acc = %init) -> (f32) {
        %v = kernel.load %x[%r, %j] : !kernel.buf<[m, n], f32>
        %next = arith.addf %acc, %v : f32
        scf.yield %next : f32
      }
      kernel.store %sum, %y[%j] : !kernel.buf<[n], f32>
    }
  }
}
