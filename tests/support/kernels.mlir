// Kernels as a compiler would write them, for the tests of every target: each shows one technique.

// gelu(x * s + b): a broadcast scalar, a broadcast row, a chain of scalar ops.
kernel.func @gelu(%x : !kernel.buf<[m, n], f32>, %s : !kernel.buf<[1], f32>, %b : !kernel.buf<[n], f32>, %y : !kernel.buf<[m, n], f32>) sizes [m, n] {
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
      %one = arith.constant 1.0 : f32
      %root = arith.constant 0.70710678118654757 : f32
      %1 = arith.mulf %t, %root : f32
      %2 = math.erf %1 : f32
      %3 = arith.addf %2, %one : f32
      %4 = arith.mulf %t, %half : f32
      %r = arith.mulf %4, %3 : f32
      kernel.store %r, %y[%i, %j] : !kernel.buf<[m, n], f32>
    }
  }
}

// Integer and conversion ops: y = (x / 3 wrapped to i32) as f32, a guard, a bool result, no trap for any x.
kernel.func @convert(%x : !kernel.buf<[n], i32>, %d : !kernel.buf<[n], i32>, %f : !kernel.buf<[n], f32>, %q : !kernel.buf<[n], i32>, %r : !kernel.buf<[n], i32>, %p : !kernel.buf<[n], i1>, %w : !kernel.buf<[n], i64>, %h : !kernel.buf<[n], f16>, %b : !kernel.buf<[n], bf16>) sizes [n] {
  %n = kernel.dim n
  %one = arith.constant 1 : index
  kernel.grid (%i) in (%one) {
    kernel.lanes (%j) in (%n) {
      %xv = kernel.load %x[%j] : !kernel.buf<[n], i32>
      %dv = kernel.load %d[%j] : !kernel.buf<[n], i32>
      %fv = kernel.load %f[%j] : !kernel.buf<[n], f32>
      %floor = arith.floordivsi %xv, %dv : i32
      %rem = arith.remsi %xv, %dv : i32
      %product = arith.muli %floor, %dv : i32
      %0 = arith.addi %product, %rem : i32
      kernel.store %floor, %q[%j] : !kernel.buf<[n], i32>
      kernel.store %0, %r[%j] : !kernel.buf<[n], i32>
      %positive = arith.cmpf ogt, %fv, %fv : f32
      %nan = arith.cmpf uno, %fv, %fv : f32
      %true = arith.constant true
      %known = arith.xori %nan, %true : i1
      kernel.store %known, %p[%j] : !kernel.buf<[n], i1>
      %whole = arith.fptosi %fv : f32 to i64
      kernel.store %whole, %w[%j] : !kernel.buf<[n], i64>
      %half = arith.truncf %fv : f32 to f16
      kernel.store %half, %h[%j] : !kernel.buf<[n], f16>
      %brain = arith.truncf %fv : f32 to bf16
      kernel.store %brain, %b[%j] : !kernel.buf<[n], bf16>
    }
  }
}

// Row sums, products, largest and smallest values, of f32, f64 and i64 at once: four kinds in one reduction.
kernel.func @reduce_f32(%x : !kernel.buf<[m, n], f32>, %y : !kernel.buf<[m, 4], f32>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  kernel.grid (%i) in (%m) {
    %sum, %product, %top, %low = kernel.reduce add, mul, max, min (%j) in (%n) {
      %v = kernel.load %x[%i, %j] : !kernel.buf<[m, n], f32>
      kernel.yield %v, %v, %v, %v : f32, f32, f32, f32
    }
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    kernel.store %sum, %y[%i, %c0] : !kernel.buf<[m, 4], f32>
    kernel.store %product, %y[%i, %c1] : !kernel.buf<[m, 4], f32>
    kernel.store %top, %y[%i, %c2] : !kernel.buf<[m, 4], f32>
    kernel.store %low, %y[%i, %c3] : !kernel.buf<[m, 4], f32>
  }
}

kernel.func @reduce_i64(%x : !kernel.buf<[m, n], i64>, %y : !kernel.buf<[m, 4], i64>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  kernel.grid (%i) in (%m) {
    %sum, %product, %top, %low = kernel.reduce add, mul, max, min (%j) in (%n) {
      %v = kernel.load %x[%i, %j] : !kernel.buf<[m, n], i64>
      kernel.yield %v, %v, %v, %v : i64, i64, i64, i64
    }
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    kernel.store %sum, %y[%i, %c0] : !kernel.buf<[m, 4], i64>
    kernel.store %product, %y[%i, %c1] : !kernel.buf<[m, 4], i64>
    kernel.store %top, %y[%i, %c2] : !kernel.buf<[m, 4], i64>
    kernel.store %low, %y[%i, %c3] : !kernel.buf<[m, 4], i64>
  }
}

// One warp per block: shuffles alone.
kernel.func @reduce_warp(%x : !kernel.buf<[m, n], f64>, %y : !kernel.buf<[m, 2], f64>) sizes [m, n] attributes {threads = 32 : i64} {
  %m = kernel.dim m
  %n = kernel.dim n
  kernel.grid (%i) in (%m) {
    %sum, %top = kernel.reduce add, max (%j) in (%n) {
      %v = kernel.load %x[%i, %j] : !kernel.buf<[m, n], f64>
      kernel.yield %v, %v : f64, f64
    }
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    kernel.store %sum, %y[%i, %c0] : !kernel.buf<[m, 2], f64>
    kernel.store %top, %y[%i, %c1] : !kernel.buf<[m, 2], f64>
  }
}

// Is anything true, is everything true.
kernel.func @any_all(%x : !kernel.buf<[m, n], i1>, %y : !kernel.buf<[m, 2], i1>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  kernel.grid (%i) in (%m) {
    %any, %all = kernel.reduce max, min (%j) in (%n) {
      %v = kernel.load %x[%i, %j] : !kernel.buf<[m, n], i1>
      kernel.yield %v, %v : i1, i1
    }
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    kernel.store %any, %y[%i, %c0] : !kernel.buf<[m, 2], i1>
    kernel.store %all, %y[%i, %c1] : !kernel.buf<[m, 2], i1>
  }
}

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
    kernel.lanes (%j) in (%n) {
      %e = kernel.load %y[%r, %j] : !kernel.buf<[m, n], f32>
      %p = arith.divf %e, %total : f32
      kernel.store %p, %y[%r, %j] : !kernel.buf<[m, n], f32>
    }
  }
}

// Half types in memory, f32 in registers.
kernel.func @layer_norm(%x : !kernel.buf<[m, n], bf16>, %g : !kernel.buf<[n], f16>, %y : !kernel.buf<[m, n], bf16>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  %eps = arith.constant 1.0e-5 : f32
  %one = arith.constant 1.0 : f32
  %ni = arith.index_cast %n : index to i64
  %nf = arith.sitofp %ni : i64 to f32
  kernel.grid (%r) in (%m) {
    %sum = kernel.reduce add (%j) in (%n) {
      %xh = kernel.load %x[%r, %j] : !kernel.buf<[m, n], bf16>
      %xv = arith.extf %xh : bf16 to f32
      kernel.yield %xv : f32
    }
    %mean = arith.divf %sum, %nf : f32
    %square = kernel.reduce add (%j) in (%n) {
      %xh = kernel.load %x[%r, %j] : !kernel.buf<[m, n], bf16>
      %xv = arith.extf %xh : bf16 to f32
      %d = arith.subf %xv, %mean : f32
      %0 = arith.mulf %d, %d : f32
      kernel.yield %0 : f32
    }
    %1 = arith.divf %square, %nf : f32
    %2 = arith.addf %1, %eps : f32
    %scale = math.rsqrt %2 : f32
    kernel.lanes (%j) in (%n) {
      %xh = kernel.load %x[%r, %j] : !kernel.buf<[m, n], bf16>
      %gh = kernel.load %g[%j] : !kernel.buf<[n], f16>
      %xv = arith.extf %xh : bf16 to f32
      %gv = arith.extf %gh : f16 to f32
      %d = arith.subf %xv, %mean : f32
      %0 = arith.mulf %d, %scale : f32
      %3 = arith.mulf %0, %gv : f32
      %yh = arith.truncf %3 : f32 to bf16
      kernel.store %yh, %y[%r, %j] : !kernel.buf<[m, n], bf16>
    }
  }
}

// y[i, :] = w[idx[i], :], negative indices from the end; a bad index is reported and row 0 taken.
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
    %ok = arith.cmpi ult, %k, %rows : index
    kernel.check 1 %ok at %i, %a : index
    %row = arith.select %ok, %k, %zero : index
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %w[%row, %j] : !kernel.buf<[rows, n], f32>
      kernel.store %v, %y[%i, %j] : !kernel.buf<[m, n], f32>
    }
  }
}

// The index differs from lane to lane; where `ok` is false the lane takes -1, and a bad index is reported by its lane.
kernel.func @take(%t : !kernel.buf<[rows], f32>, %idx : !kernel.buf<[n], i64>, %ok : !kernel.buf<[n], i1>, %y : !kernel.buf<[n], f32>) sizes [rows, n] {
  %n = kernel.dim n
  %rows = kernel.dim rows
  %one = arith.constant 1 : index
  %fill = arith.constant -1.0 : f32
  kernel.grid (%i) in (%one) {
    kernel.lanes (%j) in (%n) {
      %raw = kernel.load %idx[%j] : !kernel.buf<[n], i64>
      %k = arith.index_cast %raw : i64 to index
      %keep = kernel.load %ok[%j] : !kernel.buf<[n], i1>
      %inside = arith.cmpi ult, %k, %rows : index
      kernel.check 1 %inside at %j, %k : index
      %good = arith.andi %keep, %inside : i1
      %v = kernel.load %t[%k] if %good else %fill : !kernel.buf<[rows], f32>
      kernel.store %v, %y[%j] : !kernel.buf<[n], f32>
    }
  }
}

// Through a team tile: contiguous loads, contiguous stores, strided accesses only in the tile.
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

// Sum over the first axis: lanes run along the kept axis, a sequential loop carries one accumulator per lane.
kernel.func @column_sum(%x : !kernel.buf<[m, n], f32>, %y : !kernel.buf<[n], f32>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %tile = arith.constant 256 : index
  %chunks = arith.ceildivui %n, %tile : index
  kernel.grid (%c) in (%chunks) {
    %start = arith.muli %c, %tile : index
    %left = arith.subi %n, %start : index
    %size = arith.minsi %tile, %left : index
    kernel.lanes (%q) in (%size) {
      %j = arith.addi %start, %q : index
      %init = arith.constant 0.0 : f32
      %sum = scf.for %r = %zero to %m step %one iter_args(%acc = %init) -> (f32) {
        %v = kernel.load %x[%r, %j] : !kernel.buf<[m, n], f32>
        %next = arith.addf %acc, %v : f32
        scf.yield %next : f32
      }
      kernel.store %sum, %y[%j] : !kernel.buf<[n], f32>
    }
  }
}

// First index of the largest value: two reductions, f32 then i64.
kernel.func @argmax(%x : !kernel.buf<[m, n], f32>, %y : !kernel.buf<[m], i64>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  kernel.grid (%r) in (%m) {
    %top = kernel.reduce max (%j) in (%n) {
      %v = kernel.load %x[%r, %j] : !kernel.buf<[m, n], f32>
      kernel.yield %v : f32
    }
    %first = kernel.reduce min (%j) in (%n) {
      %v = kernel.load %x[%r, %j] : !kernel.buf<[m, n], f32>
      %equal = arith.cmpf oeq, %v, %top : f32
      %nan = arith.cmpf uno, %v, %v : f32
      %hit = arith.ori %equal, %nan : i1
      %at = arith.index_cast %j : index to i64
      %none = arith.constant 9223372036854775807 : i64
      %k = arith.select %hit, %at, %none : i64
      kernel.yield %k : i64
    }
    kernel.store %first, %y[%r] : !kernel.buf<[m], i64>
  }
}

// Running sums in rounds of a loop that all lanes share: each round reads what other lanes wrote in the round before.
kernel.func @rotate(%x : !kernel.buf<[m, 96], f32>, %y : !kernel.buf<[m, 96], f32>, %k : !kernel.buf<[1], i64>) sizes [m] {
  %m = kernel.dim m
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 96 : index
  kernel.grid (%i) in (%m) {
    %a = kernel.scratch : !kernel.buf<[96], f32, team>
    %b = kernel.scratch : !kernel.buf<[96], f32, team>
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%i, %j] : !kernel.buf<[m, 96], f32>
      kernel.store %v, %a[%j] : !kernel.buf<[96], f32, team>
    }
    %rounds = kernel.load %k[%zero] : !kernel.buf<[1], i64>
    %stop = arith.index_cast %rounds : i64 to index
    scf.for %r = %zero to %stop step %one {
      kernel.lanes (%j) in (%n) {
        %0 = arith.addi %j, %one : index
        %1 = arith.cmpi eq, %0, %n : index
        %next = arith.select %1, %zero, %0 : index
        %v = kernel.load %a[%next] : !kernel.buf<[96], f32, team>
        kernel.store %v, %b[%j] : !kernel.buf<[96], f32, team>
      }
      kernel.lanes (%j) in (%n) {
        %v = kernel.load %b[%j] : !kernel.buf<[96], f32, team>
        kernel.store %v, %a[%j] : !kernel.buf<[96], f32, team>
      }
    }
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %a[%j] : !kernel.buf<[96], f32, team>
      kernel.store %v, %y[%i, %j] : !kernel.buf<[m, 96], f32>
    }
  }
}

// Views are types: x is a slice of wider rows, z is read transposed, no copy is made.
kernel.func @views(%x : !kernel.buf<[m, n], f32, strided [ldx, 1]>, %z : !kernel.buf<[m, n], f32, strided [1, m]>, %y : !kernel.buf<[m, n], f32>) sizes [m, n, ldx] {
  %m = kernel.dim m
  %n = kernel.dim n
  kernel.grid (%i) in (%m) {
    kernel.lanes (%j) in (%n) {
      %a = kernel.load %x[%i, %j] : !kernel.buf<[m, n], f32, strided [ldx, 1]>
      %b = kernel.load %z[%i, %j] : !kernel.buf<[m, n], f32, strided [1, m]>
      %0 = arith.addf %a, %b : f32
      kernel.store %0, %y[%i, %j] : !kernel.buf<[m, n], f32>
    }
  }
}

// A hand schedule with a bias and a relu in its hole.
kernel.func @linear(%a : !kernel.buf<[m, k], f32>, %w : !kernel.buf<[k, n], f32>, %bias : !kernel.buf<[n], f32>, %y : !kernel.buf<[m, n], f32>) sizes [m, k, n] {
  kernel.call @matmul(%a, %w) with {} : (!kernel.buf<[m, k], f32>, !kernel.buf<[k, n], f32>) epilogue (%acc : f32, %i : index, %j : index) {
    %b = kernel.load %bias[%j] : !kernel.buf<[n], f32>
    %zero = arith.constant 0.0 : f32
    %0 = arith.addf %acc, %b : f32
    %r = arith.maximumf %0, %zero : f32
    kernel.store %r, %y[%i, %j] : !kernel.buf<[m, n], f32>
  }
}

// A batch of products; the right operand in panels of 8 columns, halves in memory.
kernel.func @batched(%a : !kernel.buf<[b, m, k], f16>, %w : !kernel.buf<[b, p, k, 8], f16>, %y : !kernel.buf<[b, m, n], f16>) sizes [b, m, k, p, n] {
  kernel.call @matmul(%a, %w) with {width = 8 : i64} : (!kernel.buf<[b, m, k], f16>, !kernel.buf<[b, p, k, 8], f16>) epilogue (%acc : f16, %item : index, %i : index, %j : index) {
    kernel.store %acc, %y[%item, %i, %j] : !kernel.buf<[b, m, n], f16>
  }
}
