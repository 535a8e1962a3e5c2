"""Ops that rank elements: a tensor enters; indices leave, and the values that stand there.

Of equal elements the one of lowest index comes first; 0 and -0 are equal. NaN counts as larger than any number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, i64

from pelton.dialects import dims as algebra
from pelton.dialects.types import DimsAttr
from pelton.graph.build import emit
from pelton.graph.check import axis_of, wrong, wrong_type
from pelton.graph.operands import tensor

if TYPE_CHECKING:
    from pelton.graph.operands import TensorLike
    from pelton.graph.value import TensorValue


def top_k(input: TensorLike, k: int, axis: int = -1) -> tuple[TensorValue, TensorValue]:
    """The k largest elements along `axis`, largest first, and their indices as int64.

    Of equal elements the one of lowest index comes first, and NaN before all numbers. ValueError for a k below 0 or
    larger than the axis; where that is known only when the model runs, it is refused then.

    >>> Graph("g", lambda x: ops.top_k(x, 3), [TensorType(DType.float32, ["n", 8], DeviceRef.CPU())])
    Graph('g': (float32[n, 8] on cpu:0) -> (float32[n, 3] on cpu:0, int64[n, 3] on cpu:0))
    """
    return _first("ops.top_k", input, k, axis, largest=True)


def bottom_k(input: TensorLike, k: int, axis: int = -1) -> tuple[TensorValue, TensorValue]:
    """The k smallest elements along `axis`, smallest first, and their indices as int64.

    Of equal elements the one of lowest index comes first, and NaN after all numbers. ValueError as of `ops.top_k`.

    >>> Graph("g", lambda x: ops.bottom_k(x, 3), [TensorType(DType.float32, ["n", 8], DeviceRef.CPU())])
    Graph('g': (float32[n, 8] on cpu:0) -> (float32[n, 3] on cpu:0, int64[n, 3] on cpu:0))
    """
    return _first("ops.bottom_k", input, k, axis, largest=False)


def argsort(x: TensorLike, ascending: bool = True) -> TensorValue:
    """The indices, as int64, that sort `x` along its last dim.

    Of equal elements the one of lowest index comes first in both directions; NaN is larger than any number.

    >>> Graph("g", lambda x: ops.argsort(x), [TensorType(DType.float32, ["n"], DeviceRef.CPU())])
    Graph('g': (float32[n] on cpu:0) -> (int64[n] on cpu:0))
    """
    op = "ops.argsort"
    value = tensor(op, "x", x)
    if not isinstance(ascending, bool):  # pyright: ignore[reportUnnecessaryIsInstance]  # users do not check types
        raise wrong_type(f"{op}: ascending is a bool", "True or False", repr(ascending))
    axis_of(op, -1, value.rank)
    return _ranked(op, value, value.ir_type.shape[-1], not ascending)


def _first(op: str, input: TensorLike, k: int, axis: int, largest: bool) -> tuple[TensorValue, TensorValue]:
    value = tensor(op, "input", input)
    at, last = axis_of(op, axis, value.rank), value.rank - 1
    if isinstance(k, bool) or not isinstance(k, SupportsIndex):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise wrong_type(f"{op}: k is an int", "an int, known when the graph is built", repr(k))
    count, size = k.__index__(), value.ir_type.shape[at]
    if count < 0 or (isinstance(size, int) and count > size):
        raise wrong(f"{op}: k is out of range", f"0 <= k <= {size}", str(count))
    rows = _swapped(op, value, at, last)
    indices = _ranked(op, rows, count, largest)
    values = emit(op, "take_along_axis", rows, indices, axis=IntegerAttr(last, i64))
    return _swapped(op, values, at, last), _swapped(op, indices, at, last)


def _ranked(op: str, x: TensorValue, count: algebra.Dim, largest: bool) -> TensorValue:
    return emit(op, "top_k", x, k=DimsAttr((count,)), largest=BoolAttr.from_bool(largest))


def _swapped(op: str, x: TensorValue, a: int, b: int) -> TensorValue:
    if a == b:
        return x
    order = list(range(x.rank))
    order[a], order[b] = b, a
    return emit(op, "permute", x, order=DimsAttr(tuple(order)))
