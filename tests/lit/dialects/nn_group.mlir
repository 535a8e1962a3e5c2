// Groups, in pretty and generic form.
// RUN: pelton-opt %s | filecheck %s
// RUN: pelton-opt %s | pelton-opt | filecheck %s
// RUN: pelton-opt %s --print-op-generic | pelton-opt | filecheck %s

// CHECK:      func.func @group(%x: !nn.tensor<[n, 4], f32>, %y: !nn.tensor<[n, 4], f32>) {
// CHECK-NEXT:   %z = nn.group "elementwise" (%x, %y) {
// CHECK-NEXT:   ^bb0(%a: !nn.tensor<[n, 4], f32>, %b: !nn.tensor<[n, 4], f32>):
// CHECK-NEXT:     %s = nn.add %a, %b : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:     %r = nn.relu %s : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:     nn.yield %r : !nn.tensor<[n, 4], f32>
func.func @group(%x: !nn.tensor<[n, 4], f32>, %y: !nn.tensor<[n, 4], f32>) {
  %z = nn.group "elementwise" (%x, %y) {
  ^bb0(%a : !nn.tensor<[n, 4], f32>, %b : !nn.tensor<[n, 4], f32>):
    %s = nn.add %a, %b : !nn.tensor<[n, 4], f32>
    %r = nn.relu %s : !nn.tensor<[n, 4], f32>
    nn.yield %r : !nn.tensor<[n, 4], f32>
  }
  func.return
}
