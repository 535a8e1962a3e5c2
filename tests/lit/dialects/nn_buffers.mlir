// Ops of `nn` on mutable memory, in pretty and generic form, and what the upstream passes may do with them.
// RUN: pelton-opt %s | filecheck %s
// RUN: pelton-opt %s | pelton-opt | filecheck %s
// RUN: pelton-opt %s --print-op-generic | pelton-opt | filecheck %s
// RUN: pelton-opt %s -p simplify | filecheck %s --check-prefix=SIMPLE

// CHECK:      func.func @buffers(%b: !nn.buffer<[n, 4], f32>, %x: !nn.tensor<[1, 4], f32>, %g: !nn.buffer<[n], i64, "gpu:0">) -> !nn.tensor<[n, 4], f32> {
// CHECK-NEXT:   %c = nn.buffer_create : !nn.buffer<[n, 4], f32>
// CHECK-NEXT:   %l = nn.load %b : (!nn.buffer<[n, 4], f32>) -> !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   nn.store %l, %c : (!nn.tensor<[n, 4], f32>, !nn.buffer<[n, 4], f32>) -> ()
// CHECK-NEXT:   nn.store_slice %x, %c {starts = #nn.dims[n - 1, 0], stops = #nn.dims[n, 4], steps = #nn.dims[1, 1]} : (!nn.tensor<[1, 4], f32>, !nn.buffer<[n, 4], f32>) -> ()
// CHECK-NEXT:   %m = nn.load %c : (!nn.buffer<[n, 4], f32>) -> !nn.tensor<[n, 4], f32>
func.func @buffers(%b: !nn.buffer<[n, 4], f32>, %x: !nn.tensor<[1, 4], f32>, %g: !nn.buffer<[n], i64, "gpu:0">) -> !nn.tensor<[n, 4], f32> {
  %c = nn.buffer_create : !nn.buffer<[n, 4], f32>
  %l = nn.load %b : (!nn.buffer<[n, 4], f32>) -> !nn.tensor<[n, 4], f32>
  nn.store %l, %c : (!nn.tensor<[n, 4], f32>, !nn.buffer<[n, 4], f32>) -> ()
  nn.store_slice %x, %c {starts = #nn.dims[n - 1, 0], stops = #nn.dims[n, 4], steps = #nn.dims[1, 1]} : (!nn.tensor<[1, 4], f32>, !nn.buffer<[n, 4], f32>) -> ()
  %m = nn.load %c : (!nn.buffer<[n, 4], f32>) -> !nn.tensor<[n, 4], f32>
  func.return %m : !nn.tensor<[n, 4], f32>
}

// Two loads are one if nothing is stored between them; a store to another buffer is nothing.
// SIMPLE:      func.func @loads
// SIMPLE-NEXT:   %0 = nn.load %b
// SIMPLE-NEXT:   nn.store %x, %c
// SIMPLE-NEXT:   %1 = nn.add %0, %0
// SIMPLE-NEXT:   nn.store_slice %y, %b
// SIMPLE-NEXT:   %2 = nn.load %b
// SIMPLE-NEXT:   %3 = nn.add %1, %2
// SIMPLE-NEXT:   func.return %3
func.func @loads(%b: !nn.buffer<[4], f32>, %c: !nn.buffer<[4], f32>, %x: !nn.tensor<[4], f32>, %y: !nn.tensor<[2], f32>) -> !nn.tensor<[4], f32> {
  %0 = nn.load %b : (!nn.buffer<[4], f32>) -> !nn.tensor<[4], f32>
  nn.store %x, %c : (!nn.tensor<[4], f32>, !nn.buffer<[4], f32>) -> ()
  %1 = nn.load %b : (!nn.buffer<[4], f32>) -> !nn.tensor<[4], f32>
  %2 = nn.add %0, %1 : !nn.tensor<[4], f32>
  nn.store_slice %y, %b {starts = #nn.dims[0], stops = #nn.dims[4], steps = #nn.dims[2]} : (!nn.tensor<[2], f32>, !nn.buffer<[4], f32>) -> ()
  %3 = nn.load %b : (!nn.buffer<[4], f32>) -> !nn.tensor<[4], f32>
  %4 = nn.add %2, %3 : !nn.tensor<[4], f32>
  func.return %4 : !nn.tensor<[4], f32>
}

// What is overwritten before anybody looks is not stored; a load of what was just stored is that; a dead load goes.
// SIMPLE:      func.func @stores
// SIMPLE-NEXT:   %0 = nn.exp %x
// SIMPLE-NEXT:   nn.store %0, %b
// SIMPLE-NEXT:   func.return %0
func.func @stores(%b: !nn.buffer<[4], f32>, %x: !nn.tensor<[4], f32>, %y: !nn.tensor<[2], f32>) -> !nn.tensor<[4], f32> {
  nn.store %x, %b : (!nn.tensor<[4], f32>, !nn.buffer<[4], f32>) -> ()
  nn.store_slice %y, %b {starts = #nn.dims[0], stops = #nn.dims[4], steps = #nn.dims[2]} : (!nn.tensor<[2], f32>, !nn.buffer<[4], f32>) -> ()
  %0 = nn.exp %x : !nn.tensor<[4], f32>
  nn.store_slice %0, %b {starts = #nn.dims[0], stops = #nn.dims[4], steps = #nn.dims[1]} : (!nn.tensor<[4], f32>, !nn.buffer<[4], f32>) -> ()
  %1 = nn.load %b : (!nn.buffer<[4], f32>) -> !nn.tensor<[4], f32>
  %2 = nn.load %b : (!nn.buffer<[4], f32>) -> !nn.tensor<[4], f32>
  func.return %1 : !nn.tensor<[4], f32>
}

// Buffers that two ops make are two. What is stored in one that nobody reads is forgotten with it.
// SIMPLE:      func.func @made
// SIMPLE-NEXT:   %0 = nn.buffer_create
// SIMPLE-NEXT:   %1 = nn.buffer_create
// SIMPLE-NEXT:   nn.store_slice %y, %0
// SIMPLE-NEXT:   nn.store_slice %y, %1
// SIMPLE-NEXT:   %2 = nn.load %0
// SIMPLE-NEXT:   %3 = nn.load %1
// SIMPLE-NEXT:   %4 = nn.add %2, %3
func.func @made(%y: !nn.tensor<[2], f32>) -> !nn.tensor<[4], f32> {
  %0 = nn.buffer_create : !nn.buffer<[4], f32>
  %1 = nn.buffer_create : !nn.buffer<[4], f32>
  %unused = nn.buffer_create : !nn.buffer<[4], f32>
  nn.store_slice %y, %0 {starts = #nn.dims[0], stops = #nn.dims[4], steps = #nn.dims[2]} : (!nn.tensor<[2], f32>, !nn.buffer<[4], f32>) -> ()
  nn.store_slice %y, %1 {starts = #nn.dims[0], stops = #nn.dims[4], steps = #nn.dims[2]} : (!nn.tensor<[2], f32>, !nn.buffer<[4], f32>) -> ()
  %2 = nn.load %0 : (!nn.buffer<[4], f32>) -> !nn.tensor<[4], f32>
  %3 = nn.load %1 : (!nn.buffer<[4], f32>) -> !nn.tensor<[4], f32>
  nn.store_slice %y, %unused {starts = #nn.dims[0], stops = #nn.dims[4], steps = #nn.dims[2]} : (!nn.tensor<[2], f32>, !nn.buffer<[4], f32>) -> ()
  %4 = nn.add %2, %3 : !nn.tensor<[4], f32>
  func.return %4 : !nn.tensor<[4], f32>
}
