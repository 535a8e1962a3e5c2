"""Kernels through the CUDA printer, Numba and NVVM, on the emulator against NumPy in float64; ptxas assembles each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from pelton.codegen.cuda.compile import assemble, compile_ptx, find_ptxas
from pelton.dialects.nn.matmul import PART
from pelton.runtime.emulator import OutOfBounds, Race
from pelton.tests.support import cuda

SIZES = [(0, 0), (0, 5), (1, 1), (3, 0), (1, 31), (3, 32), (5, 33), (2, 300), (4, 1100)]
"""The last: threads have eight or nine elements, more than NVVM unrolls."""
BF16 = np.dtype(ml_dtypes.bfloat16)
Array = np.ndarray


def random(*shape: int, scale: float = 1.0, dtype: type = np.float32) -> Array:
    rng = np.random.default_rng(sum(shape))
    return (scale * rng.standard_normal(shape)).astype(dtype)


def ulps(got: Array, want: Array) -> float:
    """The largest distance in units of the last place of `got`'s type; NaN and infinities must agree."""
    rounded = want.astype(got.dtype)
    got, wide = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(rounded.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wide))
    np.testing.assert_array_equal(got[~finite & ~np.isnan(wide)], rounded.astype(np.float64)[~finite & ~np.isnan(wide)])
    if not finite.any():
        return 0.0
    unit = np.spacing(np.abs(rounded[finite])) if rounded.dtype != BF16 else np.abs(wide[finite]) * 2.0**-8 + 1e-38
    return float((np.abs(got[finite] - wide[finite]) / unit.astype(np.float64)).max())


@pytest.mark.skipif(find_ptxas() is None, reason="ptxas is not installed")
@pytest.mark.parametrize("name", cuda.functions(cuda.KERNELS.read_text()))
def test_ptxas_assembles_every_kernel(name: str) -> None:
    cubin = assemble(cuda.ptx(name))
    assert cubin[:4] == b"\x7fELF"
    assert cuda.source(name).name.encode() in cubin


@pytest.mark.parametrize(("m", "n"), SIZES)
def test_elementwise(m: int, n: int) -> None:
    x, s, b, y = random(m, n), random(1), random(n), np.full((m, n), 7, np.float32)
    if n > 3:
        b[:4] = [np.nan, np.inf, -np.inf, 0]
    cuda.run("gelu", m, [x, s, b, y], m, n)
    with np.errstate(invalid="ignore"):
        t = (x * s + b).astype(np.float64)
        want = t * 0.5 * (_erf(t * np.float32(0.70710678)) + 1)
        np.testing.assert_array_equal(np.isnan(y), np.isnan(want))
        exact = np.isfinite(t)
        assert (np.abs(y - want)[exact] <= 4 * np.spacing(np.abs(t[exact]).astype(np.float32))).all()
        np.testing.assert_array_equal(y[~exact], want[~exact])


def _erf(x: Array) -> Array:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


@pytest.mark.parametrize(("m", "n"), SIZES)
def test_softmax(m: int, n: int) -> None:
    x, y = random(m, n, scale=4), np.full((m, n), 7, np.float32)
    if n > 30 and m > 1:
        x[0, 3], x[1, 2], x[1, 5] = np.nan, -np.inf, 1e30
    cuda.run("softmax", m, [x, y], m, n)
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(1, keepdims=True, initial=-np.inf))
    want = e / e.sum(1, keepdims=True)
    np.testing.assert_allclose(y, want, rtol=3e-6, atol=1e-37)


@pytest.mark.parametrize(("m", "n"), SIZES)
def test_reductions_of_floats(m: int, n: int) -> None:
    x, y = random(m, n), np.full((m, 4), 7, np.float32)
    x = np.copysign(np.exp(x / 2), random(n, m).T).astype(np.float32)  # products of long rows stay far from 0
    cuda.run("reduce_f32", m, [x, y], m, n)
    wide = x.astype(np.float64)
    want = [wide.sum(1), wide.prod(1), wide.max(1, initial=-np.inf), wide.min(1, initial=np.inf)]
    np.testing.assert_allclose(y[:, 0], want[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(y[:, 1], want[1], rtol=1e-4, atol=1e-44)
    np.testing.assert_array_equal(y[:, 2], want[2])
    np.testing.assert_array_equal(y[:, 3], want[3])


def test_reductions_keep_nan_and_order_zeros() -> None:
    x, y = np.zeros((4, 200), np.float32), np.zeros((4, 4), np.float32)
    x[0, 150], x[1, :] = np.nan, -0.0
    x[2, ::2], x[3, 7] = -0.0, np.inf
    cuda.run("reduce_f32", 4, [x, y], 4, 200)
    assert np.isnan(y[0]).all()
    assert np.signbit(y[1, 2]) and np.signbit(y[1, 3])
    assert not np.signbit(y[2, 2]) and np.signbit(y[2, 3])
    assert y[3, 0] == y[3, 2] == np.inf and y[3, 3] == 0


@pytest.mark.parametrize(("m", "n"), SIZES)
def test_reductions_of_integers(m: int, n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.integers(-(2**63), 2**63, (m, n)) | 1, np.full((m, 4), 7)  # products of many even numbers are 0
    cuda.run("reduce_i64", m, [x, y], m, n)
    limits = np.iinfo(np.int64)
    want = [x.sum(1), x.prod(1), x.max(1, initial=limits.min), x.min(1, initial=limits.max)]
    np.testing.assert_array_equal(y, np.stack(want, 1))


@pytest.mark.parametrize(("m", "n"), SIZES)
def test_reductions_within_a_warp(m: int, n: int) -> None:
    x, y = random(m, n, dtype=np.float64), np.full((m, 2), 7.0)
    assert cuda.source("reduce_warp").lanes == 32 and "bar.sync" not in cuda.ptx("reduce_warp")
    cuda.run("reduce_warp", m, [x, y], m, n)
    np.testing.assert_allclose(y[:, 0], x.sum(1), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(y[:, 1], x.max(1, initial=-np.inf))


@pytest.mark.parametrize(("m", "n"), SIZES)
def test_reductions_of_bools(m: int, n: int) -> None:
    x, y = random(m, n) > 0.4 - m * 0.2, np.zeros((m, 2), np.bool_)
    x[:1], x[1:2], x[2:3] = True, False, True
    x[1:3, -1:] = ~x[1:3, -1:]  # rows that one element decides
    cuda.run("any_all", m, [x, y], m, n)
    np.testing.assert_array_equal(y, np.stack([x.any(1), x.all(1)], 1))


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 300), (2, 129), (2, 1100)])
def test_halves_in_memory(m: int, n: int) -> None:
    x, g, y = random(m, n).astype(BF16), random(n).astype(np.float16), np.zeros((m, n), BF16)
    cuda.run("layer_norm", m, [x, g, y], m, n)
    wide = x.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    want = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * g
    assert ulps(y, want) <= 1.01


@pytest.mark.parametrize("n", [0, 1, 5, 129, 700])
def test_conversions_and_guarded_division(n: int) -> None:
    special = np.array([0, -0.0, 0.5, -1.5, 2.5, 1e10, -1e30, np.nan, np.inf, -np.inf, 65504, 65520, 1e-8, 3.3e38])
    limits = np.iinfo(np.int32)
    x = np.resize(np.array([7, -7, 7, -7, 0, limits.min, limits.max, limits.min], np.int32), n)
    d = np.resize(np.array([3, 3, -3, -3, 5, -1, 0, 1], np.int32), n)
    f = np.resize(special.astype(np.float32), n)
    q, r, p, w = np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.bool_), np.zeros(n, np.int64)
    h, b = np.zeros(n, np.float16), np.zeros(n, BF16)
    cuda.run("convert", 1, [x, d, f, q, r, p, w, h, b], n)
    with np.errstate(all="ignore"):
        wide, by = x.astype(np.int64), np.where(d == 0, 1, d).astype(np.int64)
        floor = np.where(d == 0, 0, wide // by)
        rest = np.where(d == 0, 0, np.fmod(wide, by))
        np.testing.assert_array_equal(q, floor.astype(np.int32))
        np.testing.assert_array_equal(r, (floor * d + rest).astype(np.int32))
        np.testing.assert_array_equal(p, ~np.isnan(f))
        whole = [0 if v != v else int(min(max(float(v), -(2.0**63)), 2.0**63)) for v in f]
        np.testing.assert_array_equal(w, [min(v, 2**63 - 1) for v in whole])
        np.testing.assert_array_equal(h, f.astype(np.float16))
        np.testing.assert_array_equal(
            b.view(np.uint16) & 0x7FFF, f.astype(BF16).view(np.uint16) & 0x7FFF | np.isnan(f) * 0x3F
        )


@pytest.mark.parametrize(("m", "n"), SIZES)
def test_gather(m: int, n: int) -> None:
    w, index, y = random(50, n), np.random.default_rng(m).integers(-50, 50, m), np.full((m, n), 7, np.float32)
    assert cuda.run("gather", m, [w, index, y], 50, n, m) == [0, 0, 0]
    np.testing.assert_array_equal(y, w[index])


def test_a_bad_index_is_reported_and_clamped() -> None:
    w, y = random(50, 8), np.zeros((4, 8), np.float32)
    assert cuda.run("gather", 4, [w, np.array([3, 70, -51, 1]), y], 50, 8, 4) == [1, 1, 70]
    np.testing.assert_array_equal(y, w[[3, 0, 0, 1]])


def test_the_lowest_of_many_bad_indices_is_reported() -> None:
    table, index, ok = random(40), np.arange(1000) % 40, np.ones(1000, np.bool_)
    index[[900, 333, 77, 500]], ok[5] = [41, 42, 43, 44], False
    y = np.zeros(1000, np.float32)
    assert cuda.run("take", 1, [table, index, ok, y], 40, 1000) == [1, 77, 43]
    np.testing.assert_array_equal(y, np.where(ok & (index < 40), table[index % 40], np.float32(-1)))


@pytest.mark.parametrize(("m", "n"), [(1, 1), (0, 5), (33, 31), (64, 65), (100, 3)])
def test_transpose(m: int, n: int) -> None:
    x, y = random(m, n), np.full((n, m), 7, np.float32)
    cuda.run("transpose", -(-m // 32) * -(-n // 32), [x, y], m, n)
    np.testing.assert_array_equal(y, x.T)


@pytest.mark.parametrize(("m", "n"), [(0, 5), (7, 1), (17, 300)])
def test_sequential_reduction(m: int, n: int) -> None:
    x, y = random(m, n), np.full(n, 7, np.float32)
    cuda.run("column_sum", -(-n // 256), [x, y], m, n)
    np.testing.assert_array_equal(y, _chain(x, np.add))


def _chain(x: Array, add: Callable[[Array, Array], Array]) -> Array:
    total = np.zeros(x.shape[1:], np.float32)
    for row in x:
        total = add(total, row)
    return total


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 33), (2, 500)])
def test_argmax(m: int, n: int) -> None:
    x, y = np.round(random(m, n)), np.zeros(m, np.int64)
    if n > 30:
        x[0, 20], x[0, 30] = np.nan, np.nan
    cuda.run("argmax", m, [x, y], m, n)
    np.testing.assert_array_equal(y, x.argmax(1))


def test_argmax_finds_an_extreme_in_every_round_of_every_thread() -> None:
    """A thread takes every 128th element; the largest stands where each of its rounds, and the first and last, look."""
    places = np.array([0, 127, 128, 255, 256, 383, 384, 511, 512, 639, 640, 699])
    x, y = random(len(places), 700), np.zeros(len(places), np.int64)
    x[np.arange(len(places)), places] = 9
    cuda.run("argmax", len(places), [x, y], len(places), 700)
    np.testing.assert_array_equal(y, places)


def test_reductions_see_every_round_of_every_thread() -> None:
    """The same for sums and extremes: one number among zeros."""
    places = np.array([0, 127, 128, 255, 256, 383, 384, 511, 512, 639, 640, 699])
    x = np.zeros((len(places), 700), np.float32)
    x[np.arange(len(places)), places] = -9
    y = np.zeros((len(places), 4), np.float32)
    cuda.run("reduce_f32", len(places), [x, y], len(places), 700)
    np.testing.assert_array_equal(y, np.tile(np.array([-9, 0, 0, -9], np.float32), (len(places), 1)))


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_lanes_exchange_data_in_a_loop(rounds: int) -> None:
    x, y = random(3, 96), np.zeros((3, 96), np.float32)
    cuda.run("rotate", 3, [x, y, np.array([rounds])], 3)
    np.testing.assert_array_equal(y, np.roll(x, -rounds, 1))


@pytest.mark.parametrize(("m", "n"), SIZES)
def test_strided_views(m: int, n: int) -> None:
    wide, z, y = random(m + 1, n + 9), random(n, m), np.full((m, n), 7, np.float32)
    cuda.run("views", m, [wide.reshape(-1)[4:].copy(), z, y], m, n, n + 9)
    np.testing.assert_array_equal(y, wide[:m, 4 : 4 + n] + z.T)


@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (0, 4, 4), (16, 16, 16), (17, 40, 33), (3, 0, 5), (5, 100, 20)])
def test_matmul(m: int, k: int, n: int) -> None:
    a, w, bias, y = random(m, k), random(k, n), random(n), np.full((m, n), 7, np.float32)
    assert cuda.source("linear").lanes == 256
    cuda.run("linear", -(-m // 64) * -(-n // 64), [a, w, bias, y], m, k, n)
    want = np.maximum(a.astype(np.float64) @ w + bias, 0)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=2e-5)


def test_a_long_product_is_the_sum_of_its_parts() -> None:
    a, w, bias = abs(random(2, 2100)), abs(random(2100, 3)), np.zeros(3, np.float32)

    def product(first: int, last: int) -> Array:
        y, columns, rows = (np.empty((2, 3), np.float32), a[:, first:last], w[first:last])
        cuda.run("linear", 1, [np.ascontiguousarray(columns), rows, bias, y], 2, last - first, 3)
        return y

    parts = [product(k, min(k + PART, 2100)) for k in range(0, 2100, PART)]
    np.testing.assert_array_equal(product(0, 2100), parts[0] + parts[1] + parts[2])


@pytest.mark.parametrize(("b", "m", "k", "n"), [(1, 1, 1, 1), (3, 5, 19, 21), (2, 40, 19, 70)])
def test_batched_matmul_of_packed_halves(b: int, m: int, k: int, n: int) -> None:
    a, w = random(b, m, k).astype(np.float16), random(b, k, n).astype(np.float16)
    panels = -(-n // 8)
    packed = np.zeros((b, panels * 8, k), np.float16)
    packed[:, :n] = w.transpose(0, 2, 1)
    packed = np.ascontiguousarray(packed.reshape(b, panels, 8, k).transpose(0, 1, 3, 2))
    y = np.zeros((b, m, n), np.float16)
    cuda.run("batched", b * -(-m // 64) * -(-n // 64), [a, packed, y], b, m, k, panels, n)
    assert ulps(y, a.astype(np.float64) @ w.astype(np.float64)) <= 0.6 + k * 2.0**-11


def test_a_store_out_of_range_is_caught() -> None:
    right = cuda.source("softmax")
    wrong = replace(right, text=right.text.replace("y[r * n + j] = p", "y[r * n + j + 1] = p"))
    x, y = random(2, 200), np.zeros((2, 200), np.float32)
    with pytest.raises(
        OutOfBounds, match=r"`st.global.f32 .* of block 1: byte 1600 of argument 1, which has 1600 bytes"
    ):
        cuda.launch(wrong, compile_ptx(wrong), 2, [x, y], [2, 200], check_races=False)


@pytest.mark.parametrize("name", ["transpose", "rotate"])
def test_a_missing_barrier_is_caught(name: str) -> None:
    text = cuda.ptx(name)
    assert text.count("bar.sync") >= 1
    with pytest.raises(Race, match=r"thread \d+ of block 0: (reads|writes) what thread \d+ of block 0 (wrote|read)"):
        bare = "".join(line for line in text.splitlines(keepends=True) if "bar.sync" not in line)
        if name == "transpose":
            cuda.launch(cuda.source(name), bare, 4, [random(40, 40), np.zeros((40, 40), np.float32)], [40, 40])
        else:
            cuda.launch(cuda.source(name), bare, 1, [random(1, 96), np.zeros((1, 96), np.float32), np.array([2])], [1])
