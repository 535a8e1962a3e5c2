// What the verifiers and parsers of `kernel` refuse.
// RUN: pelton-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'kernel.func' expects distinct symbols in its sizes
kernel.func @f() sizes [n, n] {
}
// -----
// CHECK: 'kernel.func' expects distinct symbols in its sizes
kernel.func @f() sizes [2*n] {
}
// -----
// CHECK: 'kernel.func' uses the size m in !kernel.buf<[m], f32>, which its sizes lack
kernel.func @f(%x : !kernel.buf<[m], f32>) sizes [n] {
}
// -----
// CHECK: 'kernel.dim' reads the size m, which @f lacks
kernel.func @f() sizes [n] {
  %m = kernel.dim m
}
// -----
// CHECK: 'kernel.lanes' expects at least one index
kernel.func @f() sizes [] {
  kernel.lanes () in () {
  }
}
// -----
// CHECK: 'kernel.grid' expects an index per bound, got 1 for 2
kernel.func @f() sizes [n] {
  %n = kernel.dim n
  kernel.grid (%i) in (%n, %n) {
  }
}
// -----
// CHECK: 'kernel.reduce' expects indices of type index
kernel.func @f() sizes [n] {
  %n = kernel.dim n
  %0 = "kernel.reduce"(%n) <{kinds = "add"}> ({
  ^bb0(%i : i64):
    kernel.yield %i : i64
  }) : (index) -> i64
}
// -----
// CHECK: expected 'kernel.reduce' to end in kernel.yield
kernel.func @f() sizes [n] {
  %n = kernel.dim n
  %0 = kernel.reduce add (%i) in (%n) {
  }
}
// -----
// CHECK: 'kernel.reduce' expects to end in kernel.yield
kernel.func @f() sizes [n] {
  %n = kernel.dim n
  %0 = "kernel.reduce"(%n) <{kinds = "add"}> ({
  ^bb0(%i : index):
    "test.termop"() : () -> ()
  }) : (index) -> index
}
// -----
// CHECK: 'kernel.reduce' expects a kind out of add, mul, max, min, got avg
kernel.func @f() sizes [n] {
  %n = kernel.dim n
  %0 = kernel.reduce avg (%i) in (%n) {
    kernel.yield %i : index
  }
}
// -----
// CHECK: 'kernel.reduce' expects one kind, one yielded value and one result of its type each
kernel.func @f() sizes [n] {
  %n = kernel.dim n
  %0 = kernel.reduce add, max (%i) in (%n) {
    kernel.yield %i : index
  }
}
// -----
// CHECK: 'kernel.load' expects 2 indices into !kernel.buf<[n, n], f32>, got 1
kernel.func @f(%x : !kernel.buf<[n, n], f32>) sizes [n] {
  %n = kernel.dim n
  %v = kernel.load %x[%n] : !kernel.buf<[n, n], f32>
}
// -----
// CHECK: 'kernel.load' expects a value of f16 for !kernel.buf<[n], f16>, got f32; convert with arith.extf or arith.truncf
kernel.func @f(%x : !kernel.buf<[n], f16>) sizes [n] {
  %n = kernel.dim n
  %v = "kernel.load"(%x, %n) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (!kernel.buf<[n], f16>, index) -> f32
}
// -----
// CHECK: 'kernel.load' expects a fill value exactly where it has a guard
kernel.func @f(%x : !kernel.buf<[n], f32>, %p : !kernel.buf<[n], i1>) sizes [n] {
  %n = kernel.dim n
  %ok = kernel.load %p[%n] : !kernel.buf<[n], i1>
  %v = "kernel.load"(%x, %n, %ok) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (!kernel.buf<[n], f32>, index, i1) -> f32
}
// -----
// CHECK: 'kernel.scratch' expects a team buffer, got !kernel.buf<[32], f32>
kernel.func @f() sizes [] {
  %t = kernel.scratch : !kernel.buf<[32], f32>
}
// -----
// CHECK: a team buffer has known sizes only
kernel.func @f() sizes [n] {
  %t = kernel.scratch : !kernel.buf<[n], f32, team>
}
// -----
// CHECK: a buffer of rank 2 has 1 strides
kernel.func @f(%x : !kernel.buf<[n, n], f32, strided [1]>) sizes [n] {
}
// -----
// CHECK: expected a memory space out of global, team, got far
kernel.func @f(%x : !kernel.buf<[n, n], f32, far>) sizes [n] {
}
// -----
// CHECK: expected a !kernel.buf type, got f32
kernel.func @f(%x : !kernel.buf<[n], f32>) sizes [n] {
  %n = kernel.dim n
  %v = kernel.load %x[%n] : f32
}
// -----
// CHECK: 'kernel.check' counts from 1, got 0
kernel.func @f(%x : !kernel.buf<[n], i1>) sizes [n] {
  %n = kernel.dim n
  %v = kernel.load %x[%n] : !kernel.buf<[n], i1>
  kernel.check 0 %v at %n, %n : index
}
// -----
// CHECK: 'kernel.report' expects rows of at least 4 words, got !kernel.buf<[3], i64>
kernel.func @f(%x : !kernel.buf<[n], i1>, %r : !kernel.buf<[3], i64>) sizes [n] {
  %n = kernel.dim n
  %v = kernel.load %x[%n] : !kernel.buf<[n], i1>
  kernel.report %v at %n, %n to %r[1] : index to !kernel.buf<[3], i64>
}
// -----
// CHECK: 'kernel.report' expects 1 to 8 values, got 0
kernel.func @f(%x : !kernel.buf<[n], i1>, %r : !kernel.buf<[3], i64>) sizes [n] {
  %n = kernel.dim n
  %v = kernel.load %x[%n] : !kernel.buf<[n], i1>
  "kernel.report"(%v, %n, %r) <{row = #builtin.int<0>}> : (i1, index, !kernel.buf<[3], i64>) -> ()
}
