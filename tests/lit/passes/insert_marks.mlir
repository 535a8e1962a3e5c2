// RUN: pelton-opt %s -p insert-marks | filecheck %s
// RUN: pelton-opt %s -p insert-marks{mode=detailed} | filecheck %s --check-prefix=DETAILED
// RUN: pelton-opt %s -p insert-marks{mode=off} | filecheck %s --check-prefix=OFF
// RUN: not pelton-opt %s -p insert-marks{mode=loud} 2>&1 | filecheck %s --check-prefix=WRONG

// WRONG: no such mode of profiling
// WRONG: expected: one of off, on, detailed
// WRONG: got: loud
// WRONG: pass: insert-marks

// OFF-NOT: plan.mark

// CHECK:      plan.func @main
// CHECK-NEXT:   plan.output
// CHECK-NEXT:   plan.mark begin "add"
// CHECK-NEXT:   plan.launch @add
// CHECK-NEXT:   plan.mark end "add"
// CHECK-NEXT:   plan.copy
// CHECK-NEXT: }

// DETAILED:      plan.func @main
// DETAILED-NEXT:   plan.mark begin "@main"
// DETAILED-NEXT:   plan.output
// DETAILED-NEXT:   plan.mark begin "add"
// DETAILED-NEXT:   plan.launch @add
// DETAILED-NEXT:   plan.mark end "add"
// DETAILED-NEXT:   plan.mark begin "copy"
// DETAILED-NEXT:   plan.copy
// DETAILED-NEXT:   plan.mark end "copy"
// DETAILED-NEXT:   plan.mark end "@main"
// DETAILED-NEXT: }
plan.func @main("x" = %x : !plan.buf<[n], f32>, "y" = %y : !plan.buf<[n], f32>) {
  %z = plan.output 0 : !plan.buf<[n], f32>
  plan.launch @add(%x) -> (%z) sizes [n] : (!plan.buf<[n], f32>) -> (!plan.buf<[n], f32>)
  plan.copy %z to %y : !plan.buf<[n], f32>, !plan.buf<[n], f32>
}

// A function that does nothing has nothing to mark.
// CHECK:    plan.func @init() {
// DETAILED: plan.func @init() {
plan.func @init() {
}
