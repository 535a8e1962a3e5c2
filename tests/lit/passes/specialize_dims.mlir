// RUN: pelton-opt %s -p 'specialize-dims{names=n,m values=384,2}' | filecheck %s
// RUN: not pelton-opt %s -p 'specialize-dims{names=n}' 2>&1 | filecheck %s --check-prefix=UNEVEN

// Numbers take the place of symbols in types, strides and ops; other symbols stay, and so do the parameters.
// CHECK:      kernel.func @scale(%x: !kernel.buf<[384, k], f32, strided [771, 1]>, %y: !kernel.buf<[384, k], f32>) sizes [n, k] {
// CHECK-NEXT:   %n = arith.constant 384 : index
// CHECK-NEXT:   %k = kernel.dim k
// CHECK-NEXT:   kernel.grid (%i) in (%n) {
// CHECK-NEXT:     kernel.lanes (%j) in (%k) {
// CHECK-NEXT:       %v = kernel.load %x[%i, %j] : !kernel.buf<[384, k], f32, strided [771, 1]>
// CHECK-NEXT:       kernel.store %v, %y[%i, %j] : !kernel.buf<[384, k], f32>
// UNEVEN:     specialize-dims takes a value per name
// UNEVEN:     expected: 1 values
kernel.func @scale(%x: !kernel.buf<[n, k], f32, strided [2*n + 3, 1]>, %y: !kernel.buf<[n, k], f32>) sizes [n, k] {
  %n = kernel.dim n
  %k = kernel.dim k
  kernel.grid (%i) in (%n) {
    kernel.lanes (%j) in (%k) {
      %v = kernel.load %x[%i, %j] : !kernel.buf<[n, k], f32, strided [2*n + 3, 1]>
      kernel.store %v, %y[%i, %j] : !kernel.buf<[n, k], f32>
    }
  }
}
