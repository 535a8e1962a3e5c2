// RUN: pelton-opt %s -t numba-cpu | filecheck %s

// First index of the largest value, the first NaN where there is one: a lane's index as data is `iota`.
// CHECK-LABEL: def argmax(x, y, m, n, lo, hi, ctx):
// CHECK-NEXT:     """x[m, n] f32, y[m] i64"""
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
// CHECK-NEXT:         nan1 = top != top
// CHECK-NEXT:         first_v = splat(i64(9223372036854775807))
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             v1 = load(x, r * n + j)
// CHECK-NEXT:             same = v1 == top
// CHECK-NEXT:             lost = v1 != v1
// CHECK-NEXT:             hit = where(nan1, lost, same)
// CHECK-NEXT:             k = where(hit, iota(j, 1), 9223372036854775807)
// CHECK-NEXT:             first_v = minimum(first_v, k)
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             v1 = load_masked(x, r * n + j, tail, 0)
// CHECK-NEXT:             same = v1 == top
// CHECK-NEXT:             lost = v1 != v1
// CHECK-NEXT:             hit = where(nan1, lost, same)
// CHECK-NEXT:             k = where(hit, iota(j, 1), 9223372036854775807)
// CHECK-NEXT:             first_v = minimum(first_v, where(tail, k, 9223372036854775807))
// CHECK-NEXT:         first = across_min(first_v)
// CHECK-NEXT:         y[r] = first
kernel.func @argmax(%x : !kernel.buf<[m, n], f32>, %y : !kernel.buf<[m], i64>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  kernel.grid (%r) in (%m) {
    %top = kernel.reduce max (%j) in (%n) {
      %v = kernel.load %x[%r, %j] : !kernel.buf<[m, n], f32>
      kernel.yield %v : f32
    }
    %nan = arith.cmpf uno, %top, %top : f32
    %first = kernel.reduce min (%j) in (%n) {
      %v = kernel.load %x[%r, %j] : !kernel.buf<[m, n], f32>
      %same = arith.cmpf oeq, %v, %top : f32
      %lost = arith.cmpf uno, %v, %v : f32
      %hit = arith.select %nan, %lost, %same : i1
      %at = arith.index_cast %j : index to i64
      %none = arith.constant 9223372036854775807 : i64
      %k = arith.select %hit, %at, %none : i64
      kernel.yield %k : i64
    }
    kernel.store %first, %y[%r] : !kernel.buf<[m], i64>
  }
}

// Several values of several types in one reduction; masks combine as bits.
// CHECK-LABEL: def statistics(x, y, p, m, n, lo, hi, ctx):
// CHECK-NEXT:     """x[m, n] i32, y[m, 3] i32, p[m, 2] i1"""
// CHECK-NEXT:     for r in range(lo, hi):
// CHECK-NEXT:         sum_v = splat(i32(0))
// CHECK-NEXT:         low_v = splat(i32(2147483647))
// CHECK-NEXT:         count_v = splat(i32(0))
// CHECK-NEXT:         any_v = splat(False)
// CHECK-NEXT:         all_v = splat(True)
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             v = load(x, r * n + j)
// CHECK-NEXT:             positive = v > 0
// CHECK-NEXT:             sum_v = sum_v + v
// CHECK-NEXT:             low_v = minimum(low_v, v)
// CHECK-NEXT:             count_v = count_v + 1
// CHECK-NEXT:             any_v = any_v | positive
// CHECK-NEXT:             all_v = all_v & positive
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             v = load_masked(x, r * n + j, tail, 0)
// CHECK-NEXT:             positive = v > 0
// CHECK-NEXT:             sum_v = sum_v + where(tail, v, 0)
// CHECK-NEXT:             low_v = minimum(low_v, where(tail, v, 2147483647))
// CHECK-NEXT:             count_v = count_v + where(tail, i32(1), i32(0))
// CHECK-NEXT:             any_v = any_v | where(tail, positive, False)
// CHECK-NEXT:             all_v = all_v & where(tail, positive, True)
// CHECK-NEXT:         sum = across_add(sum_v)
// CHECK-NEXT:         low = across_min(low_v)
// CHECK-NEXT:         count = across_add(count_v)
// CHECK-NEXT:         any = across_max(to_i32(any_v)) != 0
// CHECK-NEXT:         all = across_min(to_i32(all_v)) != 0
// CHECK-NEXT:         twice = sum + sum
// CHECK-NEXT:         y[r * 3] = twice
// CHECK-NEXT:         y[r * 3 + 1] = low
// CHECK-NEXT:         y[r * 3 + 2] = count
// CHECK-NEXT:         p[r * 2] = as_bytes(any)
// CHECK-NEXT:         p[r * 2 + 1] = as_bytes(all)
kernel.func @statistics(%x : !kernel.buf<[m, n], i32>, %y : !kernel.buf<[m, 3], i32>, %p : !kernel.buf<[m, 2], i1>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  kernel.grid (%r) in (%m) {
    %sum, %low, %count, %any, %all = kernel.reduce add, min, add, max, min (%j) in (%n) {
      %v = kernel.load %x[%r, %j] : !kernel.buf<[m, n], i32>
      %one = arith.constant 1 : i32
      %zero = arith.constant 0 : i32
      %positive = arith.cmpi sgt, %v, %zero : i32
      kernel.yield %v, %v, %one, %positive, %positive : i32, i32, i32, i1, i1
    }
    %twice = arith.addi %sum, %sum : i32
    kernel.store %twice, %y[%r, %c0] : !kernel.buf<[m, 3], i32>
    kernel.store %low, %y[%r, %c1] : !kernel.buf<[m, 3], i32>
    kernel.store %count, %y[%r, %c2] : !kernel.buf<[m, 3], i32>
    kernel.store %any, %p[%r, %c0] : !kernel.buf<[m, 2], i1>
    kernel.store %all, %p[%r, %c1] : !kernel.buf<[m, 2], i1>
  }
}
