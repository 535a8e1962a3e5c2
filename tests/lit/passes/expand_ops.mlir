// RUN: pelton-opt %s -p expand-ops | filecheck %s

// Shorthand becomes primitive ops, until none is left: a mean is a sum and a division.
// CHECK-LABEL: func.func @softmax
// CHECK-NOT:     nn.softmax
// CHECK:         nn.max %x {axis = 1}
// CHECK:         nn.sub
// CHECK:         nn.exp
// CHECK:         nn.sum
// CHECK:         nn.div
func.func @softmax(%x : !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], f32> {
  %y = nn.softmax %x {axis = 1} : !nn.tensor<[n, 4], f32>
  func.return %y : !nn.tensor<[n, 4], f32>
}

// Half floats are widened where the shorthand begins and rounded once where it ends.
// CHECK-LABEL: func.func @half
// CHECK:         nn.cast %x {dtype = f32}
// CHECK-NOT:     nn.cast {{.*}}bf16
// CHECK:         nn.div
// CHECK-NEXT:    nn.cast {{.*}} {dtype = bf16}
func.func @half(%x : !nn.tensor<[n, 4], bf16>) -> !nn.tensor<[n, 4], bf16> {
  %y = nn.softmax %x {axis = 1} : !nn.tensor<[n, 4], bf16>
  func.return %y : !nn.tensor<[n, 4], bf16>
}

// A primitive op stays.
// CHECK-LABEL: func.func @primitive
// CHECK-NEXT:    %y = nn.exp %x
func.func @primitive(%x : !nn.tensor<[n], f32>) -> !nn.tensor<[n], f32> {
  %y = nn.exp %x : !nn.tensor<[n], f32>
  func.return %y : !nn.tensor<[n], f32>
}
