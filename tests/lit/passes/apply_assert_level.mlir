// RUN: pelton-opt %s -p 'apply-assert-level{level=none}' | filecheck %s --check-prefixes=CHECK,NONE
// RUN: pelton-opt %s -p 'apply-assert-level{level=warn}' | filecheck %s --check-prefixes=CHECK,WARN
// RUN: pelton-opt %s -p 'apply-assert-level{level=safe}' | filecheck %s --check-prefixes=CHECK,SAFE
// RUN: pelton-opt %s -p apply-assert-level | filecheck %s --check-prefixes=CHECK,SAFE
// RUN: pelton-opt %s -p 'apply-assert-level{level=all}' | filecheck %s --check-prefixes=CHECK,ALL
// RUN: pelton-opt %s -p 'apply-assert-level{level=warn},apply-assert-level{level=warn}' | filecheck %s --check-prefixes=CHECK,WARN
// RUN: not pelton-opt %s -p 'apply-assert-level{level=some}' 2>&1 | filecheck %s --check-prefix=WRONG

// WRONG: there is no such assert level
// WRONG: expected: one of none, warn, safe, all
// WRONG: got: some

// What is computed for a removed assert alone goes with it; what has another use stays, and so does what had none.
// CHECK:      func.func @elements
// CHECK-NEXT:   %unused = nn.abs %x
// NONE-NEXT:    %both = nn.exp %x
// NONE-NEXT:    %y = nn.gather %both, %i {axis = 0, checks = "off"}
// WARN-NEXT:    %both = nn.exp %x
// WARN-NEXT:    %alone = nn.sub %x, %both
// WARN-NEXT:    %ok = nn.greater %alone, %x
// WARN-NEXT:    nn.assert %ok, %x {message = "large", checks = "report"}
// WARN-NEXT:    %y = nn.gather %both, %i {axis = 0, checks = "report"}
// SAFE-NEXT:    %both = nn.exp %x
// SAFE-NEXT:    %y = nn.gather %both, %i {axis = 0} :
// ALL:          nn.assert %ok, %x {message = "large"} :
// ALL-NEXT:     %y = nn.gather %both, %i {axis = 0} :
// CHECK-NEXT:   func.return %y
func.func @elements(%x: !nn.tensor<[n], f32>, %i: !nn.tensor<[2], i64>) -> !nn.tensor<[2], f32> {
  %unused = nn.abs %x : !nn.tensor<[n], f32>
  %both = nn.exp %x : !nn.tensor<[n], f32>
  %alone = nn.sub %x, %both : !nn.tensor<[n], f32>
  %ok = nn.greater %alone, %x : (!nn.tensor<[n], f32>, !nn.tensor<[n], f32>) -> !nn.tensor<[n], i1>
  nn.assert %ok, %x {message = "large"} : (!nn.tensor<[n], i1>, !nn.tensor<[n], f32>) -> ()
  %y = nn.gather %both, %i {axis = 0} : (!nn.tensor<[n], f32>, !nn.tensor<[2], i64>) -> !nn.tensor<[2], f32>
  func.return %y : !nn.tensor<[2], f32>
}

// A single condition is cheap where it needs no more than single elements.
// CHECK:      func.func @single
// NONE-NOT:     nn.assert
// SAFE:         nn.assert %sok {message = "a size"}
// SAFE:         nn.assert %eok, %e {message = "an element"}
// SAFE:         nn.assert %mok {message = "a sum that is needed anyway"}
// SAFE-NOT:     nn.assert
// ALL:          nn.assert %qok {message = "a sum of many"}
// CHECK:        func.return
func.func @single(%x: !nn.tensor<[n], f32>) -> !nn.tensor<[1], f32> {
  %zero = nn.constant [0.0] : !nn.tensor<[1], f32>
  %d = nn.dim {value = #nn.dims[n]} : !nn.tensor<[], i64>
  %eight = nn.constant 8 : !nn.tensor<[], i64>
  %sok = nn.greater %d, %eight : (!nn.tensor<[], i64>, !nn.tensor<[], i64>) -> !nn.tensor<[], i1>
  nn.assert %sok {message = "a size"} : (!nn.tensor<[], i1>) -> ()
  %e = nn.slice %x {starts = #nn.dims[0], stops = #nn.dims[1], steps = #nn.dims[1]} : (!nn.tensor<[n], f32>) -> !nn.tensor<[1], f32>
  %eok = nn.greater %e, %zero : (!nn.tensor<[1], f32>, !nn.tensor<[1], f32>) -> !nn.tensor<[1], i1>
  nn.assert %eok, %e {message = "an element"} : (!nn.tensor<[1], i1>, !nn.tensor<[1], f32>) -> ()
  %m = nn.sum %x {axis = 0} : (!nn.tensor<[n], f32>) -> !nn.tensor<[1], f32>
  %mok = nn.greater %m, %zero : (!nn.tensor<[1], f32>, !nn.tensor<[1], f32>) -> !nn.tensor<[1], i1>
  nn.assert %mok {message = "a sum that is needed anyway"} : (!nn.tensor<[1], i1>) -> ()
  %q = nn.prod %x {axis = 0} : (!nn.tensor<[n], f32>) -> !nn.tensor<[1], f32>
  %qok = nn.greater %q, %zero : (!nn.tensor<[1], f32>, !nn.tensor<[1], f32>) -> !nn.tensor<[1], i1>
  nn.assert %qok {message = "a sum of many"} : (!nn.tensor<[1], i1>) -> ()
  func.return %m : !nn.tensor<[1], f32>
}

// A body of a user checks its indices but at the level none.
// CHECK:      func.func @custom
// NONE-NEXT:    nn.custom %b {{.*}}, unchecked = unit}
// WARN-NEXT:    nn.custom %b {{.*}}parameters = {}} :
// SAFE-NEXT:    nn.custom %b {{.*}}parameters = {}} :
// ALL-NEXT:     nn.custom %b {{.*}}parameters = {}} :
func.func @custom(%b: !nn.buffer<[n], f32>) {
  nn.custom %b {op = "f", body = "0123456789abcdef", looped = #nn.dims[0], parameters = {}} : (!nn.buffer<[n], f32>) -> ()
  func.return
}
