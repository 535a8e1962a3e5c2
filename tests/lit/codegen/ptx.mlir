// RUN: pelton-opt %s -p insert-barriers -t ptx | filecheck %s

// The entry is the kernel's name; buffers, sizes, lo, hi and the status words are plain 64-bit parameters. A product and a sum stay two
// roundings: what is fused into one kernel keeps its bits.

// CHECK:      .target sm_90
// CHECK:      .visible .entry scaled(
// CHECK-NEXT:   .param .u64 scaled_param_0,
// CHECK-NEXT:   .param .u64 scaled_param_1,
// CHECK-NEXT:   .param .u64 scaled_param_2,
// CHECK-NEXT:   .param .u64 scaled_param_3,
// CHECK-NEXT:   .param .u64 scaled_param_4,
// CHECK-NEXT:   .param .u64 scaled_param_5
// CHECK-NEXT: )
// CHECK-NEXT: .maxntid 64, 1, 1
// CHECK-NOT:  fma.rn
// CHECK:      mul.rn.f32
// CHECK:      add.rn.f32
// CHECK-NOT:  fma.rn
kernel.func @scaled(%x : !kernel.buf<[n], f32>, %y : !kernel.buf<[n], f32>) sizes [n] attributes {threads = 64 : i64} {
  %n = kernel.dim n
  %a = arith.constant 3.0 : f32
  kernel.grid () in () {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], f32>
      %0 = arith.mulf %v, %a : f32
      %1 = arith.addf %0, %v : f32
      kernel.store %1, %y[%j] : !kernel.buf<[n], f32>
    }
  }
}

// CHECK:      .visible .entry block_max(
// CHECK:      max.NaN.f32
// CHECK:      shfl.sync.bfly.b32
// CHECK:      st.shared.f32
// CHECK:      bar.sync 0;
// CHECK:      ld.shared.f32
kernel.func @block_max(%x : !kernel.buf<[n], f32>, %y : !kernel.buf<[1], f32>) sizes [n] {
  %n = kernel.dim n
  %zero = arith.constant 0 : index
  kernel.grid () in () {
    %top = kernel.reduce max (%j) in (%n) {
      %v = kernel.load %x[%j] : !kernel.buf<[n], f32>
      kernel.yield %v : f32
    }
    kernel.store %top, %y[%zero] : !kernel.buf<[1], f32>
  }
}
