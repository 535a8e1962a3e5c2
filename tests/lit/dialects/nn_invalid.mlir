// What the verifiers and parsers of `nn` refuse.
// RUN: pelton-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'nn.add' expects operands of one type, got !nn.tensor<[4], f32> and !nn.tensor<[5], f32>; broadcast with nn.broadcast_to
func.func @refused(%x: !nn.tensor<[4], f32>, %y: !nn.tensor<[5], f32>) {
  %0 = nn.add %x, %y : (!nn.tensor<[4], f32>, !nn.tensor<[5], f32>) -> !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: 'nn.add' expects operands of one type, got !nn.tensor<[4], f32> and !nn.tensor<[4], f64>; convert with nn.cast
func.func @refused(%x: !nn.tensor<[4], f32>, %y: !nn.tensor<[4], f64>) {
  %0 = nn.add %x, %y : (!nn.tensor<[4], f32>, !nn.tensor<[4], f64>) -> !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: move one to the other's device
func.func @refused(%x: !nn.tensor<[4], f32>, %y: !nn.tensor<[4], f32, "gpu:0">) {
  %0 = nn.add %x, %y : (!nn.tensor<[4], f32>, !nn.tensor<[4], f32, "gpu:0">) -> !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: 'nn.add' infers !nn.tensor<[4], f32>, its results say !nn.tensor<[5], f32>
func.func @refused(%x: !nn.tensor<[4], f32>) {
  %0 = nn.add %x, %x : (!nn.tensor<[4], f32>, !nn.tensor<[4], f32>) -> !nn.tensor<[5], f32>
  func.return
}
// -----
// CHECK: operand 'x' at position 0 does not verify: f32 should be of base attribute nn.tensor
func.func @refused(%x: f32) {
  %0 = nn.relu %x : f32
  func.return
}
// -----
// CHECK: 'nn.mul' expects elements of a float or an integer, got i1
func.func @refused(%x: !nn.tensor<[4], i1>) {
  %0 = nn.mul %x, %x : !nn.tensor<[4], i1>
  func.return
}
// -----
// CHECK: 'nn.div' expects elements of f16, bf16, f32 or f64, got i32; convert with nn.cast
func.func @refused(%x: !nn.tensor<[4], i32>) {
  %0 = nn.div %x, %x : !nn.tensor<[4], i32>
  func.return
}
// -----
// CHECK: 'nn.logical_and' expects elements of i1, got i32; compare with nn.not_equal
func.func @refused(%x: !nn.tensor<[4], i32>) {
  %0 = nn.logical_and %x, %x : !nn.tensor<[4], i32>
  func.return
}
// -----
// CHECK: 'nn.bitwise_and' expects elements of an integer or i1, got f32
func.func @refused(%x: !nn.tensor<[4], f32>) {
  %0 = nn.bitwise_and %x, %x : !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: 'nn.cast' expects elements of a float, an integer or i1, got index
func.func @refused(%x: !nn.tensor<[4], f32>) {
  %0 = nn.cast %x {dtype = index} : (!nn.tensor<[4], f32>) -> !nn.tensor<[4], index>
  func.return
}
// -----
// CHECK: 'nn.gelu' expects approximate to be one of none, tanh, quick, got erf
func.func @refused(%x: !nn.tensor<[4], f32>) {
  %0 = nn.gelu %x {approximate = "erf"} : !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: 'nn.where' expects two values of one type, got !nn.tensor<[4], f32> and !nn.tensor<[5], f32>; broadcast with nn.broadcast_to
func.func @refused(%p: !nn.tensor<[4], i1>, %x: !nn.tensor<[4], f32>, %y: !nn.tensor<[5], f32>) {
  %0 = nn.where %p, %x, %y : (!nn.tensor<[4], i1>, !nn.tensor<[4], f32>, !nn.tensor<[5], f32>) -> !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: 'nn.where' expects a condition like its values, got !nn.tensor<[1], i1> for !nn.tensor<[4], f32>; broadcast with nn.broadcast_to
func.func @refused(%p: !nn.tensor<[1], i1>, %x: !nn.tensor<[4], f32>) {
  %0 = nn.where %p, %x, %x : (!nn.tensor<[1], i1>, !nn.tensor<[4], f32>, !nn.tensor<[4], f32>) -> !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: 'nn.reshape' expects a shape of 6 elements as !nn.tensor<[2, 3], f32> has, got [7] of 7
func.func @refused(%x: !nn.tensor<[2, 3], f32>) {
  %0 = nn.reshape %x {shape = #nn.dims[7]} : (!nn.tensor<[2, 3], f32>) -> !nn.tensor<[7], f32>
  func.return
}
// -----
// CHECK: 'nn.permute' expects each axis of !nn.tensor<[2, 3], f32> once as its order, got [0, 0]
func.func @refused(%x: !nn.tensor<[2, 3], f32>) {
  %0 = nn.permute %x {order = #nn.dims[0, 0]} : !nn.tensor<[2, 3], f32>
  func.return
}
// -----
// CHECK: 'nn.broadcast_to' expects sizes that are 1 or those of [3, 2], counted from the last, got !nn.tensor<[2, 3], f32>
func.func @refused(%x: !nn.tensor<[2, 3], f32>) {
  %0 = nn.broadcast_to %x {shape = #nn.dims[3, 2]} : (!nn.tensor<[2, 3], f32>) -> !nn.tensor<[3, 2], f32>
  func.return
}
// -----
// CHECK: 'nn.rebind' expects a shape that !nn.tensor<[2, 3], f32> can have, got [2, 4]
func.func @refused(%x: !nn.tensor<[2, 3], f32>) {
  %0 = nn.rebind %x {shape = #nn.dims[2, 4]} : (!nn.tensor<[2, 3], f32>) -> !nn.tensor<[2, 4], f32>
  func.return
}
// -----
// CHECK: 'nn.slice' expects 1 starts for [4], got [0, 0]
func.func @refused(%x: !nn.tensor<[4], f32>) {
  %0 = nn.slice %x {starts = #nn.dims[0, 0], stops = #nn.dims[4], steps = #nn.dims[1]} : !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: 'nn.slice' expects steps other than 0, got [0]
func.func @refused(%x: !nn.tensor<[4], f32>) {
  %0 = nn.slice %x {starts = #nn.dims[0], stops = #nn.dims[4], steps = #nn.dims[0]} : !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: 'nn.slice' expects 0 ≤ start ≤ stop ≤ size along axis 0 of [4], got 5 > 4
func.func @refused(%x: !nn.tensor<[4], f32>) {
  %0 = nn.slice %x {starts = #nn.dims[0], stops = #nn.dims[5], steps = #nn.dims[1]} : !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: 'nn.slice' expects -1 ≤ stop ≤ start < size along axis 0 of [4], got 4 > 3
func.func @refused(%x: !nn.tensor<[4], f32>) {
  %0 = nn.slice %x {starts = #nn.dims[4], stops = #nn.dims[0], steps = #nn.dims[-1]} : !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: 'nn.concat' expects at least one operand
func.func @refused() {
  %0 = nn.concat {axis = 0} : () -> !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: 'nn.concat' expects operands that differ along axis 0 only, got !nn.tensor<[2, 3], f32> and !nn.tensor<[4], f32>; broadcast or slice first
func.func @refused(%x: !nn.tensor<[2, 3], f32>, %y: !nn.tensor<[4], f32>) {
  %0 = nn.concat %x, %y {axis = 0} : (!nn.tensor<[2, 3], f32>, !nn.tensor<[4], f32>) -> !nn.tensor<[2, 3], f32>
  func.return
}
// -----
// CHECK: 'nn.concat' expects an axis from 0 to 1 for !nn.tensor<[2, 3], f32>, got 2
func.func @refused(%x: !nn.tensor<[2, 3], f32>) {
  %0 = nn.concat %x {axis = 2} : !nn.tensor<[2, 3], f32>
  func.return
}
// -----
// CHECK: 'nn.gather' expects indices of i32 or i64, got !nn.tensor<[4], f32>; convert with nn.cast
func.func @refused(%x: !nn.tensor<[2, 3], f32>, %i: !nn.tensor<[4], f32>) {
  %0 = nn.gather %x, %i {axis = 0} : (!nn.tensor<[2, 3], f32>, !nn.tensor<[4], f32>) -> !nn.tensor<[4, 3], f32>
  func.return
}
// -----
// CHECK: 'nn.gather' expects one device, got
func.func @refused(%x: !nn.tensor<[2, 3], f32>, %i: !nn.tensor<[4], i64, "gpu:0">) {
  %0 = nn.gather %x, %i {axis = 0} : (!nn.tensor<[2, 3], f32>, !nn.tensor<[4], i64, "gpu:0">) -> !nn.tensor<[4, 3], f32>
  func.return
}
// -----
// CHECK: 'nn.sum' expects an axis from 0 to 1 for !nn.tensor<[2, 3], f32>, got -1
func.func @refused(%x: !nn.tensor<[2, 3], f32>) {
  %0 = nn.sum %x {axis = -1} : !nn.tensor<[2, 3], f32>
  func.return
}
// -----
// CHECK: 'nn.argmax' expects at least one element along axis 0, got !nn.tensor<[0], f32>
func.func @refused(%x: !nn.tensor<[0], f32>) {
  %0 = nn.argmax %x {axis = 0} : (!nn.tensor<[0], f32>) -> !nn.tensor<[1], i64>
  func.return
}
// -----
// CHECK: 'nn.layer_norm' expects weights of !nn.tensor<[3], f32>, got !nn.tensor<[4], f32>
func.func @refused(%x: !nn.tensor<[2, 3], f32>, %w: !nn.tensor<[4], f32>) {
  %0 = nn.layer_norm %x, %w, %w {epsilon = 1.0e-5} : (!nn.tensor<[2, 3], f32>, !nn.tensor<[4], f32>, !nn.tensor<[4], f32>) -> !nn.tensor<[2, 3], f32>
  func.return
}
// -----
// CHECK: 'nn.rms_norm' expects at least one axis, got !nn.tensor<[], f32>
func.func @refused(%x: !nn.tensor<[], f32>) {
  %0 = nn.rms_norm %x, %x {epsilon = 1.0e-5} : !nn.tensor<[], f32>
  func.return
}
// -----
// CHECK: 'nn.matmul' expects [..., m, k] and [..., k, n] with equal leading sizes, or [k, n], got [2, 3] and [2, 3]; broadcast or reshape first
func.func @refused(%x: !nn.tensor<[2, 3], f32>) {
  %0 = nn.matmul %x, %x : !nn.tensor<[2, 3], f32>
  func.return
}
// -----
// CHECK: 'nn.matmul' expects one dtype and device, got !nn.tensor<[2, 3], f32> and !nn.tensor<[3, 2], f64>; convert with nn.cast
func.func @refused(%x: !nn.tensor<[2, 3], f32>, %y: !nn.tensor<[3, 2], f64>) {
  %0 = nn.matmul %x, %y : (!nn.tensor<[2, 3], f32>, !nn.tensor<[3, 2], f64>) -> !nn.tensor<[2, 2], f32>
  func.return
}
// -----
// CHECK: 'nn.matmul' expects numbers, got i1; convert with nn.cast
func.func @refused(%x: !nn.tensor<[2, 2], i1>) {
  %0 = nn.matmul %x, %x : !nn.tensor<[2, 2], i1>
  func.return
}
// -----
// CHECK: 'nn.pack' expects a matrix and a width of 1 or more, got !nn.tensor<[2, 3], f32> and 0
func.func @refused(%x: !nn.tensor<[2, 3], f32>) {
  %0 = nn.pack %x {width = 0} : !nn.tensor<[2, 3], f32>
  func.return
}
// -----
// CHECK: 'nn.matmul' rounds partial results of f32 to f16 or bf16, got f64
func.func @refused(%x: !nn.tensor<[3, 3], f32>) {
  %0 = nn.matmul %x, %x {partial = f64} : !nn.tensor<[3, 3], f32>
  func.return
}
// -----
// CHECK: 'nn.packed_matmul' expects f32 or f64 on one device, got
func.func @refused(%x: !nn.tensor<[2, 3], i32>, %y: !nn.tensor<[1, 3, 4], i32>) {
  %0 = nn.packed_matmul %x, %y {n = #nn.dims[4]} : (!nn.tensor<[2, 3], i32>, !nn.tensor<[1, 3, 4], i32>) -> !nn.tensor<[2, 4], i32>
  func.return
}
// -----
// CHECK: 'nn.packed_matmul' expects [..., m, k], packed [..., k, n] and one n, got
func.func @refused(%x: !nn.tensor<[2, 3], f32>) {
  %0 = nn.packed_matmul %x, %x {n = #nn.dims[4]} : !nn.tensor<[2, 3], f32>
  func.return
}
// -----
// CHECK: 'nn.packed_matmul' expects the panels of [..., k, 5] for !nn.tensor<[2, 3], f32>, got [1, 3, 4]
func.func @refused(%x: !nn.tensor<[2, 3], f32>, %y: !nn.tensor<[1, 3, 4], f32>) {
  %0 = nn.packed_matmul %x, %y {n = #nn.dims[5]} : (!nn.tensor<[2, 3], f32>, !nn.tensor<[1, 3, 4], f32>) -> !nn.tensor<[2, 5], f32>
  func.return
}
// -----
// CHECK: 'nn.weight' expects known sizes, got !nn.tensor<[n], f32>
func.func @refused() {
  %0 = nn.weight {key = "w"} : !nn.tensor<[n], f32>
  func.return
}
// -----
// CHECK: 'nn.iota' expects an axis from 0 to 0 for !nn.tensor<[4], f32>, got 1
func.func @refused() {
  %0 = nn.iota {axis = 1} : !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: 'nn.dim' expects one size, got [4, n]
func.func @refused() {
  %0 = nn.dim {value = #nn.dims[4, n]} : !nn.tensor<[], i64>
  func.return
}
// -----
// CHECK: 'nn.range' expects a start and a step of one type and rank 0, got !nn.tensor<[4], f32> and !nn.tensor<[4], f32>
func.func @refused(%x: !nn.tensor<[4], f32>) {
  %0 = nn.range %x, %x {length = #nn.dims[4]} : !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: 'nn.range' expects one length, got [4, 4]
func.func @refused(%x: !nn.tensor<[], f32>) {
  %0 = nn.range %x, %x {length = #nn.dims[4, 4]} : !nn.tensor<[], f32>
  func.return
}
// -----
// CHECK: 'nn.constant' expects elements for !nn.tensor<[3], f32>, got [2] of f32
func.func @refused() {
  %0 = "nn.constant"() <{value = #nn.dense<[2], f32, [1.0, 2.0]>}> : () -> !nn.tensor<[3], f32>
  func.return
}
// -----
// CHECK: 'nn.constant' expects at most 1024 bytes, got 1032; make it an nn.weight
func.func @refused() {
  %0 = nn.constant [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] : !nn.tensor<[129], i64>
  func.return
}
// -----
// CHECK: 'nn.dense' expects 4 elements for its shape, got 2
func.func @refused() {
  %0 = nn.constant [1.0, 2.0] : !nn.tensor<[2, 2], f32>
  func.return
}
// -----
// CHECK: 'nn.dense' expects sizes that are numbers, got ('n',)
func.func @refused() {
  %0 = nn.constant [1.0] : !nn.tensor<[n], f32>
  func.return
}
// -----
// CHECK: expected elements that fit i8: 300 is out of range
func.func @refused() {
  %0 = nn.constant 300 : !nn.tensor<[], i8>
  func.return
}
// -----
// CHECK: expected elements that fit i32: 0.5 is not an integer
func.func @refused() {
  %0 = nn.constant 0.5 : !nn.tensor<[], i32>
  func.return
}
// -----
// CHECK: expected elements that fit i32: bits() is for floats
func.func @refused() {
  %0 = nn.constant bits(1) : !nn.tensor<[], i32>
  func.return
}
// -----
// CHECK: expected elements that fit i1: 2 is not a bool
func.func @refused() {
  %0 = nn.constant 2 : !nn.tensor<[], i1>
  func.return
}
// -----
// CHECK: expected a !nn.tensor type, got f32
func.func @refused() {
  %0 = nn.constant 1.0 : f32
  func.return
}
// -----
// CHECK: Expected 2 operands, but got 1
func.func @refused(%x: !nn.tensor<[4], f32>) {
  %0 = nn.add %x : !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: 'nn.group' expects to end in an nn.yield of its results' types
func.func @refused(%x: !nn.tensor<[4], f32>) {
  "nn.group"(%x) <{kind = "elementwise"}> ({
  ^bb0(%a: !nn.tensor<[4], f32>):
    "nn.yield"(%a) : (!nn.tensor<[4], f32>) -> ()
  }) : (!nn.tensor<[4], f32>) -> !nn.tensor<[5], f32>
  func.return
}
// -----
// CHECK: 'nn.group' expects block arguments of its operands' types
func.func @refused(%x: !nn.tensor<[5], f32>) {
  %0 = "nn.group"(%x) <{kind = "elementwise"}> ({
  ^bb0(%a: !nn.tensor<[4], f32>):
    "nn.yield"(%a) : (!nn.tensor<[4], f32>) -> ()
  }) : (!nn.tensor<[5], f32>) -> !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: expected 'nn.group' to end in nn.yield
func.func @refused(%x: !nn.tensor<[4], f32>) {
  %0 = nn.group "elementwise" (%x) {
  ^bb0(%a: !nn.tensor<[4], f32>):
    %b = nn.relu %a : !nn.tensor<[4], f32>
  }
  func.return
}
// -----
// CHECK: 'nn.store' expects a source of type !nn.tensor<[4], f32>, got !nn.tensor<[5], f32>
func.func @refused(%x: !nn.tensor<[5], f32>, %b: !nn.buffer<[4], f32>) {
  nn.store %x, %b : (!nn.tensor<[5], f32>, !nn.buffer<[4], f32>) -> ()
  func.return
}
// -----
// CHECK: 'nn.store_slice' expects a source of type !nn.tensor<[2], f32>, got !nn.tensor<[4], f32>
func.func @refused(%x: !nn.tensor<[4], f32>, %b: !nn.buffer<[4], f32>) {
  nn.store_slice %x, %b {starts = #nn.dims[0], stops = #nn.dims[4], steps = #nn.dims[2]} : (!nn.tensor<[4], f32>, !nn.buffer<[4], f32>) -> ()
  func.return
}
// -----
// CHECK: operand 'source' at position 0 does not verify
func.func @refused(%x: !nn.tensor<[4], f32>) {
  %0 = nn.load %x : !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: operand 'x' at position 0 does not verify
func.func @refused(%x: !nn.buffer<[4], f32>) {
  %0 = nn.relu %x : (!nn.buffer<[4], f32>) -> !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: 'nn.group' expects tensors and buffers as operands
func.func @refused(%x: f32, %t: !nn.tensor<[4], f32>) {
  %0 = nn.group "elementwise" (%x, %t) {
  ^bb0(%1: f32, %2: !nn.tensor<[4], f32>):
    nn.yield %2 : !nn.tensor<[4], f32>
  }
  func.return
}
// -----
// CHECK: 'nn.assert' expects a condition of i1, got !nn.tensor<[4], f32>; compare first
func.func @refused(%x: !nn.tensor<[4], f32>) {
  nn.assert %x {message = "no"} : (!nn.tensor<[4], f32>) -> ()
  func.return
}
// -----
// CHECK: 'nn.assert' shows values of its condition's shape and device, !nn.tensor<[4], i1>, got !nn.tensor<[3], f32>; broadcast or trace it
func.func @refused(%x: !nn.tensor<[4], i1>, %y: !nn.tensor<[3], f32>) {
  nn.assert %x, %y {message = "no"} : (!nn.tensor<[4], i1>, !nn.tensor<[3], f32>) -> ()
  func.return
}
// -----
// CHECK: 'nn.assert' shows at most 8 values, got 9
func.func @refused(%x: !nn.tensor<[], i1>) {
  nn.assert %x, %x, %x, %x, %x, %x, %x, %x, %x, %x {message = "no"} : (!nn.tensor<[], i1>, !nn.tensor<[], i1>, !nn.tensor<[], i1>, !nn.tensor<[], i1>, !nn.tensor<[], i1>, !nn.tensor<[], i1>, !nn.tensor<[], i1>, !nn.tensor<[], i1>, !nn.tensor<[], i1>, !nn.tensor<[], i1>) -> ()
  func.return
}
// -----
// CHECK: 'nn.assert' expects checks out of report, off, got on
func.func @refused(%x: !nn.tensor<[], i1>) {
  nn.assert %x {message = "no", checks = "on"} : (!nn.tensor<[], i1>) -> ()
  func.return
}
// -----
// CHECK: 'nn.trace' expects a level out of trace, debug, info, warning, error, critical, print, got loud
func.func @refused(%x: !nn.tensor<[], i1>) {
  nn.trace %x {message = "no", level = "loud"} : (!nn.tensor<[], i1>) -> ()
  func.return
}
// -----
// CHECK: 'nn.top_k' expects a k from 0 to 4, got 5
func.func @refused(%x: !nn.tensor<[4], f32>) {
  %y = nn.top_k %x {largest = true, k = #nn.dims[5]} : (!nn.tensor<[4], f32>) -> !nn.tensor<[5], i64>
  func.return
}
// -----
// CHECK: 'nn.top_k' expects one k, got 2
func.func @refused(%x: !nn.tensor<[4], f32>) {
  %y = nn.top_k %x {largest = true, k = #nn.dims[1, 2]} : (!nn.tensor<[4], f32>) -> !nn.tensor<[1], i64>
  func.return
}
// -----
// CHECK: 'nn.top_k' expects at least one dim, got !nn.tensor<[], f32>
func.func @refused(%x: !nn.tensor<[], f32>) {
  %y = nn.top_k %x {largest = true, k = #nn.dims[1]} : (!nn.tensor<[], f32>) -> !nn.tensor<[1], i64>
  func.return
}
// -----
// CHECK: 'nn.top_k_sort' expects largest to be true or false, got 1 : i64
func.func @refused(%x: !nn.tensor<[4], f32>) {
  %y = nn.top_k_sort %x {largest = 1} : (!nn.tensor<[4], f32>) -> !nn.tensor<[4], i64>
  func.return
}
// -----
// CHECK: 'nn.top_k_select' expects a known k of 1 or more, got n
func.func @refused(%x: !nn.tensor<[n], f32>) {
  %y = nn.top_k_select %x {largest = true, k = #nn.dims[n]} : (!nn.tensor<[n], f32>) -> !nn.tensor<[n], i64>
  func.return
}
// -----
// CHECK: 'nn.take_along_axis' expects indices of i32 or i64 on one device, got !nn.tensor<[4], f32> and !nn.tensor<[4], f32>
func.func @refused(%x: !nn.tensor<[4], f32>) {
  %y = nn.take_along_axis %x, %x {axis = 0} : !nn.tensor<[4], f32>
  func.return
}
// -----
// CHECK: 'nn.take_along_axis' expects indices that differ along axis 1 only, got !nn.tensor<[2, 4], f32> and !nn.tensor<[3, 4], i64>
func.func @refused(%x: !nn.tensor<[2, 4], f32>, %i: !nn.tensor<[3, 4], i64>) {
  %y = nn.take_along_axis %x, %i {axis = 1} : (!nn.tensor<[2, 4], f32>, !nn.tensor<[3, 4], i64>) -> !nn.tensor<[3, 4], f32>
  func.return
}
