// `pelton` on a model: a mistake on the command line is told before anything is compiled.
// RUN: pelton --version | filecheck %s --check-prefix=VERSION
// RUN: pelton --help | filecheck %s --check-prefix=HELP
// RUN: pelton bench --help | filecheck %s --check-prefix=BENCHHELP
// RUN: not pelton run %s 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not pelton run %s --input x=x.npy --input t=t.npy 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not pelton run %s --input x=x.npy --input table 2>&1 | filecheck %s --check-prefix=FORM
// RUN: not pelton run %s --input x=x.npy --input x=y.npy 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not pelton run %s --input x=none.npy --input at=none.npy 2>&1 | filecheck %s --check-prefix=WEIGHT
// RUN: not pelton run 2>&1 | filecheck %s --check-prefix=USAGE
// RUN: not pelton bench %s --dim n=2 2>&1 | filecheck %s --check-prefix=SIZE
// RUN: not pelton bench %s --dim m=2 2>&1 | filecheck %s --check-prefix=SYMBOL
// RUN: not pelton bench %s --shape x=2xq 2>&1 | filecheck %s --check-prefix=NUMBER
// RUN: not pelton bench %s --runs 0 2>&1 | filecheck %s --check-prefix=RUNS
// RUN: not pelton explain %s --target avx3 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not pelton compile %s -o model.so 2>&1 | filecheck %s --check-prefix=SUFFIX
// RUN: pelton bench %s --dim n=2 --shape at=3 --runs 2 --threads 1 | filecheck %s --check-prefix=BENCH

// VERSION:   pelton {{[0-9]+\.[0-9]+}}
// HELP:      usage: pelton
// HELP:      execute a model once on arrays from files
// HELP:      pelton bench scores.mlir --dim batch=8
// HELP:      Exit codes: 0 done; 1 a file, a model or a run failed; 2 the command line is wrong.
// BENCHHELP: --dim SYMBOL=8
// BENCHHELP: pelton bench scores.mlir --dim batch=8

// MISSING:      pelton: 2 inputs are missing:
// MISSING-NEXT:   x: [(n, 8), f32]
// MISSING-NEXT:   at: [(k), i64]
// MISSING-NEXT: give each as --input NAME=FILE.npy
// UNKNOWN: pelton: unknown input 't', did you mean 'at'?
// FORM:    pelton: --input table: expected NAME=FILE.npy
// TWICE:   pelton: --input x=y.npy: x is given twice
// WEIGHT:      pelton: one weight is missing:
// WEIGHT-NEXT:   w: [(8), f32]
// WEIGHT-NEXT: give the file that has them as --weights FILE.safetensors (or .npz)
// USAGE:   pelton run: error: the following arguments are required: MODEL
// SIZE:      pelton: one size is missing:
// SIZE-NEXT:   at: [(k), i64]
// SIZE-NEXT: give symbols as --dim k=8, or --shape NAME=1x128
// SYMBOL:  pelton: unknown symbol 'm' (known: k, n)
// NUMBER:  pelton: --shape x=2xq: 'q' is no size
// RUNS:    pelton bench: error: argument --runs: '0' is no whole number from 1 to 1000000
// TARGET:  pelton explain: error: argument --target: invalid choice: 'avx3'
// SUFFIX:  pelton: -o model.so: an artifact is called NAME.pelton

// BENCH:      pelton, 1 thread, random weights
// BENCH-NEXT:   input  type           values
// BENCH-NEXT:   x      [(2, 8), f32]  random
// BENCH-NEXT:   at     [(3), i64]     random
// BENCH-NEXT: 2 samples of
// BENCH-NEXT:                       low decile
// BENCH-NEXT:   wall
// BENCH-NEXT:   CPU, calling thread
// BENCH-NEXT:   CPU, all threads
func.func @main(%x: !nn.tensor<[n, 8], f32> {nn.name = "x"}, %at: !nn.tensor<[k], i64> {nn.name = "at"}) -> !nn.tensor<[k, 8], f32> {
  %w = nn.weight {key = "w"} : !nn.tensor<[8], f32>
  %rows = nn.gather %x, %at {axis = 0} : (!nn.tensor<[n, 8], f32>, !nn.tensor<[k], i64>) -> !nn.tensor<[k, 8], f32>
  %wide = nn.broadcast_to %w {shape = #nn.dims[k, 8]} : (!nn.tensor<[8], f32>) -> !nn.tensor<[k, 8], f32>
  %y = nn.mul %rows, %wide : (!nn.tensor<[k, 8], f32>, !nn.tensor<[k, 8], f32>) -> !nn.tensor<[k, 8], f32>
  func.return %y : !nn.tensor<[k, 8], f32>
}
