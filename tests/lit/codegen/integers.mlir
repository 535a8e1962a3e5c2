// RUN: pelton-opt %s -t numba-cpu | filecheck %s

// Every op of integers: they wrap, dividing by zero gives 0.
// CHECK-LABEL: def integers_i32(x, z, y, n, lo, hi, ctx):
// CHECK-NEXT:     """x[n] i32, z[n] i32, y[18, n] i32"""
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             v = load(x, j)
// CHECK-NEXT:             w = load(z, j)
// CHECK-NEXT:             less = ult(v, w)
// CHECK-NEXT:             long = to_i64(v)
// CHECK-NEXT:             wide = long * 5000000000
// CHECK-NEXT:             store(y, j, v + w)
// CHECK-NEXT:             store(y, n + j, v - w)
// CHECK-NEXT:             store(y, 2 * n + j, v * w)
// CHECK-NEXT:             store(y, 3 * n + j, truncdiv(v, w))
// CHECK-NEXT:             store(y, 4 * n + j, truncmod(v, w))
// CHECK-NEXT:             store(y, 5 * n + j, floordiv(v, w))
// CHECK-NEXT:             store(y, 6 * n + j, -floordiv(-v, w))
// CHECK-NEXT:             store(y, 7 * n + j, -floordiv(-v, w))
// CHECK-NEXT:             store(y, 8 * n + j, v & w)
// CHECK-NEXT:             store(y, 9 * n + j, v | w)
// CHECK-NEXT:             store(y, 10 * n + j, v ^ w)
// CHECK-NEXT:             store(y, 11 * n + j, maximum(v, w))
// CHECK-NEXT:             store(y, 12 * n + j, minimum(v, w))
// CHECK-NEXT:             store(y, 13 * n + j, v << 3)
// CHECK-NEXT:             store(y, 14 * n + j, v >> 3)
// CHECK-NEXT:             store(y, 15 * n + j, absolute(v))
// CHECK-NEXT:             store(y, 16 * n + j, where(less, v, w))
// CHECK-NEXT:             store(y, 17 * n + j, to_i32(wide))
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             v = load_masked(x, j, tail, 0)
// CHECK-NEXT:             w = load_masked(z, j, tail, 0)
// CHECK-NEXT:             less = ult(v, w)
// CHECK-NEXT:             long = to_i64(v)
// CHECK-NEXT:             wide = long * 5000000000
// CHECK-NEXT:             store_masked(y, j, v + w, tail)
// CHECK-NEXT:             store_masked(y, n + j, v - w, tail)
// CHECK-NEXT:             store_masked(y, 2 * n + j, v * w, tail)
// CHECK-NEXT:             store_masked(y, 3 * n + j, truncdiv(v, w), tail)
// CHECK-NEXT:             store_masked(y, 4 * n + j, truncmod(v, w), tail)
// CHECK-NEXT:             store_masked(y, 5 * n + j, floordiv(v, w), tail)
// CHECK-NEXT:             store_masked(y, 6 * n + j, -floordiv(-v, w), tail)
// CHECK-NEXT:             store_masked(y, 7 * n + j, -floordiv(-v, w), tail)
// CHECK-NEXT:             store_masked(y, 8 * n + j, v & w, tail)
// CHECK-NEXT:             store_masked(y, 9 * n + j, v | w, tail)
// CHECK-NEXT:             store_masked(y, 10 * n + j, v ^ w, tail)
// CHECK-NEXT:             store_masked(y, 11 * n + j, maximum(v, w), tail)
// CHECK-NEXT:             store_masked(y, 12 * n + j, minimum(v, w), tail)
// CHECK-NEXT:             store_masked(y, 13 * n + j, v << 3, tail)
// CHECK-NEXT:             store_masked(y, 14 * n + j, v >> 3, tail)
// CHECK-NEXT:             store_masked(y, 15 * n + j, absolute(v), tail)
// CHECK-NEXT:             store_masked(y, 16 * n + j, where(less, v, w), tail)
// CHECK-NEXT:             store_masked(y, 17 * n + j, to_i32(wide), tail)
kernel.func @integers_i32(%x : !kernel.buf<[n], i32>, %z : !kernel.buf<[n], i32>, %y : !kernel.buf<[18, n], i32>) sizes [n] {
  %n = kernel.dim n
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], i32>
      %w = kernel.load %z[%j] : !kernel.buf<[n], i32>
      %three = arith.constant 3 : i32
      %less = arith.cmpi ult, %v, %w : i32
      %big = arith.constant 5000000000 : i64
      %long = arith.extsi %v : i32 to i64
      %wide = arith.muli %long, %big : i64
      %k0 = arith.constant 0 : index
      %0 = arith.addi %v, %w : i32
      kernel.store %0, %y[%k0, %j] : !kernel.buf<[18, n], i32>
      %k1 = arith.constant 1 : index
      %1 = arith.subi %v, %w : i32
      kernel.store %1, %y[%k1, %j] : !kernel.buf<[18, n], i32>
      %k2 = arith.constant 2 : index
      %2 = arith.muli %v, %w : i32
      kernel.store %2, %y[%k2, %j] : !kernel.buf<[18, n], i32>
      %k3 = arith.constant 3 : index
      %3 = arith.divsi %v, %w : i32
      kernel.store %3, %y[%k3, %j] : !kernel.buf<[18, n], i32>
      %k4 = arith.constant 4 : index
      %4 = arith.remsi %v, %w : i32
      kernel.store %4, %y[%k4, %j] : !kernel.buf<[18, n], i32>
      %k5 = arith.constant 5 : index
      %5 = arith.floordivsi %v, %w : i32
      kernel.store %5, %y[%k5, %j] : !kernel.buf<[18, n], i32>
      %k6 = arith.constant 6 : index
      %6 = arith.ceildivsi %v, %w : i32
      kernel.store %6, %y[%k6, %j] : !kernel.buf<[18, n], i32>
      %k7 = arith.constant 7 : index
      %7 = arith.ceildivui %v, %w : i32
      kernel.store %7, %y[%k7, %j] : !kernel.buf<[18, n], i32>
      %k8 = arith.constant 8 : index
      %8 = arith.andi %v, %w : i32
      kernel.store %8, %y[%k8, %j] : !kernel.buf<[18, n], i32>
      %k9 = arith.constant 9 : index
      %9 = arith.ori %v, %w : i32
      kernel.store %9, %y[%k9, %j] : !kernel.buf<[18, n], i32>
      %k10 = arith.constant 10 : index
      %10 = arith.xori %v, %w : i32
      kernel.store %10, %y[%k10, %j] : !kernel.buf<[18, n], i32>
      %k11 = arith.constant 11 : index
      %11 = arith.maxsi %v, %w : i32
      kernel.store %11, %y[%k11, %j] : !kernel.buf<[18, n], i32>
      %k12 = arith.constant 12 : index
      %12 = arith.minsi %v, %w : i32
      kernel.store %12, %y[%k12, %j] : !kernel.buf<[18, n], i32>
      %k13 = arith.constant 13 : index
      %13 = arith.shli %v, %three : i32
      kernel.store %13, %y[%k13, %j] : !kernel.buf<[18, n], i32>
      %k14 = arith.constant 14 : index
      %14 = arith.shrsi %v, %three : i32
      kernel.store %14, %y[%k14, %j] : !kernel.buf<[18, n], i32>
      %k15 = arith.constant 15 : index
      %15 = math.absi %v : i32
      kernel.store %15, %y[%k15, %j] : !kernel.buf<[18, n], i32>
      %k16 = arith.constant 16 : index
      %16 = arith.select %less, %v, %w : i32
      kernel.store %16, %y[%k16, %j] : !kernel.buf<[18, n], i32>
      %k17 = arith.constant 17 : index
      %17 = arith.trunci %wide : i64 to i32
      kernel.store %17, %y[%k17, %j] : !kernel.buf<[18, n], i32>
    }
  }
}

// CHECK-LABEL: def integers_i64(x, z, y, n, lo, hi, ctx):
// CHECK-NEXT:     """x[n] i64, z[n] i64, y[18, n] i64"""
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             v = load(x, j)
// CHECK-NEXT:             w = load(z, j)
// CHECK-NEXT:             less = ult(v, w)
// CHECK-NEXT:             wide = v * 5000000000
// CHECK-NEXT:             store(y, j, v + w)
// CHECK-NEXT:             store(y, n + j, v - w)
// CHECK-NEXT:             store(y, 2 * n + j, v * w)
// CHECK-NEXT:             store(y, 3 * n + j, truncdiv(v, w))
// CHECK-NEXT:             store(y, 4 * n + j, truncmod(v, w))
// CHECK-NEXT:             store(y, 5 * n + j, floordiv(v, w))
// CHECK-NEXT:             store(y, 6 * n + j, -floordiv(-v, w))
// CHECK-NEXT:             store(y, 7 * n + j, -floordiv(-v, w))
// CHECK-NEXT:             store(y, 8 * n + j, v & w)
// CHECK-NEXT:             store(y, 9 * n + j, v | w)
// CHECK-NEXT:             store(y, 10 * n + j, v ^ w)
// CHECK-NEXT:             store(y, 11 * n + j, maximum(v, w))
// CHECK-NEXT:             store(y, 12 * n + j, minimum(v, w))
// CHECK-NEXT:             store(y, 13 * n + j, v << 3)
// CHECK-NEXT:             store(y, 14 * n + j, v >> 3)
// CHECK-NEXT:             store(y, 15 * n + j, absolute(v))
// CHECK-NEXT:             store(y, 16 * n + j, where(less, v, w))
// CHECK-NEXT:             store(y, 17 * n + j, wide + v)
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             v = load_masked(x, j, tail, 0)
// CHECK-NEXT:             w = load_masked(z, j, tail, 0)
// CHECK-NEXT:             less = ult(v, w)
// CHECK-NEXT:             wide = v * 5000000000
// CHECK-NEXT:             store_masked(y, j, v + w, tail)
// CHECK-NEXT:             store_masked(y, n + j, v - w, tail)
// CHECK-NEXT:             store_masked(y, 2 * n + j, v * w, tail)
// CHECK-NEXT:             store_masked(y, 3 * n + j, truncdiv(v, w), tail)
// CHECK-NEXT:             store_masked(y, 4 * n + j, truncmod(v, w), tail)
// CHECK-NEXT:             store_masked(y, 5 * n + j, floordiv(v, w), tail)
// CHECK-NEXT:             store_masked(y, 6 * n + j, -floordiv(-v, w), tail)
// CHECK-NEXT:             store_masked(y, 7 * n + j, -floordiv(-v, w), tail)
// CHECK-NEXT:             store_masked(y, 8 * n + j, v & w, tail)
// CHECK-NEXT:             store_masked(y, 9 * n + j, v | w, tail)
// CHECK-NEXT:             store_masked(y, 10 * n + j, v ^ w, tail)
// CHECK-NEXT:             store_masked(y, 11 * n + j, maximum(v, w), tail)
// CHECK-NEXT:             store_masked(y, 12 * n + j, minimum(v, w), tail)
// CHECK-NEXT:             store_masked(y, 13 * n + j, v << 3, tail)
// CHECK-NEXT:             store_masked(y, 14 * n + j, v >> 3, tail)
// CHECK-NEXT:             store_masked(y, 15 * n + j, absolute(v), tail)
// CHECK-NEXT:             store_masked(y, 16 * n + j, where(less, v, w), tail)
// CHECK-NEXT:             store_masked(y, 17 * n + j, wide + v, tail)
kernel.func @integers_i64(%x : !kernel.buf<[n], i64>, %z : !kernel.buf<[n], i64>, %y : !kernel.buf<[18, n], i64>) sizes [n] {
  %n = kernel.dim n
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], i64>
      %w = kernel.load %z[%j] : !kernel.buf<[n], i64>
      %three = arith.constant 3 : i64
      %less = arith.cmpi ult, %v, %w : i64
      %big = arith.constant 5000000000 : i64
      %wide = arith.muli %v, %big : i64
      %k0 = arith.constant 0 : index
      %0 = arith.addi %v, %w : i64
      kernel.store %0, %y[%k0, %j] : !kernel.buf<[18, n], i64>
      %k1 = arith.constant 1 : index
      %1 = arith.subi %v, %w : i64
      kernel.store %1, %y[%k1, %j] : !kernel.buf<[18, n], i64>
      %k2 = arith.constant 2 : index
      %2 = arith.muli %v, %w : i64
      kernel.store %2, %y[%k2, %j] : !kernel.buf<[18, n], i64>
      %k3 = arith.constant 3 : index
      %3 = arith.divsi %v, %w : i64
      kernel.store %3, %y[%k3, %j] : !kernel.buf<[18, n], i64>
      %k4 = arith.constant 4 : index
      %4 = arith.remsi %v, %w : i64
      kernel.store %4, %y[%k4, %j] : !kernel.buf<[18, n], i64>
      %k5 = arith.constant 5 : index
      %5 = arith.floordivsi %v, %w : i64
      kernel.store %5, %y[%k5, %j] : !kernel.buf<[18, n], i64>
      %k6 = arith.constant 6 : index
      %6 = arith.ceildivsi %v, %w : i64
      kernel.store %6, %y[%k6, %j] : !kernel.buf<[18, n], i64>
      %k7 = arith.constant 7 : index
      %7 = arith.ceildivui %v, %w : i64
      kernel.store %7, %y[%k7, %j] : !kernel.buf<[18, n], i64>
      %k8 = arith.constant 8 : index
      %8 = arith.andi %v, %w : i64
      kernel.store %8, %y[%k8, %j] : !kernel.buf<[18, n], i64>
      %k9 = arith.constant 9 : index
      %9 = arith.ori %v, %w : i64
      kernel.store %9, %y[%k9, %j] : !kernel.buf<[18, n], i64>
      %k10 = arith.constant 10 : index
      %10 = arith.xori %v, %w : i64
      kernel.store %10, %y[%k10, %j] : !kernel.buf<[18, n], i64>
      %k11 = arith.constant 11 : index
      %11 = arith.maxsi %v, %w : i64
      kernel.store %11, %y[%k11, %j] : !kernel.buf<[18, n], i64>
      %k12 = arith.constant 12 : index
      %12 = arith.minsi %v, %w : i64
      kernel.store %12, %y[%k12, %j] : !kernel.buf<[18, n], i64>
      %k13 = arith.constant 13 : index
      %13 = arith.shli %v, %three : i64
      kernel.store %13, %y[%k13, %j] : !kernel.buf<[18, n], i64>
      %k14 = arith.constant 14 : index
      %14 = arith.shrsi %v, %three : i64
      kernel.store %14, %y[%k14, %j] : !kernel.buf<[18, n], i64>
      %k15 = arith.constant 15 : index
      %15 = math.absi %v : i64
      kernel.store %15, %y[%k15, %j] : !kernel.buf<[18, n], i64>
      %k16 = arith.constant 16 : index
      %16 = arith.select %less, %v, %w : i64
      kernel.store %16, %y[%k16, %j] : !kernel.buf<[18, n], i64>
      %k17 = arith.constant 17 : index
      %17 = arith.addi %wide, %v : i64
      kernel.store %17, %y[%k17, %j] : !kernel.buf<[18, n], i64>
    }
  }
}

// Between types: truncation saturates and NaN is 0, a bool counts 0 or 1, bits are signless.
// CHECK-LABEL: def conversions(x, i, p, y, w, u, v, h, b, c, q, n, lo, hi, ctx):
// CHECK-NEXT:     """x[n] f32, i[n] i8, p[n] i1, y[n] i32, w[n] i64, u[n] f64, v[n] f32, h[n] f16, b[n] bf16, c[n] i8, q[n] i1"""
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             xv = load(x, j)
// CHECK-NEXT:             iv = load(i, j)
// CHECK-NEXT:             pv = as_mask(load(p, j))
// CHECK-NEXT:             store(y, j, to_i32(xv * 1e+09))
// CHECK-NEXT:             t = to_i64(to_u8(iv)) * to_i64(iv) + (to_i64(pv) - to_i64(-to_i32(pv)))
// CHECK-NEXT:             store(w, j, t)
// CHECK-NEXT:             t1 = to_f64(xv) * 0.3333333333333333
// CHECK-NEXT:             store(u, j, t1)
// CHECK-NEXT:             store(v, j, to_f32(to_u8(iv)) + to_f32(iv) + to_f32(pv))
// CHECK-NEXT:             store(h, j, f64_to_f16(t1))
// CHECK-NEXT:             store(b, j, f64_to_bf16(t1))
// CHECK-NEXT:             store(c, j, to_i8(t))
// CHECK-NEXT:             store(q, j, as_bytes(t & 1 != 0))
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             xv = load_masked(x, j, tail, 0)
// CHECK-NEXT:             iv = load_masked(i, j, tail, 0)
// CHECK-NEXT:             pv = as_mask(load_masked(p, j, tail, 0))
// CHECK-NEXT:             store_masked(y, j, to_i32(xv * 1e+09), tail)
// CHECK-NEXT:             t = to_i64(to_u8(iv)) * to_i64(iv) + (to_i64(pv) - to_i64(-to_i32(pv)))
// CHECK-NEXT:             store_masked(w, j, t, tail)
// CHECK-NEXT:             t1 = to_f64(xv) * 0.3333333333333333
// CHECK-NEXT:             store_masked(u, j, t1, tail)
// CHECK-NEXT:             store_masked(v, j, to_f32(to_u8(iv)) + to_f32(iv) + to_f32(pv), tail)
// CHECK-NEXT:             store_masked(h, j, f64_to_f16(t1), tail)
// CHECK-NEXT:             store_masked(b, j, f64_to_bf16(t1), tail)
// CHECK-NEXT:             store_masked(c, j, to_i8(t), tail)
// CHECK-NEXT:             store_masked(q, j, as_bytes(t & 1 != 0), tail)
kernel.func @conversions(%x : !kernel.buf<[n], f32>, %i : !kernel.buf<[n], i8>, %p : !kernel.buf<[n], i1>, %y : !kernel.buf<[n], i32>, %w : !kernel.buf<[n], i64>, %u : !kernel.buf<[n], f64>, %v : !kernel.buf<[n], f32>, %h : !kernel.buf<[n], f16>, %b : !kernel.buf<[n], bf16>, %c : !kernel.buf<[n], i8>, %q : !kernel.buf<[n], i1>) sizes [n] {
  %n = kernel.dim n
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %xv = kernel.load %x[%j] : !kernel.buf<[n], f32>
      %iv = kernel.load %i[%j] : !kernel.buf<[n], i8>
      %pv = kernel.load %p[%j] : !kernel.buf<[n], i1>
      %big = arith.constant 1.0e+09 : f32
      %0 = arith.mulf %xv, %big : f32
      %1 = arith.fptosi %0 : f32 to i32
      kernel.store %1, %y[%j] : !kernel.buf<[n], i32>
      %2 = arith.extui %iv : i8 to i64
      %3 = arith.extsi %iv : i8 to i64
      %4 = arith.extui %pv : i1 to i64
      %5 = arith.extsi %pv : i1 to i64
      %6 = arith.muli %2, %3 : i64
      %7 = arith.subi %4, %5 : i64
      %8 = arith.addi %6, %7 : i64
      kernel.store %8, %w[%j] : !kernel.buf<[n], i64>
      %9 = arith.extf %xv : f32 to f64
      %third = arith.constant 0.3333333333333333 : f64
      %10 = arith.mulf %9, %third : f64
      kernel.store %10, %u[%j] : !kernel.buf<[n], f64>
      %11 = arith.uitofp %iv : i8 to f32
      %12 = arith.sitofp %iv : i8 to f32
      %13 = arith.uitofp %pv : i1 to f32
      %14 = arith.addf %11, %12 : f32
      %15 = arith.addf %14, %13 : f32
      kernel.store %15, %v[%j] : !kernel.buf<[n], f32>
      %16 = arith.truncf %10 : f64 to f16
      kernel.store %16, %h[%j] : !kernel.buf<[n], f16>
      %17 = arith.truncf %10 : f64 to bf16
      kernel.store %17, %b[%j] : !kernel.buf<[n], bf16>
      %18 = arith.trunci %8 : i64 to i8
      kernel.store %18, %c[%j] : !kernel.buf<[n], i8>
      %19 = arith.trunci %8 : i64 to i1
      kernel.store %19, %q[%j] : !kernel.buf<[n], i1>
    }
  }
}

// Scalars wrap like lanes do, and sizes divide.
// CHECK-LABEL: def wrap(x, y, n, lo, hi, ctx):
// CHECK-NEXT:     """x[n] i32, y[n, 3] i32"""
// CHECK-NEXT:     blocks = floordiv(n + 6, 7)
// CHECK-NEXT:     capped = minimum(blocks, 7)
// CHECK-NEXT:     most = maximum(capped, 2)
// CHECK-NEXT:     small = to_i32(most)
// CHECK-NEXT:     for i in range(lo, hi):
// CHECK-NEXT:         v = x[i]
// CHECK-NEXT:         t = (v + i32(2147483647)) * v
// CHECK-NEXT:         y[i * 3] = t
// CHECK-NEXT:         y[i * 3 + 1] = truncdiv(t, v)
// CHECK-NEXT:         y[i * 3 + 2] = small
kernel.func @wrap(%x : !kernel.buf<[n], i32>, %y : !kernel.buf<[n, 3], i32>) sizes [n] {
  %n = kernel.dim n
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %by = arith.constant 7 : index
  %blocks = arith.ceildivui %n, %by : index
  %capped = arith.minsi %blocks, %by : index
  %most = arith.maxsi %capped, %c2 : index
  %small = arith.index_cast %most : index to i32
  kernel.grid (%i) in (%n) {
    %v = kernel.load %x[%i] : !kernel.buf<[n], i32>
    %large = arith.constant 2147483647 : i32
    %0 = arith.addi %v, %large : i32
    %1 = arith.muli %0, %v : i32
    %2 = arith.divsi %1, %v : i32
    kernel.store %1, %y[%i, %c0] : !kernel.buf<[n, 3], i32>
    kernel.store %2, %y[%i, %c1] : !kernel.buf<[n, 3], i32>
    kernel.store %small, %y[%i, %c2] : !kernel.buf<[n, 3], i32>
  }
}
