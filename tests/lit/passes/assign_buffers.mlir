// Temporaries share slots by liveness; a slot is as large as its largest tenant; a result may take over an input that ends.
// RUN: pelton-opt %s -p assign-buffers | filecheck %s

// %b cannot reuse %a, which @g still reads; %c can. 4*n rounded up to 64 bytes is one slot.
// CHECK:      plan.func @reuse
// CHECK-NEXT:   %arena = plan.arena : !plan.buf<[128*((4*n + 63) floordiv 64)], i8>
// CHECK:        %a = plan.view %arena at [0]
// CHECK:        %b = plan.view %arena at [64*((4*n + 63) floordiv 64)]
// CHECK:        %c = plan.view %arena at [0]
plan.func @reuse("x" = %x : !plan.buf<[n], f32>) {
  %y = plan.output 0 : !plan.buf<[n], f32>
  %a = plan.alloc : !plan.buf<[n], f32>
  plan.launch @f(%x) -> (%a) sizes [n] : (!plan.buf<[n], f32>) -> (!plan.buf<[n], f32>)
  %b = plan.alloc : !plan.buf<[n], f32>
  plan.launch @g(%a) -> (%b) sizes [n] : (!plan.buf<[n], f32>) -> (!plan.buf<[n], f32>)
  %c = plan.alloc : !plan.buf<[n], f32>
  plan.launch @f(%b) -> (%c) sizes [n] : (!plan.buf<[n], f32>) -> (!plan.buf<[n], f32>)
  plan.launch @f(%c) -> (%y) sizes [n] : (!plan.buf<[n], f32>) -> (!plan.buf<[n], f32>)
}

// In place: %b stands where %a stood, since @f allows it and nobody reads %a later. The input %x is never taken.
// CHECK:      plan.func @in_place
// CHECK:        %a = plan.view %arena at [0]
// CHECK:        %b = plan.view %arena at [0]
plan.func @in_place("x" = %x : !plan.buf<[n], f32>) {
  %y = plan.output 0 : !plan.buf<[n], f32>
  %a = plan.alloc : !plan.buf<[n], f32>
  plan.launch @f(%x) -> (%a) sizes [n] in_place [0] : (!plan.buf<[n], f32>) -> (!plan.buf<[n], f32>)
  %b = plan.alloc : !plan.buf<[n], f32>
  plan.launch @f(%a) -> (%b) sizes [n] in_place [0] : (!plan.buf<[n], f32>) -> (!plan.buf<[n], f32>)
  plan.launch @f(%b) -> (%y) sizes [n] : (!plan.buf<[n], f32>) -> (!plan.buf<[n], f32>)
}

// A view keeps its buffer alive: @g reads %a through %v, so %b stands elsewhere.
// CHECK:      plan.func @views
// CHECK:        %a = plan.view %arena at [0]
// CHECK:        %b = plan.view %arena at [64*((4*n + 63) floordiv 64)]
plan.func @views("x" = %x : !plan.buf<[n], f32>) {
  %y = plan.output 0 : !plan.buf<[n], f32>
  %a = plan.alloc : !plan.buf<[n], f32>
  plan.launch @f(%x) -> (%a) sizes [n] : (!plan.buf<[n], f32>) -> (!plan.buf<[n], f32>)
  %v = plan.view %a at [0] : !plan.buf<[1, n], f32>
  %b = plan.alloc : !plan.buf<[n], f32>
  plan.launch @f(%x) -> (%b) sizes [n] : (!plan.buf<[n], f32>) -> (!plan.buf<[n], f32>)
  plan.launch @g(%v, %b) -> (%y) sizes [n] : (!plan.buf<[1, n], f32>, !plan.buf<[n], f32>) -> (!plan.buf<[n], f32>)
}

// Sizes that nobody can compare get slots of their own; where one is surely larger, the slot grows.
// CHECK:      plan.func @sizes
// CHECK:        %a = plan.view %arena at [0]
// CHECK:        %b = plan.view %arena at [64*((8*n + 63) floordiv 64)]
// CHECK:        %c = plan.view %arena at [0]
plan.func @sizes("x" = %x : !plan.buf<[n], f32>, "z" = %z : !plan.buf<[m], f32>) {
  %y = plan.output 0 : !plan.buf<[n], f32>
  %a = plan.alloc : !plan.buf<[n], f32>
  plan.launch @f(%x) -> (%a) sizes [n] : (!plan.buf<[n], f32>) -> (!plan.buf<[n], f32>)
  plan.launch @f(%a) -> (%y) sizes [n] : (!plan.buf<[n], f32>) -> (!plan.buf<[n], f32>)
  %b = plan.alloc : !plan.buf<[m], f32>
  plan.launch @f(%z) -> (%b) sizes [m] : (!plan.buf<[m], f32>) -> (!plan.buf<[m], f32>)
  %c = plan.alloc : !plan.buf<[2, n], f32>
  plan.launch @g(%x, %b) -> (%c) sizes [n] : (!plan.buf<[n], f32>, !plan.buf<[m], f32>) -> (!plan.buf<[2, n], f32>)
  plan.launch @f(%c) -> (%y) sizes [n] : (!plan.buf<[2, n], f32>) -> (!plan.buf<[n], f32>)
}

// Memory that a copy fills first, or a launch through a view, has its place from there on.
// CHECK-LABEL: plan.func @copied
// CHECK-NEXT:   plan.arena : !plan.buf<[128*((4*n + 63) floordiv 64)], i8>
// CHECK:        %a = plan.view %arena at [0]
// CHECK:        %b = plan.view %arena at [64*((4*n + 63) floordiv 64)]
plan.func @copied("x" = %x : !plan.buf<[n], f32>) {
  %y = plan.output 0 : !plan.buf<[n], f32>
  %a = plan.alloc : !plan.buf<[n], f32>
  %b = plan.alloc : !plan.buf<[n], f32>
  plan.copy %x to %a : !plan.buf<[n], f32>, !plan.buf<[n], f32>
  %part = plan.view %b at [0] : !plan.buf<[n], f32>
  plan.launch @f(%x) -> (%part) sizes [n] : (!plan.buf<[n], f32>) -> !plan.buf<[n], f32>
  plan.launch @g(%a, %b) -> (%y) sizes [n] : (!plan.buf<[n], f32>, !plan.buf<[n], f32>) -> !plan.buf<[n], f32>
}
