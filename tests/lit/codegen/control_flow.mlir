// RUN: pelton-opt %s -t numba-cpu | filecheck %s

// Outside lanes: Python loops and branches. Carried values change all at once; what stays the same in all lanes stays scalar.
// CHECK-LABEL: def fibonacci(x, y, m, lo, hi, ctx):
// CHECK-NEXT:     """x[m] i32, y[m, 2] i32"""
// CHECK-NEXT:     for i in range(lo, hi):
// CHECK-NEXT:         n = x[i]
// CHECK-NEXT:         count = to_i64(n)
// CHECK-NEXT:         p = i32(0)
// CHECK-NEXT:         q = i32(1)
// CHECK-NEXT:         for k in range(count):
// CHECK-NEXT:             next = p + q
// CHECK-NEXT:             p = q
// CHECK-NEXT:             q = next
// CHECK-NEXT:         odd = q & i32(1)
// CHECK-NEXT:         is_odd = odd == i32(1)
// CHECK-NEXT:         if is_odd:
// CHECK-NEXT:             r = i32(0) - q
// CHECK-NEXT:         else:
// CHECK-NEXT:             y[i * 2] = i32(0)
// CHECK-NEXT:             r = q
// CHECK-NEXT:         if is_odd:
// CHECK-NEXT:             y[i * 2] = p
// CHECK-NEXT:         y[i * 2 + 1] = r
kernel.func @fibonacci(%x : !kernel.buf<[m], i32>, %y : !kernel.buf<[m, 2], i32>) sizes [m] {
  %m = kernel.dim m
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  kernel.grid (%i) in (%m) {
    %n = kernel.load %x[%i] : !kernel.buf<[m], i32>
    %count = arith.index_cast %n : i32 to index
    %a, %b = scf.for %k = %c0 to %count step %c1 iter_args(%p = %zero, %q = %one) -> (i32, i32) {
      %s = arith.addi %p, %q : i32
      scf.yield %q, %s : i32, i32
    }
    %odd = arith.andi %b, %one : i32
    %is_odd = arith.cmpi eq, %odd, %one : i32
    %r = scf.if %is_odd -> (i32) {
      %0 = arith.subi %zero, %b : i32
      scf.yield %0 : i32
    } else {
      kernel.store %zero, %y[%i, %c0] : !kernel.buf<[m, 2], i32>
      scf.yield %b : i32
    }
    scf.if %is_odd {
      kernel.store %a, %y[%i, %c0] : !kernel.buf<[m, 2], i32>
    }
    kernel.store %r, %y[%i, %c1] : !kernel.buf<[m, 2], i32>
  }
}

// In lanes: a carried value that becomes varying is a vector from the start; a varying condition masks both arms.
// CHECK-LABEL: def collatz(x, y, z, n, lo, hi, ctx):
// CHECK-NEXT:     """x[n] i64, y[n] i64, z[n] i64"""
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             start = load(x, j)
// CHECK-NEXT:             v = start
// CHECK-NEXT:             t = splat(0)
// CHECK-NEXT:             u = 0
// CHECK-NEXT:             for k in range(8):
// CHECK-NEXT:                 bit = v & 1
// CHECK-NEXT:                 odd = bit == 1
// CHECK-NEXT:                 t1 = v * 3 + 1
// CHECK-NEXT:                 store_masked(z, j, t1, odd)
// CHECK-NEXT:                 add = where(odd, 1, 2)
// CHECK-NEXT:                 v = where(odd, t1, floordiv(v, 2))
// CHECK-NEXT:                 t = t + add
// CHECK-NEXT:                 u = u + 3
// CHECK-NEXT:             store(y, j, v + t + u)
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             start = load_masked(x, j, tail, 0)
// CHECK-NEXT:             v = start
// CHECK-NEXT:             t = splat(0)
// CHECK-NEXT:             u = 0
// CHECK-NEXT:             for k in range(8):
// CHECK-NEXT:                 bit = v & 1
// CHECK-NEXT:                 odd = bit == 1
// CHECK-NEXT:                 t1 = v * 3 + 1
// CHECK-NEXT:                 store_masked(z, j, t1, tail & odd)
// CHECK-NEXT:                 add = where(odd, 1, 2)
// CHECK-NEXT:                 v = where(odd, t1, floordiv(v, 2))
// CHECK-NEXT:                 t = t + add
// CHECK-NEXT:                 u = u + 3
// CHECK-NEXT:             store_masked(y, j, v + t + u, tail)
kernel.func @collatz(%x : !kernel.buf<[n], i64>, %y : !kernel.buf<[n], i64>, %z : !kernel.buf<[n], i64>) sizes [n] {
  %n = kernel.dim n
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %start = kernel.load %x[%j] : !kernel.buf<[n], i64>
      %none = arith.constant 0 : i64
      %last, %steps, %uniform = scf.for %k = %c0 to %c8 step %c1 iter_args(%v = %start, %t = %none, %u = %none) -> (i64, i64, i64) {
        %one = arith.constant 1 : i64
        %two = arith.constant 2 : i64
        %three = arith.constant 3 : i64
        %bit = arith.andi %v, %one : i64
        %odd = arith.cmpi eq, %bit, %one : i64
        %next, %add = scf.if %odd -> (i64, i64) {
          %0 = arith.muli %v, %three : i64
          %1 = arith.addi %0, %one : i64
          kernel.store %1, %z[%j] : !kernel.buf<[n], i64>
          scf.yield %1, %one : i64, i64
        } else {
          %0 = arith.floordivsi %v, %two : i64
          scf.yield %0, %two : i64, i64
        }
        %more = arith.addi %t, %add : i64
        %u1 = arith.addi %u, %three : i64
        scf.yield %next, %more, %u1 : i64, i64, i64
      }
      %2 = arith.addi %last, %steps : i64
      %3 = arith.addi %2, %uniform : i64
      kernel.store %3, %y[%j] : !kernel.buf<[n], i64>
    }
  }
}
