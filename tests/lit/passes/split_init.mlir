// RUN: pelton-opt %s -p split-init,dce --split-input-file | filecheck %s

// What weights alone decide moves to @init; @main takes it as an argument. The bias is used as it is, the range needs no weight.
// CHECK:      func.func @init() -> !nn.tensor<[1, 8, 16], f32> {
// CHECK-NEXT:   %w = nn.weight {key = "w"}
// CHECK-NEXT:   %p = nn.pack %w {width = 16}
// CHECK-NEXT:   func.return %p
// CHECK:      func.func @main(%x: !nn.tensor<[n, 8], f32> {nn.name = "x"}, %p: !nn.tensor<[1, 8, 16], f32> {nn.name = "prepared0"})
// CHECK-NOT:    nn.pack
// CHECK:        %b = nn.weight {key = "b"}
// CHECK:        nn.broadcast_to %b
// CHECK:        nn.packed_matmul %x, %p
func.func @main(%x : !nn.tensor<[n, 8], f32> {nn.name = "x"}) -> !nn.tensor<[n, 4], f32> {
  %w = nn.weight {key = "w"} : !nn.tensor<[8, 4], f32>
  %b = nn.weight {key = "b"} : !nn.tensor<[4], f32>
  %bb = nn.broadcast_to %b {shape = #nn.dims[n, 4]} : (!nn.tensor<[4], f32>) -> !nn.tensor<[n, 4], f32>
  %p = nn.pack %w {width = 16} : (!nn.tensor<[8, 4], f32>) -> !nn.tensor<[1, 8, 16], f32>
  %y = nn.packed_matmul %x, %p {n = #nn.dims[4]} : (!nn.tensor<[n, 8], f32>, !nn.tensor<[1, 8, 16], f32>) -> !nn.tensor<[n, 4], f32>
  %s = nn.add %y, %bb : !nn.tensor<[n, 4], f32>
  func.return %s : !nn.tensor<[n, 4], f32>
}

// -----
// What has effects happens at every run.
// CHECK:      func.func @main
// CHECK-NEXT:   nn.buffer_create
// CHECK-NEXT:   nn.weight
// CHECK-NEXT:   nn.store
func.func @main() -> !nn.tensor<[4], f32> {
  %b = nn.buffer_create : !nn.buffer<[4], f32>
  %w = nn.weight {key = "w"} : !nn.tensor<[4], f32>
  nn.store %w, %b : (!nn.tensor<[4], f32>, !nn.buffer<[4], f32>) -> ()
  %0 = nn.load %b : (!nn.buffer<[4], f32>) -> !nn.tensor<[4], f32>
  func.return %0 : !nn.tensor<[4], f32>
}
