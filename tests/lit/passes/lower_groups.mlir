// From groups to kernels and a plan.
// RUN: pelton-opt %s -p fuse-groups,lower-groups --split-input-file | filecheck %s
// RUN: pelton-opt %s -p fuse-groups --split-input-file | pelton-opt -p lower-groups --split-input-file | filecheck %s

// Elementwise: the grid runs over all axes but the last, the lanes over the last. Sizes are the kernel's own symbols, bound by the launch.
// CHECK:      kernel.func @add_relu(%x0: !kernel.buf<[n0, 4], f32>, %x1: !kernel.buf<[4], f32>, %out: !kernel.buf<[n0, 4], f32>) sizes [n0] attributes {lanes = 4 : i64} {
// CHECK:        kernel.grid (%i) in (%n0) {
// CHECK-NEXT:     kernel.lanes (%j) in (%{{.*}}) {
// CHECK:            kernel.load %x1[%j]
// CHECK:            arith.addf
// CHECK:            arith.maximumf
// CHECK:            kernel.store %relu, %out[%i, %j]
// CHECK:      plan.func @main("x" = %x: !plan.buf<[rows, 4], f32>, "w" = %w: !plan.buf<[4], f32>) {
// CHECK-NEXT:   %r = plan.output 0 : !plan.buf<[rows, 4], f32>
// CHECK-NEXT:   plan.launch @add_relu(%x, %w) -> (%r) sizes [rows] in_place [0]
func.func @main(%x : !nn.tensor<[rows, 4], f32> {nn.name = "x"}) -> !nn.tensor<[rows, 4], f32> {
  %w = nn.weight {key = "w"} : !nn.tensor<[4], f32>
  %b = nn.broadcast_to %w {shape = #nn.dims[rows, 4]} : (!nn.tensor<[4], f32>) -> !nn.tensor<[rows, 4], f32>
  %s = nn.add %x, %b : !nn.tensor<[rows, 4], f32>
  %r = nn.relu %s : !nn.tensor<[rows, 4], f32>
  func.return %r : !nn.tensor<[rows, 4], f32>
}
// -----
// Row: one item per row. The exponentials are needed twice and expensive: the first loop keeps them in the result's memory.
// CHECK:      kernel.func @max_sub_exp_sum_div
// CHECK:        kernel.grid (%i) in (%n0) {
// CHECK-NEXT:     %max = kernel.reduce max (%j) in (%{{.*}}) {
// CHECK:          %sum = kernel.reduce add (%j_1) in (%{{.*}}) {
// CHECK:            %exp = math.exp
// CHECK-NEXT:       kernel.store %exp, %out[%i, %j_1]
// CHECK-NEXT:       kernel.yield %exp : f32
// CHECK:          kernel.lanes
// CHECK-NEXT:       kernel.load %out
// CHECK-NEXT:       arith.divf
// CHECK-NEXT:       kernel.store
func.func @main(%x : !nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 4], f32> {
  %m = nn.max %x {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
  %mb = nn.broadcast_to %m {shape = #nn.dims[n, 4]} : (!nn.tensor<[n, 1], f32>) -> !nn.tensor<[n, 4], f32>
  %u = nn.sub %x, %mb : !nn.tensor<[n, 4], f32>
  %e = nn.exp %u : !nn.tensor<[n, 4], f32>
  %z = nn.sum %e {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
  %zb = nn.broadcast_to %z {shape = #nn.dims[n, 4]} : (!nn.tensor<[n, 1], f32>) -> !nn.tensor<[n, 4], f32>
  %d = nn.div %e, %zb : !nn.tensor<[n, 4], f32>
  func.return %d : !nn.tensor<[n, 4], f32>
}
// -----
// Column: a lane runs along the reduced axis by itself, neighbouring lanes read neighbouring columns.
// CHECK:      kernel.func @exp_sum
// CHECK:          kernel.lanes (%j) in
// CHECK:            scf.for %k =
// CHECK-NEXT:         kernel.load %x0[%k, %j]
func.func @main(%x : !nn.tensor<[n, 4], f32>) -> !nn.tensor<[1, 4], f32> {
  %e = nn.exp %x : !nn.tensor<[n, 4], f32>
  %c = nn.sum %e {axis = 0} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[1, 4], f32>
  func.return %c : !nn.tensor<[1, 4], f32>
}
// -----
// Transpose: through a tile of team memory; the launch binds the numbers of tiles too.
// CHECK:      kernel.func @permute
// CHECK:        kernel.grid (%i0, %i1) in (%n0, %n1) {
// CHECK-NEXT:     %tile = kernel.scratch : !kernel.buf<[32, 33], f32, team>
// CHECK:          scf.if %{{.*}} {
// CHECK:            kernel.load %x0[%{{.*}}, %{{.*}}] : 
// CHECK:          } else {
// CHECK:            kernel.load %x0[%{{.*}}, %{{.*}}] if %{{.*}} else
// CHECK:      plan.launch @permute(%x) -> (%t) sizes [((m + 31) floordiv 32), ((n + 31) floordiv 32), n, m]
func.func @main(%x : !nn.tensor<[n, m], f32>) -> !nn.tensor<[m, n], f32> {
  %t = nn.permute %x {order = #nn.dims[1, 0]} : (!nn.tensor<[n, m], f32>) -> !nn.tensor<[m, n], f32>
  func.return %t : !nn.tensor<[m, n], f32>
}
// -----
// Matmul: a hand schedule; bias and residual are its epilogue. Leading axes are rows, addressed as one.
// CHECK:      kernel.func @matmul_add_add(%x0: !kernel.buf<[n0, 8], f32>, %x1: !kernel.buf<[8, 4], f32>, %x2: !kernel.buf<[4], f32>, %x3: !kernel.buf<[n0, 4], f32>, %out: !kernel.buf<[n0, 4], f32>)
// CHECK:        kernel.call @matmul(%x0, %x1) with {} : ({{.*}}) epilogue (%acc: f32, %i: index, %j: index) {
// CHECK:          kernel.load %x2[%j]
// CHECK:          kernel.load %x3[%i, %j]
// CHECK:          kernel.store %add_1, %out[%i, %j]
// CHECK:      plan.launch @matmul_add_add(%x, %w, %b, %res) -> (%r) sizes [batch*seq] in_place [3]
func.func @main(%x : !nn.tensor<[batch, seq, 8], f32>, %w : !nn.tensor<[8, 4], f32>, %b : !nn.tensor<[4], f32>, %res : !nn.tensor<[batch, seq, 4], f32>) -> !nn.tensor<[batch, seq, 4], f32> {
  %p = nn.matmul %x, %w : (!nn.tensor<[batch, seq, 8], f32>, !nn.tensor<[8, 4], f32>) -> !nn.tensor<[batch, seq, 4], f32>
  %bb = nn.broadcast_to %b {shape = #nn.dims[batch, seq, 4]} : (!nn.tensor<[4], f32>) -> !nn.tensor<[batch, seq, 4], f32>
  %s = nn.add %p, %bb : !nn.tensor<[batch, seq, 4], f32>
  %r = nn.add %s, %res : !nn.tensor<[batch, seq, 4], f32>
  func.return %r : !nn.tensor<[batch, seq, 4], f32>
}
// -----
// Two groups of one structure are one kernel, launched twice; a reshape is a view; an input that is returned is copied.
// CHECK:      kernel.func @exp
// CHECK-NOT:  kernel.func
// CHECK:      plan.launch @exp
// CHECK:      plan.view %{{.*}} at [0] : !plan.buf<[m, 4], f32>
// CHECK:      plan.launch @exp
// CHECK:      plan.copy %x to
func.func @main(%x : !nn.tensor<[n, 4], f32> {nn.name = "x"}, %y : !nn.tensor<[m, 2, 2], f32>) -> (!nn.tensor<[n, 4], f32>, !nn.tensor<[m, 4], f32>, !nn.tensor<[n, 4], f32>) {
  %a = nn.exp %x : !nn.tensor<[n, 4], f32>
  %f = nn.reshape %y {shape = #nn.dims[m, 4]} : (!nn.tensor<[m, 2, 2], f32>) -> !nn.tensor<[m, 4], f32>
  %c = nn.exp %f : !nn.tensor<[m, 4], f32>
  func.return %a, %c, %x : !nn.tensor<[n, 4], f32>, !nn.tensor<[m, 4], f32>, !nn.tensor<[n, 4], f32>
}

// -----
// A buffer that is changed in place: the load is the buffer, the result is written over it.
// CHECK:      plan.func @in_place("input0" = %b: !plan.buf<[n, 4], f32>) {
// CHECK-NEXT:   plan.launch @exp(%b) -> (%b) sizes [n]
// CHECK-NEXT: }
func.func @in_place(%b: !nn.buffer<[n, 4], f32>) {
  %0 = nn.load %b : (!nn.buffer<[n, 4], f32>) -> !nn.tensor<[n, 4], f32>
  %1 = nn.exp %0 : !nn.tensor<[n, 4], f32>
  nn.store %1, %b : (!nn.tensor<[n, 4], f32>, !nn.buffer<[n, 4], f32>) -> ()
  func.return
}

// -----
// A kernel that reads what it would have overwritten does not write into the buffer.
// CHECK:      plan.func @reversed("input0" = %b: !plan.buf<[n], f32>) {
// CHECK-NEXT:   %0 = plan.alloc
// CHECK-NEXT:   plan.launch @slice(%b) -> (%0)
// CHECK-NEXT:   plan.copy %0 to %b
func.func @reversed(%b: !nn.buffer<[n], f32>) {
  %0 = nn.load %b : (!nn.buffer<[n], f32>) -> !nn.tensor<[n], f32>
  %1 = nn.slice %0 {starts = #nn.dims[n - 1], stops = #nn.dims[-1], steps = #nn.dims[-1]} : (!nn.tensor<[n], f32>) -> !nn.tensor<[n], f32>
  nn.store %1, %b : (!nn.tensor<[n], f32>, !nn.buffer<[n], f32>) -> ()
  func.return
}

// -----
// What was loaded is needed after a store: a copy. A store to another buffer changes nothing.
// CHECK:      plan.func @held("input0" = %b: !plan.buf<[n], f32>, "input1" = %c: !plan.buf<[n], f32>, "input2" = %x: !plan.buf<[n], f32>) {
// CHECK-NEXT:   %old = plan.alloc
// CHECK-NEXT:   plan.copy %b to %old
// CHECK-NEXT:   plan.launch @relu(%x) -> (%b)
// CHECK-NEXT:   %0 = plan.output 0
// CHECK-NEXT:   plan.launch @add(%old, %c) -> (%0)
func.func @held(%b: !nn.buffer<[n], f32>, %c: !nn.buffer<[n], f32>, %x: !nn.tensor<[n], f32>) -> !nn.tensor<[n], f32> {
  %old = nn.load %b : (!nn.buffer<[n], f32>) -> !nn.tensor<[n], f32>
  %other = nn.load %c : (!nn.buffer<[n], f32>) -> !nn.tensor<[n], f32>
  %0 = nn.relu %x : !nn.tensor<[n], f32>
  nn.store %0, %b : (!nn.tensor<[n], f32>, !nn.buffer<[n], f32>) -> ()
  %1 = nn.add %old, %other : !nn.tensor<[n], f32>
  func.return %1 : !nn.tensor<[n], f32>
}

// -----
// A slice in one piece is a view of the buffer; elements of another slice are scattered by the kernel.
// CHECK:      kernel.func @relu_store_slice
// CHECK:        %[[J:.*]] = arith.muli %j
// CHECK:        kernel.store %relu, %out[%i, %[[J]]] : !kernel.buf<[n0, 8], f32>
// CHECK:      plan.func @slices
// CHECK-NEXT:   plan.require le [0, n - 1]
// CHECK-NEXT:   %[[PART:.*]] = plan.view %b at [32*n - 32] : !plan.buf<[1, 8], f32>
// CHECK-NEXT:   plan.launch @exp(%y) -> (%[[PART]])
// CHECK-NEXT:   plan.launch @relu_store_slice(%x) -> (%b)
func.func @slices(%b: !nn.buffer<[n, 8], f32>, %x: !nn.tensor<[n, 4], f32>, %y: !nn.tensor<[1, 8], f32>) {
  %0 = nn.exp %y : !nn.tensor<[1, 8], f32>
  nn.store_slice %0, %b {starts = #nn.dims[n - 1, 0], stops = #nn.dims[n, 8], steps = #nn.dims[1, 1]} : (!nn.tensor<[1, 8], f32>, !nn.buffer<[n, 8], f32>) -> ()
  %1 = nn.relu %x : !nn.tensor<[n, 4], f32>
  nn.store_slice %1, %b {starts = #nn.dims[0, 0], stops = #nn.dims[n, 8], steps = #nn.dims[1, 2]} : (!nn.tensor<[n, 4], f32>, !nn.buffer<[n, 8], f32>) -> ()
  func.return
}

// -----
// A buffer of the function's own that is returned whole is the caller's memory.
// CHECK:      plan.func @made("input0" = %x: !plan.buf<[n], f32>) {
// CHECK-NEXT:   %b = plan.output 0
// CHECK-NEXT:   plan.launch @exp(%x) -> (%b)
// CHECK:        %0 = plan.view %b at [0]
// CHECK-NEXT:   plan.launch @slice(%x) -> (%0)
// CHECK-NEXT: }
func.func @made(%x: !nn.tensor<[n], f32>) -> !nn.tensor<[n], f32> {
  %b = nn.buffer_create : !nn.buffer<[n], f32>
  %e = nn.exp %x : !nn.tensor<[n], f32>
  nn.store %e, %b : (!nn.tensor<[n], f32>, !nn.buffer<[n], f32>) -> ()
  %0 = nn.slice %x {starts = #nn.dims[n - 1], stops = #nn.dims[n], steps = #nn.dims[1]} : (!nn.tensor<[n], f32>) -> !nn.tensor<[1], f32>
  nn.store_slice %0, %b {starts = #nn.dims[0], stops = #nn.dims[1], steps = #nn.dims[1]} : (!nn.tensor<[1], f32>, !nn.buffer<[n], f32>) -> ()
  %1 = nn.load %b : (!nn.buffer<[n], f32>) -> !nn.tensor<[n], f32>
  func.return %1 : !nn.tensor<[n], f32>
}

// -----
// A slice in one piece of what was loaded is a window on the buffer, and may be changed in place; a neighbour may not.
// CHECK:      plan.func @window
// CHECK:        %[[FROM:.*]] = plan.view %b at [16*p] : !plan.buf<[1, 4], f32>
// CHECK:        %[[TO:.*]] = plan.view %b at [16*p] : !plan.buf<[1, 4], f32>
// CHECK-NEXT:   plan.launch @relu(%[[FROM]]) -> (%[[TO]])
// CHECK:        %[[OTHER:.*]] = plan.view %b at [0] : !plan.buf<[1, 4], f32>
// CHECK-NEXT:   %[[NEW:.*]] = plan.alloc
// CHECK-NEXT:   plan.launch @exp(%[[OTHER]]) -> (%[[NEW]])
// CHECK:        plan.copy %[[NEW]] to
func.func @window(%b: !nn.buffer<[n, 4], f32>, %at: !nn.tensor<[p], i8>) {
  %0 = nn.load %b : (!nn.buffer<[n, 4], f32>) -> !nn.tensor<[n, 4], f32>
  %1 = nn.slice %0 {starts = #nn.dims[p, 0], stops = #nn.dims[p + 1, 4], steps = #nn.dims[1, 1]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[1, 4], f32>
  %2 = nn.relu %1 : !nn.tensor<[1, 4], f32>
  nn.store_slice %2, %b {starts = #nn.dims[p, 0], stops = #nn.dims[p + 1, 4], steps = #nn.dims[1, 1]} : (!nn.tensor<[1, 4], f32>, !nn.buffer<[n, 4], f32>) -> ()
  %3 = nn.load %b : (!nn.buffer<[n, 4], f32>) -> !nn.tensor<[n, 4], f32>
  %4 = nn.slice %3 {starts = #nn.dims[0, 0], stops = #nn.dims[1, 4], steps = #nn.dims[1, 1]} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[1, 4], f32>
  %5 = nn.exp %4 : !nn.tensor<[1, 4], f32>
  nn.store_slice %5, %b {starts = #nn.dims[p, 0], stops = #nn.dims[p + 1, 4], steps = #nn.dims[1, 1]} : (!nn.tensor<[1, 4], f32>, !nn.buffer<[n, 4], f32>) -> ()
  func.return
}

// -----
// A slice that is needed after a store is copied, not the whole buffer.
// CHECK:      plan.func @old_row
// CHECK:        %[[OLD:.*]] = plan.output 0 : !plan.buf<[1, 4], f32>
// CHECK-NEXT:   plan.launch @slice(%b) -> (%[[OLD]])
// CHECK-NEXT:   plan.launch @exp(%x) -> (%b)
func.func @old_row(%b: !nn.buffer<[8, 4], f32>, %x: !nn.tensor<[8, 4], f32>) -> !nn.tensor<[1, 4], f32> {
  %0 = nn.load %b : (!nn.buffer<[8, 4], f32>) -> !nn.tensor<[8, 4], f32>
  %1 = nn.slice %0 {starts = #nn.dims[1, 0], stops = #nn.dims[2, 4], steps = #nn.dims[1, 1]} : (!nn.tensor<[8, 4], f32>) -> !nn.tensor<[1, 4], f32>
  %2 = nn.exp %x : !nn.tensor<[8, 4], f32>
  nn.store %2, %b : (!nn.tensor<[8, 4], f32>, !nn.buffer<[8, 4], f32>) -> ()
  func.return %1 : !nn.tensor<[1, 4], f32>
}

// -----
// Checks go by the number of their op in the group; what they say stands at the launch. One that reports, or has more
// than one value to show, leaves a row.
// CHECK:      kernel.func @greater_assert(%x0: !kernel.buf<[n0, 40], f32>, %rows: !kernel.buf<[4], i64>) sizes [n0] {
// CHECK:            kernel.check 1 %greater at %[[AT:.*]], %[[X:.*]] : f32
// CHECK-NEXT:       kernel.report %greater at %[[AT]], %[[X]], %{{.*}} to %rows[0] : f32, f32 to !kernel.buf<[4], i64>
// CHECK:      kernel.func @gather(%x0: !kernel.buf<[n0], i64>, %x1: !kernel.buf<[n1], f32>, %out: !kernel.buf<[n0], f32>, %rows: !kernel.buf<[3], i64>)
// CHECK-NOT:        kernel.check
// CHECK:            kernel.report %{{.*}} at %j, %{{.*}} to %rows[0] : index to !kernel.buf<[3], i64>
// CHECK:      plan.func @main
// CHECK-NEXT:   %reports = plan.reports : !plan.buf<[7], i64>
// CHECK-NEXT:   %rows = plan.view %reports at [0] : !plan.buf<[4], i64>
// CHECK-NEXT:   plan.launch @greater_assert(%x) -> (%rows) sizes [n] checks ["both" of "nn.assert" shows [f32, f16] row 0]
// CHECK-NEXT:   plan.trace "x" of "nn.trace" shows [f32] level "info" (%x) : !plan.buf<[n, 40], f32>
// CHECK-NEXT:   %y = plan.output 0
// CHECK-NEXT:   %[[ROWS:.*]] = plan.view %reports at [32] : !plan.buf<[3], i64>
// CHECK-NEXT:   plan.launch @gather(%i, %t) -> (%y, %[[ROWS]]) sizes [n, m] checks ["gather: index out of range" of "nn.gather" shows [i64] row 4]
func.func @main(%x: !nn.tensor<[n, 40], f32>, %t: !nn.tensor<[m], f32>, %i: !nn.tensor<[n], i64>) -> !nn.tensor<[n], f32> {
  %half = nn.cast %x {dtype = f16} : (!nn.tensor<[n, 40], f32>) -> !nn.tensor<[n, 40], f16>
  %ok = nn.greater %x, %x : (!nn.tensor<[n, 40], f32>, !nn.tensor<[n, 40], f32>) -> !nn.tensor<[n, 40], i1>
  nn.assert %ok, %x, %half {message = "both"} : (!nn.tensor<[n, 40], i1>, !nn.tensor<[n, 40], f32>, !nn.tensor<[n, 40], f16>) -> ()
  nn.trace %x {level = "info", message = "x"} : (!nn.tensor<[n, 40], f32>) -> ()
  %y = nn.gather %t, %i {axis = 0, checks = "report"} : (!nn.tensor<[m], f32>, !nn.tensor<[n], i64>) -> !nn.tensor<[n], f32>
  func.return %y : !nn.tensor<[n], f32>
}

// -----
// A check that is off leaves nothing.
// CHECK:      kernel.func @gather(%x0: !kernel.buf<[n0], i64>, %x1: !kernel.buf<[n1], f32>, %out: !kernel.buf<[n0], f32>)
// CHECK-NOT:    kernel.check
// CHECK-NOT:    kernel.report
// CHECK:      plan.launch @gather(%i, %t) -> (%y) sizes [n, m] :
func.func @main(%t: !nn.tensor<[m], f32>, %i: !nn.tensor<[n], i64>) -> !nn.tensor<[n], f32> {
  %y = nn.gather %t, %i {axis = 0, checks = "off"} : (!nn.tensor<[m], f32>, !nn.tensor<[n], i64>) -> !nn.tensor<[n], f32>
  func.return %y : !nn.tensor<[n], f32>
}

// -----
// A long sum along another axis than the last is a sum of parts.
// CHECK:      kernel.func @sum
// CHECK:        %[[TOTAL:.*]] = scf.for %part = %{{.*}} to %n1 step %{{.*}} iter_args(%total = %{{.*}}) -> (f32) {
// CHECK:          arith.minsi %{{.*}}, %n1 : index
// CHECK:          scf.for %k = %part to
// CHECK:            arith.addf %acc,
// CHECK:          arith.addf %total,
// CHECK:        kernel.store %[[TOTAL]], %out[%i, %j]
func.func @main(%x: !nn.tensor<[n, k], f32>) -> !nn.tensor<[1, k], f32> {
  %y = nn.sum %x {axis = 0} : (!nn.tensor<[n, k], f32>) -> !nn.tensor<[1, k], f32>
  func.return %y : !nn.tensor<[1, k], f32>
}
