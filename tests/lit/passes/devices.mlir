// RUN: pelton-opt %s -p cpu-avx2 | filecheck %s

// What is on a GPU becomes a kernel that says so; moves are copies between memories, a weight's in @init; each device
// has its own arena.

// CHECK:      kernel.func @mul({{.*}}) sizes [n0] attributes {{{.*}}device = "gpu"} {
// CHECK:      kernel.func @max_sub_exp_sum_div({{.*}}) sizes [n0] {
// CHECK:      plan.func @init("w" = %w: !plan.buf<[8], f32>) {
// CHECK-NEXT:   %wg = plan.output 0 : !plan.buf<[8], f32, "gpu:0">
// CHECK-NEXT:   plan.copy %w to %wg : !plan.buf<[8], f32>, !plan.buf<[8], f32, "gpu:0">
// CHECK:      plan.func @main("input0" = %x: !plan.buf<[n, 8], f32>, "prepared0" = %wg: !plan.buf<[8], f32, "gpu:0">) {
// CHECK-NEXT:   %arena = plan.arena : !plan.buf<[64*((32*n + 63) floordiv 64)], i8>
// CHECK-NEXT:   %arena_1 = plan.arena : !plan.buf<[64*((32*n + 63) floordiv 64)], i8, "gpu:0">
// CHECK-NEXT:   %g = plan.view %arena_1 at [0] : !plan.buf<[n, 8], f32, "gpu:0">
// CHECK-NEXT:   plan.copy %x to %g : !plan.buf<[n, 8], f32>, !plan.buf<[n, 8], f32, "gpu:0">
// CHECK-NEXT:   %y = plan.view %arena_1 at [0] : !plan.buf<[n, 8], f32, "gpu:0">
// CHECK-NEXT:   plan.launch @mul(%g, %wg) -> (%y) sizes [n] in_place [0]
// CHECK-NEXT:   %h = plan.view %arena at [0] : !plan.buf<[n, 8], f32>
// CHECK-NEXT:   plan.copy %y to %h : !plan.buf<[n, 8], f32, "gpu:0">, !plan.buf<[n, 8], f32>
// CHECK-NEXT:   %z = plan.output 0 : !plan.buf<[n, 8], f32>
// CHECK-NEXT:   plan.launch @max_sub_exp_sum_div(%h) -> (%z) sizes [n]
func.func @main(%x : !nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 8], f32> {
  %w = nn.weight {key = "w"} : !nn.tensor<[8], f32>
  %g = nn.transfer %x {device = "gpu:0"} : (!nn.tensor<[n, 8], f32>) -> !nn.tensor<[n, 8], f32, "gpu:0">
  %wg = nn.transfer %w {device = "gpu:0"} : (!nn.tensor<[8], f32>) -> !nn.tensor<[8], f32, "gpu:0">
  %bw = nn.broadcast_to %wg {shape = #nn.dims[n, 8]} : (!nn.tensor<[8], f32, "gpu:0">) -> !nn.tensor<[n, 8], f32, "gpu:0">
  %y = nn.mul %g, %bw : !nn.tensor<[n, 8], f32, "gpu:0">
  %h = nn.transfer %y {device = "cpu:0"} : (!nn.tensor<[n, 8], f32, "gpu:0">) -> !nn.tensor<[n, 8], f32>
  %z = nn.softmax %h {axis = 1} : !nn.tensor<[n, 8], f32>
  func.return %z : !nn.tensor<[n, 8], f32>
}
