// RUN: pelton-opt %s -p 'shape-blocks{tile=100 heavy_tile=32}' | filecheck %s
// RUN: pelton-opt %s -p 'shape-blocks' | filecheck %s --check-prefix=DEFAULT

// A row of unknown length is cut in blocks.
// CHECK:      kernel.func @relu
// CHECK:        %0 = arith.constant 100 : index
// CHECK-NEXT:   %chunks = arith.ceildivui %n, %0 : index
// CHECK-NEXT:   kernel.grid (%i, %chunk) in (%m, %chunks) {
// DEFAULT:    kernel.func @relu
// DEFAULT:      arith.constant 512 : index
kernel.func @relu(%x : !kernel.buf<[m, n], f32>, %y : !kernel.buf<[m, n], f32>) sizes [m, n] attributes {device = "gpu"} {
  %m = kernel.dim m
  %n = kernel.dim n
  kernel.grid (%i) in (%m) {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%i, %j] : !kernel.buf<[m, n], f32>
      kernel.store %v, %y[%i, %j] : !kernel.buf<[m, n], f32>
    }
  }
}

// Short rows share a block; what was computed once per row is computed in the loop.
// CHECK:      kernel.func @short
// CHECK:        %0 = arith.constant 12 : index
// CHECK-NEXT:   %blocks = arith.ceildivui %m, %0 : index
// CHECK-NEXT:   kernel.grid (%block) in (%blocks) {
// CHECK-NEXT:     %start = arith.muli %block, %0 : index
// CHECK-NEXT:     %1 = arith.subi %m, %start : index
// CHECK-NEXT:     %count = arith.minsi %0, %1 : index
// CHECK-NEXT:     kernel.lanes (%q, %j) in (%count, %n) {
// CHECK-NEXT:       %i = arith.addi %start, %q : index
// CHECK-NEXT:       %s = kernel.load %scale[%i] : !kernel.buf<[m], f32>
// CHECK-NEXT:       %v = kernel.load %x[%i, %j] : !kernel.buf<[m, 8], f32>
kernel.func @short(%x : !kernel.buf<[m, 8], f32>, %scale : !kernel.buf<[m], f32>, %y : !kernel.buf<[m, 8], f32>) sizes [m] attributes {device = "gpu"} {
  %m = kernel.dim m
  %n = arith.constant 8 : index
  kernel.grid (%i) in (%m) {
    %s = kernel.load %scale[%i] : !kernel.buf<[m], f32>
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%i, %j] : !kernel.buf<[m, 8], f32>
      %w = arith.mulf %v, %s : f32
      kernel.store %w, %y[%i, %j] : !kernel.buf<[m, 8], f32>
    }
  }
}

// A kernel for the host stays as it is.
// CHECK:      kernel.func @host
// CHECK:        kernel.grid () in () {
kernel.func @host(%x : !kernel.buf<[n], f32>, %y : !kernel.buf<[n], f32>) sizes [n] {
  %n = kernel.dim n
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], f32>
      kernel.store %v, %y[%j] : !kernel.buf<[n], f32>
    }
  }
}
