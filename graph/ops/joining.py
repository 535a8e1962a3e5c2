"""Operations that join tensors, cut them and pick from them: some tensors enter, others of their elements leave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerAttr, i64

from pelton.dialects import dims as algebra
from pelton.dtype import DType
from pelton.graph.build import Value, emit
from pelton.graph.check import axis_of, wrong, wrong_type
from pelton.graph.dims import DimLike, Shape, shape_of
from pelton.graph.operands import aligned, tensor, together
from pelton.graph.ops.indexing import slice_axis
from pelton.graph.ops.movement import reshaped

if TYPE_CHECKING:
    from pelton.graph.operands import TensorLike
    from pelton.graph.value import TensorValue


def concat(original_vals: Iterable[TensorLike], axis: int = 0) -> TensorValue:
    """Tensors one behind the other along `axis`; dtypes promote as by `ops.add`. Raises ValueError for none at all, or
    where another size differs.

    >>> Graph("g", lambda x: ops.concat([x, x], axis=0), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[2*n, 4] on cpu:0))
    """
    op = "ops.concat"
    values = _tensors(op, "original_vals", original_vals)
    first = values[0].ir_type.shape
    at = axis_of(op, axis, len(first))
    for k, v in enumerate(values):
        shape = v.ir_type.shape
        if len(shape) != len(first) or any(
            a != b for i, (a, b) in enumerate(zip(first, shape, strict=True)) if i != at
        ):
            raise wrong(
                f"{op}: tensor {k} does not fit tensor 0",
                f"the shape {Shape(first)} but for dim {at}",
                str(v.shape),
                "" if len(shape) != len(first) else "if sizes are equal when the model runs, say so with x.rebind(...)",
            )
    return values[0] if len(values) == 1 else emit(op, "concat", *values, axis=IntegerAttr(at, i64))


def stack(values: Iterable[TensorLike], axis: int = 0) -> TensorValue:
    """Tensors of one shape side by side along a new dim `axis`.

    Raises ValueError for none at all, or where shapes differ.

    >>> Graph("g", lambda x: ops.stack([x, x], axis=-1), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[n, 4, 2] on cpu:0))
    """
    op = "ops.stack"
    tensors = _tensors(op, "values", values)
    for k, v in enumerate(tensors):
        if v.ir_type.shape != tensors[0].ir_type.shape:
            raise wrong(f"{op}: tensor {k} has another shape than tensor 0", str(tensors[0].shape), str(v.shape))
    at = axis_of(op, axis, tensors[0].rank + 1)
    rows = [reshaped(op, v, [*v.shape[:at], 1, *v.shape[at:]]) for v in tensors]
    return rows[0] if len(rows) == 1 else emit(op, "concat", *rows, axis=IntegerAttr(at, i64))


def _tensors(op: str, argument: str, values: Iterable[TensorLike]) -> list[TensorValue]:
    """At least one tensor, all promoted to one dtype."""
    if isinstance(values, Value) or not isinstance(values, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise wrong_type(f"{op}: {argument} is not a sequence of tensors", got=repr(values), remedy="[x, y]")
    given = {f"{argument}[{k}]": v for k, v in enumerate(values)}
    if not given:
        raise wrong(f"{op}: {argument} is empty", "one tensor or more")
    return together(op, **given)


def split(x: TensorLike, split_sizes: Sequence[DimLike], axis: int = 0) -> list[TensorValue]:
    """`x` cut along `axis` into pieces of these sizes, in order.

    ValueError where they do not add up to the size of `x`.

    >>> Graph("g", lambda x: ops.split(x, [1, 3], axis=1), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[n, 1] on cpu:0, float32[n, 3] on cpu:0))
    """
    op = "ops.split"
    value = tensor(op, "x", x)
    at = axis_of(op, axis, value.rank)
    sizes = shape_of(split_sizes, op, "split_sizes").raw
    if any(isinstance(s, int) and s < 0 for s in sizes):
        raise wrong(f"{op}: split_sizes has a negative size", "sizes >= 0", str(Shape(sizes)))
    whole, total = value.ir_type.shape[at], reduce(algebra.add, sizes, 0)
    if whole != total:
        raise wrong(f"{op}: split_sizes add up to {total}", f"{whole}, the size of dim {at}", str(Shape(sizes)))
    starts = [reduce(algebra.add, sizes[:k], 0) for k in range(len(sizes))]
    return [slice_axis(op, value, at, start, size) for start, size in zip(starts, sizes, strict=True)]


def chunk(x: TensorLike, chunks: int, axis: int = 0) -> list[TensorValue]:
    """`x` cut along `axis` into `chunks` pieces of one size. ValueError where its size is no multiple of `chunks`.

    >>> Graph("g", lambda x: ops.chunk(x, 2, axis=1), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[n, 2] on cpu:0, float32[n, 2] on cpu:0))
    """
    op = "ops.chunk"
    value = tensor(op, "x", x)
    at = axis_of(op, axis, value.rank)
    if isinstance(chunks, bool) or not isinstance(chunks, int) or chunks < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise wrong(f"{op}: chunks is no number of pieces", "an int >= 1", repr(chunks))
    whole = value.ir_type.shape[at]
    size = algebra.floordiv(whole, chunks)
    if algebra.mul(size, chunks) != whole:
        raise wrong(
            f"{op}: dim {at} of size {whole} is no multiple of {chunks}", "equal pieces", remedy="ops.split with sizes"
        )
    return [slice_axis(op, value, at, algebra.mul(size, k), size) for k in range(chunks)]


def gather(input: TensorLike, indices: TensorLike, axis: int) -> TensorValue:
    """The slices of `input` along `axis` that `indices` name: its shape takes the place of that dim in the result.

    `indices` are integers of any rank; negative ones count from the end. An index out of range is reported when the
    model runs, where asserts are on, and never reads outside the tensor. Raises ValueError where `indices` are no
    integers.

    >>> embeddings = Weight("embeddings", DType.float32, [1000, 384], DeviceRef.CPU())
    >>> with Graph("g", input_types=[TensorType(DType.int64, ["n"], DeviceRef.CPU())]) as g:
    ...     g.output(ops.gather(embeddings, g.inputs[0], axis=0))  # [n, 384]
    """
    op = "ops.gather"
    value, where_ = tensor(op, "input", input), tensor(op, "indices", indices)
    if not where_.dtype.is_integral():
        raise wrong(f"{op}: indices are no integers", "int32 or int64", where_.dtype.name, "indices.cast(DType.int64)")
    return emit(op, "gather", value, where_, axis=IntegerAttr(axis_of(op, axis, value.rank), i64))


def where(condition: TensorLike, x: TensorLike, y: TensorLike) -> TensorValue:
    """`x` where `condition` is true, else `y`. All three broadcast together; `x` and `y` promote as by `ops.add`.

    Raises ValueError where `condition` is not of dtype bool.

    >>> Graph("g", lambda x: ops.where(x > 0, x, 0.0), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[n, 4] on cpu:0))
    """
    op = "ops.where"
    chosen = tensor(op, "condition", condition)
    if chosen.dtype is not DType.bool:
        raise wrong(f"{op}: condition is not bool", "bool", chosen.dtype.name, "compare it: condition != 0")
    return emit(op, "where", *aligned(op, [chosen, *together(op, x=x, y=y)]))
