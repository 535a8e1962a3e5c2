// What canonicalization makes of nn ops. No rule changes a bit of a result.
// RUN: pelton-opt %s -p canonicalize | filecheck %s
// RUN: pelton-opt %s -p canonicalize | pelton-opt -p canonicalize | filecheck %s

// A tensor full of one number is that number, broadcast; a constant goes to the right; x * 1, x - 0 and x + -0 go.
// CHECK-LABEL: func.func @neutral
// CHECK-NEXT:    %y = nn.constant 2.0 : !nn.tensor<[], f32>
// CHECK-NEXT:    %y_1 = nn.broadcast_to %y {shape = #nn.dims[n, 2]} : (!nn.tensor<[], f32>) -> !nn.tensor<[n, 2], f32>
// CHECK-NEXT:    %b = nn.add %x, %y_1 : !nn.tensor<[n, 2], f32>
// CHECK-NEXT:    func.return %b : !nn.tensor<[n, 2], f32>
func.func @neutral(%x : !nn.tensor<[n, 2], f32>) -> !nn.tensor<[n, 2], f32> {
  %ones = nn.constant [1.0, 1.0] : !nn.tensor<[2], f32>
  %zero = nn.constant 0.0 : !nn.tensor<[], f32>
  %minus = nn.constant -0.0 : !nn.tensor<[], f32>
  %one = nn.broadcast_to %ones {shape = #nn.dims[n, 2]} : (!nn.tensor<[2], f32>) -> !nn.tensor<[n, 2], f32>
  %z = nn.broadcast_to %zero {shape = #nn.dims[n, 2]} : (!nn.tensor<[], f32>) -> !nn.tensor<[n, 2], f32>
  %m = nn.broadcast_to %minus {shape = #nn.dims[n, 2]} : (!nn.tensor<[], f32>) -> !nn.tensor<[n, 2], f32>
  %y = nn.add %one, %one : !nn.tensor<[n, 2], f32>
  %a = nn.mul %x, %one : !nn.tensor<[n, 2], f32>
  %b = nn.add %y, %a : !nn.tensor<[n, 2], f32>
  %c = nn.sub %b, %z : !nn.tensor<[n, 2], f32>
  %d = nn.add %c, %m : !nn.tensor<[n, 2], f32>
  %e = nn.div %d, %one : !nn.tensor<[n, 2], f32>
  func.return %e : !nn.tensor<[n, 2], f32>
}

// x + 0 stays: it makes +0 of -0. An integer has one zero.
// CHECK-LABEL: func.func @zeros
// CHECK:         %y = nn.add %x, %z : !nn.tensor<[], f32>
// CHECK-NEXT:    func.return %y, %i : !nn.tensor<[], f32>, !nn.tensor<[], i32>
func.func @zeros(%x : !nn.tensor<[], f32>, %i : !nn.tensor<[], i32>) -> (!nn.tensor<[], f32>, !nn.tensor<[], i32>) {
  %z = nn.constant 0.0 : !nn.tensor<[], f32>
  %k = nn.constant 0 : !nn.tensor<[], i32>
  %y = nn.add %x, %z : !nn.tensor<[], f32>
  %j = nn.add %i, %k : !nn.tensor<[], i32>
  func.return %y, %j : !nn.tensor<[], f32>, !nn.tensor<[], i32>
}

// Dividing by a power of two is multiplying by its inverse, which is exact; by 3 it is not.
// CHECK-LABEL: func.func @quarter
// CHECK-NEXT:    %y = nn.constant 0.25 : !nn.tensor<[], f32>
// CHECK-NEXT:    %y_1 = nn.mul %x, %y : !nn.tensor<[], f32>
// CHECK-NEXT:    %three = nn.constant 3.0 : !nn.tensor<[], f32>
// CHECK-NEXT:    %z = nn.div %y_1, %three : !nn.tensor<[], f32>
func.func @quarter(%x : !nn.tensor<[], f32>) -> !nn.tensor<[], f32> {
  %four = nn.constant 4.0 : !nn.tensor<[], f32>
  %y = nn.div %x, %four : !nn.tensor<[], f32>
  %three = nn.constant 3.0 : !nn.tensor<[], f32>
  %z = nn.div %y, %three : !nn.tensor<[], f32>
  func.return %z : !nn.tensor<[], f32>
}

// CHECK-LABEL: func.func @twice
// CHECK-NEXT:    %f = nn.floor %x : !nn.tensor<[n], f32>
// CHECK-NEXT:    func.return %x, %p, %f : !nn.tensor<[n], f32>, !nn.tensor<[n], i1>, !nn.tensor<[n], f32>
func.func @twice(%x : !nn.tensor<[n], f32>, %p : !nn.tensor<[n], i1>) -> (!nn.tensor<[n], f32>, !nn.tensor<[n], i1>, !nn.tensor<[n], f32>) {
  %a = nn.negate %x : !nn.tensor<[n], f32>
  %b = nn.negate %a : !nn.tensor<[n], f32>
  %c = nn.logical_not %p : !nn.tensor<[n], i1>
  %d = nn.logical_not %c : !nn.tensor<[n], i1>
  %f = nn.floor %x : !nn.tensor<[n], f32>
  %g = nn.floor %f : !nn.tensor<[n], f32>
  func.return %b, %d, %g : !nn.tensor<[n], f32>, !nn.tensor<[n], i1>, !nn.tensor<[n], f32>
}

// A cast that lost nothing goes; one that rounded stays.
// CHECK-LABEL: func.func @casts
// CHECK-NEXT:    %c = nn.cast %i {dtype = f64} : (!nn.tensor<[n], i32>) -> !nn.tensor<[n], f64>
// CHECK-NEXT:    %d = nn.cast %x {dtype = bf16} : (!nn.tensor<[n], f16>) -> !nn.tensor<[n], bf16>
// CHECK-NEXT:    %e = nn.cast %d {dtype = f16} : (!nn.tensor<[n], bf16>) -> !nn.tensor<[n], f16>
// CHECK-NEXT:    func.return %x, %c, %e : !nn.tensor<[n], f16>, !nn.tensor<[n], f64>, !nn.tensor<[n], f16>
func.func @casts(%x : !nn.tensor<[n], f16>, %i : !nn.tensor<[n], i32>) -> (!nn.tensor<[n], f16>, !nn.tensor<[n], f64>, !nn.tensor<[n], f16>) {
  %a = nn.cast %x {dtype = f32} : (!nn.tensor<[n], f16>) -> !nn.tensor<[n], f32>
  %b = nn.cast %a {dtype = f16} : (!nn.tensor<[n], f32>) -> !nn.tensor<[n], f16>
  %j = nn.cast %i {dtype = i64} : (!nn.tensor<[n], i32>) -> !nn.tensor<[n], i64>
  %c = nn.cast %j {dtype = f64} : (!nn.tensor<[n], i64>) -> !nn.tensor<[n], f64>
  %d = nn.cast %x {dtype = bf16} : (!nn.tensor<[n], f16>) -> !nn.tensor<[n], bf16>
  %e = nn.cast %d {dtype = f16} : (!nn.tensor<[n], bf16>) -> !nn.tensor<[n], f16>
  func.return %b, %c, %e : !nn.tensor<[n], f16>, !nn.tensor<[n], f64>, !nn.tensor<[n], f16>
}

// From f64 to i8 saturates, from i32 to i8 wraps; i32 on the way from ui8 to f16 loses nothing, ui32 from i8 does.
// CHECK-LABEL: func.func @between_integers
// CHECK-NEXT:    %a = nn.cast %i {dtype = f64} : (!nn.tensor<[n], i32>) -> !nn.tensor<[n], f64>
// CHECK-NEXT:    %b = nn.cast %a {dtype = i8} : (!nn.tensor<[n], f64>) -> !nn.tensor<[n], i8>
// CHECK-NEXT:    %d = nn.cast %u {dtype = f16} : (!nn.tensor<[n], ui8>) -> !nn.tensor<[n], f16>
// CHECK-NEXT:    %f = nn.cast %b {dtype = ui32} : (!nn.tensor<[n], i8>) -> !nn.tensor<[n], ui32>
// CHECK-NEXT:    %g = nn.cast %f {dtype = f32} : (!nn.tensor<[n], ui32>) -> !nn.tensor<[n], f32>
// CHECK-NEXT:    func.return %b, %d, %g
func.func @between_integers(%i : !nn.tensor<[n], i32>, %u : !nn.tensor<[n], ui8>) -> (!nn.tensor<[n], i8>, !nn.tensor<[n], f16>, !nn.tensor<[n], f32>) {
  %a = nn.cast %i {dtype = f64} : (!nn.tensor<[n], i32>) -> !nn.tensor<[n], f64>
  %b = nn.cast %a {dtype = i8} : (!nn.tensor<[n], f64>) -> !nn.tensor<[n], i8>
  %c = nn.cast %u {dtype = i32} : (!nn.tensor<[n], ui8>) -> !nn.tensor<[n], i32>
  %d = nn.cast %c {dtype = f16} : (!nn.tensor<[n], i32>) -> !nn.tensor<[n], f16>
  %f = nn.cast %b {dtype = ui32} : (!nn.tensor<[n], i8>) -> !nn.tensor<[n], ui32>
  %g = nn.cast %f {dtype = f32} : (!nn.tensor<[n], ui32>) -> !nn.tensor<[n], f32>
  func.return %b, %d, %g : !nn.tensor<[n], i8>, !nn.tensor<[n], f16>, !nn.tensor<[n], f32>
}

// CHECK-LABEL: func.func @choices
// CHECK-NEXT:    func.return %x, %y : !nn.tensor<[n], f32>, !nn.tensor<[n], f32>
func.func @choices(%p : !nn.tensor<[n], i1>, %x : !nn.tensor<[n], f32>, %y : !nn.tensor<[n], f32>) -> (!nn.tensor<[n], f32>, !nn.tensor<[n], f32>) {
  %no = nn.constant false : !nn.tensor<[], i1>
  %never = nn.broadcast_to %no {shape = #nn.dims[n]} : (!nn.tensor<[], i1>) -> !nn.tensor<[n], i1>
  %a = nn.where %p, %x, %x : (!nn.tensor<[n], i1>, !nn.tensor<[n], f32>, !nn.tensor<[n], f32>) -> !nn.tensor<[n], f32>
  %b = nn.where %never, %x, %y : (!nn.tensor<[n], i1>, !nn.tensor<[n], f32>, !nn.tensor<[n], f32>) -> !nn.tensor<[n], f32>
  func.return %a, %b : !nn.tensor<[n], f32>, !nn.tensor<[n], f32>
}

// Movement of movement is one movement; a permutation of axes of size 1 moves nothing and is a reshape.
// CHECK-LABEL: func.func @movement
// CHECK-NEXT:    %b = nn.broadcast_to %x {shape = #nn.dims[k, n, 4]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[k, n, 4], f32>
// CHECK-NEXT:    %q = nn.permute %b {order = #nn.dims[2, 1, 0]} : (!nn.tensor<[k, n, 4], f32>) -> !nn.tensor<[4, n, k], f32>
// CHECK-NEXT:    %t = nn.reshape %x {shape = #nn.dims[4*n]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[4*n], f32>
// CHECK-NEXT:    func.return %q, %t, %x : !nn.tensor<[4, n, k], f32>, !nn.tensor<[4*n], f32>, !nn.tensor<[n, 4], f32>
func.func @movement(%x : !nn.tensor<[n, 4], f32>) -> (!nn.tensor<[4, n, k], f32>, !nn.tensor<[4*n], f32>, !nn.tensor<[n, 4], f32>) {
  %a = nn.broadcast_to %x {shape = #nn.dims[1, n, 4]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[1, n, 4], f32>
  %b = nn.broadcast_to %a {shape = #nn.dims[k, n, 4]} : (!nn.tensor<[1, n, 4], f32>) -> !nn.tensor<[k, n, 4], f32>
  %p = nn.permute %b {order = #nn.dims[2, 0, 1]} : (!nn.tensor<[k, n, 4], f32>) -> !nn.tensor<[4, k, n], f32>
  %q = nn.permute %p {order = #nn.dims[0, 2, 1]} : (!nn.tensor<[4, k, n], f32>) -> !nn.tensor<[4, n, k], f32>
  %r = nn.reshape %x {shape = #nn.dims[n, 1, 4]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1, 4], f32>
  %s = nn.permute %r {order = #nn.dims[1, 0, 2]} : (!nn.tensor<[n, 1, 4], f32>) -> !nn.tensor<[1, n, 4], f32>
  %t = nn.reshape %s {shape = #nn.dims[4*n]} : (!nn.tensor<[1, n, 4], f32>) -> !nn.tensor<[4*n], f32>
  %u = nn.reshape %t {shape = #nn.dims[n, 4]} : (!nn.tensor<[4*n], f32>) -> !nn.tensor<[n, 4], f32>
  func.return %q, %t, %u : !nn.tensor<[4, n, k], f32>, !nn.tensor<[4*n], f32>, !nn.tensor<[n, 4], f32>
}

// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    func.return %x, %x : !nn.tensor<[n, 4], f32>, !nn.tensor<[n, 4], f32>
func.func @nothing(%x : !nn.tensor<[n, 4], f32>, %e : !nn.tensor<[0, 4], f32>) -> (!nn.tensor<[n, 4], f32>, !nn.tensor<[n, 4], f32>) {
  %a = nn.slice %x {starts = #nn.dims[0, 0], stops = #nn.dims[n, 4], steps = #nn.dims[1, 1]} : !nn.tensor<[n, 4], f32>
  %b = nn.rebind %a {shape = #nn.dims[n, 4]} : !nn.tensor<[n, 4], f32>
  %c = nn.broadcast_to %b {shape = #nn.dims[n, 4]} : !nn.tensor<[n, 4], f32>
  %d = nn.concat %e, %x {axis = 0} : (!nn.tensor<[0, 4], f32>, !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], f32>
  func.return %c, %d : !nn.tensor<[n, 4], f32>, !nn.tensor<[n, 4], f32>
}

// Constants are folded by what the ops evaluate to, unless the result is large, cheap to compute or inexact.
// CHECK-LABEL: func.func @fold
// CHECK-NEXT:    %0 = nn.constant [1.0, 2.0] : !nn.tensor<[2], f32>
// CHECK-NEXT:    %s = nn.constant 2.0 : !nn.tensor<[], f32>
// CHECK-NEXT:    %s_1 = nn.broadcast_to %s {shape = #nn.dims[1]} : (!nn.tensor<[], f32>) -> !nn.tensor<[1], f32>
// CHECK-NEXT:    %shape = nn.constant [3, 4] : !nn.tensor<[2], i64>
// CHECK-NEXT:    %wide = nn.broadcast_to %0 {shape = #nn.dims[4, 2]} : (!nn.tensor<[2], f32>) -> !nn.tensor<[4, 2], f32>
func.func @fold() -> (!nn.tensor<[1], f32>, !nn.tensor<[2], i64>, !nn.tensor<[4, 2], f32>) {
  %0 = nn.constant [1.0, 2.0] : !nn.tensor<[2], f32>
  %s = nn.max %0 {axis = 0} : (!nn.tensor<[2], f32>) -> !nn.tensor<[1], f32>
  %shape = nn.shape_to_tensor {shape = #nn.dims[3, 4]} : !nn.tensor<[2], i64>
  %wide = nn.broadcast_to %0 {shape = #nn.dims[4, 2]} : (!nn.tensor<[2], f32>) -> !nn.tensor<[4, 2], f32>
  func.return %s, %shape, %wide : !nn.tensor<[1], f32>, !nn.tensor<[2], i64>, !nn.tensor<[4, 2], f32>
}

// An assert that is known to hold goes; one that is known not to stays, for the run to fail. So does a bad index.
// CHECK:      func.func @known
// CHECK-NOT:    "holds"
// CHECK:        nn.assert %{{.*}} {message = "does not"}
// CHECK:        nn.gather
func.func @known(%x: !nn.tensor<[2], f32>) -> !nn.tensor<[1], i64> {
  %yes = nn.constant true : !nn.tensor<[], i1>
  %all = nn.broadcast_to %yes {shape = #nn.dims[n]} : (!nn.tensor<[], i1>) -> !nn.tensor<[n], i1>
  %both = nn.constant [true, true] : !nn.tensor<[2], i1>
  %one = nn.constant [true, false] : !nn.tensor<[2], i1>
  nn.assert %all {message = "holds"} : (!nn.tensor<[n], i1>) -> ()
  nn.assert %both, %x {message = "holds"} : (!nn.tensor<[2], i1>, !nn.tensor<[2], f32>) -> ()
  nn.assert %one, %x {message = "does not"} : (!nn.tensor<[2], i1>, !nn.tensor<[2], f32>) -> ()
  %table = nn.constant [1, 2] : !nn.tensor<[2], i64>
  %bad = nn.constant [2] : !nn.tensor<[1], i64>
  %y = nn.gather %table, %bad {axis = 0} : (!nn.tensor<[2], i64>, !nn.tensor<[1], i64>) -> !nn.tensor<[1], i64>
  func.return %y : !nn.tensor<[1], i64>
}
