// RUN: pelton-opt %s -p fuse-groups,lower-groups -t numba-cpu | filecheck %s

// Unsigned integers keep their type in registers, and their ops are those of unsigned numbers.
// CHECK:                  t = load(x0, j)
// CHECK-NEXT:             t1 = load(x1, j)
// CHECK-NEXT:             floor_div = truncdiv(t, t1)
// CHECK-NEXT:             constant = u8(200)
// CHECK-NEXT:             mod = truncmod(floor_div, constant)
// CHECK-NEXT:             maximum1 = maximum(mod, t)
// CHECK-NEXT:             less = ult(maximum1, constant)
// CHECK-NEXT:             where1 = where(less, maximum1, constant)
// CHECK-NEXT:             bitwise_not = where1 ^ u8(255)
// CHECK-NEXT:             cast = to_i32(bitwise_not)
// CHECK-NEXT:             cast1 = to_u32(cast)
// CHECK-NEXT:             cast2 = to_f32(cast1)
// CHECK-NEXT:             store(out, j, cast2)
func.func @main(%x: !nn.tensor<[n], ui8>, %y: !nn.tensor<[n], ui8>) -> !nn.tensor<[n], f32> {
  %c = nn.constant 200 : !nn.tensor<[], ui8>
  %b = nn.broadcast_to %c {shape = #nn.dims[n]} : (!nn.tensor<[], ui8>) -> !nn.tensor<[n], ui8>
  %q = nn.floor_div %x, %y : !nn.tensor<[n], ui8>
  %r = nn.mod %q, %b : !nn.tensor<[n], ui8>
  %m = nn.maximum %r, %x : !nn.tensor<[n], ui8>
  %l = nn.less %m, %b : (!nn.tensor<[n], ui8>, !nn.tensor<[n], ui8>) -> !nn.tensor<[n], i1>
  %w = nn.where %l, %m, %b : (!nn.tensor<[n], i1>, !nn.tensor<[n], ui8>, !nn.tensor<[n], ui8>) -> !nn.tensor<[n], ui8>
  %s = nn.bitwise_not %w : !nn.tensor<[n], ui8>
  %i = nn.cast %s {dtype = i32} : (!nn.tensor<[n], ui8>) -> !nn.tensor<[n], i32>
  %u = nn.cast %i {dtype = ui32} : (!nn.tensor<[n], i32>) -> !nn.tensor<[n], ui32>
  %f = nn.cast %u {dtype = f32} : (!nn.tensor<[n], ui32>) -> !nn.tensor<[n], f32>
  func.return %f : !nn.tensor<[n], f32>
}
