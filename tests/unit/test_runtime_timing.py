"""The walker that tells what kernels took: the same results and failures as the native one, and the right figures."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from pelton.dtype import DType
from pelton.program import Cost, evaluated
from pelton.program_builder import ProgramBuilder
from pelton.runtime import timing
from pelton.runtime.executable import NativeExecutable
from pelton.runtime.memory import address_of
from pelton.runtime.plan import Runner
from pelton.runtime.timing import TimedWalker
from pelton.support.errors import AssertionFailed
from pelton.tests.support import small_artifacts

F32 = DType.float32


def test_polynomials() -> None:
    assert evaluated(((3,), (2, 0, 1), (-1, 1)), [5, 7]) == 3 + 2 * 5 * 7 - 7
    assert evaluated((), []) == 0 and evaluated(((2**62, 0),), [2**62]) == 2**124  # beyond 64 bits


def walked(ticks: Sequence[int], failing: str = "") -> tuple[Runner, list[str]]:
    """A program of three launches of two kernels that do nothing, on a clock that says `ticks`."""
    builder = ProgramBuilder()
    x = builder.argument()
    n = builder.dim(0, 0)
    sum_ = Cost(bytes=((8, n),))
    product = Cost(bytes=((4, n), (40,)), flops=((2, n, n),))
    for name, cost in (("sum", sum_), ("product", product), ("sum", sum_)):
        builder.launch(name, n, [x, n], [f"{name} failed"], cost)
    program = builder.finish()
    ran: list[str] = []

    def kernel(name: str, args: Sequence[int], lo: int, hi: int, ctx: memoryview) -> int:
        ran.append(name)
        ctx[0] = int(name == failing)
        return ctx[0]

    clock = itertools.chain.from_iterable((0, tick) for tick in ticks)
    kernels = [lambda *a, name=name: kernel(name, *a) for name in program.kernels]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing.time, "perf_counter_ns", lambda: next(clock))
        runner = Runner(program, TimedWalker("main of x", program, kernels))
        x = np.zeros(100, np.float32)
        try:
            runner([address_of(x)], ((100,),))
        except AssertionFailed as error:
            ran.append(str(error.message))
    return runner, ran


def test_times_add_up_per_kernel(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """800 bytes twice in 1 and 3 µs; 440 bytes and 20,000 operations in 4 µs."""
    monkeypatch.setenv("PELTON_DEBUG", "2")
    _, ran = walked([1000, 4000, 3000])
    assert ran == ["sum", "product", "sum"]
    assert [line.split() for line in capsys.readouterr().err.splitlines()] == [
        ["pelton", "main", "of", "x"],
        ["ms", "share", "launches", "GB/s", "GFLOP/s", "kernel"],
        ["0.004", "50%", "2", "0.4", "-", "sum"],
        ["0.004", "50%", "1", "0.1", "5.0", "product"],
        ["0.008", "100%", "3", "all", "kernels"],
    ]


def test_a_failure_is_told_as_far_as_it_came(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PELTON_DEBUG", "2")
    _, ran = walked([1000, 1000], failing="product")
    assert ran == ["sum", "product", "product failed"]
    assert capsys.readouterr().err.splitlines()[-1].split()[2] == "2"


def test_hand_made_programs_have_no_costs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PELTON_DEBUG", "2")
    model = NativeExecutable(small_artifacts.add(), [])
    x = np.arange(5, dtype=np.float32)
    (z,) = model.run([address_of(x)] * 2, ((5,), (5,)))
    np.testing.assert_array_equal(z.to_numpy(), np.arange(5) * 2)
    rows = [line.split() for line in capsys.readouterr().err.splitlines()]
    assert rows[0] == ["pelton", "main", "of", "small"] and rows[2][3:] == ["-", "-", "add"]


def test_checks_fail_as_in_the_native_walker(monkeypatch: pytest.MonkeyPatch) -> None:
    x, i = np.arange(4, dtype=np.float32), np.array([1, 9, 0])
    arguments, shapes = [address_of(x), address_of(i)], ((4,), (3,))
    texts: list[str] = []
    for level in ("0", "2"):
        monkeypatch.setenv("PELTON_DEBUG", level)
        model = NativeExecutable(small_artifacts.take(), [])
        with pytest.raises(AssertionFailed) as caught:
            model.run(arguments, shapes)
        texts.append(str(caught.value))
    assert texts[0] == texts[1] and "9" in texts[0]
