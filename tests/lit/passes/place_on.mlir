// RUN: pelton-opt %s -p 'place-on{device="gpu:0"}' | filecheck %s
// RUN: pelton-opt %s -p 'place-on{device="cpu:0"}' | filecheck %s --check-prefix=HOST

// CHECK:      func.func @main(%x: !nn.tensor<[n, 4], f32, "gpu:0">) -> !nn.tensor<[n, 4], f32, "gpu:0"> {
// CHECK-NEXT:   %y = nn.exp %x : !nn.tensor<[n, 4], f32, "gpu:0">
// CHECK-NEXT:   func.return %y : !nn.tensor<[n, 4], f32, "gpu:0">
// HOST:       func.func @main(%x: !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], f32> {
// HOST-NEXT:    %y = nn.exp %x : !nn.tensor<[n, 4], f32>
func.func @main(%x : !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], f32, "gpu:1"> {
  %g = nn.transfer %x {device = "gpu:1"} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], f32, "gpu:1">
  %y = nn.exp %g : !nn.tensor<[n, 4], f32, "gpu:1">
  func.return %y : !nn.tensor<[n, 4], f32, "gpu:1">
}
