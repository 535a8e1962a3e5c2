"""The matrix product on a GPU: every tile gives the bits of one chain in the order of k, for all types and layouts."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pelton.dialects.nn.matmul import PART
from pelton.graph import ops
from pelton.kernels import matmul_cuda
from pelton.support.options import DEFAULTS
from pelton.tests.support.cuda_plans import lowered, run_plan
from pelton.tests.support.graphs import graph_of

Precision = type(DEFAULTS.split_k)
Array = np.ndarray[Any, Any]
BF16 = np.dtype(ml_dtypes.bfloat16)


def random(*shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(shape).standard_normal(shape).astype(dtype)


def product(a: Array, b: Array, symbolic: bool = False) -> Array:
    graph = graph_of(lambda a, b: a @ b, a, b, symbolic=symbolic)
    (y,) = run_plan(lowered(graph.module), [a, b], {})
    return y


def chain(a: Array, b: Array) -> Array:
    """Fused multiply-adds in the order of k: products of two f32 are exact in f64. Long products are sums of parts."""
    if a.shape[1] > PART:
        return chain(a[:, :PART], b[:PART]) + chain(a[:, PART:], b[PART:])
    y = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        y = (a[:, k : k + 1].astype(np.float64) * b[k].astype(np.float64) + y).astype(np.float32)
    return y


def high(rows: int) -> int:
    """How many rows of a tile a thread has, for so many rows in all."""
    return matmul_cuda.tile_for(1, rows, 70, 4).high


@pytest.mark.parametrize(("rows", "many", "expected"), [(5, False, 1), (75, False, 4), (130, True, 8)])
def test_every_tile_gives_the_bits_of_one_chain(
    rows: int, many: bool, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if many:
        monkeypatch.setattr(matmul_cuda, "PROCESSORS", 1)
    assert high(rows) == expected
    a, b = random(rows, 150), random(150, 70)
    np.testing.assert_array_equal(product(a, b), chain(a, b))
    for few in (1, 3, 8, 9):
        np.testing.assert_array_equal(product(a[:few], b, symbolic=True), chain(a[:few], b))


@pytest.mark.parametrize("rows", [2, 66])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float16, 1e-3), (BF16, 1e-2)])
def test_other_floats(dtype: Any, tolerance: float, rows: int) -> None:
    a, b = random(rows, 70, dtype=dtype), random(70, 34, dtype=dtype)
    want = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(product(a, b).astype(np.float64), want, tolerance, tolerance)


@pytest.mark.parametrize("rows", [8, 9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_rows_of_a_batch_give_the_same_bits_as_many(dtype: Any, rows: int) -> None:
    """A long K, so that there are parts; which rows a run has decides which tile it takes."""
    a, b = random(2, rows, PART + 9, dtype=dtype), random(2, PART + 9, 70, dtype=dtype)
    many = np.concatenate([a, random(2, 60, PART + 9, dtype=dtype)], axis=1)
    np.testing.assert_array_equal(product(a, b, symbolic=True), product(many, b, symbolic=True)[:, :rows])


def test_batches_of_transposed_operands_with_an_epilogue() -> None:
    q, k, bias = random(2, 3, 9, 20), random(2, 3, 11, 20), random(11)
    graph = graph_of(lambda q, k, bias: ops.tanh(q @ ops.transpose(k, -1, -2) * 0.25 + bias), q, k, bias)
    (got,) = run_plan(lowered(graph.module), [q, k, bias], {})
    np.testing.assert_allclose(got, np.tanh(q @ k.swapaxes(-1, -2) * 0.25 + bias), 1e-5, 1e-6)


def test_long_products_are_sums_of_their_parts() -> None:
    a, b = random(3, PART + 200), random(PART + 200, 9)
    np.testing.assert_array_equal(product(a, b), chain(a, b))


@pytest.mark.parametrize(("dtype", "largest"), [(np.float16, 0.1), (BF16, 1.0)])
def test_partial_results_are_rounded_where_the_session_says(dtype: Any, largest: float) -> None:
    a, b = random(4, PART + 80, dtype=dtype), random(PART + 80, 30, dtype=dtype)
    graph = graph_of(lambda a, b: a @ b, a, b)
    kept, rounded = (
        run_plan(lowered(graph.module, DEFAULTS._replace(split_k=p)), [a, b], {})[0].astype(np.float64)
        for p in (Precision.ACCUM, Precision.OUTPUT)
    )
    assert 0 < np.abs(rounded - kept).max() < largest
