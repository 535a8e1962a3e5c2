"""What operations compute, against NumPy, with known and with symbolic sizes, through the nn interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pelton.dialects.interpreter import run
from pelton.dtype import DType
from pelton.graph import DeviceRef, TensorValue, ops
from pelton.tests.support.graphs import CPU, graph_of, result, results

RANDOM = np.random.default_rng(0)
F = RANDOM.standard_normal((3, 4)).astype(np.float32)
G = RANDOM.standard_normal((3, 4)).astype(np.float32)
P = np.abs(F) + np.float32(0.5)
N = RANDOM.integers(-9, 9, (3, 4), np.int32)
J = RANDOM.integers(1, 9, (3, 4), np.int32)
HALF = np.array([[0.5]], np.float32)
B = N > 0
C = J > 4
H = RANDOM.standard_normal((2, 3, 4)).astype(np.float32)


def close(got: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), 3e-6, 1e-6)


OPERATORS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda x, y: x + y, (F, G)),
    (lambda x, y: x - y, (F, G)),
    (lambda x, y: x * y, (N, J)),
    (lambda x, y: x / y, (F, P)),
    (lambda x, y: x // y, (N, J)),
    (lambda x, y: x // y, (F, P)),
    (lambda x, y: x % y, (N, J)),
    (lambda x, y: x % y, (F, P)),
    (lambda x, y: x**y, (P, G)),
    (lambda x, y: x @ y, (F, G.T.copy())),
    (lambda x: -x, (F,)),
    (abs, (N,)),
    (lambda x: x + 1, (F,)),
    (lambda x: 1 + x, (N,)),
    (lambda x: 2 - x, (F,)),
    (lambda x: x * 0.1, (F,)),
    (lambda x: x**2, (F,)),
    (lambda x: 10 // x, (J,)),
    (lambda x: 10 % x, (J,)),
    (lambda x: x & 3, (J,)),
    (lambda x: 3 | x, (J,)),
    (lambda x: x ^ x, (J,)),
    (lambda x: ~x, (N,)),
    (lambda x, y: x & y, (B, C)),
    (lambda x, y: x | ~y, (B, C)),
    (lambda x, y: x ^ y, (B, C)),
    (lambda x, y: x == y, (N, J)),
    (lambda x, y: x != y, (N, J)),
    (lambda x, y: x < y, (F, G)),
    (lambda x, y: x <= y, (N, J)),
    (lambda x, y: x > y, (F, G)),
    (lambda x, y: x >= y, (N, J)),
    (lambda x: x < 0, (F,)),
    (lambda x: x > 0, (F,)),
    (lambda x: x == 1, (N,)),
    (lambda x: x + HALF, (G,)),
    (lambda x: HALF - x, (G,)),
    (lambda x: np.float32(2) * x, (G,)),
    (lambda x: x * np.int32(7), (N,)),
    (lambda x: x > HALF, (G,)),
    (lambda x, y: x + y, (H, F)),
    (lambda x, y: x * y, (H, F[:1])),
    (lambda x, y: x * y, (F[:, :1], F[:1])),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arrays"), OPERATORS)
def test_operators_are_those_of_numpy(function: Callable[..., Any], arrays: tuple[Any, ...]) -> None:
    close(result(function, *arrays), function(*arrays))


UNARY = ["exp", "sin", "cos", "tan", "tanh", "floor", "ceil", "trunc", "sqrt", "log", "log1p"]
RENAMED = {
    "negate": "negative",
    "round": "rint",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atanh": "arctanh",
    "abs": "abs",
    "is_nan": "isnan",
    "is_inf": "isinf",
}


@pytest.mark.parametrize(("name", "numpy_name"), [*zip(UNARY, UNARY, strict=True), *RENAMED.items()])
def test_functions_of_one_tensor(name: str, numpy_name: str) -> None:
    x = np.array([0.01, 0.25, 0.5, 0.9, np.inf, np.nan], np.float32)[: 6 if name.startswith("is_") else 4]
    close(result(getattr(ops, name), x), getattr(np, numpy_name)(x))


@pytest.mark.parametrize("name", ["floor", "ceil", "round", "trunc"])
def test_rounding_leaves_integers(name: str) -> None:
    assert (result(getattr(ops, name), N) == N).all()


def test_activations() -> None:
    x = F.astype(np.float64)
    sigmoid = 1 / (1 + np.exp(-x))
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    for function, expected in (
        (ops.relu, np.maximum(x, 0)),
        (ops.sigmoid, sigmoid),
        (ops.silu, x * sigmoid),
        (lambda t: ops.gelu(t, "tanh"), 0.5 * x * (1 + np.tanh(inner))),
        (lambda t: ops.gelu(t, approximate="quick"), x / (1 + np.exp(-1.702 * x))),
        (lambda t: ops.gelu(t) - t * (ops.erf(t * 2**-0.5) + 1) * 0.5, 0 * x),
    ):
        close(result(function, F), expected.astype(np.float32))
    close(result(ops.rsqrt, P), 1 / np.sqrt(P))


@pytest.mark.parametrize(
    ("function", "dtype", "expected"),
    [
        (lambda x: x / 2, np.float64, N / 2),
        (lambda x: x / 2.5, np.float64, N / 2.5),
        (lambda x: 1 / (x * x + 1), np.float64, 1 / (N * N + 1)),
        (lambda x: x / x.shape[0], np.float64, N / 3),
        (lambda x: x // 2, np.int32, N // 2),
        (lambda x: x**0, np.int32, N**0),
        (lambda x: x**5, np.int32, N**5),
        (lambda x: x * x.shape[1], np.int32, N * 4),
        (lambda x: x.cast(DType.float32) * x.shape[1], np.float32, N.astype(np.float32) * 4),
        (ops.mean, np.float64, N.mean(-1, keepdims=True)),
    ],
)
def test_integers(function: Callable[..., Any], dtype: Any, expected: Any) -> None:
    got = result(function, N)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, expected)


def test_mixed_dtypes_meet_in_one_of_the_two() -> None:
    halves = F.astype(ml_dtypes.bfloat16)
    close(result(lambda x, y: x + y, halves, G), halves.astype(np.float32) + G)
    assert result(lambda x, y: x * y, B, N).tolist() == (B * N).tolist()
    assert result(lambda x, y: x + y, N, N.astype(np.int64)).dtype == np.int64


@pytest.mark.parametrize("axis", [0, 1, -1, [0, 1], (1, 0)])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min"])
def test_reductions(name: str, axis: Any) -> None:
    along = tuple(axis) if isinstance(axis, list) else axis
    close(result(lambda x: getattr(ops, name)(x, axis=axis), F), getattr(np, name)(F, axis=along, keepdims=True))


def test_reductions_as_methods() -> None:
    for method in ("sum", "mean", "max", "min"):
        close(result(lambda x, m=method: getattr(x, m)(), F), getattr(F, method)(-1, keepdims=True))
    close(result(lambda x: x.var(0), F), F.var(0, keepdims=True))
    close(result(lambda x: x.stdev([0, 1]), F), F.std(keepdims=True))
    assert (result(lambda x: x.argmax(), F) == F.argmax(-1, keepdims=True)).all()
    assert (result(lambda x: ops.argmin(x, axis=0), F) == F.argmin(0, keepdims=True)).all()
    assert result(ops.argmax, F).dtype == np.int64


def test_max_and_min_are_overloaded() -> None:
    close(result(ops.max, F, G), np.maximum(F, G))
    close(result(lambda x: ops.min(x, 0.5), F), np.minimum(F, np.float32(0.5)))
    close(result(lambda x: ops.max(x, axis=0), F), F.max(0, keepdims=True))


def test_softmax() -> None:
    shifted = np.exp(F.astype(np.float64) - F.max(-1, keepdims=True))
    expected = shifted / shifted.sum(-1, keepdims=True)
    close(result(ops.softmax, F), expected.astype(np.float32))
    close(result(ops.logsoftmax, F), np.log(expected).astype(np.float32))
    close(result(lambda x: ops.softmax(x, axis=0), F.T.copy()), expected.T.astype(np.float32))


@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 4), (4, 5)), ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)),
     ((2, 1, 3, 4), (6, 4, 5)), ((3, 4), (2, 4, 5)), ((4,), (2, 4, 5)), ((2, 3, 4), (4,))],
)  # fmt: skip
def test_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = (RANDOM.standard_normal(s).astype(np.float32) for s in (left, right))
    close(result(ops.matmul, x, y), np.asarray(x @ y))


def test_outer_and_norms() -> None:
    x, y = F[0], G[:, 0].copy()
    close(result(ops.outer, x, y), np.outer(x, y))
    wide, gamma, beta = F.astype(np.float64), G[0], G[1]
    centred = wide - wide.mean(-1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    close(
        result(lambda a, b, c: ops.layer_norm(a, b, c, 1e-5), F, gamma, beta),
        (normal * gamma + beta).astype(np.float32),
    )
    rms = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6)
    close(
        result(lambda a, b: ops.rms_norm(a, b, 1e-6, weight_offset=1.0), F, gamma),
        (rms * (gamma + 1.0)).astype(np.float32),
    )


MOVES: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (lambda x: x.reshape([4, 6]), lambda a: a.reshape(4, 6)),
    (lambda x: x.reshape([-1]), lambda a: a.reshape(-1)),
    (lambda x: x.reshape([x.shape[0] * x.shape[1], x.shape[2]]), lambda a: a.reshape(6, 4)),
    (lambda x: ops.reshape(x, (x.shape[2], -1)), lambda a: a.reshape(4, 6)),
    (lambda x: x.flatten(), lambda a: a.reshape(-1)),
    (lambda x: ops.flatten(x, 1), lambda a: a.reshape(2, 12)),
    (lambda x: x.flatten(0, 1), lambda a: a.reshape(6, 4)),
    (lambda x: x.T, lambda a: a.swapaxes(-1, -2)),
    (lambda x: x.transpose(0, 2), lambda a: a.swapaxes(0, 2)),
    (lambda x: x.permute([2, 0, 1]), lambda a: a.transpose(2, 0, 1)),
    (lambda x: ops.permute(x, (0, -1, 1)), lambda a: a.transpose(0, 2, 1)),
    (lambda x: ops.unsqueeze(x, 1), lambda a: np.expand_dims(a, 1)),
    (lambda x: ops.unsqueeze(x, -1), lambda a: np.expand_dims(a, -1)),
    (lambda x: ops.squeeze(ops.unsqueeze(x, 2), 2), lambda a: a),
    (lambda x: x.broadcast_to([5, *x.shape]), lambda a: np.broadcast_to(a, (5, 2, 3, 4))),
    (lambda x: x[:, 0][:, None].broadcast_to(x.shape), lambda a: np.broadcast_to(a[:, :1], a.shape)),
    (lambda x: ops.concat([x, x, x], axis=-1), lambda a: np.concatenate([a] * 3, -1)),
    (lambda x: ops.concat([x]), lambda a: a),
    (lambda x: ops.stack([x, -x], axis=1), lambda a: np.stack([a, -a], 1)),
    (lambda x: ops.stack([x, x], axis=-1), lambda a: np.stack([a, a], -1)),
    (lambda x: x.rebind([2, 3, 4]), lambda a: a),
    (lambda x: ops.gather(x, np.array([[1, 0, -1]]), axis=0), lambda a: np.take(a, [[1, 0, -1]], 0)),
    (lambda x: ops.gather(x, 2, axis=-1), lambda a: np.take(a, 2, -1)),
    (lambda x: ops.where(x > 0, x, 0), lambda a: np.where(a > 0, a, np.float32(0))),
    (lambda x: ops.where(x[0] > 0, 1.5, x), lambda a: np.where(a[0] > 0, np.float32(1.5), a)),
    (lambda x: x.to(CPU), lambda a: a),
]  # fmt: skip


@pytest.mark.parametrize(("function", "expected"), MOVES)
def test_movement(function: Callable[..., Any], expected: Callable[..., Any]) -> None:
    np.testing.assert_array_equal(result(function, H), expected(H))


def test_pieces() -> None:
    def sliced(x: TensorValue) -> list[TensorValue]:
        return [*ops.split(x, [1, 0, 3], axis=-1), *ops.chunk(x, 2, axis=2)]

    expected = [H[..., :1], H[..., 1:1], H[..., 1:], H[..., :2], H[..., 2:]]
    for got, want in zip(static(sliced, H), expected, strict=True):
        np.testing.assert_array_equal(got, want)
    halves = results(lambda x: ops.split(x, [x.shape[0] - 1, 1]), H)
    assert [h.shape for h in halves] == [(1, 3, 4), (1, 3, 4)]


def static(function: Callable[..., Any], *arrays: Any) -> list[Any]:
    """The results with known sizes only."""
    return run(graph_of(function, *arrays).module, arrays)


@pytest.mark.parametrize("source", [F * 3, N, B, F.astype(np.float16), F.astype(ml_dtypes.bfloat16)])
@pytest.mark.parametrize("to", ["float64", "float32", "float16", "bfloat16", "int32", "int8", "bool"])
def test_cast(source: Any, to: str) -> None:
    got = result(lambda x: x.cast(DType[to]), source)
    wide = source.astype(np.float64)
    np.testing.assert_array_equal(got, wide.astype(DType[to].to_numpy()))


@pytest.mark.parametrize(
    ("arguments", "dtype"),
    [
        ((0, 5), "int64"),
        ((5, 0, -2), "int32"),
        ((1, 10, 3), "float32"),
        ((0, 1, 0.25), "float64"),
        ((3, 3), "int64"),
        ((4, 1), "int8"),
    ],
)
def test_range(arguments: tuple[Any, ...], dtype: str) -> None:
    (got,) = static(lambda: ops.range(*arguments, dtype=DType[dtype], device=CPU))
    np.testing.assert_array_equal(got, np.arange(*arguments, dtype=DType[dtype].to_numpy()))
    assert got.dtype == DType[dtype].to_numpy()


def test_range_over_sizes() -> None:
    def places(x: TensorValue) -> list[TensorValue]:
        n, m, _ = x.shape
        known: dict[str, Any] = {"dtype": DType.int64, "device": CPU}
        start = ops.constant(7)
        return [ops.range(0, n, **known), ops.range(n, n + m, 2, **known), ops.range(m, 0, -1, **known),
                ops.range(0, m, out_dim=m, **known), ops.range(start, start + m, out_dim=m, **known)]  # fmt: skip

    got = results(places, H)
    assert [a.tolist() for a in got] == [[0, 1], [2, 4], [3, 2, 1], [0, 1, 2], [7, 8, 9]]


def test_shape_to_tensor() -> None:
    got = result(lambda x: ops.shape_to_tensor([*x.shape, x.shape[0] * 2 + 1, 9]), H)
    assert got.dtype == np.int64 and got.tolist() == [2, 3, 4, 5, 9]


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (True, None, np.array(True)),
        (3, None, np.array(3, np.int64)),
        (1.5, None, np.array(1.5, np.float32)),
        (1, "float16", np.array(1, np.float16)),
        (2.0, "int8", np.array(2, np.int8)),
        (0.1, "bfloat16", np.array(0.1, ml_dtypes.bfloat16)),
        ([[1, 2], [3, 4]], None, np.array([[1, 2], [3, 4]], np.int64)),
        ([1.5, 2], None, np.array([1.5, 2], np.float32)),
        ([[True], [False]], None, np.array([[True], [False]])),
        ([], "int32", np.array([], np.int32)),
        (F, None, F),
        (F.T, None, F.T),
        (F, "float64", F.astype(np.float64)),
        (np.float64(0.5), None, np.array(0.5)),
        (F.astype(ml_dtypes.bfloat16), None, F.astype(ml_dtypes.bfloat16)),
        (np.arange(300), None, np.arange(300)),
        (np.zeros((0, 3), np.int8), None, np.zeros((0, 3), np.int8)),
        ([-np.inf, np.nan, -0.0], "float32", np.array([-np.inf, np.nan, -0.0], np.float32)),
    ],
)
def test_constant(value: Any, dtype: str | None, expected: Any) -> None:
    got = result(lambda: ops.constant(value, None if dtype is None else DType[dtype]))
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got.astype(float)), np.signbit(expected.astype(float)))


def test_constant_takes_dlpack_and_keeps_a_copy() -> None:
    class Tensor:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    large = np.arange(1000.0)
    for value in (Tensor(F), Tensor(large)):
        assert (result(lambda v=value: ops.constant(v)) == value.array).all()
    graph = graph_of(lambda: ops.constant(large))
    large[0] = 7
    assert [a[0] for a in graph.constants.values()] == [0.0]


def test_constant_on_a_device() -> None:
    def placed() -> TensorValue:
        x = ops.constant(1.0, device=DeviceRef.GPU(1))
        assert x.device == DeviceRef.GPU(1) and (x + 1).device == DeviceRef.GPU(1)
        return ops.constant(1)

    result(placed)
