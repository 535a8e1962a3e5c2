// RUN: pelton-opt %s -t numba-cpu | filecheck %s

// One vector accumulator per reduction, combined across its lanes at the end; lanes beyond the row add the identity.
// CHECK-LABEL: def softmax(x, y, m, n, lo, hi, ctx):
// CHECK-NEXT:     """x[m, n] f32, y[m, n] f32"""
// CHECK-NEXT:     for r in range(lo, hi):
// CHECK-NEXT:         top_v = splat(f32(-inf))
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             v = load(x, r * n + j)
// CHECK-NEXT:             top_v = maximum(top_v, v)
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             v = load_masked(x, r * n + j, tail, 0)
// CHECK-NEXT:             top_v = maximum(top_v, where(tail, v, -inf))
// CHECK-NEXT:         top = across_max(top_v)
// CHECK-NEXT:         total_v = splat(f32(0.0))
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             v1 = load(x, r * n + j)
// CHECK-NEXT:             e = exp(v1 - top)
// CHECK-NEXT:             store(y, r * n + j, e)
// CHECK-NEXT:             total_v = total_v + e
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             v1 = load_masked(x, r * n + j, tail, 0)
// CHECK-NEXT:             e = exp(v1 - top)
// CHECK-NEXT:             store_masked(y, r * n + j, e, tail)
// CHECK-NEXT:             total_v = total_v + where(tail, e, 0.0)
// CHECK-NEXT:         total = across_add(total_v)
// CHECK-NEXT:         inv = f32(1.0) / total
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             e1 = load(y, r * n + j)
// CHECK-NEXT:             p = e1 * inv
// CHECK-NEXT:             store(y, r * n + j, p)
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             e1 = load_masked(y, r * n + j, tail, 0)
// CHECK-NEXT:             p = e1 * inv
// CHECK-NEXT:             store_masked(y, r * n + j, p, tail)
kernel.func @softmax(%x : !kernel.buf<[m, n], f32>, %y : !kernel.buf<[m, n], f32>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  kernel.grid (%r) in (%m) {
    %top = kernel.reduce max (%j) in (%n) {
      %v = kernel.load %x[%r, %j] : !kernel.buf<[m, n], f32>
      kernel.yield %v : f32
    }
    %total = kernel.reduce add (%j) in (%n) {
      %v = kernel.load %x[%r, %j] : !kernel.buf<[m, n], f32>
      %0 = arith.subf %v, %top : f32
      %e = math.exp %0 : f32
      kernel.store %e, %y[%r, %j] : !kernel.buf<[m, n], f32>
      kernel.yield %e : f32
    }
    %one = arith.constant 1.0 : f32
    %inv = arith.divf %one, %total : f32
    kernel.lanes (%j) in (%n) {
      %e = kernel.load %y[%r, %j] : !kernel.buf<[m, n], f32>
      %p = arith.mulf %e, %inv : f32
      kernel.store %p, %y[%r, %j] : !kernel.buf<[m, n], f32>
    }
  }
}
