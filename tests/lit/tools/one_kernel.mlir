// A printing target takes one kernel of many by its name, as the commands in dumped sources do; an unknown name prints none.
// RUN: pelton-opt %s -p cpu-avx2 -t 'numba-cpu{cpu=avx2 kernel=exp_sum}' | filecheck %s
// RUN: pelton-opt %s -p cpu-avx2 -t 'asm{cpu=avx2 kernel=exp_sum}' | filecheck %s --check-prefix=ASM
// RUN: pelton-opt %s -p cpu-avx2 -t 'numba-cpu{kernel=nothing}' | filecheck %s --check-prefix=NONE --allow-empty

// CHECK-NOT:  def relu
// CHECK:      def exp_sum(
// CHECK-NOT:  def

// ASM-NOT:    relu:
// ASM:        exp_sum:

// NONE-NOT:   def
func.func @main(%x: !nn.tensor<[n, 4], f32>) -> (!nn.tensor<[n, 4], f32>, !nn.tensor<[1, 4], f32>) {
  %r = nn.relu %x : !nn.tensor<[n, 4], f32>
  %e = nn.exp %x : !nn.tensor<[n, 4], f32>
  %s = nn.sum %e {axis = 0} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[1, 4], f32>
  func.return %r, %s : !nn.tensor<[n, 4], f32>, !nn.tensor<[1, 4], f32>
}
