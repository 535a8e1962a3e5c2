// Every op of `plan`, in pretty and generic form.
// RUN: pelton-opt %s | filecheck %s
// RUN: pelton-opt %s | pelton-opt | filecheck %s
// RUN: pelton-opt %s --print-op-generic | pelton-opt | filecheck %s

// CHECK:      plan.func @main("x" = %x: !plan.buf<[n, 4], f32>, "w" = %w: !plan.buf<[4], f32>) {
// CHECK-NEXT:   %a = plan.arena : !plan.buf<[16*n + 64], i8>
// CHECK-NEXT:   %t = plan.view %a at [64] : !plan.buf<[n, 4], f32>
// CHECK-NEXT:   %y = plan.output 0 : !plan.buf<[n, 4], f32>
// CHECK-NEXT:   %z = plan.alloc : !plan.buf<[n, 4], f32>
// CHECK-NEXT:   plan.launch @k(%x, %w) -> (%t) sizes [n, 4] in_place [0] : (!plan.buf<[n, 4], f32>, !plan.buf<[4], f32>) -> !plan.buf<[n, 4], f32>
// CHECK-NEXT:   plan.launch @k(%x, %w) -> (%z) sizes [n, 4] : (!plan.buf<[n, 4], f32>, !plan.buf<[4], f32>) -> !plan.buf<[n, 4], f32>
// CHECK-NEXT:   plan.copy %t to %y : !plan.buf<[n, 4], f32>, !plan.buf<[n, 4], f32>
// CHECK-NEXT:   plan.require eq [n, 4], "rebind: rows" of "nn.rebind" 3
// CHECK-NEXT:   %r = plan.reports : !plan.buf<[3], i64>
// CHECK-NEXT:   plan.launch @k(%x, %w) -> (%z, %r) sizes [n, 4] checks ["index out of range" of "nn.gather" 7 shows [i64] row 0, "said" level "info"] : (!plan.buf<[n, 4], f32>, !plan.buf<[4], f32>) -> (!plan.buf<[n, 4], f32>, !plan.buf<[3], i64>)
// CHECK-NEXT:   "test.op"() {site = #plan.site<"x" of "nn.assert" shows [f32, i1]>} : () -> ()
// CHECK-NEXT:   plan.trace "values" of "nn.trace" 4 shows [f32, f32] level "info" (%x, %w) : !plan.buf<[n, 4], f32>, !plan.buf<[4], f32>
// CHECK-NEXT:   plan.trace "here" of "nn.trace" level "print" ()
// CHECK-NEXT:   plan.mark begin "a step"
// CHECK-NEXT:   plan.mark end "a step"
plan.func @main("x" = %x : !plan.buf<[n, 4], f32>, "w" = %w : !plan.buf<[4], f32>) {
  %a = plan.arena : !plan.buf<[n*16 + 64], i8>
  %t = plan.view %a at [64] : !plan.buf<[n, 4], f32>
  %y = plan.output 0 : !plan.buf<[n, 4], f32>
  %z = plan.alloc : !plan.buf<[n, 4], f32>
  plan.launch @k(%x, %w) -> (%t) sizes [n, 4] in_place [0] : (!plan.buf<[n, 4], f32>, !plan.buf<[4], f32>) -> (!plan.buf<[n, 4], f32>)
  plan.launch @k(%x, %w) -> (%z) sizes [n, 4] : (!plan.buf<[n, 4], f32>, !plan.buf<[4], f32>) -> (!plan.buf<[n, 4], f32>)
  plan.copy %t to %y : !plan.buf<[n, 4], f32>, !plan.buf<[n, 4], f32>
  plan.require eq [n, 4], "rebind: rows" of "nn.rebind" 3
  %r = plan.reports : !plan.buf<[3], i64>
  plan.launch @k(%x, %w) -> (%z, %r) sizes [n, 4] checks ["index out of range" of "nn.gather" 7 shows [i64] row 0, "said" level "info"] : (!plan.buf<[n, 4], f32>, !plan.buf<[4], f32>) -> (!plan.buf<[n, 4], f32>, !plan.buf<[3], i64>)
  "test.op"() {site = #plan.site<"x" of "nn.assert" shows [f32, i1]>} : () -> ()
  plan.trace "values" of "nn.trace" 4 shows [f32, f32] level "info" (%x, %w) : !plan.buf<[n, 4], f32>, !plan.buf<[4], f32>
  plan.trace "here" of "nn.trace" level "print" ()
  plan.mark begin "a step"
  plan.mark end "a step"
}
