// RUN: pelton-opt %s -p 'apply-log-level{level=notset}' | filecheck %s --check-prefix=NOTSET
// RUN: pelton-opt %s -p 'apply-log-level{level=info}' | filecheck %s --check-prefix=INFO
// RUN: pelton-opt %s -p apply-log-level | filecheck %s --check-prefix=WARNING
// RUN: pelton-opt %s -p 'apply-log-level{level=critical}' | filecheck %s --check-prefix=CRITICAL
// RUN: not pelton-opt %s -p 'apply-log-level{level=loud}' 2>&1 | filecheck %s --check-prefix=WRONG

// WRONG: there is no such log level
// WRONG: expected: one of notset, trace, debug, info, warning, error, critical
// WRONG: got: loud

// A message goes with what was computed for it alone; one that is printed stays at every level but notset.
// NOTSET:      func.func @main(%x: !nn.tensor<[n], f32>)
// NOTSET-NEXT:   %unused = nn.abs %x
// NOTSET-NEXT:   %y = nn.exp %x
// NOTSET-NEXT:   func.return %y

// INFO:        %y = nn.exp %x
// INFO-NEXT:   %alone = nn.sub %x, %y
// INFO-NEXT:   nn.trace %alone, %y {level = "info"
// INFO-NEXT:   nn.trace {level = "error"
// INFO-NEXT:   nn.trace %y {level = "print"

// WARNING:      %y = nn.exp %x
// WARNING-NEXT: nn.trace {level = "error"
// WARNING-NEXT: nn.trace %y {level = "print"

// CRITICAL:      %y = nn.exp %x
// CRITICAL-NEXT: nn.trace %y {level = "print"
func.func @main(%x: !nn.tensor<[n], f32>) -> !nn.tensor<[n], f32> {
  %unused = nn.abs %x : !nn.tensor<[n], f32>
  %square = nn.mul %x, %x : !nn.tensor<[n], f32>
  nn.trace %square {level = "debug", message = "squares"} : (!nn.tensor<[n], f32>) -> ()
  %y = nn.exp %x : !nn.tensor<[n], f32>
  %alone = nn.sub %x, %y : !nn.tensor<[n], f32>
  nn.trace %alone, %y {level = "info", message = "both"} : (!nn.tensor<[n], f32>, !nn.tensor<[n], f32>) -> ()
  nn.trace {level = "error", message = "here"} : () -> ()
  nn.trace %y {level = "print", message = "y"} : (!nn.tensor<[n], f32>) -> ()
  func.return %y : !nn.tensor<[n], f32>
}
