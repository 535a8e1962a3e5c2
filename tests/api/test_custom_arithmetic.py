"""What operators and slices do in a kernel body: the same compiled and in plain Python (`PELTON_INTERPRET=1`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pelton
from pelton.dtype import DType
from pelton.engine import InferenceSession, Model
from pelton.graph import DeviceRef, Graph, TensorType, ops
from pelton.support.errors import CompileError

CPU = DeviceRef.CPU()
BY_ZERO = r"custom op '\w+': ZeroDivisionError: integer division or modulo by zero in "
MIN, MAX = np.iinfo(np.int32).min, np.iinfo(np.int32).max
INTEGERS = np.array([7, -7, 7, -7, MIN, MAX, 5, 0], np.int32)
DIVISORS = np.array([3, 3, -3, -3, -1, -1, 1, 9], np.int32)


@pytest.fixture(autouse=True)
def own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    monkeypatch.setattr("pelton.custom.registry.REGISTERED", kept := {})
    monkeypatch.setattr("pelton.graph.custom.REGISTERED", kept)


def divide(quotients: Any, remainders: Any, x: Any, y: Any) -> None:
    for i in range(x.shape[0]):
        quotients[i] = x[i] // y[i]
        remainders[i] = x[i]
        remainders[i + 0] %= y[i]


def pairs(quotients: Any, remainders: Any, x: Any, y: Any) -> None:
    for i in range(x.shape[0]):
        quotients[i], remainders[i] = divmod(x[i], y[i])


def per_element(out: Any, x: Any) -> None:
    count = 0
    for i in range(x.shape[0]):
        if x[i] > 0:
            count += 1
    out[0] = x.shape[0] // count


def floats(out: Any, x: Any) -> None:
    zero = 0.0
    out[0] = x[0] / zero
    out[1] = x[0] // zero
    out[2] = x[0] % zero
    out[3] = -1.0 / zero
    out[4] = 1.0 % zero
    out[5] = x.shape[0] / (x.shape[0] - x.shape[0])
    out[6] = -5.5 // x[0]
    out[7] = x[0]
    out[7] /= zero


def slices(out: Any, x: Any) -> None:
    for i in range(x.shape[0]):
        row, column, back = x[i, 1:4], x[:, 2], x[i, ::-1]
        target = out[i]
        target[:] = 0
        target[0] = row[0] + column[i]
        target[1:3] = row[2]
        target[3:][0] = back[0] + x[i:, ::2][0, 1]


def models(body: Any, types: str, inputs: list[TensorType], monkeypatch: pytest.MonkeyPatch) -> list[Model]:
    """The compiled model, and the interpreted one, of one call of a body."""
    pelton.register(body.__name__, types=types)(body)
    graph = Graph("g", lambda *x: ops.custom(body.__name__, CPU, list(x), None), inputs)
    with monkeypatch.context() as patch:
        patch.setenv("PELTON_INTERPRET", "1")
        interpreted = InferenceSession().load(graph)
    return [InferenceSession().load(graph), interpreted]


def vector(dtype: DType) -> TensorType:
    return TensorType(dtype, ["n"], CPU)


@pytest.mark.parametrize("body", [divide, pairs])
@pytest.mark.parametrize("dtype", [DType.int32, DType.int64, DType.uint8])
def test_integers_divide_as_numpy_does_and_raise_by_zero(
    body: Any, dtype: DType, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = (v.astype(dtype.to_numpy()) for v in (INTEGERS, DIVISORS))
    wanted = [v.astype(dtype.to_numpy()) for v in (INTEGERS.astype(np.int64) // DIVISORS, x % y)]
    if dtype is DType.uint8:
        wanted = [x // y, x % y]
    zero = y.copy()
    zero[5] = 0
    for model in models(body, "T[n], T[n] -> T[n], T[n]", [vector(dtype)] * 2, monkeypatch):
        for got, want in zip(model.execute(x, y), wanted, strict=True):
            np.testing.assert_array_equal(got.to_numpy(), want)
        with pytest.raises(RuntimeError, match=BY_ZERO + (r"x\[i\] // y\[i\]" if body is divide else "divmod")):
            model.execute(x, zero)


def test_an_integer_of_the_bodys_own_raises_by_zero_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for model in models(per_element, "f32[n] -> i64[1]", [vector(DType.float32)], monkeypatch):
        assert model.execute(np.array([1, -1, 2, 0], np.float32))[0].to_numpy() == [2]
        with pytest.raises(RuntimeError, match=BY_ZERO + r"x\.shape\[0\] // count"):
            model.execute(np.array([-1], np.float32))


@pytest.mark.parametrize("dtype", [DType.float32, DType.float64])
def test_floats_by_zero_are_infinite_or_nan(dtype: DType, monkeypatch: pytest.MonkeyPatch) -> None:
    nan, inf = np.nan, np.inf
    for model in models(floats, "T[n] -> T[8]", [vector(dtype)], monkeypatch):
        got = model.execute(np.array([2.5], dtype.to_numpy()))[0].to_numpy()
        np.testing.assert_array_equal(got, np.array([inf, inf, nan, -inf, nan, inf, -3, inf], dtype.to_numpy()))


@pytest.mark.parametrize("dtype", [DType.float32, DType.float64])
def test_long_rows_of_floats_divide_down(dtype: DType, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM makes vectors of such a loop."""
    random = np.random.default_rng(0)
    x, y = ((random.standard_normal(1000) * scale).astype(dtype.to_numpy()) for scale in (100, 3))
    for model in models(divide, "T[n], T[n] -> T[n], T[n]", [vector(dtype)] * 2, monkeypatch):
        quotients, remainders = (b.to_numpy() for b in model.execute(x, y))
        np.testing.assert_array_equal(quotients, x // y)
        np.testing.assert_array_equal(remainders, x % y)


def test_slices_are_views(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    wanted = np.zeros_like(x)
    slices(wanted, x)
    inputs = [TensorType(DType.float32, ["n", "m"], CPU)]
    for model in models(slices, "f32[n, m] -> f32[n, m]", inputs, monkeypatch):
        np.testing.assert_array_equal(model.execute(x)[0].to_numpy(), wanted)


def test_a_slice_copied_into_a_slice_is_refused_with_its_line() -> None:
    @pelton.register("shifted", types="f32[n] -> f32[n]")
    def shifted(out: Any, x: Any) -> None:
        out[1:] = x[:-1]

    graph = Graph("g", lambda x: ops.custom("shifted", CPU, [x], None), [vector(DType.float32)])
    with pytest.raises(CompileError, match=r"allocates memory[^$]*out\[1:\] = x\[:-1\][^$]*element by element"):
        InferenceSession().load(graph)
