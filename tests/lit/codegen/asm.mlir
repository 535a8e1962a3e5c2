// RUN: pelton-opt %s -t asm{cpu=baseline} | filecheck %s --check-prefix=BASELINE
// RUN: pelton-opt %s -t asm{cpu=avx2} | filecheck %s --check-prefix=AVX2
// RUN: pelton-opt %s -t asm{cpu=avx512} | filecheck %s --check-prefix=AVX512

// Each instruction set keeps to itself: no VEX encoding on baseline x86-64, no 512-bit register on AVX2.
// BASELINE-NOT: {{\s}}v{{[a-z0-9]+}}{{\s}}
// BASELINE-NOT: ymm
// BASELINE: mulps
// BASELINE-NOT: {{\s}}v{{[a-z0-9]+}}{{\s}}
// BASELINE-NOT: ymm
// AVX2-NOT: zmm
// AVX2: vmulps {{.*}}%ymm
// AVX2-NOT: zmm
// AVX512: vmulps {{.*}}%zmm
kernel.func @sigmoid_bf16(%x : !kernel.buf<[m, n], f32>, %h : !kernel.buf<[n], bf16>, %y : !kernel.buf<[m, n], f16>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  kernel.grid (%i) in (%m) {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%i, %j] : !kernel.buf<[m, n], f32>
      %hb = kernel.load %h[%j] : !kernel.buf<[n], bf16>
      %hf = arith.extf %hb : bf16 to f32
      %0 = arith.mulf %v, %hf : f32
      %1 = math.exp %0 : f32
      %2 = arith.truncf %1 : f32 to f16
      kernel.store %2, %y[%i, %j] : !kernel.buf<[m, n], f16>
    }
  }
}
