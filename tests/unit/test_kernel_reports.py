"""Checks that report: the interpreter, compiled code on every instruction set, and PTX leave the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pelton.codegen.cpu.target import TARGETS
from pelton.codegen.cuda.compile import compile_ptx
from pelton.codegen.cuda.sources import cuda_source
from pelton.codegen.interpreter import Failure, run_kernel
from pelton.runtime.loader import host_features
from pelton.tests.support import cuda
from pelton.tests.support.kernels import Compiled, kernel_functions

TEXT = """
kernel.func @judge(%x: !kernel.buf<[m, n], f32>, %w: !kernel.buf<[m, n], f64>, %k: !kernel.buf<[m, n], i32>,
                   %rows: !kernel.buf<[9], i64>) sizes [m, n] {
  %m = kernel.dim m
  %n = kernel.dim n
  %zero = arith.constant 0.0 : f32
  %seven = arith.constant 7 : i32
  kernel.grid (%i) in (%m) {
    kernel.lanes (%j) in (%n) {
      %v = kernel.load %x[%i, %j] : !kernel.buf<[m, n], f32>
      %d = kernel.load %w[%i, %j] : !kernel.buf<[m, n], f64>
      %c = kernel.load %k[%i, %j] : !kernel.buf<[m, n], i32>
      %wide = arith.extsi %c : i32 to i64
      %row = arith.muli %i, %n : index
      %at = arith.addi %row, %j : index
      %positive = arith.cmpf ogt, %v, %zero : f32
      %small = arith.cmpi slt, %c, %seven : i32
      kernel.report %positive at %at, %v to %rows[0] : f32 to !kernel.buf<[9], i64>
      kernel.report %small at %at, %wide, %v, %d, %at to %rows[3] : i64, f32, f64, index to !kernel.buf<[9], i64>
      kernel.check 2 %small at %at, %d : f64
      kernel.check 1 %positive at %at, %v : f32
    }
  }
}
"""


def inputs(m: int, n: int, wrong: int, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    x, w = rng.random((m, n), np.float32) + 1, rng.standard_normal((m, n))
    k = rng.integers(-9, 7, (m, n)).astype(np.int32)
    for place in rng.integers(0, max(m * n, 1), wrong):
        x.reshape(-1)[place] *= -1
        k.reshape(-1)[-1 - place] = 100 + place
    return [x, w, k, np.zeros(9, np.int64)]


def words(rows: Any) -> list[int]:
    """The words of a report; those of an f32 have 32 bits, the others are as they come."""
    found = rows.tolist()
    return [word & 0xFFFFFFFF if number in (2, 6) else word for number, word in enumerate(found)]


CASES = [(1, 1, 1), (3, 40, 0), (3, 40, 1), (5, 33, 9), (2, 0, 0), (1, 300, 60)]


@pytest.mark.parametrize(("m", "n", "wrong"), CASES)
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_compiled_rows(target: Any, m: int, n: int, wrong: int) -> None:
    if not target.required <= host_features():
        pytest.skip(f"this machine has no {target.name}")
    function = kernel_functions(TEXT)["judge"]
    given, wanted = (inputs(m, n, wrong, 3) for _ in range(2))
    want = run_kernel(function, wanted, [m, n])
    got = Compiled([function], target).run("judge", given, [m, n], range(m))
    assert words(given[-1]) == words(wanted[-1])
    assert (got and (got.site, got.index)) == (want and (want.site, want.index))
    assert wrong == 0 or wanted[-1][0] == wanted[-1][3] == 1


@pytest.mark.parametrize("order", ["as they are", "backwards", "one kind"])
@pytest.mark.parametrize(("m", "n", "wrong"), CASES)
def test_ptx_rows(m: int, n: int, wrong: int, order: str) -> None:
    """Backwards, the other check fails first; with one kind of failure, many threads of a step want to be first."""
    source = cuda_source(cuda.functions(TEXT)["judge"])
    given, wanted = (inputs(m, n, wrong, 3) for _ in range(2))
    for arrays in (given, wanted):
        if order == "one kind":
            arrays[2][:] = 0
        for array in arrays[:3] if order == "backwards" else ():
            array[:] = array[::-1, ::-1].copy()
    want = run_kernel(kernel_functions(TEXT)["judge"], wanted, [m, n])
    site, index, _ = cuda.launch(source, compile_ptx(source), m, given, [m, n])
    assert words(given[-1]) == words(wanted[-1])
    assert (site, index) == ((want.site, want.index) if want else (0, 0))


def test_a_check_shows_the_first_of_two_at_one_index() -> None:
    function = kernel_functions(TEXT)["judge"]
    x, w, k, rows = inputs(1, 4, 0, 1)
    x[0, 2], k[0, 2], w[0, 2] = -3, 50, 0.5
    assert run_kernel(function, [x, w, k, rows], [1, 4]) == Failure(1, 2, int(np.float32(-3).view(np.int32)))
    assert rows.tolist() == [1, 2, rows[2], 1, 2, 50, rows[6], int(np.float64(0.5).view(np.int64)), 2]
