// Ops that say something and compute nothing.
// RUN: pelton-opt %s | filecheck %s
// RUN: pelton-opt %s | pelton-opt | filecheck %s
// RUN: pelton-opt %s --print-op-generic | pelton-opt | filecheck %s

// CHECK:      nn.assert %ok {message = "all hold"} : (!nn.tensor<[n], i1>) -> ()
// CHECK-NEXT: nn.assert %ok, %x, %i {message = "both are shown", checks = "report"} : (!nn.tensor<[n], i1>, !nn.tensor<[n], f32>, !nn.tensor<[n], i64>) -> ()
// CHECK-NEXT: nn.trace {message = "here", level = "info"} : () -> ()
// CHECK-NEXT: nn.trace %x, %i {message = "values", level = "print"} : (!nn.tensor<[n], f32>, !nn.tensor<[n], i64>) -> ()
// CHECK-NEXT: %y = nn.gather %x, %i {axis = 0, checks = "off"} : (!nn.tensor<[n], f32>, !nn.tensor<[n], i64>) -> !nn.tensor<[n], f32>
func.func @main(%x: !nn.tensor<[n], f32>, %ok: !nn.tensor<[n], i1>, %i: !nn.tensor<[n], i64>) -> !nn.tensor<[n], f32> {
  nn.assert %ok {message = "all hold"} : (!nn.tensor<[n], i1>) -> ()
  nn.assert %ok, %x, %i {message = "both are shown", checks = "report"} : (!nn.tensor<[n], i1>, !nn.tensor<[n], f32>, !nn.tensor<[n], i64>) -> ()
  nn.trace {message = "here", level = "info"} : () -> ()
  nn.trace %x, %i {message = "values", level = "print"} : (!nn.tensor<[n], f32>, !nn.tensor<[n], i64>) -> ()
  %y = nn.gather %x, %i {axis = 0, checks = "off"} : (!nn.tensor<[n], f32>, !nn.tensor<[n], i64>) -> !nn.tensor<[n], f32>
  func.return %y : !nn.tensor<[n], f32>
}
