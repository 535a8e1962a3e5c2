// RUN: pelton-opt %s -p 'widen-lanes{fewest=64}' | filecheck %s
// RUN: pelton-opt %s -p 'widen-lanes{fewest=64}' | pelton-opt -p insert-barriers -t numba-cuda | filecheck %s --check-prefix=TEXT

// A thread takes four neighbours and gives four. What is loaded elsewhere stays in the body, which then minds its end.
// CHECK:      kernel.func @rows
// CHECK:          kernel.lanes (%j) in (%n) by_four {
// TEXT:       def rows(x, back, y, m, n, lo, hi, ctx):
// TEXT:           x_4 = zeros_f32(4)
// TEXT-NEXT:      y_4 = zeros_u16(4)
// TEXT-NEXT:      i = lo + cuda.blockIdx.x
// TEXT-NEXT:      for first in range(tid * 4, n, T * 4):
// TEXT-NEXT:          at = i * n + first
// TEXT-NEXT:          load_4(x_4, x, at, n - first)
// TEXT-NEXT:          for u in range(4):
// TEXT-NEXT:              j = first + u
// TEXT-NEXT:              if j < n:
// TEXT-NEXT:                  v = x_4[u]
// TEXT-NEXT:                  w = back[j * m]
// TEXT-NEXT:                  s = v + w
// TEXT-NEXT:                  h = f32_to_f16(s)
// TEXT-NEXT:                  y_4[u] = h
// TEXT-NEXT:          store_4(y, at, y_4, n - first)
kernel.func @rows(%x : !kernel.buf<[m, n], f32>, %back : !kernel.buf<[n, m], f32>, %y : !kernel.buf<[m, n], f16>) sizes [m, n] attributes {device = "gpu"} {
  %m = kernel.dim m
  %n = kernel.dim n
  %zero = arith.constant 0 : index
  kernel.grid (%i) in (%m) {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%i, %j] : !kernel.buf<[m, n], f32>
      %w = kernel.load %back[%j, %zero] : !kernel.buf<[n, m], f32>
      %s = arith.addf %v, %w : f32
      %h = arith.truncf %s : f32 to f16
      kernel.store %h, %y[%i, %j] : !kernel.buf<[m, n], f16>
    }
  }
}

// Rows of a multiple of four side by side: their elements, and those of one row for all, are neighbours by four.
// CHECK:      kernel.func @joined
// CHECK:          kernel.lanes (%q, %j) in (%n, %eight) by_four {
// TEXT:       def joined(x, scale, y, n, lo, hi, ctx):
// TEXT:           total = n * 8
// TEXT-NEXT:      for first in range(tid * 4, total, T * 4):
// TEXT-NEXT:          j = first % 8
// TEXT-NEXT:          q = first // 8
// TEXT-NEXT:          at = q * 8 + j
// TEXT-NEXT:          at1 = j
// TEXT-NEXT:          load_4(x_4, x, at, 4)
// TEXT-NEXT:          load_4(scale_4, scale, at1, 4)
// TEXT-NEXT:          for u in range(4):
// TEXT-NEXT:              v = x_4[u]
// TEXT-NEXT:              w = scale_4[u]
// TEXT-NEXT:              y_4[u] = v * w
// TEXT-NEXT:          store_4(y, at, y_4, 4)
kernel.func @joined(%x : !kernel.buf<[n, 8], f32>, %scale : !kernel.buf<[8], f32>, %y : !kernel.buf<[n, 8], f32>) sizes [n] attributes {device = "gpu"} {
  %n = kernel.dim n
  %eight = arith.constant 8 : index
  kernel.grid () in () {
    kernel.lanes (%q, %j) in (%n, %eight) {
      %v = kernel.load %x[%q, %j] : !kernel.buf<[n, 8], f32>
      %w = kernel.load %scale[%j] : !kernel.buf<[8], f32>
      %0 = arith.mulf %v, %w : f32
      kernel.store %0, %y[%q, %j] : !kernel.buf<[n, 8], f32>
    }
  }
}

// What stays: few lanes, columns, a load behind a store, a row that is looked up, a kernel for the host.
// CHECK:      kernel.func @few
// CHECK-NOT:  by_four
kernel.func @few(%x : !kernel.buf<[63], f32>, %y : !kernel.buf<[63], f32>) sizes [] attributes {device = "gpu"} {
  %n = arith.constant 63 : index
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[63], f32>
      kernel.store %v, %y[%j] : !kernel.buf<[63], f32>
    }
  }
}
kernel.func @columns(%x : !kernel.buf<[n, m], f32>, %y : !kernel.buf<[n, m], f32>) sizes [n, m] attributes {device = "gpu"} {
  %n = kernel.dim n
  %m = kernel.dim m
  kernel.grid (%i) in (%m) {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j, %i] : !kernel.buf<[n, m], f32>
      kernel.store %v, %y[%j, %i] : !kernel.buf<[n, m], f32>
    }
  }
}
kernel.func @behind(%x : !kernel.buf<[n], f32>, %y : !kernel.buf<[n], f32>, %z : !kernel.buf<[n], f32>) sizes [n] attributes {device = "gpu"} {
  %n = kernel.dim n
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], f32>
      kernel.store %v, %y[%j] : !kernel.buf<[n], f32>
      %w = kernel.load %x[%j] : !kernel.buf<[n], f32>
      kernel.store %w, %z[%j] : !kernel.buf<[n], f32>
    }
  }
}
kernel.func @looked_up(%x : !kernel.buf<[m, 5], f32>, %at : !kernel.buf<[n], i64>, %y : !kernel.buf<[5, n], f32>) sizes [m, n] attributes {device = "gpu"} {
  %n = kernel.dim n
  %five = arith.constant 5 : index
  kernel.grid () in () {
    kernel.lanes (%q, %j) in (%n, %five) {
      %r = kernel.load %at[%q] : !kernel.buf<[n], i64>
      %i = arith.index_cast %r : i64 to index
      %v = kernel.load %x[%i, %j] : !kernel.buf<[m, 5], f32>
      kernel.store %v, %y[%j, %q] : !kernel.buf<[5, n], f32>
    }
  }
}
kernel.func @host(%x : !kernel.buf<[n], f32>, %y : !kernel.buf<[n], f32>) sizes [n] {
  %n = kernel.dim n
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], f32>
      kernel.store %v, %y[%j] : !kernel.buf<[n], f32>
    }
  }
}
