// RUN: pelton-opt %s -p 'split-lanes{tile=100 heavy_tile=32}' | filecheck %s
// RUN: pelton-opt %s -p 'split-lanes' | filecheck %s --check-prefix=DEFAULT

// One item becomes one per chunk; a chunk is a multiple of the lanes.
// CHECK:      kernel.func @relu
// CHECK-NEXT:   %n = kernel.dim n
// CHECK-NEXT:   %0 = arith.constant 128 : index
// CHECK-NEXT:   %chunks = arith.ceildivui %n, %0 : index
// CHECK-NEXT:   kernel.grid (%chunk) in (%chunks) {
// CHECK-NEXT:     %start = arith.muli %chunk, %0 : index
// CHECK-NEXT:     %1 = arith.subi %n, %start : index
// CHECK-NEXT:     %count = arith.minsi %0, %1 : index
// CHECK-NEXT:     kernel.lanes (%q) in (%count) {
// CHECK-NEXT:       %j = arith.addi %start, %q : index
// CHECK-NEXT:       %v = kernel.load %x[%j] : !kernel.buf<[n], f32>
// CHECK-NEXT:       kernel.store %v, %y[%j] : !kernel.buf<[n], f32>
// DEFAULT:    kernel.func @relu
// DEFAULT:      arith.constant 4096 : index
kernel.func @relu(%x : !kernel.buf<[n], f32>, %y : !kernel.buf<[n], f32>) sizes [n] {
  %n = kernel.dim n
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], f32>
      kernel.store %v, %y[%j] : !kernel.buf<[n], f32>
    }
  }
}

// A known length is cut where it is longer than a chunk, whatever the grid; the chunk is the grid's last index.
// CHECK:      kernel.func @logits
// CHECK:        kernel.grid (%i, %chunk) in (%m, %chunks) {
// DEFAULT:    kernel.func @logits
// DEFAULT:      kernel.grid (%i) in (%m) {
kernel.func @logits(%x : !kernel.buf<[m, 1000], f32>, %y : !kernel.buf<[m, 1000], f32>) sizes [m] {
  %m = kernel.dim m
  %n = arith.constant 1000 : index
  kernel.grid (%i) in (%m) {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%i, %j] : !kernel.buf<[m, 1000], f32>
      kernel.store %v, %y[%i, %j] : !kernel.buf<[m, 1000], f32>
    }
  }
}

// Lanes that run a loop of their own are heavy: shorter chunks.
// CHECK:      kernel.func @column_sum
// CHECK:        arith.constant 32 : index
// CHECK:        kernel.grid (%chunk) in (%chunks) {
// DEFAULT:    kernel.func @column_sum
// DEFAULT:      arith.constant 256 : index
kernel.func @column_sum(%x : !kernel.buf<[m, n], f32>, %y : !kernel.buf<[n], f32>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
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

// Left alone: a grid that may be large, a short row, a reduction, a second loop.
// CHECK-NOT:  %chunks
// CHECK:      kernel.func @unknown_grid
// CHECK:      kernel.func @short
// CHECK:      kernel.func @sum
// CHECK:      kernel.func @two
// CHECK-NOT:  %chunks
kernel.func @unknown_grid(%x : !kernel.buf<[m, n], f32>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  kernel.grid (%i) in (%m) {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%i, %j] : !kernel.buf<[m, n], f32>
      kernel.store %v, %x[%i, %j] : !kernel.buf<[m, n], f32>
    }
  }
}
kernel.func @short(%x : !kernel.buf<[96], f32>) sizes [] {
  %n = arith.constant 96 : index
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[96], f32>
      kernel.store %v, %x[%j] : !kernel.buf<[96], f32>
    }
  }
}
kernel.func @sum(%x : !kernel.buf<[n], f32>, %y : !kernel.buf<[1], f32>) sizes [n] {
  %n = kernel.dim n
  %zero = arith.constant 0 : index
  kernel.grid () in () {
    %s = kernel.reduce add (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], f32>
      kernel.yield %v : f32
    }
    kernel.store %s, %y[%zero] : !kernel.buf<[1], f32>
  }
}
kernel.func @two(%x : !kernel.buf<[n], f32>, %y : !kernel.buf<[n], f32>) sizes [n] {
  %n = kernel.dim n
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], f32>
      kernel.store %v, %y[%j] : !kernel.buf<[n], f32>
    }
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %y[%j] : !kernel.buf<[n], f32>
      kernel.store %v, %x[%j] : !kernel.buf<[n], f32>
    }
  }
}
