"""Graphs, lowered as for a GPU, every kernel as PTX on the emulator, against the meaning of their ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pelton.dialects.interpreter import run as interpret
from pelton.dtype import DType
from pelton.examples import minilm
from pelton.graph import ops
from pelton.tests.models.minilm_reference import embed, random_weights
from pelton.tests.models.test_minilm import SMALL
from pelton.tests.support import random_buffers
from pelton.tests.support.cuda_plans import lowered, run_plan
from pelton.tests.support.graphs import graph_of

Array = np.ndarray[Any, Any]
Function = (
    Callable[[Any], Any]
    | Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
)
BF16 = np.dtype(ml_dtypes.bfloat16)


def random(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def whole(*shape: int, low: int = -9, high: int = 9, dtype: Any = np.int64) -> Array:
    return np.random.default_rng(shape).integers(low, high, shape).astype(dtype)


def special(array: Array) -> Array:
    """The array with NaN and infinities where it has room."""
    flat = array.reshape(-1)
    if flat.size > 8:
        flat[[1, 3, 5]] = [np.nan, np.inf, -np.inf]
    return array


def check(function: Function, *arrays: Array, tolerance: float = 0.0, symbolic: bool = True) -> None:
    """The function's value on the emulator is that of its ops; `tolerance` relative to the value, and below 1 to 1."""
    graph = graph_of(function, *arrays, symbolic=symbolic)
    with np.errstate(all="ignore"):
        want = interpret(graph.module, arrays, graph.constants)
    got = run_plan(lowered(graph.module), arrays, graph.constants)
    for result, truth in zip(got, want, strict=True):
        assert result.dtype == truth.dtype and result.shape == truth.shape
        if result.dtype.kind in "biu":
            np.testing.assert_array_equal(result, truth)
        else:
            np.testing.assert_allclose(result.astype(np.float64), truth.astype(np.float64), tolerance, tolerance)


GRAPHS: dict[str, tuple[Callable[[Any, Any], Any], float]] = {
    "add_relu": (lambda x, y: ops.relu(x + y), 0),
    "gelu": (lambda x, y: ops.gelu(x * y + x), 3e-7),
    "where": (lambda x, y: ops.where(ops.greater(x, y), x - y, x * y), 0),
    "dot": (lambda x, y: ops.sum(x * y), 2e-6),
    "extremes": (lambda x, y: ops.max(x, axis=-1) + ops.min(y, axis=-1), 0),
    "columns": (lambda x, y: ops.mean(x, axis=0) * ops.sum(y, axis=0), 2e-6),
    "softmax": (lambda x, y: ops.softmax(x + y), 2e-6),
    "transpose": (lambda x, y: ops.transpose(x, 0, 1), 0),
    "argmax": (lambda x, y: ops.argmax(x + y), 0),
    "concat": (lambda x, y: ops.concat([x, y], axis=1), 0),
    "softmax0": (lambda x, y: ops.softmax(x, axis=0), 2e-6),
}
SIZES = [(0, 3), (1, 1), (2, 33), (11, 200), (2, 1100)]
"""The last two: more rows, and more elements of a thread, than NVVM unrolls."""


@pytest.mark.parametrize(("m", "n"), SIZES)
@pytest.mark.parametrize("name", GRAPHS)
def test_float_graphs(name: str, m: int, n: int) -> None:
    function, tolerance = GRAPHS[name]
    check(function, special(random(m, n)), random(m, n, seed=1), tolerance=tolerance)


def test_transposes_of_whole_tiles() -> None:
    """Tiles have 32 rows, of which a thread takes several; at the edges they have fewer."""
    check(lambda x: ops.transpose(x, 0, 1), random(40, 70))
    check(lambda x: ops.transpose(x, 0, 1), random(32, 64))


@pytest.mark.parametrize("name", ["columns", "softmax0"])
def test_long_columns(name: str) -> None:
    """More than a part of them, which is 512 elements."""
    function, tolerance = GRAPHS[name]
    check(function, random(1030, 3), random(1030, 3, seed=1), tolerance=4 * tolerance)


@pytest.mark.parametrize("shape", [(2500,), (3, 1100), (300, 8), (2, 90, 3), (2, 3, 600), (130, 1), (0, 4)])
@pytest.mark.parametrize("symbolic", [False, True])
def test_long_rows_are_cut_and_short_ones_joined(shape: tuple[int, ...], symbolic: bool) -> None:
    x, y = random(*shape), random(*shape, seed=1)
    check(lambda x, y: ops.relu(x * y + x), x, y, symbolic=symbolic)
    if not symbolic:
        check(lambda x, y: x + y[..., :1], x, y, symbolic=False)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 200), (2, 1100), (2, 1103)])
def test_norms(m: int, n: int) -> None:
    gamma, beta = random(n), random(n, seed=2)
    check(lambda x, g, b: ops.layer_norm(x, g, b, 1e-5), random(m, n), gamma, beta, tolerance=3e-6)
    check(lambda x, g: ops.rms_norm(x, g, 1e-6), random(m, n), gamma, tolerance=3e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-14), (np.float16, 2e-3), (BF16, 2e-2)])
def test_other_floats(dtype: Any, tolerance: float) -> None:
    x, y = random(3, 70, dtype=dtype), random(3, 70, dtype=dtype, seed=1)
    check(lambda x, y: ops.tanh(x * y) + ops.exp(y), x, y, tolerance=tolerance)
    check(ops.softmax, x, tolerance=tolerance)
    check(lambda x: ops.sum(x, axis=0), x, tolerance=8 * tolerance)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8])
def test_integers(dtype: Any) -> None:
    x, y = whole(3, 40, dtype=dtype), whole(3, 40, low=-5, dtype=dtype)
    check(lambda x, y: x * y + x - y, x, y)
    check(lambda x, y: ops.floor_div(x, y) + ops.mod(x, y), x, y)
    check(lambda x, y: ops.sum(x, axis=1) + ops.max(y, axis=1), x, y)
    check(lambda x, y: ops.bitwise_xor(ops.bitwise_and(x, y), ops.bitwise_or(x, ops.bitwise_not(y))), x, y)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64])
def test_unsigned_integers(dtype: Any) -> None:
    most = np.iinfo(dtype).max
    x, y = (np.random.default_rng(k).integers(0, most, (3, 40), dtype, endpoint=True) for k in range(2))
    x[0, :4], y[0, :4] = [0, most, most, 1], [0, 0, most, most]
    check(lambda x, y: x * y + x - y, x, y)
    check(lambda x, y: ops.bitwise_xor(x // y, ops.bitwise_not(x % y)), x, y)
    check(lambda x, y: ops.where(x < y, ops.max(x, 7), ops.min(y, x)), x, y)
    check(lambda x, y: ops.sum(x, axis=1) + ops.max(y, axis=1) * ops.min(y, axis=1), x, y)
    check(lambda x: ops.max(x, axis=0) - ops.min(x, axis=0), x)
    check(lambda x: [ops.cast(x, d) for d in (DType.float32, DType.float64, DType.int8, DType.int64, DType.bool)], x)
    check(lambda x: ops.cast(ops.cast(x, DType.float64) * 1.5 - 40, x.dtype), x)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_unsigned_elements_move(dtype: Any) -> None:
    x, y = (np.random.default_rng(k).integers(0, np.iinfo(dtype).max, (3, 40), dtype) for k in range(2))
    check(lambda x, y: ops.transpose(ops.concat([x, y], axis=0), 0, 1), x, y)
    check(lambda x, i: ops.stack([ops.gather(x, i, 1), x[:, ::-10]], 0), x, whole(4, low=-3, high=39), symbolic=False)


def test_bools_and_casts() -> None:
    x, y = special(random(3, 50)), random(3, 50, seed=1)
    check(lambda x, y: ops.logical_xor(ops.greater(x, y), ops.logical_not(ops.is_nan(x))), x, y)
    check(lambda x: ops.cast(ops.cast(x, DType.int32), DType.float32), x)
    check(lambda x: ops.cast(ops.greater(x, 0.0), DType.float32) + ops.cast(x, DType.bool), y)
    check(lambda x: ops.cast(ops.cast(x, DType.bfloat16), DType.float16), y)


def test_movement_and_indexing() -> None:
    x = random(2, 3, 40)
    check(lambda x: ops.permute(x, [2, 0, 1]), x)
    check(lambda x: ops.permute(x, [2, 0, 1]), random(35, 2, 70))
    check(lambda x: x[:, ::-1], random(2, 1100))
    check(lambda x: x[:, 1:], random(2, 1102))
    for length in (1100, 1101):
        check(lambda x, length=length: ops.broadcast_to(x[:, 0:1], [2, length]), random(2, 5), symbolic=False)
    check(lambda x, i: ops.gather(x, i, axis=1), random(2, 6, 300), whole(9, low=-6, high=6))
    check(lambda x, i: ops.gather(x, i, axis=1), random(2, 40), whole(1100, low=-40, high=40))
    check(lambda x: ops.reshape(x, [6, 40])[1:5, ::3], x, symbolic=False)
    check(lambda x: ops.broadcast_to(x[:, 0:1, :], [2, 5, 40]), x, symbolic=False)
    check(lambda x, i: ops.gather(x, i, axis=1), x, whole(7, low=-3, high=3))
    check(lambda x, i: ops.gather(x, i, axis=2), x, whole(2, 5, low=-40, high=40))


@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (5, 40, 33), (17, 0, 3)])
def test_products(m: int, k: int, n: int) -> None:
    a, b, bias = random(m, k), random(k, n), random(n)
    check(lambda a, b, c: ops.gelu(a @ b + c), a, b, bias, tolerance=2e-6)
    check(lambda a, b: a @ b, random(2, m, k), random(2, k, n), tolerance=2e-6)
    check(lambda a, b: a @ b, whole(m, k, dtype=np.int32), whole(k, n, dtype=np.int32))


def test_attention() -> None:
    def attention(q: Any, k: Any, v: Any, mask: Any) -> Any:
        scores = q @ ops.transpose(k, -1, -2) * 0.25 + (mask - 1.0) * 1e9
        return ops.softmax(scores) @ v

    q, k, v = (random(2, 9, 16, seed=s) for s in range(3))
    mask = (whole(2, 1, 9) > 0).astype(np.float32)
    mask[:, :, 0] = 1
    check(attention, q, k, v, mask, tolerance=3e-6)


def test_a_sentence_encoder() -> None:
    """The whole MiniLM example with small weights: each row right, and the same bits alone as in a batch."""
    graph, weights = minilm.sentence_encoder(SMALL), random_weights(SMALL)
    ids, mask = whole(2, 9, low=1, high=SMALL.vocabulary), np.ones((2, 9), np.int64)
    mask[1, 5:] = 0
    module = lowered(graph.module)
    held = {**graph.constants, **weights}
    (together,) = run_plan(module, [ids, mask], held)
    for row, length in ((0, 9), (1, 5)):
        expected = embed(weights, ids[row, :length], SMALL.heads, SMALL.epsilon)
        np.testing.assert_allclose(together[row], expected, rtol=0, atol=1e-6)
        (alone,) = run_plan(module, [ids[row : row + 1], mask[row : row + 1]], held)
        assert alone[0].tobytes() == together[row].tobytes()


@pytest.mark.parametrize("seed", range(4))
def test_graphs_that_store(seed: int) -> None:
    """Whole numbers, so that every bit agrees: what is returned, and what the buffers hold."""
    graph = random_buffers.generate(seed)
    module = lowered(graph.module)
    for sizes in ({"n": 5, "m": 6}, {"n": 40, "m": 3}, {"n": 3, "m": 1100}):
        given, meant = (random_buffers.arrays(graph, sizes, seed) for _ in range(2))
        want = interpret(graph.module, meant, graph.constants)
        got = run_plan(module, given, graph.constants)
        for result, truth in zip([*got, *given], [*want, *meant], strict=True):
            np.testing.assert_array_equal(result, truth)
