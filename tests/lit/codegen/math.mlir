// RUN: pelton-opt %s -t numba-cpu | filecheck %s

// Every function of floats.
// CHECK-LABEL: def functions(x, z, y, n, lo, hi, ctx):
// CHECK-NEXT:     """x[n] f32, z[n] f32, y[28, n] f32"""
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             v = load(x, j)
// CHECK-NEXT:             w = load(z, j)
// CHECK-NEXT:             store(y, j, exp(v))
// CHECK-NEXT:             store(y, n + j, log(v))
// CHECK-NEXT:             store(y, 2 * n + j, log1p(v))
// CHECK-NEXT:             store(y, 3 * n + j, sqrt(v))
// CHECK-NEXT:             store(y, 4 * n + j, rsqrt(v))
// CHECK-NEXT:             store(y, 5 * n + j, sin(v))
// CHECK-NEXT:             store(y, 6 * n + j, cos(v))
// CHECK-NEXT:             store(y, 7 * n + j, tan(v))
// CHECK-NEXT:             store(y, 8 * n + j, asin(v))
// CHECK-NEXT:             store(y, 9 * n + j, acos(v))
// CHECK-NEXT:             store(y, 10 * n + j, atan(v))
// CHECK-NEXT:             store(y, 11 * n + j, atanh(v))
// CHECK-NEXT:             store(y, 12 * n + j, tanh(v))
// CHECK-NEXT:             store(y, 13 * n + j, erf(v))
// CHECK-NEXT:             store(y, 14 * n + j, floor(v))
// CHECK-NEXT:             store(y, 15 * n + j, ceil(v))
// CHECK-NEXT:             store(y, 16 * n + j, roundeven(v))
// CHECK-NEXT:             store(y, 17 * n + j, trunc(v))
// CHECK-NEXT:             store(y, 18 * n + j, absolute(v))
// CHECK-NEXT:             store(y, 19 * n + j, pow(v, w))
// CHECK-NEXT:             store(y, 20 * n + j, copysign(v, w))
// CHECK-NEXT:             store(y, 21 * n + j, v / w)
// CHECK-NEXT:             store(y, 22 * n + j, v - w)
// CHECK-NEXT:             store(y, 23 * n + j, maximum(v, w))
// CHECK-NEXT:             store(y, 24 * n + j, minimum(v, w))
// CHECK-NEXT:             store(y, 25 * n + j, maxnum(v, w))
// CHECK-NEXT:             store(y, 26 * n + j, minnum(v, w))
// CHECK-NEXT:             store(y, 27 * n + j, -v)
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             v = load_masked(x, j, tail, 0)
// CHECK-NEXT:             w = load_masked(z, j, tail, 0)
// CHECK-NEXT:             store_masked(y, j, exp(v), tail)
// CHECK-NEXT:             store_masked(y, n + j, log(v), tail)
// CHECK-NEXT:             store_masked(y, 2 * n + j, log1p(v), tail)
// CHECK-NEXT:             store_masked(y, 3 * n + j, sqrt(v), tail)
// CHECK-NEXT:             store_masked(y, 4 * n + j, rsqrt(v), tail)
// CHECK-NEXT:             store_masked(y, 5 * n + j, sin(v), tail)
// CHECK-NEXT:             store_masked(y, 6 * n + j, cos(v), tail)
// CHECK-NEXT:             store_masked(y, 7 * n + j, tan(v), tail)
// CHECK-NEXT:             store_masked(y, 8 * n + j, asin(v), tail)
// CHECK-NEXT:             store_masked(y, 9 * n + j, acos(v), tail)
// CHECK-NEXT:             store_masked(y, 10 * n + j, atan(v), tail)
// CHECK-NEXT:             store_masked(y, 11 * n + j, atanh(v), tail)
// CHECK-NEXT:             store_masked(y, 12 * n + j, tanh(v), tail)
// CHECK-NEXT:             store_masked(y, 13 * n + j, erf(v), tail)
// CHECK-NEXT:             store_masked(y, 14 * n + j, floor(v), tail)
// CHECK-NEXT:             store_masked(y, 15 * n + j, ceil(v), tail)
// CHECK-NEXT:             store_masked(y, 16 * n + j, roundeven(v), tail)
// CHECK-NEXT:             store_masked(y, 17 * n + j, trunc(v), tail)
// CHECK-NEXT:             store_masked(y, 18 * n + j, absolute(v), tail)
// CHECK-NEXT:             store_masked(y, 19 * n + j, pow(v, w), tail)
// CHECK-NEXT:             store_masked(y, 20 * n + j, copysign(v, w), tail)
// CHECK-NEXT:             store_masked(y, 21 * n + j, v / w, tail)
// CHECK-NEXT:             store_masked(y, 22 * n + j, v - w, tail)
// CHECK-NEXT:             store_masked(y, 23 * n + j, maximum(v, w), tail)
// CHECK-NEXT:             store_masked(y, 24 * n + j, minimum(v, w), tail)
// CHECK-NEXT:             store_masked(y, 25 * n + j, maxnum(v, w), tail)
// CHECK-NEXT:             store_masked(y, 26 * n + j, minnum(v, w), tail)
// CHECK-NEXT:             store_masked(y, 27 * n + j, -v, tail)
kernel.func @functions(%x : !kernel.buf<[n], f32>, %z : !kernel.buf<[n], f32>, %y : !kernel.buf<[28, n], f32>) sizes [n] {
  %n = kernel.dim n
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], f32>
      %w = kernel.load %z[%j] : !kernel.buf<[n], f32>
      %k0 = arith.constant 0 : index
      %0 = math.exp %v : f32
      kernel.store %0, %y[%k0, %j] : !kernel.buf<[28, n], f32>
      %k1 = arith.constant 1 : index
      %1 = math.log %v : f32
      kernel.store %1, %y[%k1, %j] : !kernel.buf<[28, n], f32>
      %k2 = arith.constant 2 : index
      %2 = math.log1p %v : f32
      kernel.store %2, %y[%k2, %j] : !kernel.buf<[28, n], f32>
      %k3 = arith.constant 3 : index
      %3 = math.sqrt %v : f32
      kernel.store %3, %y[%k3, %j] : !kernel.buf<[28, n], f32>
      %k4 = arith.constant 4 : index
      %4 = math.rsqrt %v : f32
      kernel.store %4, %y[%k4, %j] : !kernel.buf<[28, n], f32>
      %k5 = arith.constant 5 : index
      %5 = math.sin %v : f32
      kernel.store %5, %y[%k5, %j] : !kernel.buf<[28, n], f32>
      %k6 = arith.constant 6 : index
      %6 = math.cos %v : f32
      kernel.store %6, %y[%k6, %j] : !kernel.buf<[28, n], f32>
      %k7 = arith.constant 7 : index
      %7 = math.tan %v : f32
      kernel.store %7, %y[%k7, %j] : !kernel.buf<[28, n], f32>
      %k8 = arith.constant 8 : index
      %8 = math.asin %v : f32
      kernel.store %8, %y[%k8, %j] : !kernel.buf<[28, n], f32>
      %k9 = arith.constant 9 : index
      %9 = math.acos %v : f32
      kernel.store %9, %y[%k9, %j] : !kernel.buf<[28, n], f32>
      %k10 = arith.constant 10 : index
      %10 = math.atan %v : f32
      kernel.store %10, %y[%k10, %j] : !kernel.buf<[28, n], f32>
      %k11 = arith.constant 11 : index
      %11 = math.atanh %v : f32
      kernel.store %11, %y[%k11, %j] : !kernel.buf<[28, n], f32>
      %k12 = arith.constant 12 : index
      %12 = math.tanh %v : f32
      kernel.store %12, %y[%k12, %j] : !kernel.buf<[28, n], f32>
      %k13 = arith.constant 13 : index
      %13 = math.erf %v : f32
      kernel.store %13, %y[%k13, %j] : !kernel.buf<[28, n], f32>
      %k14 = arith.constant 14 : index
      %14 = math.floor %v : f32
      kernel.store %14, %y[%k14, %j] : !kernel.buf<[28, n], f32>
      %k15 = arith.constant 15 : index
      %15 = math.ceil %v : f32
      kernel.store %15, %y[%k15, %j] : !kernel.buf<[28, n], f32>
      %k16 = arith.constant 16 : index
      %16 = math.roundeven %v : f32
      kernel.store %16, %y[%k16, %j] : !kernel.buf<[28, n], f32>
      %k17 = arith.constant 17 : index
      %17 = math.trunc %v : f32
      kernel.store %17, %y[%k17, %j] : !kernel.buf<[28, n], f32>
      %k18 = arith.constant 18 : index
      %18 = math.absf %v : f32
      kernel.store %18, %y[%k18, %j] : !kernel.buf<[28, n], f32>
      %k19 = arith.constant 19 : index
      %19 = math.powf %v, %w : f32
      kernel.store %19, %y[%k19, %j] : !kernel.buf<[28, n], f32>
      %k20 = arith.constant 20 : index
      %20 = math.copysign %v, %w : f32
      kernel.store %20, %y[%k20, %j] : !kernel.buf<[28, n], f32>
      %k21 = arith.constant 21 : index
      %21 = arith.divf %v, %w : f32
      kernel.store %21, %y[%k21, %j] : !kernel.buf<[28, n], f32>
      %k22 = arith.constant 22 : index
      %22 = arith.subf %v, %w : f32
      kernel.store %22, %y[%k22, %j] : !kernel.buf<[28, n], f32>
      %k23 = arith.constant 23 : index
      %23 = arith.maximumf %v, %w : f32
      kernel.store %23, %y[%k23, %j] : !kernel.buf<[28, n], f32>
      %k24 = arith.constant 24 : index
      %24 = arith.minimumf %v, %w : f32
      kernel.store %24, %y[%k24, %j] : !kernel.buf<[28, n], f32>
      %k25 = arith.constant 25 : index
      %25 = arith.maxnumf %v, %w : f32
      kernel.store %25, %y[%k25, %j] : !kernel.buf<[28, n], f32>
      %k26 = arith.constant 26 : index
      %26 = arith.minnumf %v, %w : f32
      kernel.store %26, %y[%k26, %j] : !kernel.buf<[28, n], f32>
      %k27 = arith.constant 27 : index
      %27 = arith.negf %v : f32
      kernel.store %27, %y[%k27, %j] : !kernel.buf<[28, n], f32>
    }
  }
}

// f64 has the same words; a literal needs no type.
// CHECK-LABEL: def functions_f64(x, y, n, lo, hi, ctx):
// CHECK-NEXT:     """x[n] f64, y[4, n] f64"""
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             v = load(x, j)
// CHECK-NEXT:             t = v * 0.1
// CHECK-NEXT:             t1 = exp(t)
// CHECK-NEXT:             store(y, j, t)
// CHECK-NEXT:             store(y, n + j, t1)
// CHECK-NEXT:             store(y, 2 * n + j, roundeven(v))
// CHECK-NEXT:             store(y, 3 * n + j, sqrt(t1))
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             v = load_masked(x, j, tail, 0)
// CHECK-NEXT:             t = v * 0.1
// CHECK-NEXT:             t1 = exp(t)
// CHECK-NEXT:             store_masked(y, j, t, tail)
// CHECK-NEXT:             store_masked(y, n + j, t1, tail)
// CHECK-NEXT:             store_masked(y, 2 * n + j, roundeven(v), tail)
// CHECK-NEXT:             store_masked(y, 3 * n + j, sqrt(t1), tail)
kernel.func @functions_f64(%x : !kernel.buf<[n], f64>, %y : !kernel.buf<[4, n], f64>) sizes [n] {
  %n = kernel.dim n
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], f64>
      %tenth = arith.constant 0.1 : f64
      %0 = arith.mulf %v, %tenth : f64
      %1 = math.exp %0 : f64
      %2 = math.roundeven %v : f64
      %3 = math.sqrt %1 : f64
      kernel.store %0, %y[%c0, %j] : !kernel.buf<[4, n], f64>
      kernel.store %1, %y[%c1, %j] : !kernel.buf<[4, n], f64>
      kernel.store %2, %y[%c2, %j] : !kernel.buf<[4, n], f64>
      kernel.store %3, %y[%c3, %j] : !kernel.buf<[4, n], f64>
    }
  }
}

// The same function of a scalar: the same bits as in a vector.
// CHECK-LABEL: def scalar(x, y, n, lo, hi, ctx):
// CHECK-NEXT:     """x[n] f32, y[n, 4] f32"""
// CHECK-NEXT:     for i in range(lo, hi):
// CHECK-NEXT:         v = x[i]
// CHECK-NEXT:         y[i * 4] = f32(1.0) / (exp(v) + f32(1.0))
// CHECK-NEXT:         y[i * 4 + 1] = erf(v)
// CHECK-NEXT:         y[i * 4 + 2] = tanh(v)
// CHECK-NEXT:         y[i * 4 + 3] = bf16_to_f32(f32_to_bf16(v))
kernel.func @scalar(%x : !kernel.buf<[n], f32>, %y : !kernel.buf<[n, 4], f32>) sizes [n] {
  %n = kernel.dim n
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  kernel.grid (%i) in (%n) {
    %v = kernel.load %x[%i] : !kernel.buf<[n], f32>
    %one = arith.constant 1.0 : f32
    %0 = math.exp %v : f32
    %1 = arith.addf %0, %one : f32
    %2 = arith.divf %one, %1 : f32
    %3 = math.erf %v : f32
    %4 = math.tanh %v : f32
    %5 = arith.truncf %v : f32 to bf16
    %6 = arith.extf %5 : bf16 to f32
    kernel.store %2, %y[%i, %c0] : !kernel.buf<[n, 4], f32>
    kernel.store %3, %y[%i, %c1] : !kernel.buf<[n, 4], f32>
    kernel.store %4, %y[%i, %c2] : !kernel.buf<[n, 4], f32>
    kernel.store %6, %y[%i, %c3] : !kernel.buf<[n, 4], f32>
  }
}
