// RUN: pelton-opt %s -t numba-cpu | filecheck %s

// A bool is a byte in memory, a mask in a vector, a bool in a scalar.
// CHECK-LABEL: def masks(x, p, q, y, z, n, lo, hi, ctx):
// CHECK-NEXT:     """x[n] f32, p[n] i1, q[1] i1, y[n] i1, z[n] f32"""
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         one = as_mask(q[0])
// CHECK-NEXT:         other = not one
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             v = load(x, j)
// CHECK-NEXT:             keep = as_mask(load(p, j))
// CHECK-NEXT:             both = ~(v <= 0.0) & ~keep ^ other | one
// CHECK-NEXT:             store(y, j, as_bytes(both))
// CHECK-NEXT:             store(z, j, where(other, to_f32(both), v))
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             v = load_masked(x, j, tail, 0)
// CHECK-NEXT:             keep = as_mask(load_masked(p, j, tail, 0))
// CHECK-NEXT:             both = ~(v <= 0.0) & ~keep ^ other | one
// CHECK-NEXT:             store_masked(y, j, as_bytes(both), tail)
// CHECK-NEXT:             store_masked(z, j, where(other, to_f32(both), v), tail)
kernel.func @masks(%x : !kernel.buf<[n], f32>, %p : !kernel.buf<[n], i1>, %q : !kernel.buf<[1], i1>, %y : !kernel.buf<[n], i1>, %z : !kernel.buf<[n], f32>) sizes [n] {
  %n = kernel.dim n
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  kernel.grid () in () {
    %one = kernel.load %q[%c0] : !kernel.buf<[1], i1>
    %other = arith.xori %one, %true : i1
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], f32>
      %keep = kernel.load %p[%j] : !kernel.buf<[n], i1>
      %zero = arith.constant 0.0 : f32
      %0 = arith.cmpf ugt, %v, %zero : f32
      %1 = arith.xori %keep, %true : i1
      %2 = arith.andi %0, %1 : i1
      %3 = arith.cmpi ne, %2, %other : i1
      %both = arith.ori %3, %one : i1
      kernel.store %both, %y[%j] : !kernel.buf<[n], i1>
      %4 = arith.uitofp %both : i1 to f32
      %5 = arith.select %other, %4, %v : f32
      kernel.store %5, %z[%j] : !kernel.buf<[n], f32>
    }
  }
}

// Every float comparison; only `une` is true beside a NaN among those with a sign of their own.
// CHECK-LABEL: def compare(x, z, y, n, lo, hi, ctx):
// CHECK-NEXT:     """x[n] f32, z[n] f32, y[n, 14] i1"""
// CHECK-NEXT:     for i in range(lo, hi):
// CHECK-NEXT:         a = x[i]
// CHECK-NEXT:         b = z[i]
// CHECK-NEXT:         oeq = a == b
// CHECK-NEXT:         y[i * 14] = as_bytes(oeq)
// CHECK-NEXT:         ogt = a > b
// CHECK-NEXT:         y[i * 14 + 1] = as_bytes(ogt)
// CHECK-NEXT:         oge = a >= b
// CHECK-NEXT:         y[i * 14 + 2] = as_bytes(oge)
// CHECK-NEXT:         olt = a < b
// CHECK-NEXT:         y[i * 14 + 3] = as_bytes(olt)
// CHECK-NEXT:         ole = a <= b
// CHECK-NEXT:         y[i * 14 + 4] = as_bytes(ole)
// CHECK-NEXT:         one = (a < b) | (a > b)
// CHECK-NEXT:         y[i * 14 + 5] = as_bytes(one)
// CHECK-NEXT:         ord = (a == a) & (b == b)
// CHECK-NEXT:         y[i * 14 + 6] = as_bytes(ord)
// CHECK-NEXT:         ueq = not ((a < b) | (a > b))
// CHECK-NEXT:         y[i * 14 + 7] = as_bytes(ueq)
// CHECK-NEXT:         ugt = not (a <= b)
// CHECK-NEXT:         y[i * 14 + 8] = as_bytes(ugt)
// CHECK-NEXT:         uge = not (a < b)
// CHECK-NEXT:         y[i * 14 + 9] = as_bytes(uge)
// CHECK-NEXT:         ult1 = not (a >= b)
// CHECK-NEXT:         y[i * 14 + 10] = as_bytes(ult1)
// CHECK-NEXT:         ule1 = not (a > b)
// CHECK-NEXT:         y[i * 14 + 11] = as_bytes(ule1)
// CHECK-NEXT:         une = a != b
// CHECK-NEXT:         y[i * 14 + 12] = as_bytes(une)
// CHECK-NEXT:         uno = (a != a) | (b != b)
// CHECK-NEXT:         y[i * 14 + 13] = as_bytes(uno)
kernel.func @compare(%x : !kernel.buf<[n], f32>, %z : !kernel.buf<[n], f32>, %y : !kernel.buf<[n, 14], i1>) sizes [n] {
  %n = kernel.dim n
  kernel.grid (%i) in (%n) {
    %a = kernel.load %x[%i] : !kernel.buf<[n], f32>
    %b = kernel.load %z[%i] : !kernel.buf<[n], f32>
    %k0 = arith.constant 0 : index
    %oeq = arith.cmpf oeq, %a, %b : f32
    kernel.store %oeq, %y[%i, %k0] : !kernel.buf<[n, 14], i1>
    %k1 = arith.constant 1 : index
    %ogt = arith.cmpf ogt, %a, %b : f32
    kernel.store %ogt, %y[%i, %k1] : !kernel.buf<[n, 14], i1>
    %k2 = arith.constant 2 : index
    %oge = arith.cmpf oge, %a, %b : f32
    kernel.store %oge, %y[%i, %k2] : !kernel.buf<[n, 14], i1>
    %k3 = arith.constant 3 : index
    %olt = arith.cmpf olt, %a, %b : f32
    kernel.store %olt, %y[%i, %k3] : !kernel.buf<[n, 14], i1>
    %k4 = arith.constant 4 : index
    %ole = arith.cmpf ole, %a, %b : f32
    kernel.store %ole, %y[%i, %k4] : !kernel.buf<[n, 14], i1>
    %k5 = arith.constant 5 : index
    %one = arith.cmpf one, %a, %b : f32
    kernel.store %one, %y[%i, %k5] : !kernel.buf<[n, 14], i1>
    %k6 = arith.constant 6 : index
    %ord = arith.cmpf ord, %a, %b : f32
    kernel.store %ord, %y[%i, %k6] : !kernel.buf<[n, 14], i1>
    %k7 = arith.constant 7 : index
    %ueq = arith.cmpf ueq, %a, %b : f32
    kernel.store %ueq, %y[%i, %k7] : !kernel.buf<[n, 14], i1>
    %k8 = arith.constant 8 : index
    %ugt = arith.cmpf ugt, %a, %b : f32
    kernel.store %ugt, %y[%i, %k8] : !kernel.buf<[n, 14], i1>
    %k9 = arith.constant 9 : index
    %uge = arith.cmpf uge, %a, %b : f32
    kernel.store %uge, %y[%i, %k9] : !kernel.buf<[n, 14], i1>
    %k10 = arith.constant 10 : index
    %ult = arith.cmpf ult, %a, %b : f32
    kernel.store %ult, %y[%i, %k10] : !kernel.buf<[n, 14], i1>
    %k11 = arith.constant 11 : index
    %ule = arith.cmpf ule, %a, %b : f32
    kernel.store %ule, %y[%i, %k11] : !kernel.buf<[n, 14], i1>
    %k12 = arith.constant 12 : index
    %une = arith.cmpf une, %a, %b : f32
    kernel.store %une, %y[%i, %k12] : !kernel.buf<[n, 14], i1>
    %k13 = arith.constant 13 : index
    %uno = arith.cmpf uno, %a, %b : f32
    kernel.store %uno, %y[%i, %k13] : !kernel.buf<[n, 14], i1>
  }
}
