// RUN: pelton-opt %s -p outline-constants | filecheck %s
// RUN: pelton-opt %s -p outline-constants{changes=2} | filecheck %s --check-prefix=TWO

// A constant of many different elements becomes memory, once for both places; a few elements stay.
// CHECK:      builtin.module attributes {nn.constants = {"constant:[[KEY:[0-9a-f]+]]" = #nn.dense<[10], f32, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]>}} {
// CHECK:        nn.weight {key = "constant:{{[0-9a-f]+}}"}
// CHECK:        nn.weight {key = "constant:{{[0-9a-f]+}}"}
// CHECK:        nn.constant [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 4.0]
// TWO-NOT:      nn.constant [
func.func @main() -> (!nn.tensor<[10], f32>, !nn.tensor<[10], f32>, !nn.tensor<[10], f32>) {
  %a = nn.constant [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0] : !nn.tensor<[10], f32>
  %b = nn.constant [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0] : !nn.tensor<[10], f32>
  %c = nn.constant [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 4.0] : !nn.tensor<[10], f32>
  func.return %a, %b, %c : !nn.tensor<[10], f32>, !nn.tensor<[10], f32>, !nn.tensor<[10], f32>
}
