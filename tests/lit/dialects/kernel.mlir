// Every op of `kernel`, in pretty and generic form.
// RUN: pelton-opt %s | filecheck %s
// RUN: pelton-opt %s | pelton-opt | filecheck %s
// RUN: pelton-opt %s --print-op-generic | pelton-opt | filecheck %s

// CHECK:      kernel.func @all(%x: !kernel.buf<[m, n], f32>, %w: !kernel.buf<[m, n], f32, strided [2*n, 1]>, %p: !kernel.buf<[n], i1>, %rows: !kernel.buf<[8], i64>) sizes [m, n] attributes {lanes = 16 : i64} {
// CHECK-NEXT:   %m = kernel.dim m
// CHECK-NEXT:   %n = kernel.dim n
// CHECK-NEXT:   %zero = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:   kernel.grid (%i) in (%m) {
// CHECK-NEXT:     %tile = kernel.scratch : !kernel.buf<[32, 33], f32, team>
// CHECK-NEXT:     %top, %count = kernel.reduce max, add (%j) in (%n) {
// CHECK-NEXT:       %v = kernel.load %x[%i, %j] : !kernel.buf<[m, n], f32>
// CHECK-NEXT:       %k = arith.index_cast %j : index to i64
// CHECK-NEXT:       kernel.yield %v, %k : f32, i64
// CHECK-NEXT:     }
// CHECK-NEXT:     kernel.barrier
// CHECK-NEXT:     kernel.lanes (%a, %b) in (%m, %n) {
// CHECK-NEXT:       %ok = kernel.load %p[%b] : !kernel.buf<[n], i1>
// CHECK-NEXT:       %u = kernel.load %w[%a, %b] if %ok else %zero : !kernel.buf<[m, n], f32, strided [2*n, 1]>
// CHECK-NEXT:       kernel.store %u, %tile[%a, %b] if %ok : !kernel.buf<[32, 33], f32, team>
// CHECK-NEXT:       kernel.store %top, %x[%a, %b] : !kernel.buf<[m, n], f32>
// CHECK-NEXT:       kernel.check 1 %ok at %a, %b : index
// CHECK-NEXT:       kernel.report %ok at %a, %b, %u to %rows[4] : index, f32 to !kernel.buf<[8], i64>
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
kernel.func @all(%x: !kernel.buf<[m, n], f32>, %w: !kernel.buf<[m, n], f32, strided [2*n, 1]>, %p: !kernel.buf<[n], i1>, %rows: !kernel.buf<[8], i64>) sizes [m, n] attributes {lanes = 16 : i64} {
  %m = kernel.dim m
  %n = kernel.dim n
  %zero = arith.constant 0.0 : f32
  kernel.grid (%i) in (%m) {
    %tile = kernel.scratch : !kernel.buf<[32, 33], f32, team>
    %top, %count = kernel.reduce max, add (%j) in (%n) {
      %v = kernel.load %x[%i, %j] : !kernel.buf<[m, n], f32>
      %k = arith.index_cast %j : index to i64
      kernel.yield %v, %k : f32, i64
    }
    kernel.barrier
    kernel.lanes (%a, %b) in (%m, %n) {
      %ok = kernel.load %p[%b] : !kernel.buf<[n], i1>
      %u = kernel.load %w[%a, %b] if %ok else %zero : !kernel.buf<[m, n], f32, strided [2*n, 1]>
      kernel.store %u, %tile[%a, %b] if %ok : !kernel.buf<[32, 33], f32, team>
      kernel.store %top, %x[%a, %b] : !kernel.buf<[m, n], f32>
      kernel.check 1 %ok at %a, %b : index
      kernel.report %ok at %a, %b, %u to %rows[4] : index, f32 to !kernel.buf<[8], i64>
    }
  }
}

// CHECK:      kernel.func @product(%a: !kernel.buf<[m, k], f32>, %b: !kernel.buf<[p, k, 16], f32>, %y: !kernel.buf<[m, n], f32>) sizes [m, k, p, n] {
// CHECK-NEXT:   kernel.call @matmul(%a, %b) with {width = 16 : i64} : (!kernel.buf<[m, k], f32>, !kernel.buf<[p, k, 16], f32>) epilogue (%acc: f32, %i: index, %j: index) {
// CHECK-NEXT:     kernel.store %acc, %y[%i, %j] : !kernel.buf<[m, n], f32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
kernel.func @product(%a: !kernel.buf<[m, k], f32>, %b: !kernel.buf<[p, k, 16], f32>, %y: !kernel.buf<[m, n], f32>) sizes [m, k, p, n] {
  kernel.call @matmul(%a, %b) with {width = 16 : i64} : (!kernel.buf<[m, k], f32>, !kernel.buf<[p, k, 16], f32>) epilogue (%acc: f32, %i: index, %j: index) {
    kernel.store %acc, %y[%i, %j] : !kernel.buf<[m, n], f32>
  }
}

// A grid without indices has one item.
// CHECK:      kernel.grid () in () {
// CHECK-NEXT: }
kernel.func @one() sizes [] {
  kernel.grid () in () {
  }
}

// The lanes of a GPU's thread.
// CHECK:      kernel.lanes (%i) in (%n) by_four {
// CHECK-NEXT:   kernel.store %v, %x[%i] : !kernel.buf<[n], f32>
kernel.func @neighbours(%x: !kernel.buf<[n], f32>) sizes [n] {
  %n = kernel.dim n
  %v = arith.constant 1.0 : f32
  kernel.grid () in () {
    kernel.lanes (%i) in (%n) by_four {
      kernel.store %v, %x[%i] : !kernel.buf<[n], f32>
    }
  }
}

// CHECK:      %0 = kernel.fmod %a, %b : f32
kernel.func @remainder(%x: !kernel.buf<[2], f32>, %y: !kernel.buf<[2], f32>) sizes [] {
  %i = arith.constant 1 : index
  kernel.grid () in () {
    %a = kernel.load %x[%i] : !kernel.buf<[2], f32>
    %b = kernel.load %y[%i] : !kernel.buf<[2], f32>
    %0 = kernel.fmod %a, %b : f32
    kernel.store %0, %y[%i] : !kernel.buf<[2], f32>
  }
}
