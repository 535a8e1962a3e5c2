// RUN: pelton-opt %s -p fuse-groups | filecheck %s
// RUN: pelton-opt %s -p fuse-groups{separate=true} | filecheck %s --check-prefix=SEPARATE

// An elementwise chain is one group; the broadcast is index arithmetic and needs no group.
// CHECK-LABEL: func.func @chain
// CHECK:         %r = nn.group "elementwise" (%w, %x) {
// CHECK:           nn.add
// CHECK:           nn.relu
// CHECK-NOT:     nn.group
// SEPARATE-LABEL: func.func @chain
// SEPARATE:         nn.group
// SEPARATE:           nn.broadcast_to
// SEPARATE:         nn.group
// SEPARATE:           nn.add
// SEPARATE:         nn.group
// SEPARATE:           nn.relu
func.func @chain(%x : !nn.tensor<[n, 4], f32>, %w : !nn.tensor<[4], f32>) -> !nn.tensor<[n, 4], f32> {
  %b = nn.broadcast_to %w {shape = #nn.dims[n, 4]} : (!nn.tensor<[4], f32>) -> !nn.tensor<[n, 4], f32>
  %s = nn.add %x, %b : !nn.tensor<[n, 4], f32>
  %r = nn.relu %s : !nn.tensor<[n, 4], f32>
  func.return %r : !nn.tensor<[n, 4], f32>
}

// Softmax is one row group: both reductions and what is around them.
// CHECK-LABEL: func.func @softmax
// CHECK:         %d = nn.group "row" (%x) {
// CHECK:           nn.max
// CHECK:           nn.sum
// CHECK:           nn.div
// CHECK-NOT:     nn.group
func.func @softmax(%x : !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], f32> {
  %m = nn.max %x {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
  %mb = nn.broadcast_to %m {shape = #nn.dims[n, 4]} : (!nn.tensor<[n, 1], f32>) -> !nn.tensor<[n, 4], f32>
  %u = nn.sub %x, %mb : !nn.tensor<[n, 4], f32>
  %e = nn.exp %u : !nn.tensor<[n, 4], f32>
  %z = nn.sum %e {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
  %zb = nn.broadcast_to %z {shape = #nn.dims[n, 4]} : (!nn.tensor<[n, 1], f32>) -> !nn.tensor<[n, 4], f32>
  %d = nn.div %e, %zb : !nn.tensor<[n, 4], f32>
  func.return %d : !nn.tensor<[n, 4], f32>
}

// A value that two groups need is in memory, computed once.
// CHECK-LABEL: func.func @shared
// CHECK:         %s = nn.group "elementwise" (%x)
// CHECK:         %c = nn.group "column" (%s)
// CHECK:         %r = nn.group "row" (%s)
func.func @shared(%x : !nn.tensor<[n, 4], f32>) -> (!nn.tensor<[1, 4], f32>, !nn.tensor<[n, 1], f32>) {
  %s = nn.exp %x : !nn.tensor<[n, 4], f32>
  %c = nn.sum %s {axis = 0} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[1, 4], f32>
  %r = nn.sum %s {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
  func.return %c, %r : !nn.tensor<[1, 4], f32>, !nn.tensor<[n, 1], f32>
}

// A product takes the elementwise ops after it as its epilogue, the residual included.
// CHECK-LABEL: func.func @linear
// CHECK:         %r = nn.group "matmul" (%x, %w, %b, %res)
// CHECK-NOT:     nn.group
func.func @linear(%x : !nn.tensor<[n, 8], f32>, %w : !nn.tensor<[8, 4], f32>, %b : !nn.tensor<[4], f32>, %res : !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], f32> {
  %p = nn.matmul %x, %w : (!nn.tensor<[n, 8], f32>, !nn.tensor<[8, 4], f32>) -> !nn.tensor<[n, 4], f32>
  %bb = nn.broadcast_to %b {shape = #nn.dims[n, 4]} : (!nn.tensor<[4], f32>) -> !nn.tensor<[n, 4], f32>
  %s = nn.add %p, %bb : !nn.tensor<[n, 4], f32>
  %r = nn.add %s, %res : !nn.tensor<[n, 4], f32>
  func.return %r : !nn.tensor<[n, 4], f32>
}

// A value per row that a row reduction starts from is spread inside the group; one that comes from elsewhere is an input.
// CHECK-LABEL: func.func @norm
// CHECK:         %y = nn.group "row" (%x)
// CHECK-NOT:     nn.group
func.func @norm(%x : !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], f32> {
  %q = nn.mul %x, %x : !nn.tensor<[n, 4], f32>
  %s = nn.sum %q {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
  %r = nn.rsqrt %s : !nn.tensor<[n, 1], f32>
  %b = nn.broadcast_to %r {shape = #nn.dims[n, 4]} : (!nn.tensor<[n, 1], f32>) -> !nn.tensor<[n, 4], f32>
  %y = nn.mul %x, %b : !nn.tensor<[n, 4], f32>
  func.return %y : !nn.tensor<[n, 4], f32>
}

// What moves the result of a row group does not take its last op out of it.
// CHECK-LABEL: func.func @softmax_then_slice
// CHECK:         %d = nn.group "row" (%x)
// CHECK:         %y = nn.group "elementwise" (%d)
// CHECK-NOT:     nn.group
func.func @softmax_then_slice(%x : !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 2], f32> {
  %m = nn.max %x {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
  %mb = nn.broadcast_to %m {shape = #nn.dims[n, 4]} : (!nn.tensor<[n, 1], f32>) -> !nn.tensor<[n, 4], f32>
  %u = nn.sub %x, %mb : !nn.tensor<[n, 4], f32>
  %e = nn.exp %u : !nn.tensor<[n, 4], f32>
  %z = nn.sum %e {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
  %zb = nn.broadcast_to %z {shape = #nn.dims[n, 4]} : (!nn.tensor<[n, 1], f32>) -> !nn.tensor<[n, 4], f32>
  %d = nn.div %e, %zb : !nn.tensor<[n, 4], f32>
  %y = nn.slice %d {starts = #nn.dims[0, 0], stops = #nn.dims[n, 2], steps = #nn.dims[1, 1]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 2], f32>
  func.return %y : !nn.tensor<[n, 2], f32>
}

// What reads a buffer's contents waits for its group only if nothing is stored in that buffer on the way.
// CHECK-LABEL: func.func @waits
// CHECK:         %before = nn.group "elementwise" (%held) {
// CHECK:           nn.exp
// CHECK-NEXT:      nn.yield
// CHECK:         nn.store %x, %b
// CHECK-NEXT:    nn.group "elementwise" (%before) {
// CHECK:         nn.group "elementwise" (%other) {
// CHECK:           nn.exp
// CHECK-NEXT:      nn.relu
func.func @waits(%b: !nn.buffer<[n, 8], f32>, %c: !nn.buffer<[n, 8], f32>, %x: !nn.tensor<[n, 8], f32>) -> (!nn.tensor<[n, 8], f32>, !nn.tensor<[n, 8], f32>) {
  %held = nn.load %b : (!nn.buffer<[n, 8], f32>) -> !nn.tensor<[n, 8], f32>
  %other = nn.load %c : (!nn.buffer<[n, 8], f32>) -> !nn.tensor<[n, 8], f32>
  %before = nn.exp %held : !nn.tensor<[n, 8], f32>
  %free = nn.exp %other : !nn.tensor<[n, 8], f32>
  nn.store %x, %b : (!nn.tensor<[n, 8], f32>, !nn.buffer<[n, 8], f32>) -> ()
  %0 = nn.relu %before : !nn.tensor<[n, 8], f32>
  %1 = nn.relu %free : !nn.tensor<[n, 8], f32>
  func.return %0, %1 : !nn.tensor<[n, 8], f32>, !nn.tensor<[n, 8], f32>
}

// A store to a slice that is scattered in memory ends a group; one to a slice in one piece stands alone.
// CHECK-LABEL: func.func @scattered
// CHECK-NEXT:    nn.group "elementwise" (%x, %b) {
// CHECK:           nn.exp
// CHECK-NEXT:      nn.store_slice
// CHECK-NEXT:      nn.yield
// CHECK:         %{{.*}} = nn.group "elementwise" (%y) {
// CHECK:           nn.exp
// CHECK-NEXT:      nn.yield
// CHECK:         nn.store_slice
// SEPARATE-LABEL: func.func @scattered
// SEPARATE:         nn.group "elementwise" (%x)
// SEPARATE:         nn.group "elementwise" (%0, %b)
func.func @scattered(%b: !nn.buffer<[n, 8], f32>, %x: !nn.tensor<[n, 4], f32>, %y: !nn.tensor<[1, 8], f32>) {
  %0 = nn.exp %x : !nn.tensor<[n, 4], f32>
  nn.store_slice %0, %b {starts = #nn.dims[0, 0], stops = #nn.dims[n, 8], steps = #nn.dims[1, 2]} : (!nn.tensor<[n, 4], f32>, !nn.buffer<[n, 8], f32>) -> ()
  %1 = nn.exp %y : !nn.tensor<[1, 8], f32>
  nn.store_slice %1, %b {starts = #nn.dims[n - 1, 0], stops = #nn.dims[n, 8], steps = #nn.dims[1, 1]} : (!nn.tensor<[1, 8], f32>, !nn.buffer<[n, 8], f32>) -> ()
  func.return
}

// An assert is a group that yields nothing; it computes its condition, but a check of another op stays outside. A trace
// stands alone and needs its values in memory.
// CHECK:      %picked = nn.group "elementwise" (%x, %i) {
// CHECK:      nn.group "check" (%picked) {
// CHECK-NEXT: ^bb0(%{{.*}}: !nn.tensor<[n], f32>):
// CHECK-NEXT:   %[[Y:.*]] = nn.exp
// CHECK-NEXT:   %[[OK:.*]] = nn.greater %[[Y]]
// CHECK-NEXT:   nn.assert %[[OK]]
// CHECK-NEXT:   nn.yield
// CHECK-NEXT: }
// CHECK-NEXT: nn.trace %picked
// CHECK-NEXT: func.return %picked
func.func @asserts(%x: !nn.tensor<[n], f32>, %i: !nn.tensor<[n], i64>) -> !nn.tensor<[n], f32> {
  %picked = nn.gather %x, %i {axis = 0} : (!nn.tensor<[n], f32>, !nn.tensor<[n], i64>) -> !nn.tensor<[n], f32>
  %y = nn.exp %picked : !nn.tensor<[n], f32>
  %ok = nn.greater %y, %picked : (!nn.tensor<[n], f32>, !nn.tensor<[n], f32>) -> !nn.tensor<[n], i1>
  nn.assert %ok {message = "m"} : (!nn.tensor<[n], i1>) -> ()
  nn.trace %picked {level = "info", message = "p"} : (!nn.tensor<[n], f32>) -> ()
  func.return %picked : !nn.tensor<[n], f32>
}
