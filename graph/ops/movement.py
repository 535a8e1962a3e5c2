"""Operations on one tensor that move elements and change none: a tensor enters, one with the same elements in other
places leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import StringAttr

from pelton.dialects import dims as algebra
from pelton.dialects.types import DimsAttr
from pelton.graph.build import Body, emit
from pelton.graph.check import axis_of, wrong, wrong_type
from pelton.graph.dims import Dim, DimLike, Shape, ShapeLike, StaticDim, shape_of
from pelton.graph.operands import tensor, unbroadcastable

if TYPE_CHECKING:
    from pelton.graph.operands import TensorLike
    from pelton.graph.value import TensorValue


def _shape(op: str, shape: Any) -> tuple[algebra.Dim, ...]:
    """A shape argument, its symbols checked."""
    raw = shape_of(shape, op, "shape").raw
    Body.open(op).check_symbols(op, raw)
    return raw


def reshaped(op: str, x: TensorValue, shape: Iterable[DimLike | algebra.Expr]) -> TensorValue:
    """`x` in a shape that is known to have as many elements; itself where it has that shape."""
    raw = Shape(shape).raw
    return x if x.ir_type.shape == raw else emit(op, "reshape", x, shape=DimsAttr(raw))


def reshape(x: TensorLike, shape: ShapeLike) -> TensorValue:
    """The same elements, row by row, in another shape. One size may be -1: it becomes what is left.

    Raises ValueError where the numbers of elements differ, -1 stands twice or is not a whole number, a size is
    negative, or a symbol is bound by no input. Where equality depends on symbols it is checked when the model runs.

    >>> with Graph("g", input_types=[TensorType(DType.float32, ["n", 4, 8], DeviceRef.CPU())]) as g:
    ...     g.output(ops.reshape(g.inputs[0], ["n", -1]))  # [n, 32]
    """
    op = "ops.reshape"
    value = tensor(op, "x", x)
    raw = _shape(op, shape)
    negative = [k for k, d in enumerate(raw) if isinstance(d, int) and d < 0]
    if any(raw[k] != -1 for k in negative) or len(negative) > 1:
        raise wrong(
            f"{op}: shape has more than one size to find, or a negative one",
            "sizes >= 0 and at most one -1",
            str(Shape(raw)),
        )
    if negative:
        rest = (*raw[: negative[0]], *raw[negative[0] + 1 :])
        raw = (*raw[: negative[0]], _left(op, value, rest, raw), *raw[negative[0] + 1 :])
    return reshaped(op, value, raw)


def _left(op: str, x: TensorValue, rest: tuple[algebra.Dim, ...], shape: tuple[algebra.Dim, ...]) -> algebra.Dim:
    """The size that -1 stands for beside the sizes `rest`."""
    total, known = algebra.product(x.ir_type.shape), algebra.product(rest)
    if known == 0:
        raise wrong(f"{op}: -1 is undetermined beside a size of 0", "a size", f"{x.shape} to {Shape(shape)}")
    size = algebra.floordiv(total, known)
    if isinstance(total, int) and isinstance(known, int) and total % known:
        raise wrong(
            f"{op}: {total} elements are no multiple of {known}",
            "a whole number for -1",
            f"{x.shape} to {Shape(shape)}",
        )
    return size


def flatten(x: TensorLike, start_dim: int = 0, end_dim: int = -1) -> TensorValue:
    """Dims `start_dim` to `end_dim`, both included, as one.

    A tensor of rank 0 becomes [1]. ValueError where they are out of order.

    >>> Graph("g", lambda x: ops.flatten(x), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[4*n] on cpu:0))
    """
    op = "ops.flatten"
    value = tensor(op, "x", x)
    if not value.rank:
        return reshaped(op, value, [1])
    first = axis_of(op, start_dim, value.rank, "start_dim")
    last = axis_of(op, end_dim, value.rank, "end_dim")
    if first > last:
        raise wrong(f"{op}: start_dim stands behind end_dim", "start_dim <= end_dim", f"{start_dim}, {end_dim}")
    shape = value.shape
    merged = Dim(algebra.product(shape[first : last + 1].raw))
    return reshaped(op, value, [*shape[:first], merged, *shape[last + 1 :]])


def unsqueeze(x: TensorLike, axis: int) -> TensorValue:
    """A new dim of size 1 at `axis` of the result; -1 makes it the last.

    ValueError where the result has no such axis.

    >>> Graph("g", lambda x: ops.unsqueeze(x, -1), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[n, 4, 1] on cpu:0))
    """
    op = "ops.unsqueeze"
    value = tensor(op, "x", x)
    at = axis_of(op, axis, value.rank + 1)
    return reshaped(op, value, [*value.shape[:at], 1, *value.shape[at:]])


def squeeze(x: TensorLike, axis: int) -> TensorValue:
    """Without the dim `axis`. ValueError where its size is not 1."""
    op = "ops.squeeze"
    value = tensor(op, "x", x)
    at = axis_of(op, axis, value.rank)
    if value.shape[at] != 1:
        remedy = (
            ""
            if isinstance(value.shape[at], StaticDim)
            else "if it is 1 when the model runs, say so with x.rebind(...)"
        )
        raise wrong(f"{op}: dim {at} has size {value.shape[at]}", "size 1", f"shape {value.shape}", remedy)
    return reshaped(op, value, [*value.shape[:at], *value.shape[at + 1 :]])


def permute(x: TensorLike, dims: Sequence[int]) -> TensorValue:
    """Dims in another order: dim k of the result is dim `dims[k]` of `x`. ValueError unless each stands there once.

    >>> Graph("g", lambda x: ops.permute(x, [1, 0]), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[4, n] on cpu:0))
    """
    op = "ops.permute"
    value = tensor(op, "x", x)
    if isinstance(dims, str) or not isinstance(dims, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise wrong_type(f"{op}: dims is not a sequence of ints", got=repr(dims))
    order = [axis_of(op, d, value.rank, "dims") for d in dims]
    if sorted(order) != list(range(value.rank)):
        raise wrong(f"{op}: dims is no order of all dims", f"each of 0 … {value.rank - 1} once", str(list(dims)))
    if order == sorted(order):
        return value
    return emit(op, "permute", value, order=DimsAttr(tuple(order)))


def transpose(x: TensorLike, axis_1: int, axis_2: int) -> TensorValue:
    """Two dims exchanged. ValueError for an axis that `x` has not."""
    op = "ops.transpose"
    value = tensor(op, "x", x)
    first, second = axis_of(op, axis_1, value.rank, "axis_1"), axis_of(op, axis_2, value.rank, "axis_2")
    order = list(range(value.rank))
    order[first], order[second] = second, first
    return value if first == second else emit(op, "permute", value, order=DimsAttr(tuple(order)))


def broadcast_to(x: TensorLike, shape: ShapeLike, out_dims: ShapeLike | None = None) -> TensorValue:
    """`x` repeated to `shape`: sizes are matched from the last; a missing one and a literal 1 stretch.

    `out_dims` gives other names to the sizes of the result, as `rebind` does. Raises ValueError where a size is neither
    equal nor 1, or a symbol is bound by no input.

    >>> Graph("g", lambda x: ops.broadcast_to(x, [2, "n", 4]), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[2, n, 4] on cpu:0))
    """
    op = "ops.broadcast_to"
    value = tensor(op, "x", x)
    raw = _shape(op, shape)
    have = value.ir_type.shape
    if len(raw) < len(have):
        raise wrong(f"{op}: shape has fewer dims than x", f"{len(have)} or more", f"{value.shape} to {Shape(raw)}")
    if any(isinstance(d, int) and d < 0 for d in raw):
        raise wrong(f"{op}: shape has a negative size", "sizes >= 0", str(Shape(raw)))
    for a, b in zip(reversed(have), reversed(raw), strict=False):
        if a not in (1, b):
            raise unbroadcastable(op, a, b, have, raw)
    result = value if raw == have else emit(op, "broadcast_to", value, shape=DimsAttr(raw))
    return result if out_dims is None else rebind(result, out_dims)


def rebind(x: TensorLike, shape: ShapeLike, message: str = "", layout: None = None) -> TensorValue:
    """The same tensor with its sizes under other names: says that `shape` is what it has, which is checked when the
    model runs.

    `message` is part of the error where it is not. `layout` is reserved. Raises ValueError where ranks differ, two
    known sizes differ, or a symbol is bound by no input.

    >>> Graph("g", lambda x: ops.rebind(x, [Dim("n"), 4]), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[n, 4] on cpu:0))
    """
    op = "ops.rebind"
    value = tensor(op, "x", x)
    if layout is not None:
        raise wrong(f"{op}: no layout is known", "None", repr(layout))
    raw = _shape(op, shape)
    have = value.ir_type.shape
    if len(raw) != len(have):
        raise wrong(f"{op}: shape has another rank than x", f"{len(have)} sizes", f"{value.shape} to {Shape(raw)}")
    for k, (a, b) in enumerate(zip(have, raw, strict=True)):
        difference = algebra.sub(a, b)
        if isinstance(difference, int) and difference:
            raise wrong(f"{op}: dim {k} is {a} and cannot be {b}", str(Shape(have)), str(Shape(raw)))
    if raw == have:
        return value
    properties = {"message": StringAttr(message)} if message else {}
    return emit(op, "rebind", value, shape=DimsAttr(raw), **properties)
