"""Reductions and what is normalised along an axis: a tensor enters, one with that axis of size 1 (or of the same shape)
leaves.

`axis` counts from the front, or from the back where negative; sums and the like take several axes too. The axis stays,
with size 1: `x - ops.mean(x)` broadcasts. ValueError for an axis that the tensor has not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerAttr, i64

from pelton.dtype import DType
from pelton.graph.build import emit
from pelton.graph.check import axes_of, axis_of, wrong
from pelton.graph.operands import tensor
from pelton.graph.ops.elementwise import maximum, minimum

if TYPE_CHECKING:
    from pelton.graph.operands import TensorLike
    from pelton.graph.value import TensorValue

Axes = int | Sequence[int]
"""One axis, or several."""


def _reduce(name: str, x: TensorLike, axis: Axes) -> TensorValue:
    op = f"ops.{name}"
    value = tensor(op, "x", x)
    if name == "mean" and not value.dtype.is_float():
        value = value.cast(DType.float64)
    for a in axes_of(op, axis, value.rank):
        value = emit(op, name, value, axis=IntegerAttr(a, i64))
    return value


def _along(op: str, name: str, x: TensorLike, axis: int, argument: str = "x") -> TensorValue:
    value = tensor(op, argument, x)
    return emit(op, name, value, axis=IntegerAttr(axis_of(op, axis, value.rank), i64))


def sum(x: TensorLike, axis: Axes = -1) -> TensorValue:
    """The sum along `axis`, in the dtype of `x` (f16 and bf16 are added in f32; integers wrap). 0 over no elements.

    >>> with Graph("g", input_types=[TensorType(DType.float32, ["n", 3], DeviceRef.CPU())]) as g:
    ...     g.output(ops.sum(g.inputs[0], axis=0))  # [1, 3]
    """
    return _reduce("sum", x, axis)


def mean(x: TensorLike, axis: Axes = -1) -> TensorValue:
    """The mean along `axis`; of integers as float64. NaN over no elements."""
    return _reduce("mean", x, axis)


def prod(x: TensorLike, axis: Axes = -1) -> TensorValue:
    """The product along `axis`, in the dtype of `x`; integers wrap. 1 over no elements."""
    return _reduce("prod", x, axis)


def max(x: TensorLike, y: TensorLike | None = None, axis: Axes | None = None) -> TensorValue:
    """With `y`, the larger of two elements, broadcast and promoted as by `ops.add`; without, the largest along `axis`
    (default -1).

    NaN where one is NaN; of no elements -inf, the smallest number for integers. ValueError where both `y` and `axis`
    are given.

    >>> Graph("g", lambda x: ops.max(x, axis=0), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[1, 4] on cpu:0))
    """
    if y is None:
        return _reduce("max", x, -1 if axis is None else axis)
    _not_both("ops.max", axis)
    return maximum(x, y)


def min(x: TensorLike, y: TensorLike | None = None, axis: Axes | None = None) -> TensorValue:
    """With `y`, the smaller of two elements, broadcast and promoted as by `ops.add`; without, the smallest along `axis`
    (default -1).

    NaN where one is NaN; of no elements inf, the largest number for integers. ValueError where both `y` and `axis`
    are given.
    """
    if y is None:
        return _reduce("min", x, -1 if axis is None else axis)
    _not_both("ops.min", axis)
    return minimum(x, y)


def _not_both(op: str, axis: object) -> None:
    if axis is not None:
        raise wrong(
            f"{op}: y and axis exclude each other", got=f"both, axis = {axis}", remedy="name the axis: axis=..."
        )


def argmax(x: TensorLike, axis: int = -1) -> TensorValue:
    """The index of the largest element along `axis`, as int64; of equals the first, of NaNs too.

    >>> Graph("g", lambda x: ops.argmax(x), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (int64[n, 1] on cpu:0))
    """
    return _along("ops.argmax", "argmax", x, axis)


def argmin(x: TensorLike, axis: int = -1) -> TensorValue:
    """The index of the smallest element along `axis`, as int64; of equals the first, of NaNs too."""
    return _along("ops.argmin", "argmin", x, axis)


def softmax(value: TensorLike, axis: int = -1) -> TensorValue:
    """exp(x - max) / sum(exp(x - max)) along `axis`, of floats.

    >>> Graph("g", lambda x: ops.softmax(x), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[n, 4] on cpu:0))
    """
    return _along("ops.softmax", "softmax", value, axis, "value")


def logsoftmax(value: TensorLike, axis: int = -1) -> TensorValue:
    """The logarithm of `softmax`, computed without leaving the logarithm, of floats."""
    return _along("ops.logsoftmax", "logsoftmax", value, axis, "value")
