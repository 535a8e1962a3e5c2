// What the verifier says about ops of users.
// RUN: pelton-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'nn.custom' expects a result or a buffer
func.func @nothing(%x: !nn.tensor<[n], f32>) {
  nn.custom %x {op = "f", body = "0", looped = #nn.dims[0], parameters = {}} : (!nn.tensor<[n], f32>) -> ()
  func.return
}

// -----
// CHECK: 'nn.custom' expects a looped number per operand and result, got 1
func.func @short(%x: !nn.tensor<[n], f32>) {
  %y = nn.custom %x {op = "f", body = "0", looped = #nn.dims[0], parameters = {}} : (!nn.tensor<[n], f32>) -> !nn.tensor<[n], f32>
  func.return
}

// -----
// CHECK: 'nn.custom' expects looped numbers from 0 to the rank, got 2 for !nn.tensor<[n], f32>
func.func @deep(%x: !nn.tensor<[n], f32>) {
  %y = nn.custom %x {op = "f", body = "0", looped = #nn.dims[2, 0], parameters = {}} : (!nn.tensor<[n], f32>) -> !nn.tensor<[n], f32>
  func.return
}

// -----
// CHECK: 'nn.custom' expects the same looped sizes everywhere, got !nn.tensor<[m], f32> beside ['n']
func.func @differ(%x: !nn.tensor<[n], f32>) {
  %y = nn.custom %x {op = "f", body = "0", looped = #nn.dims[1, 1], parameters = {}} : (!nn.tensor<[n], f32>) -> !nn.tensor<[m], f32>
  func.return
}

// -----
// CHECK: 'nn.custom' expects one device, got !nn.tensor<[n], f32>, !nn.tensor<[n], f32, "gpu:0">
func.func @devices(%x: !nn.tensor<[n], f32>) {
  %y = nn.custom %x {op = "f", body = "0", looped = #nn.dims[0, 0], parameters = {}} : (!nn.tensor<[n], f32>) -> !nn.tensor<[n], f32, "gpu:0">
  func.return
}
