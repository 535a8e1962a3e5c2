// RUN: pelton-opt %s -t numba-cpu | filecheck %s

// Rows by index: uniform per item, so rows are loaded as vectors. A bad index is reported and row 0 taken.
// CHECK-LABEL: def kernel_gather(w, idx, y, rows, n, m, lo, hi, ctx):
// CHECK-NEXT:     """w[rows, n] f32, idx[m] i64, y[m, n] f32"""
// CHECK-NEXT:     for i in range(lo, hi):
// CHECK-NEXT:         raw = idx[i]
// CHECK-NEXT:         k = where(raw < 0, raw + rows, raw)
// CHECK-NEXT:         inside = ult(k, rows)
// CHECK-NEXT:         check(inside, True, i, raw, ctx, 1)
// CHECK-NEXT:         row = where(inside, k, 0)
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             v = load(w, row * n + j)
// CHECK-NEXT:             store(y, i * n + j, v)
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             v = load_masked(w, row * n + j, tail, 0)
// CHECK-NEXT:             store_masked(y, i * n + j, v, tail)
kernel.func @gather(%w : !kernel.buf<[rows, n], f32>, %idx : !kernel.buf<[m], i64>, %y : !kernel.buf<[m, n], f32>) sizes [rows, n, m] {
  %m = kernel.dim m
  %n = kernel.dim n
  %rows = kernel.dim rows
  %zero = arith.constant 0 : index
  kernel.grid (%i) in (%m) {
    %raw = kernel.load %idx[%i] : !kernel.buf<[m], i64>
    %a = arith.index_cast %raw : i64 to index
    %0 = arith.cmpi slt, %a, %zero : index
    %1 = arith.addi %a, %rows : index
    %k = arith.select %0, %1, %a : index
    %inside = arith.cmpi ult, %k, %rows : index
    kernel.check 1 %inside at %i, %a : index
    %row = arith.select %inside, %k, %zero : index
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %w[%row, %j] : !kernel.buf<[rows, n], f32>
      kernel.store %v, %y[%i, %j] : !kernel.buf<[m, n], f32>
    }
  }
}

// Elements by index: a vector of offsets. Checked per lane; a guarded load gives the fill where the guard is false.
// CHECK-LABEL: def take(t, idx, ok, y, rows, n, lo, hi, ctx):
// CHECK-NEXT:     """t[rows] f32, idx[n] i32, ok[n] i1, y[n] f32"""
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             raw = load(idx, j)
// CHECK-NEXT:             k = to_i64(raw)
// CHECK-NEXT:             inside = ult(k, rows)
// CHECK-NEXT:             check(inside, full(), iota(j, 1), k, ctx, 1)
// CHECK-NEXT:             keep = as_mask(load(ok, j))
// CHECK-NEXT:             v = gather(t, k, inside & keep, -1.0)
// CHECK-NEXT:             store(y, j, v)
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             raw = load_masked(idx, j, tail, 0)
// CHECK-NEXT:             k = to_i64(raw)
// CHECK-NEXT:             inside = ult(k, rows)
// CHECK-NEXT:             check(inside, tail, iota(j, 1), k, ctx, 1)
// CHECK-NEXT:             keep = as_mask(load_masked(ok, j, tail, 0))
// CHECK-NEXT:             v = gather(t, k, tail & (inside & keep), -1.0)
// CHECK-NEXT:             store_masked(y, j, v, tail)
kernel.func @take(%t : !kernel.buf<[rows], f32>, %idx : !kernel.buf<[n], i32>, %ok : !kernel.buf<[n], i1>, %y : !kernel.buf<[n], f32>) sizes [rows, n] {
  %n = kernel.dim n
  %rows = kernel.dim rows
  %zero = arith.constant 0 : index
  %fill = arith.constant -1.0 : f32
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %raw = kernel.load %idx[%j] : !kernel.buf<[n], i32>
      %k = arith.index_cast %raw : i32 to index
      %inside = arith.cmpi ult, %k, %rows : index
      kernel.check 1 %inside at %j, %k : index
      %keep = kernel.load %ok[%j] : !kernel.buf<[n], i1>
      %0 = arith.andi %inside, %keep : i1
      %v = kernel.load %t[%k] if %0 else %fill : !kernel.buf<[rows], f32>
      kernel.store %v, %y[%j] : !kernel.buf<[n], f32>
    }
  }
}

// Stores to places that vary: scatter.
// CHECK-LABEL: def kernel_scatter(x, idx, y, n, rows, lo, hi, ctx):
// CHECK-NEXT:     """x[n] f32, idx[n] i64, y[rows] f32"""
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         j = 0
// CHECK-NEXT:         while j + W <= n:
// CHECK-NEXT:             v = load(x, j)
// CHECK-NEXT:             raw = load(idx, j)
// CHECK-NEXT:             ok = ult(raw, rows)
// CHECK-NEXT:             scatter(y, raw, v, ok)
// CHECK-NEXT:             j += W
// CHECK-NEXT:         if j < n:
// CHECK-NEXT:             tail = below(n - j)
// CHECK-NEXT:             v = load_masked(x, j, tail, 0)
// CHECK-NEXT:             raw = load_masked(idx, j, tail, 0)
// CHECK-NEXT:             ok = ult(raw, rows)
// CHECK-NEXT:             scatter(y, raw, v, tail & ok)
kernel.func @scatter(%x : !kernel.buf<[n], f32>, %idx : !kernel.buf<[n], i64>, %y : !kernel.buf<[rows], f32>) sizes [n, rows] {
  %n = kernel.dim n
  %rows = kernel.dim rows
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], f32>
      %raw = kernel.load %idx[%j] : !kernel.buf<[n], i64>
      %k = arith.index_cast %raw : i64 to index
      %ok = arith.cmpi ult, %k, %rows : index
      kernel.store %v, %y[%k] if %ok : !kernel.buf<[rows], f32>
    }
  }
}
