"""Normalisation over the last dim: a tensor and its learned scale enter, one of the same shape and dtype leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import BoolAttr, FloatAttr, f64

from pelton.graph.build import emit
from pelton.graph.check import wrong, wrong_type
from pelton.graph.operands import tensor

if TYPE_CHECKING:
    from pelton.graph.operands import TensorLike
    from pelton.graph.value import TensorValue


def layer_norm(input: TensorLike, gamma: TensorLike, beta: TensorLike, epsilon: float) -> TensorValue:
    """(x - mean) / √(variance + epsilon) · gamma + beta over the last dim (Ba, Kiros & Hinton 2016).

    `gamma` and `beta` have the size of the last dim and the dtype of `input`, a float. ValueError where they have not.

    >>> Graph("g", lambda x: ops.layer_norm(x, x[0], x[1], 0.1), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[n, 4] on cpu:0))
    """
    op = "ops.layer_norm"
    x = _input(op, input)
    scale, shift = (_row(op, name, v, x) for name, v in (("gamma", gamma), ("beta", beta)))
    return emit(op, "layer_norm", x, scale, shift, epsilon=_number(op, "epsilon", epsilon))


def rms_norm(
    input: TensorLike,
    weight: TensorLike,
    epsilon: float,
    weight_offset: float = 0.0,
    multiply_before_cast: bool = False,
) -> TensorValue:
    """x / √(mean(x²) + epsilon) · (weight + weight_offset) over the last dim (Zhang & Sennrich 2019).

    f16 and bf16 are normalised in f32; `multiply_before_cast` says whether the weight multiplies in f32 too, or after
    rounding to the dtype of `input`. `weight` has the size of the last dim and the dtype of `input`, a float.
    ValueError where it has not.

    >>> Graph("g", lambda x: ops.rms_norm(x, x[0], 1e-6), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[n, 4] on cpu:0))
    """
    op = "ops.rms_norm"
    x = _input(op, input)
    scale = _row(op, "weight", weight, x)
    return emit(
        op,
        "rms_norm",
        x,
        scale,
        epsilon=_number(op, "epsilon", epsilon),
        weight_offset=_number(op, "weight_offset", weight_offset),
        multiply_before_cast=BoolAttr.from_bool(multiply_before_cast),
    )


def _input(op: str, value: TensorLike) -> TensorValue:
    x = tensor(op, "input", value)
    if not x.rank or not x.dtype.is_float():
        raise wrong(f"{op}: input has no last dim of floats", "a float tensor of rank 1 or more", str(x.type))
    return x


def _row(op: str, argument: str, value: TensorLike, x: TensorValue) -> TensorValue:
    """A parameter along the last dim of `x`."""
    row = tensor(op, argument, value)
    if row.shape != x.shape[-1:] or row.dtype is not x.dtype:
        expected = f"{x.dtype.name}{x.shape[-1:]}, as the last dim of input"
        raise wrong(f"{op}: {argument} does not fit input", expected, f"{row.dtype.name}{row.shape}")
    return row


def _number(op: str, argument: str, value: float) -> FloatAttr:
    if isinstance(value, bool) or not isinstance(value, int | float):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise wrong_type(f"{op}: {argument} is not a number", got=repr(value))
    return FloatAttr(float(value), f64)
