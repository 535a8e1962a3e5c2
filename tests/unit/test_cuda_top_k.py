"""Ranking on a GPU, by both kernels: rows that fit into shared memory and longer ones, ties, NaN, both zeros."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pelton.dialects.interpreter import run as interpret
from pelton.dialects.kernel import CallOp
from pelton.graph import ops
from pelton.kernels import top_k
from pelton.kernels.top_k import CHUNK, SELECT, SORT
from pelton.support.options import DEFAULTS
from pelton.tests.support.cuda_plans import lowered, run_plan
from pelton.tests.support.graphs import graph_of

BF16 = np.dtype(ml_dtypes.bfloat16)
Array = np.ndarray[Any, Any]


def few_values(*shape: int, dtype: Any) -> Array:
    """Elements of which many are equal; of floats some are NaN, infinite or zeros of either sign."""
    random = np.random.default_rng(shape)
    if np.dtype(dtype).kind in "iu":
        return random.integers(-50, 50, shape).astype(dtype)
    values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, *np.linspace(-3, 3, 40)])
    return random.choice(values, shape).astype(dtype)


def check(x: Array, k: int, old: bool) -> None:
    """Largest and smallest, of the kernel that the session prefers, are what `evaluate` says, in its order."""
    graph = graph_of(lambda x: [*ops.top_k(x, k), *ops.bottom_k(x, k)], x, symbolic=True)
    module = lowered(graph.module, DEFAULTS._replace(old_top_k=old))
    called = {op.callee.string_value() for op in module.walk() if isinstance(op, CallOp)}
    assert called == {SORT if old else SELECT}
    for got, want in zip(run_plan(module, [x], {}), interpret(graph.module, [x], {}), strict=True):
        assert got.dtype == want.dtype
        exact = np.float64 if got.dtype.kind == "V" or got.dtype.kind == "f" else np.int64
        np.testing.assert_array_equal(got.astype(exact), want.astype(exact))


@pytest.fixture
def short_chunks(monkeypatch: pytest.MonkeyPatch) -> int:
    """Few elements in shared memory, so that short rows are long ones."""
    monkeypatch.setattr(top_k, "CHUNK", 64)
    return 64


@pytest.mark.parametrize("old", [False, True], ids=["new", "old"])
@pytest.mark.parametrize("n", [2, 33, 64, 65, 300])
def test_rows_of_every_length(n: int, old: bool, short_chunks: int) -> None:
    check(few_values(2, n, dtype=np.float32), min(n - 1, short_chunks), old)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, BF16, np.int8, np.uint16, np.int32, np.uint64])
def test_every_kind_of_key(dtype: Any, short_chunks: int) -> None:
    for old in (False, True):
        check(few_values(1, short_chunks + 9, dtype=dtype), 6, old)


def test_rising_rows_fill_the_room_between_two_sorts(short_chunks: int) -> None:
    """Every later element beats what was kept: candidates never fit twice. In falling rows it does for `bottom_k`."""
    rising = np.arange(4 * short_chunks + 3, dtype=np.float32).reshape(1, -1)
    check(rising, 50, old=False)
    check(rising[:, ::-1].copy(), 50, old=False)


@pytest.mark.parametrize("old", [False, True], ids=["new", "old"])
def test_chunks_as_they_are(old: bool) -> None:
    n = (3 if old else 1) * CHUNK + 200
    check(few_values(1, n, dtype=np.float32), n if old else 40, old)


def test_rows_do_not_see_each_other(short_chunks: int) -> None:
    x = few_values(3, short_chunks + 5, dtype=np.float32)
    graph = graph_of(lambda x: ops.top_k(x, 4), x, symbolic=True)
    module = lowered(graph.module)
    together = run_plan(module, [x], {})
    for row in range(3):
        for whole, alone in zip(together, run_plan(module, [x[row : row + 1]], {}), strict=True):
            np.testing.assert_array_equal(whole[row : row + 1], alone)
