// RUN: pelton-opt %s -t numba-cpu | filecheck %s

// Views are types: x is a slice of wider rows, z is read transposed (its lane stride is m: a gather), b is one row for all,
// d every third element.
// CHECK-LABEL: def views(x, z, b, c, d, y, m, n, ldx, lo, hi, ctx):
// CHECK-NEXT:     """x[m, n] f32, z[m, n] f32, b[m, n] f32, c[m, n] f32, d[m, n] f32, y[m, n] f32"""
// CHECK-NEXT:     for i in range(lo, hi):
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             t = load(x, i * ldx + j)
// CHECK-NEXT:             t1 = gather(z, i + iota(j, 1) * m, full(), 0)
// CHECK-NEXT:             t2 = load(b, j)
// CHECK-NEXT:             t3 = c[i]
// CHECK-NEXT:             t4 = gather(d, iota(i * (3 * n + 1) + j * 3, 3), full(), 0)
// CHECK-NEXT:             store(y, i * n + j, t + t1 + (t2 + t3) + t4)
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             t = load_masked(x, i * ldx + j, tail, 0)
// CHECK-NEXT:             t1 = gather(z, i + iota(j, 1) * m, tail, 0)
// CHECK-NEXT:             t2 = load_masked(b, j, tail, 0)
// CHECK-NEXT:             t3 = c[i]
// CHECK-NEXT:             t4 = gather(d, iota(i * (3 * n + 1) + j * 3, 3), tail, 0)
// CHECK-NEXT:             store_masked(y, i * n + j, t + t1 + (t2 + t3) + t4, tail)
kernel.func @views(%x : !kernel.buf<[m, n], f32, strided [ldx, 1]>, %z : !kernel.buf<[m, n], f32, strided [1, m]>, %b : !kernel.buf<[m, n], f32, strided [0, 1]>, %c : !kernel.buf<[m, n], f32, strided [1, 0]>, %d : !kernel.buf<[m, n], f32, strided [3*n + 1, 3]>, %y : !kernel.buf<[m, n], f32>) sizes [m, n, ldx] {
  %m = kernel.dim m
  %n = kernel.dim n
  kernel.grid (%i) in (%m) {
    kernel.lanes (%j) in (%n) {
      %0 = kernel.load %x[%i, %j] : !kernel.buf<[m, n], f32, strided [ldx, 1]>
      %1 = kernel.load %z[%i, %j] : !kernel.buf<[m, n], f32, strided [1, m]>
      %2 = kernel.load %b[%i, %j] : !kernel.buf<[m, n], f32, strided [0, 1]>
      %3 = kernel.load %c[%i, %j] : !kernel.buf<[m, n], f32, strided [1, 0]>
      %4 = kernel.load %d[%i, %j] : !kernel.buf<[m, n], f32, strided [3*n + 1, 3]>
      %5 = arith.addf %0, %1 : f32
      %6 = arith.addf %2, %3 : f32
      %7 = arith.addf %5, %6 : f32
      %8 = arith.addf %7, %4 : f32
      kernel.store %8, %y[%i, %j] : !kernel.buf<[m, n], f32>
    }
  }
}

// Index arithmetic stays a scalar, the value in lane 0, while its step per lane is known: reversed, doubled, shifted.
// CHECK-LABEL: def steps(x, y, n, lo, hi, ctx):
// CHECK-NEXT:     """x[2*n + 3] i64, y[n] i64"""
// CHECK-NEXT:     last = n - 1
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             back = last - j
// CHECK-NEXT:             double = 2 * j
// CHECK-NEXT:             odd = double + 1
// CHECK-NEXT:             shift = j + 2
// CHECK-NEXT:             half = floordiv(iota(j, 1), 2)
// CHECK-NEXT:             a = gather(x, iota(back, -1), full(), 0)
// CHECK-NEXT:             b = gather(x, iota(odd, 2), full(), 0)
// CHECK-NEXT:             c = load(x, shift)
// CHECK-NEXT:             d = gather(x, half, full(), 0)
// CHECK-NEXT:             store(y, j, (a + b) * (c + d) + iota(odd, 2))
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             back = last - j
// CHECK-NEXT:             double = 2 * j
// CHECK-NEXT:             odd = double + 1
// CHECK-NEXT:             shift = j + 2
// CHECK-NEXT:             half = floordiv(iota(j, 1), 2)
// CHECK-NEXT:             a = gather(x, iota(back, -1), tail, 0)
// CHECK-NEXT:             b = gather(x, iota(odd, 2), tail, 0)
// CHECK-NEXT:             c = load_masked(x, shift, tail, 0)
// CHECK-NEXT:             d = gather(x, half, tail, 0)
// CHECK-NEXT:             store_masked(y, j, (a + b) * (c + d) + iota(odd, 2), tail)
kernel.func @steps(%x : !kernel.buf<[2*n + 3], i64>, %y : !kernel.buf<[n], i64>) sizes [n] {
  %n = kernel.dim n
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %last = arith.subi %n, %one : index
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %back = arith.subi %last, %j : index
      %double = arith.muli %two, %j : index
      %odd = arith.addi %double, %one : index
      %shift = arith.addi %j, %two : index
      %half = arith.floordivsi %j, %two : index
      %a = kernel.load %x[%back] : !kernel.buf<[2*n + 3], i64>
      %b = kernel.load %x[%odd] : !kernel.buf<[2*n + 3], i64>
      %c = kernel.load %x[%shift] : !kernel.buf<[2*n + 3], i64>
      %d = kernel.load %x[%half] : !kernel.buf<[2*n + 3], i64>
      %0 = arith.index_cast %odd : index to i64
      %1 = arith.addi %a, %b : i64
      %2 = arith.addi %c, %d : i64
      %3 = arith.muli %1, %2 : i64
      %4 = arith.addi %3, %0 : i64
      kernel.store %4, %y[%j] : !kernel.buf<[n], i64>
    }
  }
}
