// What the verifiers of `plan` refuse.
// RUN: pelton-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'plan.view' uses the size m, which no argument has
plan.func @main("x" = %x : !plan.buf<[n], f32>) {
  %t = plan.view %x at [0] : !plan.buf<[m], f32>
}
// -----
// CHECK: 'plan.launch' has no input 1 to work in place on
plan.func @main("x" = %x : !plan.buf<[n], f32>) {
  %t = plan.alloc : !plan.buf<[n], f32>
  plan.launch @k(%x) -> (%t) sizes [n] in_place [1] : (!plan.buf<[n], f32>) -> (!plan.buf<[n], f32>)
}
// -----
// CHECK: expected one offset
plan.func @main("x" = %x : !plan.buf<[n], f32>) {
  %t = plan.view %x at [0, 1] : !plan.buf<[n], f32>
}
// -----
// CHECK: expected two dims to compare
plan.func @main("x" = %x : !plan.buf<[n], f32>) {
  plan.require eq [n], "one"
}
// -----
// CHECK: 'plan.func' has 1 arguments and 2 names
"plan.func"() <{sym_name = "main", names = ["x", "y"]}> ({
^bb0(%x : !plan.buf<[n], f32>):
}) : () -> ()
// -----
// CHECK: expected a divisor other than 0
plan.func @main("x" = %x : !plan.buf<[n floordiv 0], f32>) {
}
// -----
// CHECK: expected a dim: a number, a symbol or an expression of them
plan.func @main("x" = %x : !plan.buf<["n"], f32>) {
}
// -----
// CHECK: 'plan.require' expects a relation out of eq, le, got lt
plan.func @main("x" = %x : !plan.buf<[n], f32>) {
  plan.require lt [n, 4], "less"
}
// -----
// CHECK: 'plan.mark' expects an edge out of begin, end, got middle
plan.func @main("x" = %x : !plan.buf<[n], f32>) {
  plan.mark middle "step"
}
// -----
// CHECK: 'plan.mark' ends 'a', which is not what began last
plan.func @main("x" = %x : !plan.buf<[n], f32>) {
  plan.mark begin "a"
  plan.mark begin "b"
  plan.mark end "a"
  plan.mark end "b"
}
// -----
// CHECK: 'plan.mark' begins 'a', which never ends
plan.func @main("x" = %x : !plan.buf<[n], f32>) {
  plan.mark begin "a"
}
