// RUN: pelton-opt %s -p simplify | filecheck %s
// RUN: pelton-opt %s -p canonicalize,cse,dce | filecheck %s

// What is canonical, what is equal, what is unused: two permutations cancel, equal ops are one, nobody needs the sine.
// CHECK-LABEL: func.func @three
// CHECK-NEXT:    %a = nn.exp %x
// CHECK-NEXT:    %s = nn.add %a, %a
// CHECK-NEXT:    func.return %s
func.func @three(%x : !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], f32> {
  %p = nn.permute %x {order = #nn.dims[1, 0]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[4, n], f32>
  %q = nn.permute %p {order = #nn.dims[1, 0]} : (!nn.tensor<[4, n], f32>) -> !nn.tensor<[n, 4], f32>
  %a = nn.exp %x : !nn.tensor<[n, 4], f32>
  %b = nn.exp %q : !nn.tensor<[n, 4], f32>
  %unused = nn.sin %x : !nn.tensor<[n, 4], f32>
  %s = nn.add %a, %b : !nn.tensor<[n, 4], f32>
  func.return %s : !nn.tensor<[n, 4], f32>
}

// Constants fold by what the op means.
// CHECK-LABEL: func.func @fold
// CHECK-NEXT:    nn.constant [4.0, 6.0]
// CHECK-NEXT:    func.return
func.func @fold() -> !nn.tensor<[2], f32> {
  %a = nn.constant [1.0, 2.0] : !nn.tensor<[2], f32>
  %b = nn.constant [3.0, 4.0] : !nn.tensor<[2], f32>
  %s = nn.add %a, %b : !nn.tensor<[2], f32>
  func.return %s : !nn.tensor<[2], f32>
}

// Where an op came from does not keep equal ops apart, and adding 0 is not nothing: -0 + 0 is 0.
// CHECK-LABEL: func.func @zero
// CHECK:         nn.add
func.func @zero(%x : !nn.tensor<[2], f32>) -> !nn.tensor<[2], f32> {
  %z = nn.constant [0.0, 0.0] : !nn.tensor<[2], f32>
  %s = nn.add %x, %z : !nn.tensor<[2], f32>
  func.return %s : !nn.tensor<[2], f32>
}
