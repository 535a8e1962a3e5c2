// RUN: pelton-opt %s -p choose-kernels | filecheck %s
// RUN: pelton-opt %s -p 'choose-kernels{target=avx512}' | filecheck %s --check-prefix=WIDE
// RUN: not pelton-opt %s -p 'choose-kernels{target=neon}' 2>&1 | filecheck %s --check-prefix=WRONG

// RUN: pelton-opt %s -p 'choose-kernels{top-k=old}' | filecheck %s --check-prefix=OLD
// RUN: not pelton-opt %s -p 'choose-kernels{top-k=heap}' 2>&1 | filecheck %s --check-prefix=WRONG-TOP

// WRONG-TOP: choose-kernels has no such top-k
// WRONG-TOP: expected: one of new, old
// WRONG-TOP: got: heap

// RUN: pelton-opt %s -p 'choose-kernels{split-k-precision=output}' | filecheck %s --check-prefix=OUTPUT
// RUN: not pelton-opt %s -p 'choose-kernels{split-k-precision=half}' 2>&1 | filecheck %s --check-prefix=WRONG-SPLIT

// WRONG-SPLIT: choose-kernels has no such split-k-precision
// WRONG-SPLIT: expected: one of accum, output
// WRONG-SPLIT: got: half

// WRONG: choose-kernels has no such target
// WRONG: expected: one of baseline, avx2, avx512, cuda
// WRONG: got: neon

// A CPU reads the right operand in panels as wide as its register tile.
// CHECK:      %[[P:.*]] = nn.pack %w {width = 16} : (!nn.tensor<[8, 40], f32>) -> !nn.tensor<[3, 8, 16], f32>
// CHECK-NEXT: nn.packed_matmul %x, %[[P]] {n = #nn.dims[40], choice = {op = "nn.matmul", kernel = "matmul"
// CHECK-SAME: reason = "6 x 16 accumulators in registers; the right operand in panels of 16 columns"
// CHECK-SAME: cost = "640*n FLOP, 192*n + 1280 B, ((n + 47) floordiv 48) items"
// CHECK-SAME: lost = []
// WIDE:       nn.pack %w {width = 32}
func.func @main(%x : !nn.tensor<[n, 8], f32>, %w : !nn.tensor<[8, 40], f32>) -> !nn.tensor<[n, 40], f32> {
  %y = nn.matmul %x, %w : (!nn.tensor<[n, 8], f32>, !nn.tensor<[8, 40], f32>) -> !nn.tensor<[n, 40], f32>
  func.return %y : !nn.tensor<[n, 40], f32>
}

// CHECK-LABEL: @few
// CHECK:      nn.top_k_select %x {k = #nn.dims[5], largest = true, choice = {op = "nn.top_k", kernel = "top_k_select"
// CHECK-SAME: reason = "two scans of the row, which keep the 5 best"
// CHECK-SAME: kernel = "top_k_sort", cost = {{.*}}, why = "sorts the axis, whatever k is"
// OLD-LABEL:  @few
// OLD:        nn.top_k_sort %x {largest = true, choice = {op = "nn.top_k", kernel = "top_k_sort", reason = "sorts the axis
// OLD-NEXT:   nn.slice
func.func @few(%x : !nn.tensor<[n, 900], f32>) -> !nn.tensor<[n, 5], i64> {
  %y = nn.top_k %x {largest = true, k = #nn.dims[5]} : (!nn.tensor<[n, 900], f32>) -> !nn.tensor<[n, 5], i64>
  func.return %y : !nn.tensor<[n, 5], i64>
}

// CHECK-LABEL: @many
// CHECK:      nn.top_k_sort
// CHECK-SAME: kernel = "top_k_select", cost = {{.*}}, why = "k = 2000: it takes at most 1024"
func.func @many(%x : !nn.tensor<[n, 3000], f32>) -> !nn.tensor<[n, 2000], i64> {
  %y = nn.top_k %x {largest = true, k = #nn.dims[2000]} : (!nn.tensor<[n, 3000], f32>) -> !nn.tensor<[n, 2000], i64>
  func.return %y : !nn.tensor<[n, 2000], i64>
}

// CHECK-LABEL: @all
// CHECK:      nn.top_k_sort
// CHECK-SAME: why = "k = m: it takes a number"
func.func @all(%x : !nn.tensor<[n, m], f32>) -> !nn.tensor<[n, m], i64> {
  %y = nn.top_k %x {largest = true, k = #nn.dims[m]} : (!nn.tensor<[n, m], f32>) -> !nn.tensor<[n, m], i64>
  func.return %y : !nn.tensor<[n, m], i64>
}

// A long K is summed in parts: partial results are kept, or rounded to the half type of the user's product. A block has
// one panel, so that threads share few columns.
// CHECK-LABEL:  @long
// CHECK:        nn.packed_matmul {{.*}} {n = #nn.dims[24], choice = {{.*}}K in parts of 1024, partial results kept as they are
// CHECK-SAME:   2*((n + 47) floordiv 48) items
// OUTPUT-LABEL: @long
// OUTPUT:       nn.packed_matmul {{.*}}partial = f16{{.*}}partial results rounded to f16
func.func @long(%x : !nn.tensor<[n, 9000], f16>, %w : !nn.tensor<[9000, 24], f16>) -> !nn.tensor<[n, 24], f16> {
  %x32 = nn.cast %x {dtype = f32} : (!nn.tensor<[n, 9000], f16>) -> !nn.tensor<[n, 9000], f32>
  %w32 = nn.cast %w {dtype = f32} : (!nn.tensor<[9000, 24], f16>) -> !nn.tensor<[9000, 24], f32>
  %y32 = nn.matmul %x32, %w32 : (!nn.tensor<[n, 9000], f32>, !nn.tensor<[9000, 24], f32>) -> !nn.tensor<[n, 24], f32>
  %y = nn.cast %y32 {dtype = f16} : (!nn.tensor<[n, 24], f32>) -> !nn.tensor<[n, 24], f16>
  func.return %y : !nn.tensor<[n, 24], f16>
}
