// RUN: pelton-opt %s -p insert-barriers -t 'ptx{lines=true}' | filecheck %s

// Each instruction says which line of the CUDA text it comes from, and where that text is kept.

// CHECK:      .visible .entry twice(
// CHECK:      .loc 1 7 1
// CHECK-NEXT: add.rn.f32
// CHECK-NEXT: .loc 1 8 1
// CHECK:      .file 1 "{{.*}}/sources/{{[0-9a-f]+}}/twice.py"
kernel.func @twice(%x : !kernel.buf<[n], f32>, %y : !kernel.buf<[n], f32>) sizes [n] attributes {threads = 32 : i64} {
  %n = kernel.dim n
  %one = arith.constant 1 : index
  kernel.grid (%i) in (%one) {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], f32>
      %w = arith.addf %v, %v : f32
      kernel.store %w, %y[%j] : !kernel.buf<[n], f32>
    }
  }
}
