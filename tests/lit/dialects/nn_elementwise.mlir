// Every elementwise op of `nn`, in pretty and generic form.
// RUN: pelton-opt %s | filecheck %s
// RUN: pelton-opt %s | pelton-opt | filecheck %s
// RUN: pelton-opt %s --print-op-generic | pelton-opt | filecheck %s

// CHECK:      func.func @arithmetic(%x: !nn.tensor<[n, 4], f32>, %y: !nn.tensor<[n, 4], f32>) {
// CHECK-NEXT:   %add = nn.add %x, %y : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %sub = nn.sub %x, %y : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %mul = nn.mul %x, %y : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %floor_div = nn.floor_div %x, %y : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %mod = nn.mod %x, %y : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %maximum = nn.maximum %x, %y : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %minimum = nn.minimum %x, %y : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %div = nn.div %x, %y : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %pow = nn.pow %x, %y : !nn.tensor<[n, 4], f32>
func.func @arithmetic(%x: !nn.tensor<[n, 4], f32>, %y: !nn.tensor<[n, 4], f32>) {
  %add = nn.add %x, %y : !nn.tensor<[n, 4], f32>
  %sub = nn.sub %x, %y : !nn.tensor<[n, 4], f32>
  %mul = nn.mul %x, %y : !nn.tensor<[n, 4], f32>
  %floor_div = nn.floor_div %x, %y : !nn.tensor<[n, 4], f32>
  %mod = nn.mod %x, %y : !nn.tensor<[n, 4], f32>
  %maximum = nn.maximum %x, %y : !nn.tensor<[n, 4], f32>
  %minimum = nn.minimum %x, %y : !nn.tensor<[n, 4], f32>
  %div = nn.div %x, %y : !nn.tensor<[n, 4], f32>
  %pow = nn.pow %x, %y : !nn.tensor<[n, 4], f32>
  func.return
}

// CHECK:      func.func @comparisons(%x: !nn.tensor<[n, 4], i32>, %y: !nn.tensor<[n, 4], i32>) {
// CHECK-NEXT:   %equal = nn.equal %x, %y : (!nn.tensor<[n, 4], i32>, !nn.tensor<[n, 4], i32>) -> !nn.tensor<[n, 4], i1>
// CHECK-NEXT:   %not_equal = nn.not_equal %x, %y : (!nn.tensor<[n, 4], i32>, !nn.tensor<[n, 4], i32>) -> !nn.tensor<[n, 4], i1>
// CHECK-NEXT:   %greater = nn.greater %x, %y : (!nn.tensor<[n, 4], i32>, !nn.tensor<[n, 4], i32>) -> !nn.tensor<[n, 4], i1>
// CHECK-NEXT:   %greater_equal = nn.greater_equal %x, %y : (!nn.tensor<[n, 4], i32>, !nn.tensor<[n, 4], i32>) -> !nn.tensor<[n, 4], i1>
// CHECK-NEXT:   %less = nn.less %x, %y : (!nn.tensor<[n, 4], i32>, !nn.tensor<[n, 4], i32>) -> !nn.tensor<[n, 4], i1>
// CHECK-NEXT:   %less_equal = nn.less_equal %x, %y : (!nn.tensor<[n, 4], i32>, !nn.tensor<[n, 4], i32>) -> !nn.tensor<[n, 4], i1>
func.func @comparisons(%x: !nn.tensor<[n, 4], i32>, %y: !nn.tensor<[n, 4], i32>) {
  %equal = nn.equal %x, %y : (!nn.tensor<[n, 4], i32>, !nn.tensor<[n, 4], i32>) -> !nn.tensor<[n, 4], i1>
  %not_equal = nn.not_equal %x, %y : (!nn.tensor<[n, 4], i32>, !nn.tensor<[n, 4], i32>) -> !nn.tensor<[n, 4], i1>
  %greater = nn.greater %x, %y : (!nn.tensor<[n, 4], i32>, !nn.tensor<[n, 4], i32>) -> !nn.tensor<[n, 4], i1>
  %greater_equal = nn.greater_equal %x, %y : (!nn.tensor<[n, 4], i32>, !nn.tensor<[n, 4], i32>) -> !nn.tensor<[n, 4], i1>
  %less = nn.less %x, %y : (!nn.tensor<[n, 4], i32>, !nn.tensor<[n, 4], i32>) -> !nn.tensor<[n, 4], i1>
  %less_equal = nn.less_equal %x, %y : (!nn.tensor<[n, 4], i32>, !nn.tensor<[n, 4], i32>) -> !nn.tensor<[n, 4], i1>
  func.return
}

// CHECK:      func.func @bits(%p: !nn.tensor<[n, 4], i1>, %q: !nn.tensor<[n, 4], i1>, %i: !nn.tensor<[n, 4], i32>, %j: !nn.tensor<[n, 4], i32>) {
// CHECK-NEXT:   %logical_and = nn.logical_and %p, %q : !nn.tensor<[n, 4], i1>
// CHECK-NEXT:   %logical_or = nn.logical_or %p, %q : !nn.tensor<[n, 4], i1>
// CHECK-NEXT:   %logical_xor = nn.logical_xor %p, %q : !nn.tensor<[n, 4], i1>
// CHECK-NEXT:   %logical_not = nn.logical_not %p : !nn.tensor<[n, 4], i1>
// CHECK-NEXT:   %bitwise_and = nn.bitwise_and %i, %j : !nn.tensor<[n, 4], i32>
// CHECK-NEXT:   %bitwise_or = nn.bitwise_or %i, %j : !nn.tensor<[n, 4], i32>
// CHECK-NEXT:   %bitwise_xor = nn.bitwise_xor %i, %j : !nn.tensor<[n, 4], i32>
// CHECK-NEXT:   %bitwise_not = nn.bitwise_not %i : !nn.tensor<[n, 4], i32>
func.func @bits(%p: !nn.tensor<[n, 4], i1>, %q: !nn.tensor<[n, 4], i1>, %i: !nn.tensor<[n, 4], i32>, %j: !nn.tensor<[n, 4], i32>) {
  %logical_and = nn.logical_and %p, %q : !nn.tensor<[n, 4], i1>
  %logical_or = nn.logical_or %p, %q : !nn.tensor<[n, 4], i1>
  %logical_xor = nn.logical_xor %p, %q : !nn.tensor<[n, 4], i1>
  %logical_not = nn.logical_not %p : !nn.tensor<[n, 4], i1>
  %bitwise_and = nn.bitwise_and %i, %j : !nn.tensor<[n, 4], i32>
  %bitwise_or = nn.bitwise_or %i, %j : !nn.tensor<[n, 4], i32>
  %bitwise_xor = nn.bitwise_xor %i, %j : !nn.tensor<[n, 4], i32>
  %bitwise_not = nn.bitwise_not %i : !nn.tensor<[n, 4], i32>
  func.return
}

// CHECK:      func.func @functions(%x: !nn.tensor<[n, 4], f32>) {
// CHECK-NEXT:   %abs = nn.abs %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %negate = nn.negate %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %floor = nn.floor %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %ceil = nn.ceil %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %round = nn.round %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %trunc = nn.trunc %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %exp = nn.exp %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %log = nn.log %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %log1p = nn.log1p %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %sqrt = nn.sqrt %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %rsqrt = nn.rsqrt %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %sin = nn.sin %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %cos = nn.cos %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %tan = nn.tan %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %asin = nn.asin %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %acos = nn.acos %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %atan = nn.atan %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %atanh = nn.atanh %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %tanh = nn.tanh %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %erf = nn.erf %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %relu = nn.relu %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %sigmoid = nn.sigmoid %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %silu = nn.silu %x : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %is_nan = nn.is_nan %x : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], i1>
// CHECK-NEXT:   %is_inf = nn.is_inf %x : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], i1>
func.func @functions(%x: !nn.tensor<[n, 4], f32>) {
  %abs = nn.abs %x : !nn.tensor<[n, 4], f32>
  %negate = nn.negate %x : !nn.tensor<[n, 4], f32>
  %floor = nn.floor %x : !nn.tensor<[n, 4], f32>
  %ceil = nn.ceil %x : !nn.tensor<[n, 4], f32>
  %round = nn.round %x : !nn.tensor<[n, 4], f32>
  %trunc = nn.trunc %x : !nn.tensor<[n, 4], f32>
  %exp = nn.exp %x : !nn.tensor<[n, 4], f32>
  %log = nn.log %x : !nn.tensor<[n, 4], f32>
  %log1p = nn.log1p %x : !nn.tensor<[n, 4], f32>
  %sqrt = nn.sqrt %x : !nn.tensor<[n, 4], f32>
  %rsqrt = nn.rsqrt %x : !nn.tensor<[n, 4], f32>
  %sin = nn.sin %x : !nn.tensor<[n, 4], f32>
  %cos = nn.cos %x : !nn.tensor<[n, 4], f32>
  %tan = nn.tan %x : !nn.tensor<[n, 4], f32>
  %asin = nn.asin %x : !nn.tensor<[n, 4], f32>
  %acos = nn.acos %x : !nn.tensor<[n, 4], f32>
  %atan = nn.atan %x : !nn.tensor<[n, 4], f32>
  %atanh = nn.atanh %x : !nn.tensor<[n, 4], f32>
  %tanh = nn.tanh %x : !nn.tensor<[n, 4], f32>
  %erf = nn.erf %x : !nn.tensor<[n, 4], f32>
  %relu = nn.relu %x : !nn.tensor<[n, 4], f32>
  %sigmoid = nn.sigmoid %x : !nn.tensor<[n, 4], f32>
  %silu = nn.silu %x : !nn.tensor<[n, 4], f32>
  %is_nan = nn.is_nan %x : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], i1>
  %is_inf = nn.is_inf %x : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], i1>
  func.return
}

// CHECK:      func.func @select(%x: !nn.tensor<[n, 4], f32>, %y: !nn.tensor<[n, 4], f32>, %p: !nn.tensor<[n, 4], i1>) {
// CHECK-NEXT:   %cast = nn.cast %x {dtype = bf16} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], bf16>
// CHECK-NEXT:   %where = nn.where %p, %x, %y : (!nn.tensor<[n, 4], i1>, !nn.tensor<[n, 4], f32>, !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %exact = nn.gelu %x {approximate = "none"} : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %tanh = nn.gelu %x {approximate = "tanh"} : !nn.tensor<[n, 4], f32>
// CHECK-NEXT:   %quick = nn.gelu %x {approximate = "quick"} : !nn.tensor<[n, 4], f32>
func.func @select(%x: !nn.tensor<[n, 4], f32>, %y: !nn.tensor<[n, 4], f32>, %p: !nn.tensor<[n, 4], i1>) {
  %cast = nn.cast %x {dtype = bf16} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], bf16>
  %where = nn.where %p, %x, %y : (!nn.tensor<[n, 4], i1>, !nn.tensor<[n, 4], f32>, !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], f32>
  %exact = nn.gelu %x {approximate = "none"} : !nn.tensor<[n, 4], f32>
  %tanh = nn.gelu %x {approximate = "tanh"} : !nn.tensor<[n, 4], f32>
  %quick = nn.gelu %x {approximate = "quick"} : !nn.tensor<[n, 4], f32>
  func.return
}
