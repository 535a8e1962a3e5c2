"""Errors of operations: their kind, and a text that names operation, argument, what was expected and got, a remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pelton.dtype import DType
from pelton.graph import DeviceRef, Dim, Graph, TensorType, TensorValue, ops
from pelton.support.errors import PeltonError

CPU = DeviceRef.CPU()
F32, I32, I64, BOOL = DType.float32, DType.int32, DType.int64, DType.bool
OPS: Any = ops
TYPES = [TensorType(F32, ["n", 4], CPU), TensorType(I32, [3, 4], CPU), TensorType(BOOL, [3, 4], CPU)]
Act = Callable[[Any, Any, Any], Any]
RANGE: dict[str, Any] = {"dtype": I64, "device": CPU}

WRONG: dict[str, list[tuple[Act, type[Exception], str]]] = {
    "broadcasting": [
        (
            lambda f, i, b: f + np.zeros((3, 4), np.float32),
            ValueError,
            r"ops.add: sizes n and 3 do not.*\[n, 4\] and \[3, 4\].*rebind",
        ),
        (lambda f, i, b: i * i[:, :3], ValueError, r"ops.mul: sizes 4 and 3 do not broadcast.*reshape or unsqueeze"),
        (lambda f, i, b: f.broadcast_to(["n", 5]), ValueError, "ops.broadcast_to: sizes 4 and 5"),
        (lambda f, i, b: f.broadcast_to([4]), ValueError, "fewer dims than x"),
        (lambda f, i, b: i.broadcast_to([-1, 3, 4]), ValueError, "negative size"),
        (
            lambda f, i, b: i.broadcast_to(["q", 3, 4]),
            ValueError,
            "symbol 'q', which no input of the graph 'g' binds.*one of n",
        ),
    ],
    "dtypes": [
        (lambda f, i, b: f[0] + i, ValueError, "ops.add mixes float32 and int32.*ops.cast"),
        (lambda f, i, b: i + i.cast(DType.int8).cast(DType.float16), ValueError, "mixes int32 and float16"),
        (lambda f, i, b: i + 1.5, ValueError, "operand 1.5 is not a value of int32.*ops.constant"),
        (lambda f, i, b: i * 2**40, ValueError, "operand 1099511627776 is not a value of int32"),
        (lambda f, i, b: f + (2**24 + 1), ValueError, "operand 16777217 is not a value of float32"),
        (lambda f, i, b: f + "1", TypeError, r"ops.add: rhs is no operand.*'1' \(str\)"),
        (lambda f, i, b: [1] * f, TypeError, r"ops.mul: lhs is no operand.*ops.constant"),
        (
            lambda f, i, b: ops.sqrt(i),
            ValueError,
            "ops.sqrt: 'nn.sqrt' expects elements of f16, bf16, f32 or f64, got i32",
        ),
        (lambda f, i, b: ops.logical_and(i, i), ValueError, "'nn.logical_and' expects elements of i1"),
        (lambda f, i, b: b + b, ValueError, "ops.add: 'nn.add' expects"),
        (lambda f, i, b: i**-1, ValueError, "no negative powers.*cast"),
        (lambda f, i, b: ops.softmax(i), ValueError, "'nn.softmax' expects elements of"),
        (lambda f, i, b: OPS.cast(f, "int8"), TypeError, "not a DType"),
        (lambda f, i, b: f.cast(DType.float8_e5m2), ValueError, "do not compute with float8_e5m2"),
        (lambda f, i, b: ops.where(i, i, i), ValueError, "condition is not bool.*condition != 0"),
        (lambda f, i, b: OPS.exp(None), TypeError, r"ops.exp: x is no operand.*None \(NoneType\)"),
    ],
    "axes": [
        (lambda f, i, b: ops.sum(f, 2), IndexError, "ops.sum: axis 2 is out of range.*-2 <= axis < 2"),
        (lambda f, i, b: ops.max(f, axis=-3), ValueError, "ops.max: axis -3 is out of range"),
        (lambda f, i, b: ops.mean(f, [0, -2]), ValueError, "ops.mean: axis names an axis twice"),
        (lambda f, i, b: OPS.sum(f, "0"), TypeError, "ops.sum: axis is not an int"),
        (lambda f, i, b: ops.sum(f, True), TypeError, "ops.sum: axis is not an int.*bool"),
        (lambda f, i, b: ops.sum(f[0, 0]), ValueError, "axis -1 is out of range.*a tensor of rank 1 or more"),
        (lambda f, i, b: ops.max(f, f, axis=0), ValueError, "ops.max: y and axis exclude each other"),
        (lambda f, i, b: ops.softmax(f, 5), ValueError, "ops.softmax: axis 5 is out of range"),
        (lambda f, i, b: f.transpose(0, 2), ValueError, "ops.transpose: axis_2 2 is out of range"),
        (lambda f, i, b: ops.unsqueeze(f, 3), ValueError, "ops.unsqueeze: axis 3 is out of range.*-3 <= axis < 3"),
        (lambda f, i, b: f.flatten(1, 0), ValueError, "start_dim stands behind end_dim"),
        (lambda f, i, b: f.permute([0]), ValueError, "ops.permute: dims is no order of all dims"),
        (lambda f, i, b: f.permute([0, 0]), ValueError, "ops.permute: dims is no order of all dims"),
        (lambda f, i, b: OPS.permute(f, 1), TypeError, "ops.permute: dims is not a sequence"),
    ],
    "shapes": [
        (lambda f, i, b: i.reshape([5]), ValueError, "'nn.reshape' expects a shape of 12 elements"),
        (lambda f, i, b: i.reshape([-1, -1]), ValueError, "ops.reshape: shape has more than one size to find"),
        (lambda f, i, b: i.reshape([-2, 6]), ValueError, "or a negative one"),
        (lambda f, i, b: i.reshape([5, -1]), ValueError, "12 elements are no multiple of 5"),
        (lambda f, i, b: i[:0].reshape([0, -1]), ValueError, "-1 is undetermined"),
        (lambda f, i, b: f.reshape(["q", 4]), ValueError, "symbol 'q'"),
        (lambda f, i, b: OPS.reshape(f, 1.5), TypeError, "ops.reshape: shape is not a shape"),
        (lambda f, i, b: ops.squeeze(f, 0), ValueError, "ops.squeeze: dim 0 has size n.*size 1.*rebind"),
        (lambda f, i, b: f.rebind(["n"]), ValueError, "ops.rebind: shape has another rank"),
        (lambda f, i, b: f.rebind(["n", 5]), ValueError, "ops.rebind: dim 1 is 4 and cannot be 5"),
        (lambda f, i, b: f.rebind([Dim("n") + 1, 4]), ValueError, r"dim 0 is n and cannot be n \+ 1"),
        (lambda f, i, b: OPS.rebind(f, f.shape, layout="x"), ValueError, "no layout is known"),
        (lambda f, i, b: ops.concat([]), ValueError, "ops.concat: original_vals is empty"),
        (lambda f, i, b: OPS.concat(f), TypeError, r"original_vals is not a sequence of tensors.*\[x, y\]"),
        (
            lambda f, i, b: ops.concat([i, i[:, :2]]),
            ValueError,
            r"tensor 1 does not fit tensor 0.*\[3, 4\] but for dim 0.*\[3, 2\]",
        ),
        (lambda f, i, b: ops.concat([i, i[0]]), ValueError, "tensor 1 does not fit tensor 0"),
        (lambda f, i, b: ops.concat([f, i], 0), ValueError, "ops.concat mixes float32 and int32"),
        (lambda f, i, b: ops.stack([i, i[:2]]), ValueError, "ops.stack: tensor 1 has another shape"),
        (lambda f, i, b: ops.split(i, [1, 1]), ValueError, "split_sizes add up to 2.*3, the size of dim 0"),
        (lambda f, i, b: ops.split(i, [4, -1]), ValueError, "negative size"),
        (lambda f, i, b: ops.chunk(i, 2), ValueError, "dim 0 of size 3 is no multiple of 2.*ops.split"),
        (lambda f, i, b: ops.chunk(f, 2), ValueError, "dim 0 of size n is no multiple of 2"),
        (lambda f, i, b: ops.chunk(i, 0), ValueError, "no number of pieces"),
        (lambda f, i, b: ops.gather(f, f, 0), ValueError, "indices are no integers.*cast"),
        (lambda f, i, b: ops.shape_to_tensor(["q"]), ValueError, "symbol 'q'"),
    ],
    "products and norms": [
        (
            lambda f, i, b: f @ f,
            ValueError,
            r"ops.matmul: the inner sizes 4 and n differ.*\[n, 4\] and \[n, 4\].*transpose",
        ),
        (lambda f, i, b: f @ 2.0, ValueError, "ops.matmul: rhs is of rank 0.*multiply with"),
        (lambda f, i, b: b @ b.T, ValueError, "expects numbers, got i1"),
        (lambda f, i, b: ops.outer(f, f[0]), ValueError, "ops.outer: lhs is no vector"),
        (
            lambda f, i, b: ops.layer_norm(i, i[0], i[0], 1e-5),
            ValueError,
            "ops.layer_norm: input has no last dim of floats",
        ),
        (
            lambda f, i, b: ops.layer_norm(f, f[0], f[0, :3], 1e-5),
            ValueError,
            r"beta does not fit input.*float32\[4\].*float32\[3\]",
        ),
        (lambda f, i, b: ops.rms_norm(f, f[0].cast(DType.float64), 1e-5), ValueError, "weight does not fit input"),
        (lambda f, i, b: OPS.rms_norm(f, f[0], "x"), TypeError, "epsilon is not a number"),
        (
            lambda f, i, b: ops.gelu(f, "exact"),
            ValueError,
            "approximate is unknown.*'none' or 'tanh' or 'quick'.*'exact'",
        ),
    ],
    "constants and ranges": [
        (lambda f, i, b: ops.constant(300, DType.uint8), ValueError, "operand 300 is not a value of uint8"),
        (lambda f, i, b: ops.constant(0.5, I32), ValueError, "operand 0.5 is not a value of int32"),
        (lambda f, i, b: ops.constant([[1], [1, 2]]), ValueError, "value is ragged"),
        (lambda f, i, b: ops.constant("a"), TypeError, "value has no numbers"),
        (lambda f, i, b: ops.constant(["a"]), TypeError, "value has no numbers"),
        (lambda f, i, b: ops.constant([2**70]), TypeError, "value has no numbers.*64 bits"),
        (lambda f, i, b: ops.constant([f, f]), TypeError, "value holds tensors.*ops.stack"),
        (lambda f, i, b: ops.constant(f), TypeError, "value has no numbers"),
        (lambda f, i, b: ops.constant(np.array([1 + 2j])), TypeError, "complex128 is no dtype"),
        (lambda f, i, b: ops.constant(np.arange(3, dtype=">i4")), TypeError, "is no dtype"),
        (lambda f, i, b: ops.range(0, 3, 0, **RANGE), ValueError, "ops.range: step is 0"),
        (lambda f, i, b: ops.range(0, 3, Dim("n"), **RANGE), ValueError, "step is unknown"),
        (lambda f, i, b: ops.range(0, i[0, 0], **RANGE), ValueError, "size depends on a tensor.*out_dim"),
        (lambda f, i, b: ops.range(0, 3, out_dim=4, **RANGE), ValueError, "dim 0 is 3 and cannot be 4"),
        (lambda f, i, b: ops.range(0, 3, out_dim="q", **RANGE), ValueError, "symbol 'q'"),
        (lambda f, i, b: ops.range(0.5, Dim("n"), **RANGE), ValueError, "mixes floats and symbols"),
        (lambda f, i, b: ops.range(0.5, 3, **RANGE), ValueError, "operand 0.5 is not a value of int64"),
        (lambda f, i, b: ops.range(0, float("inf"), **RANGE), ValueError, "stop is not finite"),
        (lambda f, i, b: OPS.range("0", 3, **RANGE), TypeError, "start is no number"),
        (lambda f, i, b: ops.range(i, 3, out_dim=3, **RANGE), ValueError, "start is no int64 of rank 0"),
        (lambda f, i, b: ops.range(0, 3, dtype=BOOL, device=CPU), ValueError, "3|bool|i1"),
    ],
}


@pytest.mark.parametrize(
    ("act", "kind", "text"),
    [pytest.param(*row, id=f"{group}-{k}") for group, rows in WRONG.items() for k, row in enumerate(rows)],
)
def test_wrong_use_is_told_when_the_graph_is_built(act: Act, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=f"(?s){text}") as caught:
        Graph("g", act, TYPES)
    assert isinstance(caught.value, PeltonError)


def test_the_error_names_the_users_line() -> None:
    def forward(x: TensorValue) -> TensorValue:
        return ops.sqrt(x)

    with pytest.raises(ValueError, match=r"ops\.sqrt") as caught:
        Graph("g", forward, TYPES[1:2])
    line = forward.__code__.co_firstlineno + 1
    assert f"at:       {__file__}:{line}:" in str(caught.value)


@pytest.mark.parametrize("text", ["is not a value of int32", "neither holds every value"])
def test_a_refused_promotion_names_the_users_line(text: str) -> None:
    def forward(x: TensorValue, y: TensorValue) -> TensorValue:
        return x + (1.5 if "int32" in text else y)

    with pytest.raises(ValueError, match=text) as caught:
        Graph("g", forward, [TYPES[1], TYPES[1] if "int32" in text else TensorType(F32, [3, 4], CPU)])
    line = forward.__code__.co_firstlineno + 1
    assert f"at:       {__file__}:{line}:" in str(caught.value)
