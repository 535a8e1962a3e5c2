// RUN: pelton-opt %s --split-input-file -p insert-barriers | filecheck %s
// RUN: pelton-opt %s --split-input-file -p insert-barriers,insert-barriers | filecheck %s

// Another lane reads what a lane stored: one barrier, directly before the reading loop.

// CHECK-LABEL: kernel.func @transposed
// CHECK:         kernel.lanes (%a, %b)
// CHECK:         kernel.barrier
// CHECK-NEXT:    kernel.lanes (%b{{.*}}, %a{{.*}})
// CHECK-NOT:     kernel.barrier
kernel.func @transposed(%x : !kernel.buf<[32, 32], f32>, %y : !kernel.buf<[32, 32], f32>) sizes [] {
  %one = arith.constant 1 : index
  %T = arith.constant 32 : index
  kernel.grid (%i) in (%one) {
    %tile = kernel.scratch : !kernel.buf<[32, 33], f32, team>
    kernel.lanes (%a, %b) in (%T, %T) {
      %v = kernel.load %x[%a, %b] : !kernel.buf<[32, 32], f32>
      kernel.store %v, %tile[%a, %b] : !kernel.buf<[32, 33], f32, team>
    }
    kernel.lanes (%b, %a) in (%T, %T) {
      %v = kernel.load %tile[%a, %b] : !kernel.buf<[32, 33], f32, team>
      kernel.store %v, %y[%b, %a] : !kernel.buf<[32, 32], f32>
    }
  }
}

// -----

// Each lane reads what it stored itself, also where its index is computed anew: no barrier. Nor between two reads.

// CHECK-LABEL: kernel.func @own_element
// CHECK-NOT:     kernel.barrier
kernel.func @own_element(%x : !kernel.buf<[m, n], f32>, %y : !kernel.buf<[m, 2 * n], f32>) sizes [m, n] {
  %m = kernel.dim m
  %two = arith.constant 2 : index
  kernel.grid (%i) in (%m) {
    %n = kernel.dim n
    %top = kernel.reduce max (%j) in (%n) {
      %v = kernel.load %x[%i, %j] : !kernel.buf<[m, n], f32>
      %at = arith.muli %j, %two : index
      kernel.store %v, %y[%i, %at] : !kernel.buf<[m, 2 * n], f32>
      kernel.yield %v : f32
    }
    %again = kernel.dim n
    kernel.lanes (%j) in (%again) {
      %at = arith.muli %j, %two : index
      %v = kernel.load %y[%i, %at] : !kernel.buf<[m, 2 * n], f32>
      %w = arith.subf %v, %top : f32
      kernel.store %w, %y[%i, %at] : !kernel.buf<[m, 2 * n], f32>
    }
  }
}

// -----

// Global memory counts as well, and so does reading before another lane overwrites. The last loop runs over other bounds:
// the same element is another thread's.

// CHECK-LABEL: kernel.func @global
// CHECK:         kernel.lanes (%j)
// CHECK:         kernel.barrier
// CHECK-NEXT:    kernel.lanes (%j{{.*}})
// CHECK:         kernel.barrier
// CHECK-NEXT:    kernel.lanes (%j{{.*}}, %k{{.*}})
// CHECK-NOT:     kernel.barrier
kernel.func @global(%x : !kernel.buf<[64], f32>, %y : !kernel.buf<[65], f32>) sizes [] {
  %one = arith.constant 1 : index
  %n = arith.constant 64 : index
  %h = arith.constant 8 : index
  kernel.grid (%i) in (%one) {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[64], f32>
      kernel.store %v, %y[%j] : !kernel.buf<[65], f32>
    }
    kernel.lanes (%j) in (%n) {
      %k = arith.addi %j, %one : index
      %v = kernel.load %y[%k] : !kernel.buf<[65], f32>
      kernel.store %v, %x[%j] : !kernel.buf<[64], f32>
    }
    kernel.lanes (%j, %k) in (%h, %h) {
      %0 = arith.muli %j, %h : index
      %1 = arith.addi %0, %k : index
      %v = kernel.load %x[%1] : !kernel.buf<[64], f32>
      kernel.store %v, %y[%1] : !kernel.buf<[65], f32>
    }
  }
}

// -----

// Thread 0 stores what all threads then read; all have read it before thread 0 overwrites it.

// CHECK-LABEL: kernel.func @uniform
// CHECK:         kernel.store %v, %y
// CHECK-NEXT:    kernel.store %v, %y
// CHECK-NEXT:    kernel.barrier
// CHECK-NEXT:    %w{{.*}} = kernel.load %y
// CHECK-NEXT:    kernel.barrier
// CHECK-NEXT:    kernel.store %w, %y
kernel.func @uniform(%x : !kernel.buf<[2], f32>, %y : !kernel.buf<[3], f32>) sizes [] {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  kernel.grid (%i) in (%one) {
    %v = kernel.load %x[%zero] : !kernel.buf<[2], f32>
    kernel.store %v, %y[%zero] : !kernel.buf<[3], f32>
    kernel.store %v, %y[%one] : !kernel.buf<[3], f32>
    %w = kernel.load %y[%zero] : !kernel.buf<[3], f32>
    kernel.store %w, %y[%zero] : !kernel.buf<[3], f32>
  }
}

// -----

// A loop's end meets its beginning: the second loop stores what the first reads in the next round. What the round itself
// decides (%r) is another element in the next one.

// CHECK-LABEL: kernel.func @rounds
// CHECK:         scf.for
// CHECK-NEXT:      kernel.barrier
// CHECK-NEXT:      kernel.lanes (%j{{.*}})
// CHECK:           kernel.barrier
// CHECK-NEXT:      kernel.lanes (%j{{.*}})
// CHECK:         scf.for
// CHECK-NEXT:      %0 = arith.addi
// CHECK-NEXT:      kernel.barrier
// CHECK-NEXT:      kernel.lanes
// CHECK-NOT:       kernel.barrier
kernel.func @rounds(%x : !kernel.buf<[64], f32>, %stop : !kernel.buf<[1], i64>) sizes [] {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 64 : index
  %last = arith.constant 63 : index
  kernel.grid (%i) in (%one) {
    %a = kernel.scratch : !kernel.buf<[64], f32, team>
    %b = kernel.scratch : !kernel.buf<[64], f32, team>
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[64], f32>
      kernel.store %v, %a[%j] : !kernel.buf<[64], f32, team>
    }
    scf.for %r = %zero to %last step %one {
      kernel.lanes (%j) in (%n) {
        %k = arith.subi %last, %j : index
        %v = kernel.load %a[%k] : !kernel.buf<[64], f32, team>
        kernel.store %v, %b[%j] : !kernel.buf<[64], f32, team>
      }
      kernel.lanes (%j) in (%n) {
        %v = kernel.load %b[%j] : !kernel.buf<[64], f32, team>
        kernel.store %v, %a[%j] : !kernel.buf<[64], f32, team>
      }
    }
    scf.for %r = %zero to %last step %one {
      %0 = arith.addi %r, %one : index
      kernel.lanes (%j) in (%r) {
        %v = kernel.load %x[%j] : !kernel.buf<[64], f32>
        kernel.store %v, %x[%j] : !kernel.buf<[64], f32>
      }
    }
  }
}

// -----

// Either arm may have stored.

// CHECK-LABEL: kernel.func @arms
// CHECK:         scf.if
// CHECK:           kernel.store %v, %a
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    kernel.barrier
// CHECK-NEXT:    kernel.lanes
kernel.func @arms(%x : !kernel.buf<[64], f32>, %y : !kernel.buf<[64], f64>, %flag : !kernel.buf<[1], i1>) sizes [] {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 64 : index
  %last = arith.constant 63 : index
  kernel.grid (%i) in (%one) {
    %a = kernel.scratch : !kernel.buf<[64], f32, team>
    %yes = kernel.load %flag[%zero] : !kernel.buf<[1], i1>
    scf.if %yes {
      kernel.lanes (%j) in (%n) {
        %v = kernel.load %x[%j] : !kernel.buf<[64], f32>
        kernel.store %v, %a[%j] : !kernel.buf<[64], f32, team>
      }
    }
    kernel.lanes (%j) in (%n) {
      %k = arith.subi %last, %j : index
      %v = kernel.load %a[%k] : !kernel.buf<[64], f32, team>
      %w = arith.extf %v : f32 to f64
      kernel.store %w, %y[%j] : !kernel.buf<[64], f64>
    }
  }
}

// -----

// Two parameters of one type may be one buffer, as a result is written in place.

// CHECK-LABEL: kernel.func @in_place
// CHECK:         kernel.lanes
// CHECK:         kernel.barrier
// CHECK-NEXT:    kernel.lanes
kernel.func @in_place(%x : !kernel.buf<[64], f32>, %y : !kernel.buf<[64], f32>, %t : !kernel.buf<[64], f64>) sizes [] {
  %one = arith.constant 1 : index
  %n = arith.constant 64 : index
  %last = arith.constant 63 : index
  kernel.grid (%i) in (%one) {
    kernel.lanes (%j) in (%n) {
      %k = arith.subi %last, %j : index
      %v = kernel.load %x[%k] : !kernel.buf<[64], f32>
      %w = arith.extf %v : f32 to f64
      kernel.store %w, %t[%j] : !kernel.buf<[64], f64>
    }
    kernel.lanes (%j) in (%n) {
      %w = kernel.load %t[%j] : !kernel.buf<[64], f64>
      %v = arith.truncf %w : f64 to f32
      kernel.store %v, %y[%j] : !kernel.buf<[64], f32>
    }
  }
}

// -----

// Lanes by four are other threads than lanes one by one; between two loops that both do four there is no barrier.

// CHECK-LABEL: kernel.func @by_four
// CHECK:         kernel.lanes (%j)
// CHECK:         kernel.barrier
// CHECK-NEXT:    kernel.lanes (%j{{.*}}) in (%n) by_four
// CHECK-NOT:     kernel.barrier
kernel.func @by_four(%x : !kernel.buf<[n], f32>, %y : !kernel.buf<[n], f64>) sizes [n] {
  %n = kernel.dim n
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], f32>
      %w = arith.extf %v : f32 to f64
      kernel.store %w, %y[%j] : !kernel.buf<[n], f64>
    }
    kernel.lanes (%j) in (%n) by_four {
      %v = kernel.load %y[%j] : !kernel.buf<[n], f64>
      %w = arith.addf %v, %v : f64
      kernel.store %w, %y[%j] : !kernel.buf<[n], f64>
    }
    kernel.lanes (%j) in (%n) by_four {
      %v = kernel.load %y[%j] : !kernel.buf<[n], f64>
      %w = arith.addf %v, %v : f64
      kernel.store %w, %y[%j] : !kernel.buf<[n], f64>
    }
  }
}
