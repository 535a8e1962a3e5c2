// RUN: not pelton-opt %s -t numba-cpu --split-input-file 2>&1 | filecheck %s

// CHECK: errors.mlir:10: error: target numba-cpu has no spelling for math.cbrt
// CHECK-NEXT: op:       math.cbrt
// CHECK: got:      math.cbrt : f32, f32
kernel.func @root(%x : !kernel.buf<[n], f32>) sizes [n] {
  %n = kernel.dim n
  kernel.grid (%i) in (%n) {
    %v = kernel.load %x[%i] : !kernel.buf<[n], f32>
    %r = math.cbrt %v : f32
    kernel.store %r, %x[%i] : !kernel.buf<[n], f32>
  }
}

// -----

// CHECK: target numba-cpu has no spelling for arith.addf
// CHECK: remedy:   compute in f32, between arith.extf and arith.truncf
kernel.func @half(%x : !kernel.buf<[n], f16>) sizes [n] {
  %n = kernel.dim n
  kernel.grid (%i) in (%n) {
    %v = kernel.load %x[%i] : !kernel.buf<[n], f16>
    %r = arith.addf %v, %v : f16
    kernel.store %r, %x[%i] : !kernel.buf<[n], f16>
  }
}

// -----

// CHECK: lanes do not nest
kernel.func @nested(%x : !kernel.buf<[n], f32>) sizes [n] {
  %n = kernel.dim n
  kernel.grid () in () {
    kernel.lanes (%i) in (%n) {
      kernel.lanes (%j) in (%n) {
        %v = kernel.load %x[%j] : !kernel.buf<[n], f32>
        kernel.store %v, %x[%i] : !kernel.buf<[n], f32>
      }
    }
  }
}

// -----

// CHECK: a loop inside lanes runs equally often in all of them
// CHECK: remedy:   run to the largest bound and guard the body with scf.if
kernel.func @ragged(%x : !kernel.buf<[n], f32>) sizes [n] {
  %n = kernel.dim n
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  kernel.grid () in () {
    kernel.lanes (%i) in (%n) {
      scf.for %k = %zero to %i step %one {
        %v = kernel.load %x[%k] : !kernel.buf<[n], f32>
        kernel.store %v, %x[%i] : !kernel.buf<[n], f32>
      }
    }
  }
}

// -----

// CHECK: a kernel has one grid or one call
kernel.func @empty() sizes [n] {
}

// -----

// CHECK: target numba-cpu has no schedule fft
kernel.func @unknown(%x : !kernel.buf<[n], f32>) sizes [n] {
  kernel.call @fft(%x) : (!kernel.buf<[n], f32>) epilogue (%acc : f32, %i : index) {
  }
}
