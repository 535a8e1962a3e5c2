"""The compiled walker and the Python one agree on random programs, on every target this machine can run."""

from __future__ import annotations

import random
from array import array
from functools import cache
from typing import Any

import numpy as np
import pytest

from pelton.artifact import KernelCode
from pelton.codegen.cpu.compile import compile_sources
from pelton.codegen.cpu.target import TARGETS, CpuTarget
from pelton.codegen.cpu.walker import NAME, compile_walker
from pelton.codegen.source import Source
from pelton.program import HEAD, HIGHEST, LOWEST, RING_WORDS, WHOLE, Op, Program
from pelton.runtime.loader import NativeCode, host_features, map_objects
from pelton.runtime.memory import address_of
from pelton.runtime.walker import Code, Frame, NativeWalker, PythonWalker, native_kernel

# sums its two dims into out[i]; a check fails where the sum is 13.
SUM = Source(
    "sum",
    "def sum(out, m, n, lo, hi, ctx):\n"
    "    for i in range(lo, hi):\n"
    "        out[i] = m + n + i\n"
    "        if m + n == 13:\n"
    "            ctx[0] = 2\n"
    "            ctx[1] = i\n"
    "            ctx[2] = m\n",
    (("out", "i64"),),
    ("m", "n"),
)
NUMBERS = (0, 1, -1, 2, 3, 7, -7, 12, 13, 2**31, -(2**31), 2**62, -(2**62), HIGHEST, LOWEST, LOWEST + 1, 3037000500)


@cache
def code(target: CpuTarget) -> NativeCode:
    if not target.required <= host_features():
        pytest.skip(f"this CPU cannot run {target.name} code")
    kernel = compile_sources([SUM], target)["sum"]
    return map_objects([KernelCode(NAME, compile_walker(target)), KernelCode("sum", kernel)])


def run_both(target: CpuTarget, words: list[int], values: list[int]) -> tuple[int, list[int], list[int]]:
    """Result, values and ctx of both walkers, which must be equal."""
    mapped = code(target)
    address = mapped.address("sum")
    results: list[tuple[int, list[int], list[int]]] = []
    for walker in (PythonWalker([native_kernel(address)]), NativeWalker(mapped.address(NAME), [address], mapped)):
        frame = Frame(len(values))
        frame.values[:] = array("q", values)
        stopped = walker.bind(Code(words), frame)()
        results.append((stopped, frame.values.tolist(), frame.ctx.tolist()))
    assert results[0] == results[1]
    return results[0]


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_every_operator_on_every_pair_of_edges(target: CpuTarget) -> None:
    stops = 0
    operators = (Op.ADD, Op.SUB, Op.MUL, Op.FLOORDIV, Op.MIN, Op.MAX, Op.REQUIRE_EQ, Op.REQUIRE_LE)
    for op in operators:
        for a in NUMBERS:
            for b in NUMBERS:
                stopped, values, _ = run_both(target, [op, 2, 0, 1, Op.END], [a, b, 55])
                stops += stopped != 0
                if op is Op.MUL and LOWEST <= a * b <= HIGHEST:
                    assert (stopped, values[2]) == (0, a * b)
                if op is Op.FLOORDIV and b and a // b <= HIGHEST:
                    assert (stopped, values[2]) == (0, a // b)
    assert stops > 100


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    """Arithmetic over a dozen slots, launches and copies into a small memory, until END or the first failure."""
    rng = random.Random(seed)
    memory = np.zeros(64, np.int64)
    base = address_of(memory)
    values = [rng.choice(NUMBERS) if rng.random() < 0.3 else rng.randrange(-20, 20) for _ in range(12)]
    values += [base, base + 256, 8, 16, 0, 0, 0, 0]
    words: list[int] = []
    for _ in range(rng.randrange(1, 40)):
        match rng.randrange(8):
            case 0:
                words += [Op.CONST, rng.randrange(12), rng.choice(NUMBERS)]
            case 1:
                words += [
                    Op.LAUNCH,
                    0,
                    0,
                    rng.choice((14, 15, 16)),
                    17,
                    3,
                    rng.choice((12, 13)),
                    *rng.choices(range(12), k=2),
                ]
            case 2:
                words += [Op.COPY, 13, 12, rng.choice((14, 15, 16))]
            case 3:
                words += [rng.choice((Op.REQUIRE_EQ, Op.REQUIRE_LE)), 0, *rng.choices(range(12), k=2)]
            case _:
                op = rng.choice((Op.ADD, Op.SUB, Op.MUL, Op.FLOORDIV, Op.MIN, Op.MAX))
                words += [op, rng.randrange(12), *rng.choices(range(12), k=2)]
    for target in TARGETS:
        if target.required <= host_features():
            memory[:] = 0
            run_both(target, [*words, Op.END], values)


@pytest.mark.parametrize("size", [0, 1, 7, 31, 32, 33, 63, 64, 65, 100, 1000, 4097])
def test_copies_of_any_size(size: int) -> None:
    rng = np.random.default_rng(size)
    source = rng.integers(0, 256, size + 3, np.uint8)[1:]
    target = np.zeros(size + 40, np.uint8)
    values = [address_of(target) + 5, address_of(source), size]
    for cpu in TARGETS:
        if cpu.required <= host_features():
            target[:] = 77
            assert run_both(cpu, [Op.COPY, 0, 1, 2, Op.END], values)[0] == 0
            np.testing.assert_array_equal(target[5 : 5 + size], source[:size])
            assert set(target[:5].tolist() + target[5 + size :].tolist()) == {77}
    assert run_both(TARGETS[0], [Op.COPY, 0, 1, 2, Op.END], [*values[:2], -1])[0] == 1


def test_a_failed_check_stops_the_program() -> None:
    memory = np.zeros(4, np.int64)
    values = [address_of(memory), 6, 7, 4, 0, 0, 0, 0]
    words = [Op.CONST, 7, 1, Op.LAUNCH, 0, 0, 3, 4, 3, 0, 1, 2, Op.CONST, 7, 2, Op.END]
    stopped, after, ctx = run_both(TARGETS[0], words, values)
    assert (stopped, after[7], ctx[:3]) == (4, 1, [2, 3, 6])
    assert memory.tolist() == [13, 14, 15, 16]


def test_programs_end_at_once_when_empty() -> None:
    assert Program(0, (0,), (0,)).slots == 0
    assert run_both(TARGETS[0], [Op.END], []) == (0, [], [0] * 8)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_traces(target: CpuTarget) -> None:
    """Entries follow each other in whole words; a large value is cut, one that does not fit is counted."""
    mapped = code(target)
    source = np.arange(3 * WHOLE, dtype=np.uint8)
    sizes = [0, 1, 7, 8, 9, HEAD, WHOLE, WHOLE + 1, 2 * WHOLE, WHOLE, 100, 5000, 1]
    rings: list[Any] = []
    for walker in (PythonWalker([]), NativeWalker(mapped.address(NAME), [], mapped)):
        ring = np.zeros(RING_WORDS + 3000, np.int64)
        ring[2] = 20_000
        frame = Frame(2 + len(sizes))
        frame.values[:] = array("q", [address_of(ring), address_of(source), *sizes])
        words = [word for k in range(len(sizes)) for word in (Op.TRACE, 0, 100 + k, 1, 2 + k)]
        assert walker.bind(Code([*words, Op.END]), frame)() == 0
        frame.values[2] = -1
        assert walker.bind(Code([*words, Op.END]), frame)() == 1
        rings.append(ring)
    assert (rings[0] == rings[1]).all()
    used, lost, room = map(int, rings[0][:RING_WORDS])
    assert lost == 1 and used <= room
    kept = [size if size <= WHOLE else HEAD for size in sizes]
    content, at = rings[0][RING_WORDS:].view(np.uint8), 0
    for k, size in enumerate(kept):
        if k == 11:  # the one that found no room
            continue
        assert content[at : at + 16].view(np.int64).tolist() == [100 + k, size]
        assert (content[at + 16 : at + 16 + size] == source[:size]).all()
        at += 16 + -(-size // 8) * 8
    assert at == used
