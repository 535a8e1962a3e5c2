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

// -----

// CHECK: a sequential loop steps by a known number
kernel.func @step(%x : !kernel.buf<[n], f32>) sizes [n] {
  %n = kernel.dim n
  %zero = arith.constant 0 : index
  kernel.grid () in () {
    scf.for %k = %zero to %n step %n {
      %v = kernel.load %x[%k] : !kernel.buf<[n], f32>
      kernel.store %v, %x[%k] : !kernel.buf<[n], f32>
    }
  }
}

// -----

// CHECK: the matmul schedule does not take these operands
// CHECK: remedy:   pack the right operand with nn.pack
kernel.func @unpacked(%a : !kernel.buf<[m, k], f32>, %b : !kernel.buf<[k, n], f32>, %y : !kernel.buf<[m, n], f32>) sizes [m, k, n] {
  kernel.call @matmul(%a, %b) : (!kernel.buf<[m, k], f32>, !kernel.buf<[k, n], f32>) epilogue (%acc : f32, %i : index, %j : index) {
    kernel.store %acc, %y[%i, %j] : !kernel.buf<[m, n], f32>
  }
}

// -----

// CHECK: the matmul schedule of avx2 does not take f16
// CHECK: expected: f32 or f64 operands and an accumulator of their type
kernel.func @halves(%a : !kernel.buf<[m, k], f16>, %b : !kernel.buf<[p, k, 16], f16>, %y : !kernel.buf<[m, n], f16>) sizes [m, k, p, n] {
  kernel.call @matmul(%a, %b) : (!kernel.buf<[m, k], f16>, !kernel.buf<[p, k, 16], f16>) epilogue (%acc : f16, %i : index, %j : index) {
    kernel.store %acc, %y[%i, %j] : !kernel.buf<[m, n], f16>
  }
}

// -----

// CHECK: the columns of a product are not known
kernel.func @lost(%a : !kernel.buf<[m, k], f32>, %b : !kernel.buf<[p, k, 16], f32>, %y : !kernel.buf<[m], f32>) sizes [m, k, p] {
  kernel.call @matmul(%a, %b) : (!kernel.buf<[m, k], f32>, !kernel.buf<[p, k, 16], f32>) epilogue (%acc : f32, %i : index, %j : index) {
    kernel.store %acc, %y[%i] : !kernel.buf<[m], f32>
  }
}
