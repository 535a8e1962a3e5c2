"""Memory, lanes, reductions, checks and syntax of kernel texts, on every target that runs here, at lengths around the
lanes.

Arrays are guarded: an element before and after what a text may touch must keep its value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pelton.codegen.cpu.target import CpuTarget
from pelton.codegen.source import Source
from pelton.tests.support.words import RUNNABLE, STORAGE_DTYPE, Array, run_text, same_bits

ON_TARGETS = pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
LENGTHS = (0, 1, 5, 31, 32, 33, 70)


def source(text: str, buffers: dict[str, str], symbols: str = "n", lanes: int = 32) -> Source:
    """A text from its body; parameters are the buffers and the symbols."""
    header = f"def kernel({', '.join([*buffers, *symbols.split(), 'lo', 'hi', 'ctx'])}):\n"
    body = "\n".join(f"    {line}" for line in text.strip("\n").split("\n"))
    return Source("kernel", header + body, tuple(buffers.items()), tuple(symbols.split()), lanes)


def numbers(element: str, count: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, 100, count).astype(STORAGE_DTYPE[element])


COPY_MASKED = """
tail = below(n)
store_masked(y, 1, load_masked(x, 1, tail, 9), tail)
store(z, 0, load_masked(x, 1, tail, 9))
"""


@ON_TARGETS
@pytest.mark.parametrize("element", ["i8", "f16", "f32", "f64"])
def test_masked_accesses_touch_their_lanes_only(target: CpuTarget, element: str) -> None:
    text = source(COPY_MASKED, {"x": element, "y": element, "z": element})
    for n in (0, 1, 7, 31, 32, 40):
        x, y, z = numbers(element, 34), numbers(element, 34, 1), numbers(element, 32, 2)
        expected, kept = y.copy(), min(n, 32)
        expected[1 : 1 + kept] = x[1 : 1 + kept]
        run_text(text, target, [x, y, z], [n], 1)
        assert np.array_equal(y, expected)
        assert np.array_equal(z[:kept], x[1 : 1 + kept])
        assert (z[kept:] == 9).all()


GATHER = """
tail = below(n)
at = iota(start, 3)
store(y, 0, gather(x, at, tail, 5))
scatter(z, at, load(x, 0), tail)
"""


@ON_TARGETS
@pytest.mark.parametrize("element", ["u8", "bf16", "f32", "i64"])
def test_gathers_and_scatters_follow_their_indices(target: CpuTarget, element: str) -> None:
    text = source(GATHER, {"x": element, "y": element, "z": element}, "n start")
    for n in (0, 1, 20, 32):
        x, y, z = numbers(element, 100), numbers(element, 32, 1), numbers(element, 100, 2)
        expected = z.copy()
        expected[2 : 2 + 3 * n : 3] = x[:n]
        run_text(text, target, [x, y, z], [n, 2], 1)
        assert np.array_equal(y, np.where(np.arange(32) < n, x[2 : 2 + 96 : 3], 5))
        assert np.array_equal(z, expected)


@ON_TARGETS
def test_of_lanes_that_store_to_one_element_the_highest_wins(target: CpuTarget) -> None:
    y = np.zeros(2, np.float32)
    text = source("scatter(y, iota(0, 0) + 1, load(x, 0), full())", {"x": "f32", "y": "f32"}, "")
    run_text(text, target, [np.arange(32, dtype=np.float32), y], [], 1)
    assert y.tolist() == [0.0, 31.0]


@ON_TARGETS
def test_below_takes_any_count(target: CpuTarget) -> None:
    text = source("store(y, 0, as_bytes(below(n)))", {"y": "i1"})
    for n in (-(2**40), -1, 0, 3, 32, 33, 2**32 + 1, 2**62):
        y = np.full(32, 7, np.uint8)
        run_text(text, target, [y], [n], 1)
        assert np.array_equal(y, (np.arange(32) < n).astype(np.uint8)), n


def tree(x: Array, combine: Any) -> Any:
    """The order that `across_*` promises: lane i meets lane i + half."""
    while len(x) > 1:
        half = len(x) // 2
        x = combine(x[:half], x[half:])
    return x[0]


ACROSS = """
v = load(x, 0)
y[0] = across_add(v)
y[1] = across_mul(v)
y[2] = across_max(v)
y[3] = across_min(v)
"""


@ON_TARGETS
@pytest.mark.parametrize("lanes", [16, 32, 64])
@pytest.mark.parametrize("element", ["f32", "f64", "i32"])
def test_reductions_follow_one_tree_whatever_the_target(target: CpuTarget, element: str, lanes: int) -> None:
    dtype = STORAGE_DTYPE[element]
    rng = np.random.default_rng(lanes)
    x = (rng.standard_normal(lanes) * 3 + 1).astype(dtype)
    for special in (None, np.nan):
        if special is not None and element != "i32":
            x[3] = special
        y = np.zeros(4, dtype)
        run_text(source(ACROSS, {"x": element, "y": element}, "", lanes), target, [x, y], [], 1)
        expected = [tree(x, f) for f in (np.add, np.multiply, np.maximum, np.minimum)]
        assert same_bits(y, np.array(expected, dtype)).all()


CHECK = """
for r in range(lo, hi):
    j = 0
    while j < n:
        mask = below(n - j)
        v = load_masked(x, r * n + j, mask, 0)
        check(v < to_i32(limit), mask, iota(r * n + j, 1), v, ctx, 2)
        j += W
    s = x[r * n]
    check(s >= 0, lo <= hi, r * n, s, ctx, 1)
"""


@ON_TARGETS
def test_the_failure_of_lowest_index_is_kept(target: CpuTarget) -> None:
    text = source(CHECK, {"x": "i32"}, "n limit")
    x = np.arange(3 * 70, dtype=np.int32)
    assert run_text(text, target, [x], [70, 1000], 3).tolist()[0] == 0
    x[[40, 55, 199]] = 2000
    assert run_text(text, target, [x], [70, 1000], 3).tolist()[:3] == [2, 40, 2000]
    x[0] = -3
    assert run_text(text, target, [x], [70, 1000], 3).tolist()[:3] == [1, 0, -3]


SYNTAX = """
total = 0
count = 0
for i in range(n):
    if i % 3 == 0 and not (i > 5 and i <= 6):
        total += i
    elif i > 7 or i == 1:
        total -= 1
    count = i if i > count else count
for i in range(2, n, 5):
    total = (max(total, min(i, 1000)) << 1) % 1000
while count > 100:
    count //= 2
y[0] = total
y[1] = count
t = tile_i64(4)
t[n & 3] = total
y[2] = t[n & 3]
flag = n > 3
y[3] = to_i64(flag) + to_i64(~flag) * 10
"""


def syntax(n: int) -> list[int]:
    """What SYNTAX means, in Python."""
    total = count = 0
    for i in range(n):
        if i % 3 == 0 and not (i > 5 and i <= 6):
            total += i
        elif i > 7 or i == 1:
            total -= 1
        count = i if i > count else count
    for i in range(2, n, 5):
        total = (max(total, min(i, 1000)) << 1) % 1000
    while count > 100:
        count //= 2
    return [total, count, total, 1 if n > 3 else 10]


@ON_TARGETS
def test_loops_branches_and_tiles_mean_what_they_mean_in_python(target: CpuTarget) -> None:
    for n in (0, 1, 2, 7, 30, 300):
        y = np.zeros(4, np.int64)
        run_text(source(SYNTAX, {"y": "i64"}), target, [y], [n], 1)
        assert y.tolist() == syntax(n), n


SOFTMAX = """
for r in range(lo, hi):
    top_v = splat(f32(-inf))
    j = 0
    while j + W <= n:
        top_v = maximum(top_v, load(x, r * n + j))
        j += W
    if j < n:
        tail = below(n - j)
        top_v = maximum(top_v, where(tail, load_masked(x, r * n + j, tail, 0), f32(-inf)))
    top = across_max(top_v)
    total_v = splat(f32(0.0))
    j = 0
    while j < n:
        tail = below(n - j)
        v = exp(load_masked(x, r * n + j, tail, 0) - top)
        store_masked(y, r * n + j, v, tail)
        total_v = total_v + where(tail, v, 0.0)
        j += W
    total = across_add(total_v)
    for j in range(n):
        y[r * n + j] = y[r * n + j] / total
"""


@ON_TARGETS
def test_a_row_kernel_gives_a_row_the_same_bits_alone_and_in_a_batch(target: CpuTarget) -> None:
    text = source(SOFTMAX, {"x": "f32", "y": "f32"}, "m n")
    for n in LENGTHS:
        x = (np.random.default_rng(n).standard_normal((5, n)) * 4).astype(np.float32)
        y, alone = np.zeros_like(x), np.zeros_like(x[:1])
        run_text(text, target, [x, y], [5, n], 5)
        run_text(text, target, [np.ascontiguousarray(x[3:4]), alone], [1, n], 1)
        assert np.array_equal(alone[0], y[3])
        if n:
            wide = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
            assert np.allclose(y, wide / wide.sum(1, keepdims=True), rtol=3e-6, atol=0)
