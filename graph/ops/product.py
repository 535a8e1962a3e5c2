"""Products of matrices and vectors: two tensors enter, are promoted to one dtype, and their product leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pelton.dialects.types import DimsAttr
from pelton.graph.build import emit
from pelton.graph.check import wrong
from pelton.graph.dims import Dim, Shape
from pelton.graph.operands import broadcast, broadcast_shape, together

if TYPE_CHECKING:
    from pelton.graph.operands import TensorLike
    from pelton.graph.value import TensorValue


def matmul(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """The matrix product: [..., m, k] and [..., k, n] give [..., m, n]. `lhs @ rhs` is the same.

    Leading sizes broadcast; a vector [k] is a row on the left and a column on the right, and that dim falls away again.
    Dtypes promote as by `ops.add`. Raises ValueError where the inner sizes differ, an operand is of rank 0, or the
    dtype is bool.

    >>> with Graph("g", input_types=[TensorType(DType.float32, ["n", 3], DeviceRef.CPU())]) as g:
    ...     g.output(ops.matmul(g.inputs[0], ops.constant([1.0, 2.0, 3.0])))  # [n]
    """
    op = "ops.matmul"
    x, y = together(op, lhs=lhs, rhs=rhs)
    for name, value in (("lhs", x), ("rhs", y)):
        if not value.rank:
            raise wrong(f"{op}: {name} is of rank 0", "a tensor of rank 1 or more", remedy="multiply with *")
    inner = x.ir_type.shape[-1], y.ir_type.shape[-2 if y.rank > 1 else 0]
    if inner[0] != inner[1]:
        raise wrong(
            f"{op}: the inner sizes {inner[0]} and {inner[1]} differ",
            "lhs [..., m, k] and rhs [..., k, n]",
            f"{x.shape} and {y.shape}",
            "transpose one of them, or say that sizes are equal with x.rebind(...)",
        )
    matrices = (
        _reshaped(op, x, (1, *x.shape)) if x.rank == 1 else x,
        _reshaped(op, y, (*y.shape, 1)) if y.rank == 1 else y,
    )
    product = emit(op, "matmul", *_batched(op, *matrices))
    rows = () if x.rank == 1 else product.shape[-2:-1]
    columns = () if y.rank == 1 else product.shape[-1:]
    return _reshaped(op, product, (*product.shape[:-2], *rows, *columns))


def _batched(op: str, x: TensorValue, y: TensorValue) -> tuple[TensorValue, TensorValue]:
    """Both with the same leading sizes; a right-hand matrix without any is shared as it is."""
    a, b = x.ir_type.shape, y.ir_type.shape
    if len(b) == 2:
        return x, y
    lead = broadcast_shape(op, a[:-2], b[:-2])
    return broadcast(op, x, (*lead, *a[-2:])), broadcast(op, y, (*lead, *b[-2:]))


def _reshaped(op: str, x: TensorValue, shape: tuple[Dim | int, ...]) -> TensorValue:
    raw = Shape(shape).raw
    return x if x.ir_type.shape == raw else emit(op, "reshape", x, shape=DimsAttr(raw))


def outer(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """All products of two vectors: [m] and [n] give [m, n]. ValueError where one is not of rank 1.

    >>> Graph("g", lambda x: ops.outer(x[0], x[:, 0]), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[4, n] on cpu:0))
    """
    op = "ops.outer"
    x, y = together(op, lhs=lhs, rhs=rhs)
    for name, value in (("lhs", x), ("rhs", y)):
        if value.rank != 1:
            raise wrong(f"{op}: {name} is no vector", "rank 1", f"shape {value.shape}", "flatten it")
    m, n = x.shape[0], y.shape[0]
    column, row = _reshaped(op, x, (m, 1)), _reshaped(op, y, (1, n))
    space = Shape((m, n)).raw
    return emit(op, "mul", broadcast(op, column, space), broadcast(op, row, space))
