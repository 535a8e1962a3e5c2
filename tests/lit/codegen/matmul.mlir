// RUN: pelton-opt %s -t numba-cpu | filecheck %s

// A product with known columns: no mask. K in parts, each a chain of its own. Bias and relu in the hole, in a loop over the rows of a tile.
// CHECK-LABEL: def linear(a, b, bias, y, m, k, lo, hi, ctx):
// CHECK-NEXT:     """a[m, k] f32, b[24, k, 16] f32, bias[384] f32, y[m, 384] f32"""
// CHECK-NEXT:     tile = tile_f32(96)
// CHECK-NEXT:     sums = tile_f32(96)
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         row_block = floordiv(item, 3)
// CHECK-NEXT:         panel_block = item - row_block * 3
// CHECK-NEXT:         top = row_block * 48
// CHECK-NEXT:         bottom = minimum(top + 48, m)
// CHECK-NEXT:         first = panel_block * 8
// CHECK-NEXT:         last = minimum(first + 8, 24)
// CHECK-NEXT:         for panel in range(first, last):
// CHECK-NEXT:             j = panel * W
// CHECK-NEXT:             b0 = panel * k * W
// CHECK-NEXT:             for row in range(top, bottom, 6):
// CHECK-NEXT:                 left = bottom - row
// CHECK-NEXT:                 for part in range(0, maximum(k, 1), 1024):
// CHECK-NEXT:                     depth = minimum(k - part, 1024)
// CHECK-NEXT:                     if left == 1:
// CHECK-NEXT:                         matmul_tile(tile, a, row * k + part, k, left, b, b0 + part * W, depth, 1, 0)
// CHECK-NEXT:                     else:
// CHECK-NEXT:                         matmul_tile(tile, a, row * k + part, k, left, b, b0 + part * W, depth, 6, 0)
// CHECK-NEXT:                     for r in range(minimum(left, 6)):
// CHECK-NEXT:                         one = load(tile, r * W)
// CHECK-NEXT:                         store(sums, r * W, where(part == 0, one, load(sums, r * W) + one))
// CHECK-NEXT:                 for r in range(minimum(left, 6)):
// CHECK-NEXT:                     i = row + r
// CHECK-NEXT:                     acc = load(sums, r * W)
// CHECK-NEXT:                     bv = load(bias, j)
// CHECK-NEXT:                     store(y, i * 384 + j, maximum(acc + bv, 0.0))
kernel.func @linear(%a : !kernel.buf<[m, k], f32>, %b : !kernel.buf<[24, k, 16], f32>, %bias : !kernel.buf<[384], f32>, %y : !kernel.buf<[m, 384], f32>) sizes [m, k] attributes {lanes = 16 : i64} {
  kernel.call @matmul(%a, %b) with {width = 16 : i64} : (!kernel.buf<[m, k], f32>, !kernel.buf<[24, k, 16], f32>) epilogue (%acc : f32, %i : index, %j : index) {
    %bv = kernel.load %bias[%j] : !kernel.buf<[384], f32>
    %0 = arith.addf %acc, %bv : f32
    %zero = arith.constant 0.0 : f32
    %1 = arith.maximumf %0, %zero : f32
    kernel.store %1, %y[%i, %j] : !kernel.buf<[m, 384], f32>
  }
}

// A batch of products, columns unknown: the last panel is masked. Blocks as the call says.
// CHECK-LABEL: def batched(a, w, y, b, m, k, p, n, lo, hi, ctx):
// CHECK-NEXT:     """a[b, m, k] f32, w[b, p, k, 16] f32, y[b, m, n] f32"""
// CHECK-NEXT:     tile = tile_f32(96)
// CHECK-NEXT:     sums = tile_f32(96)
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         panel_blocks = floordiv(p + 1, 2)
// CHECK-NEXT:         rest = floordiv(item, panel_blocks)
// CHECK-NEXT:         panel_block = item - rest * panel_blocks
// CHECK-NEXT:         row_blocks = floordiv(m + 11, 12)
// CHECK-NEXT:         matrix = floordiv(rest, row_blocks)
// CHECK-NEXT:         row_block = rest - matrix * row_blocks
// CHECK-NEXT:         top = row_block * 12
// CHECK-NEXT:         bottom = minimum(top + 12, m)
// CHECK-NEXT:         first = panel_block * 2
// CHECK-NEXT:         last = minimum(first + 2, p)
// CHECK-NEXT:         for panel in range(first, last):
// CHECK-NEXT:             j = panel * W
// CHECK-NEXT:             b0 = (matrix * p + panel) * k * W
// CHECK-NEXT:             for row in range(top, bottom, 6):
// CHECK-NEXT:                 left = bottom - row
// CHECK-NEXT:                 for part in range(0, maximum(k, 1), 1024):
// CHECK-NEXT:                     depth = minimum(k - part, 1024)
// CHECK-NEXT:                     if left == 1:
// CHECK-NEXT:                         matmul_tile(tile, a, (matrix * m + row) * k + part, k, left, w, b0 + part * W, depth, 1, 0)
// CHECK-NEXT:                     else:
// CHECK-NEXT:                         matmul_tile(tile, a, (matrix * m + row) * k + part, k, left, w, b0 + part * W, depth, 6, 0)
// CHECK-NEXT:                     for r in range(minimum(left, 6)):
// CHECK-NEXT:                         one = load(tile, r * W)
// CHECK-NEXT:                         store(sums, r * W, where(part == 0, one, load(sums, r * W) + one))
// CHECK-NEXT:                 if j + W <= n:
// CHECK-NEXT:                     for r in range(minimum(left, 6)):
// CHECK-NEXT:                         i = row + r
// CHECK-NEXT:                         acc = load(sums, r * W)
// CHECK-NEXT:                         store(y, matrix * (m * n) + i * n + j, acc)
// CHECK-NEXT:                 else:
// CHECK-NEXT:                     columns = below(n - j)
// CHECK-NEXT:                     for r in range(minimum(left, 6)):
// CHECK-NEXT:                         i = row + r
// CHECK-NEXT:                         acc = load(sums, r * W)
// CHECK-NEXT:                         store_masked(y, matrix * (m * n) + i * n + j, acc, columns)
kernel.func @batched(%a : !kernel.buf<[b, m, k], f32>, %w : !kernel.buf<[b, p, k, 16], f32>, %y : !kernel.buf<[b, m, n], f32>) sizes [b, m, k, p, n] attributes {lanes = 16 : i64} {
  kernel.call @matmul(%a, %w) with {width = 16 : i64, rows = 12 : i64, panels = 2 : i64} : (!kernel.buf<[b, m, k], f32>, !kernel.buf<[b, p, k, 16], f32>) epilogue (%acc : f32, %bi : index, %i : index, %j : index) {
    kernel.store %acc, %y[%bi, %i, %j] : !kernel.buf<[b, m, n], f32>
  }
}

// A batch on the left only; a K of one part.
// CHECK-LABEL: def shared(a, w, y, b, m, p, n, lo, hi, ctx):
// CHECK-NEXT:     """a[b, m, 512] f64, w[p, 512, 8] f64, y[b, m, n] f64"""
// CHECK-NEXT:     tile = tile_f64(48)
// CHECK-NEXT:     for item in range(lo, hi):
// CHECK-NEXT:         panel_blocks = floordiv(p + 7, 8)
// CHECK-NEXT:         rest = floordiv(item, panel_blocks)
// CHECK-NEXT:         panel_block = item - rest * panel_blocks
// CHECK-NEXT:         row_blocks = floordiv(m + 47, 48)
// CHECK-NEXT:         matrix = floordiv(rest, row_blocks)
// CHECK-NEXT:         row_block = rest - matrix * row_blocks
// CHECK-NEXT:         top = row_block * 48
// CHECK-NEXT:         bottom = minimum(top + 48, m)
// CHECK-NEXT:         first = panel_block * 8
// CHECK-NEXT:         last = minimum(first + 8, p)
// CHECK-NEXT:         for panel in range(first, last):
// CHECK-NEXT:             j = panel * W
// CHECK-NEXT:             b0 = panel * 512 * W
// CHECK-NEXT:             for row in range(top, bottom, 6):
// CHECK-NEXT:                 left = bottom - row
// CHECK-NEXT:                 if left == 1:
// CHECK-NEXT:                     matmul_tile(tile, a, (matrix * m + row) * 512, 512, left, w, b0, 512, 1, 0)
// CHECK-NEXT:                 else:
// CHECK-NEXT:                     matmul_tile(tile, a, (matrix * m + row) * 512, 512, left, w, b0, 512, 6, 0)
// CHECK-NEXT:                 if j + W <= n:
// CHECK-NEXT:                     for r in range(minimum(left, 6)):
// CHECK-NEXT:                         i = row + r
// CHECK-NEXT:                         acc = load(tile, r * W)
// CHECK-NEXT:                         store(y, matrix * (m * n) + i * n + j, acc)
// CHECK-NEXT:                 else:
// CHECK-NEXT:                     columns = below(n - j)
// CHECK-NEXT:                     for r in range(minimum(left, 6)):
// CHECK-NEXT:                         i = row + r
// CHECK-NEXT:                         acc = load(tile, r * W)
// CHECK-NEXT:                         store_masked(y, matrix * (m * n) + i * n + j, acc, columns)
kernel.func @shared(%a : !kernel.buf<[b, m, 512], f64>, %w : !kernel.buf<[p, 512, 8], f64>, %y : !kernel.buf<[b, m, n], f64>) sizes [b, m, p, n] attributes {lanes = 8 : i64} {
  kernel.call @matmul(%a, %w) with {width = 8 : i64} : (!kernel.buf<[b, m, 512], f64>, !kernel.buf<[p, 512, 8], f64>) epilogue (%acc : f64, %bi : index, %i : index, %j : index) {
    kernel.store %acc, %y[%bi, %i, %j] : !kernel.buf<[b, m, n], f64>
  }
}

// The sum of each part is rounded before it is added.
// CHECK-LABEL: def rounded(
// CHECK:           for part in range(0, 3000, 1024):
// CHECK-NEXT:          depth = minimum(3000 - part, 1024)
// CHECK:               one = bf16_to_f32(f32_to_bf16(load(tile, r * W)))
// CHECK-NEXT:          store(sums, r * W, where(part == 0, one, load(sums, r * W) + one))
kernel.func @rounded(%a : !kernel.buf<[m, 3000], f32>, %w : !kernel.buf<[1, 3000, 16], f32>, %y : !kernel.buf<[m, 16], f32>) sizes [m] attributes {lanes = 16 : i64} {
  kernel.call @matmul(%a, %w) with {width = 16 : i64, partial = bf16} : (!kernel.buf<[m, 3000], f32>, !kernel.buf<[1, 3000, 16], f32>) epilogue (%acc : f32, %i : index, %j : index) {
    kernel.store %acc, %y[%i, %j] : !kernel.buf<[m, 16], f32>
  }
}
