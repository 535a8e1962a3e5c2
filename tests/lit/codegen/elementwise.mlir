// RUN: pelton-opt %s -t numba-cpu | filecheck %s
// RUN: pelton-opt %s -p 'specialize-dims{names=n values=70}' -t numba-cpu | filecheck %s --check-prefix=KNOWN

// Whole vectors, then one masked tail that repeats the body. What is the same in all lanes stays scalar.
// CHECK-LABEL: def scale_shift(x, s, b, y, m, n, lo, hi, ctx):
// CHECK-NEXT:     """x[m, n] f32, s[1] f32, b[n] f32, y[m, n] f32"""
// CHECK-NEXT:     for i in range(lo, hi):
// CHECK-NEXT:         scale = s[0]
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             xv = load(x, i * n + j)
// CHECK-NEXT:             bv = load(b, j)
// CHECK-NEXT:             t = xv * scale + bv
// CHECK-NEXT:             store(y, i * n + j, tanh(0.5 * (t - 0.5)))
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             xv = load_masked(x, i * n + j, tail, 0)
// CHECK-NEXT:             bv = load_masked(b, j, tail, 0)
// CHECK-NEXT:             t = xv * scale + bv
// CHECK-NEXT:             store_masked(y, i * n + j, tanh(0.5 * (t - 0.5)), tail)
// KNOWN-LABEL: def scale_shift(x, s, b, y, m, n, lo, hi, ctx):
// KNOWN-NEXT:     """x[m, 70] f32, s[1] f32, b[70] f32, y[m, 70] f32"""
// KNOWN-NEXT:     for i in range(lo, hi):
// KNOWN-NEXT:         scale = s[0]
// KNOWN-NEXT:         j = 0
// KNOWN-NEXT:         while j + W <= 70:
// KNOWN-NEXT:             xv = load(x, i * 70 + j)
// KNOWN-NEXT:             bv = load(b, j)
// KNOWN-NEXT:             t = xv * scale + bv
// KNOWN-NEXT:             store(y, i * 70 + j, tanh(0.5 * (t - 0.5)))
// KNOWN-NEXT:             j += W
// KNOWN-NEXT:         tail = below(6)
// KNOWN-NEXT:         xv = load_masked(x, i * 70 + j, tail, 0)
// KNOWN-NEXT:         bv = load_masked(b, j, tail, 0)
// KNOWN-NEXT:         t = xv * scale + bv
// KNOWN-NEXT:         store_masked(y, i * 70 + j, tanh(0.5 * (t - 0.5)), tail)
kernel.func @scale_shift(%x : !kernel.buf<[m, n], f32>, %s : !kernel.buf<[1], f32>, %b : !kernel.buf<[n], f32>, %y : !kernel.buf<[m, n], f32>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  %zero = arith.constant 0 : index
  kernel.grid (%i) in (%m) {
    %scale = kernel.load %s[%zero] : !kernel.buf<[1], f32>
    kernel.lanes (%j) in (%n) {
      %xv = kernel.load %x[%i, %j] : !kernel.buf<[m, n], f32>
      %bv = kernel.load %b[%j] : !kernel.buf<[n], f32>
      %0 = arith.mulf %xv, %scale : f32
      %t = arith.addf %0, %bv : f32
      %half = arith.constant 0.5 : f32
      %1 = arith.subf %t, %half : f32
      %2 = arith.mulf %half, %1 : f32
      %3 = math.tanh %2 : f32
      kernel.store %3, %y[%i, %j] : !kernel.buf<[m, n], f32>
    }
  }
}

// bf16 and f16 are bits in memory and in registers; arithmetic is f32. Names that the vocabulary has get a number.
// CHECK-LABEL: def kernel_exp(load1, b, y, n, lo, hi, ctx):
// CHECK-NEXT:     """load1[n] bf16, b[n] f16, y[n] bf16"""
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             xh = load(load1, j)
// CHECK-NEXT:             bh = load(b, j)
// CHECK-NEXT:             x = bf16_to_f32(xh)
// CHECK-NEXT:             where1 = exp(x + f16_to_f32(bh))
// CHECK-NEXT:             r = f32_to_bf16(where1)
// CHECK-NEXT:             store(y, j, r)
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             xh = load_masked(load1, j, tail, 0)
// CHECK-NEXT:             bh = load_masked(b, j, tail, 0)
// CHECK-NEXT:             x = bf16_to_f32(xh)
// CHECK-NEXT:             where1 = exp(x + f16_to_f32(bh))
// CHECK-NEXT:             r = f32_to_bf16(where1)
// CHECK-NEXT:             store_masked(y, j, r, tail)
// KNOWN-LABEL: def kernel_exp(load1, b, y, n, lo, hi, ctx):
// KNOWN-NEXT:     """load1[70] bf16, b[70] f16, y[70] bf16"""
// KNOWN-NEXT:     for item in range(lo, hi):
// KNOWN-NEXT:         j = 0
// KNOWN-NEXT:         while j + W <= 70:
// KNOWN-NEXT:             xh = load(load1, j)
// KNOWN-NEXT:             bh = load(b, j)
// KNOWN-NEXT:             x = bf16_to_f32(xh)
// KNOWN-NEXT:             where1 = exp(x + f16_to_f32(bh))
// KNOWN-NEXT:             r = f32_to_bf16(where1)
// KNOWN-NEXT:             store(y, j, r)
// KNOWN-NEXT:             j += W
// KNOWN-NEXT:         tail = below(6)
// KNOWN-NEXT:         xh = load_masked(load1, j, tail, 0)
// KNOWN-NEXT:         bh = load_masked(b, j, tail, 0)
// KNOWN-NEXT:         x = bf16_to_f32(xh)
// KNOWN-NEXT:         where1 = exp(x + f16_to_f32(bh))
// KNOWN-NEXT:         r = f32_to_bf16(where1)
// KNOWN-NEXT:         store_masked(y, j, r, tail)
kernel.func @exp(%load : !kernel.buf<[n], bf16>, %b : !kernel.buf<[n], f16>, %y : !kernel.buf<[n], bf16>) sizes [n] {
  %n = kernel.dim n
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %xh = kernel.load %load[%j] : !kernel.buf<[n], bf16>
      %bh = kernel.load %b[%j] : !kernel.buf<[n], f16>
      %x = arith.extf %xh : bf16 to f32
      %0 = arith.extf %bh : f16 to f32
      %1 = arith.addf %x, %0 : f32
      %where = math.exp %1 : f32
      %r = arith.truncf %where : f32 to bf16
      kernel.store %r, %y[%j] : !kernel.buf<[n], bf16>
    }
  }
}

// A known size that is a multiple of the lanes has no tail; one below them has no loop. Several indices: loops around the lanes.
// CHECK-LABEL: def known(x, y, z, k, lo, hi, ctx):
// CHECK-NEXT:     """x[k, 3, 64] f64, y[k, 3, 64] f64, z[k, 3] f64"""
// CHECK-NEXT:     for i in range(lo, hi):
// CHECK-NEXT:         for a in range(3):
// CHECK-NEXT:             b = 0
// CHECK-NEXT:             while b + W <= 64:
// CHECK-NEXT:                 v = load(x, i * 192 + a * 64 + b)
// CHECK-NEXT:                 store(y, i * 192 + a * 64 + b, v * 0.3333333333333333)
// CHECK-NEXT:                 b += W
// CHECK-NEXT:         a = 0
// CHECK-NEXT:         tail = below(3)
// CHECK-NEXT:         v1 = gather(x, iota(i * 192 + a * 64 + 5, 64), tail, 0)
// CHECK-NEXT:         store_masked(z, i * 3 + a, v1, tail)
kernel.func @known(%x : !kernel.buf<[k, 3, 64], f64>, %y : !kernel.buf<[k, 3, 64], f64>, %z : !kernel.buf<[k, 3], f64>) sizes [k] {
  %k = kernel.dim k
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  kernel.grid (%i) in (%k) {
    kernel.lanes (%a, %b) in (%c3, %c64) {
      %v = kernel.load %x[%i, %a, %b] : !kernel.buf<[k, 3, 64], f64>
      %third = arith.constant 0.33333333333333331 : f64
      %0 = arith.mulf %v, %third : f64
      kernel.store %0, %y[%i, %a, %b] : !kernel.buf<[k, 3, 64], f64>
    }
    kernel.lanes (%a) in (%c3) {
      %at = arith.constant 5 : index
      %v = kernel.load %x[%i, %a, %at] : !kernel.buf<[k, 3, 64], f64>
      kernel.store %v, %z[%i, %a] : !kernel.buf<[k, 3], f64>
    }
  }
}

// Three grid indices out of one item number; fewer lanes per step.
// CHECK-LABEL: def grid3(x, y, a, b, c, n, lo, hi, ctx):
// CHECK-NEXT:     """x[a, b, c, n] f32, y[b, a, c, n] f32"""
// CHECK-NEXT:     rest = floordiv(lo, c)
// CHECK-NEXT:     k = lo - rest * c
// CHECK-NEXT:     i = floordiv(rest, b)
// CHECK-NEXT:     j = rest - i * b
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         q = 0
// CHECK-NEXT:         while q + W <= n:
// CHECK-NEXT:             v = load(x, i * (b * c * n) + j * (c * n) + k * n + q)
// CHECK-NEXT:             store(y, j * (a * c * n) + i * (c * n) + k * n + q, v)
// CHECK-NEXT:             q += W
// CHECK-NEXT:         if q < n:
// CHECK-NEXT:             tail = below(n - q)
// CHECK-NEXT:             v = load_masked(x, i * (b * c * n) + j * (c * n) + k * n + q, tail, 0)
// CHECK-NEXT:             store_masked(y, j * (a * c * n) + i * (c * n) + k * n + q, v, tail)
// CHECK-NEXT:         k += 1
// CHECK-NEXT:         if k == c:
// CHECK-NEXT:             k = 0
// CHECK-NEXT:             j += 1
// CHECK-NEXT:             if j == b:
// CHECK-NEXT:                 j = 0
// CHECK-NEXT:                 i += 1
// KNOWN-LABEL: def grid3(x, y, a, b, c, n, lo, hi, ctx):
// KNOWN-NEXT:     """x[a, b, c, 70] f32, y[b, a, c, 70] f32"""
// KNOWN-NEXT:     rest = floordiv(lo, c)
// KNOWN-NEXT:     k = lo - rest * c
// KNOWN-NEXT:     i = floordiv(rest, b)
// KNOWN-NEXT:     j = rest - i * b
// KNOWN-NEXT:     for item in range(lo, hi):
// KNOWN-NEXT:         q = 0
// KNOWN-NEXT:         while q + W <= 70:
// KNOWN-NEXT:             v = load(x, i * (70 * b * c) + j * (70 * c) + k * 70 + q)
// KNOWN-NEXT:             store(y, j * (70 * a * c) + i * (70 * c) + k * 70 + q, v)
// KNOWN-NEXT:             q += W
// KNOWN-NEXT:         tail = below(6)
// KNOWN-NEXT:         v = load_masked(x, i * (70 * b * c) + j * (70 * c) + k * 70 + q, tail, 0)
// KNOWN-NEXT:         store_masked(y, j * (70 * a * c) + i * (70 * c) + k * 70 + q, v, tail)
// KNOWN-NEXT:         k += 1
// KNOWN-NEXT:         if k == c:
// KNOWN-NEXT:             k = 0
// KNOWN-NEXT:             j += 1
// KNOWN-NEXT:             if j == b:
// KNOWN-NEXT:                 j = 0
// KNOWN-NEXT:                 i += 1
kernel.func @grid3(%x : !kernel.buf<[a, b, c, n], f32>, %y : !kernel.buf<[b, a, c, n], f32>) sizes [a, b, c, n] attributes {lanes = 8 : i64} {
  %a = kernel.dim a
  %b = kernel.dim b
  %c = kernel.dim c
  %n = kernel.dim n
  kernel.grid (%i, %j, %k) in (%a, %b, %c) {
    kernel.lanes (%q) in (%n) {
      %v = kernel.load %x[%i, %j, %k, %q] : !kernel.buf<[a, b, c, n], f32>
      kernel.store %v, %y[%j, %i, %k, %q] : !kernel.buf<[b, a, c, n], f32>
    }
  }
}
