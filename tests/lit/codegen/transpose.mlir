// RUN: pelton-opt %s -t numba-cpu | filecheck %s

// Through a tile: contiguous loads, contiguous stores, a strided access only in the tile. Barriers are nothing to one core.
// CHECK-LABEL: def transpose(x, y, m, n, lo, hi, ctx):
// CHECK-NEXT:     """x[m, n] f32, y[n, m] f32"""
// CHECK-NEXT:     tile = tile_f32(1056)
// CHECK-NEXT:     bm = floordiv(m + 31, 32)
// CHECK-NEXT:     bn = floordiv(n + 31, 32)
// CHECK-NEXT:     bi = floordiv(lo, bn)
// CHECK-NEXT:     bj = lo - bi * bn
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         i0 = bi * 32
// CHECK-NEXT:         j0 = bj * 32
// CHECK-NEXT:         for a in range(32):
// CHECK-NEXT:             b = 0
// CHECK-NEXT:             while b + W <= 32:
// CHECK-NEXT:                 i = i0 + a
// CHECK-NEXT:                 j = j0 + b
// CHECK-NEXT:                 ok = ult(i, m) & ult(iota(j, 1), n)
// CHECK-NEXT:                 v = load_masked(x, i * n + j, ok, 0.0)
// CHECK-NEXT:                 store(tile, a * 33 + b, v)
// CHECK-NEXT:                 b += W
// CHECK-NEXT:         for b in range(32):
// CHECK-NEXT:             a = 0
// CHECK-NEXT:             while a + W <= 32:
// CHECK-NEXT:                 i1 = i0 + a
// CHECK-NEXT:                 j1 = j0 + b
// CHECK-NEXT:                 ok1 = ult(iota(i1, 1), m) & ult(j1, n)
// CHECK-NEXT:                 v1 = gather(tile, iota(a * 33 + b, 33), full(), 0)
// CHECK-NEXT:                 store_masked(y, j1 * m + i1, v1, ok1)
// CHECK-NEXT:                 a += W
// CHECK-NEXT:         bj += 1
// CHECK-NEXT:         if bj == bn:
// CHECK-NEXT:             bj = 0
// CHECK-NEXT:             bi += 1
kernel.func @transpose(%x : !kernel.buf<[m, n], f32>, %y : !kernel.buf<[n, m], f32>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  %T = arith.constant 32 : index
  %bm = arith.ceildivui %m, %T : index
  %bn = arith.ceildivui %n, %T : index
  kernel.grid (%bi, %bj) in (%bm, %bn) {
    %tile = kernel.scratch : !kernel.buf<[32, 33], f32, team>
    %zero = arith.constant 0.0 : f32
    %i0 = arith.muli %bi, %T : index
    %j0 = arith.muli %bj, %T : index
    kernel.lanes (%a, %b) in (%T, %T) {
      %i = arith.addi %i0, %a : index
      %j = arith.addi %j0, %b : index
      %0 = arith.cmpi ult, %i, %m : index
      %1 = arith.cmpi ult, %j, %n : index
      %ok = arith.andi %0, %1 : i1
      %v = kernel.load %x[%i, %j] if %ok else %zero : !kernel.buf<[m, n], f32>
      kernel.store %v, %tile[%a, %b] : !kernel.buf<[32, 33], f32, team>
    }
    kernel.barrier
    kernel.lanes (%b, %a) in (%T, %T) {
      %i = arith.addi %i0, %a : index
      %j = arith.addi %j0, %b : index
      %0 = arith.cmpi ult, %i, %m : index
      %1 = arith.cmpi ult, %j, %n : index
      %ok = arith.andi %0, %1 : i1
      %v = kernel.load %tile[%a, %b] : !kernel.buf<[32, 33], f32, team>
      kernel.store %v, %y[%j, %i] if %ok : !kernel.buf<[n, m], f32>
    }
  }
}
