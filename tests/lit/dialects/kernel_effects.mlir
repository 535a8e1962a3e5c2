// What loads, stores and checks do to memory is declared, so that cse and dce may work on kernels.
// RUN: pelton-opt %s -p cse,dce | filecheck %s

// Equal loads are one where nothing is stored between them; an unused load and unused arithmetic go; stores and checks stay.
// CHECK:      kernel.lanes (%j) in (%n) {
// CHECK-NEXT:   %a = kernel.load %x[%j] : !kernel.buf<[n], f32>
// CHECK-NEXT:   %0 = arith.addf %a, %a : f32
// CHECK-NEXT:   kernel.store %0, %y[%j] : !kernel.buf<[n], f32>
// CHECK-NEXT:   %c = kernel.load %x[%j] : !kernel.buf<[n], f32>
// CHECK-NEXT:   kernel.store %c, %x[%j] : !kernel.buf<[n], f32>
// CHECK-NEXT:   kernel.check 1 %ok at %j, %j : index
// CHECK-NEXT: }
// CHECK-NOT:  kernel.reduce
kernel.func @effects(%x : !kernel.buf<[n], f32>, %y : !kernel.buf<[n], f32>, %p : !kernel.buf<[n], i1>) sizes [n] {
  %n = kernel.dim n
  %one = arith.constant 1 : index
  kernel.grid (%i) in (%one) {
    %ok = kernel.load %p[%i] : !kernel.buf<[n], i1>
    kernel.lanes (%j) in (%n) {
      %a = kernel.load %x[%j] : !kernel.buf<[n], f32>
      %b = kernel.load %x[%j] : !kernel.buf<[n], f32>
      %0 = arith.addf %a, %b : f32
      %unused = kernel.load %y[%j] : !kernel.buf<[n], f32>
      %1 = arith.mulf %unused, %a : f32
      kernel.store %0, %y[%j] : !kernel.buf<[n], f32>
      %c = kernel.load %x[%j] : !kernel.buf<[n], f32>
      kernel.store %c, %x[%j] : !kernel.buf<[n], f32>
      kernel.check 1 %ok at %j, %j : index
    }
    %sum = kernel.reduce add (%j) in (%n) {
      %a = kernel.load %x[%j] : !kernel.buf<[n], f32>
      kernel.yield %a : f32
    }
  }
}
