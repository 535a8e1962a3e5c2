"""Operations on mutable memory: buffers, indices and tensors enter; what a buffer holds leaves, or is changed.

They happen in the order in which they are called. A tensor that was loaded stays what it was, whatever is stored later.
Tensors are never loaded by themselves: an op that is given a buffer refuses it, so that every place where contents are
read can be seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pelton.dialects import dims as algebra
from pelton.dtype import DType
from pelton.graph.build import AnyValue, Body, Value, effect, emit
from pelton.graph.check import wrong, wrong_type
from pelton.graph.device_ref import DeviceRef
from pelton.graph.dims import Dim, Shape
from pelton.graph.operands import broadcast, in_dtype, unbroadcastable
from pelton.graph.ops.indexing import plan_of
from pelton.graph.ops.movement import rebind, reshaped
from pelton.graph.types import BufferType, dtype_of, to_ir

if TYPE_CHECKING:
    from pelton.graph.buffer_value import BufferValue
    from pelton.graph.operands import TensorLike
    from pelton.graph.value import TensorValue

Dims = tuple[algebra.Dim, ...]


def buffer_create(type: BufferType, init_value: TensorLike | None = None) -> BufferValue:
    """A new buffer, which exists until the model has run. It holds `init_value`, broadcast, or zeros.

    Raises TypeError for what is no BufferType, ValueError where `init_value` does not fit or a symbol is bound by no
    input.

    >>> with Graph("g", input_types=[TensorType(DType.float32, ["n"], DeviceRef.CPU())]) as g:
    ...     b = ops.buffer_create(BufferType(DType.float32, ["n", 2], DeviceRef.CPU()), 1.0)
    ...     b[:, 0] = g.inputs[0]
    ...     g.output(b[...])
    """
    op = "ops.buffer_create"
    if not isinstance(type, BufferType):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise wrong_type(f"{op}: type is no BufferType", "such as BufferType(DType.float32, [4], device)", repr(type))
    body = Body.open(op)
    t = to_ir(type)
    body.check_symbols(op, t.shape)
    made = body.create_buffer(t)
    zero: Any = False if type.dtype is DType.bool else 0
    _store(op, made, zero if init_value is None else init_value)
    return made


def buffer_load(x: BufferValue) -> TensorValue:
    """What the buffer holds here, as a tensor. `x[...]` is the same, and `x[2:4]` loads a slice.

    >>> Graph("g", lambda b: ops.buffer_load(b) + 1, [BufferType(DType.float32, ["n"], DeviceRef.CPU())])
    Graph('g': (float32[n] on cpu:0) -> (float32[n] on cpu:0))
    """
    return emit("ops.buffer_load", "load", buffer("ops.buffer_load", "x", x))


def buffer_store(destination: BufferValue, source: TensorLike) -> None:
    """All of `destination` becomes `source`, broadcast to its shape. `destination[...] = source` is the same.

    A tensor must be of the buffer's dtype; numbers and arrays take it if they fit. Sizes of which nobody knows whether
    they are equal are checked when the model runs. Raises ValueError where shape or dtype do not fit, TypeError where
    `destination` is no buffer.
    """
    _store("ops.buffer_store", destination, source)


def buffer_store_slice(destination: BufferValue, source: TensorLike, indices: Any) -> None:
    """`destination[indices] = source`: a slice of the buffer becomes `source`, broadcast to its shape.

    Indices are those of `ops.slice_tensor` without tensors; bounds may be Dims, such as a size of an input. A range
    that reaches beyond the buffer is cut, as in NumPy, and what is stored then has to be as short. Raises ValueError,
    TypeError and IndexError as `buffer_store` and `slice_tensor` do.

    >>> with Graph("append", input_types=[BufferType(DType.float32, ["max"], DeviceRef.CPU()),
    ...                                   TensorType(DType.float32, ["n"], DeviceRef.CPU())]) as g:
    ...     memory, new = g.inputs
    ...     ops.buffer_store_slice(memory, new, slice(0, new.shape[0]))
    ...     g.output()
    """
    op = "ops.buffer_store_slice"
    _store(op, destination, source, tuple(cast("list[Any]", indices)) if isinstance(indices, list) else indices)


def set_item(destination: BufferValue, index: Any, source: TensorLike) -> None:
    """`destination[index] = source`."""
    _store("b[...] = x", destination, source, index)


def _store(op: str, destination: BufferValue, source: Any, index: Any = ...) -> None:
    target = buffer(op, "destination", destination)
    plan = plan_of(op, index, target.ir_type.shape)
    if plan.indices is not None:
        raise wrong_type(f"{op}: a tensor is no place to store at", "ints, Dims, slices, None, ...", repr(plan.indices))
    value = _in_shape(op, _in_dtype_of(op, target, source), tuple(plan.shape))
    value = reshaped(op, value, [Dim(p.size) for p in plan.parts])
    effect(op, "store_slice", value, target, **plan.properties())


def buffer(op: str, argument: str, x: object) -> BufferValue:
    """`x`, which has to be a buffer."""
    if isinstance(x, AnyValue) and not isinstance(x, Value):
        return cast("BufferValue", x)
    raise wrong_type(f"{op}: {argument} is no buffer", "a BufferValue", repr(x), "declare the input as a BufferType")


def _in_dtype_of(op: str, target: BufferValue, source: Any) -> TensorValue:
    """What is to be stored, as a tensor of the buffer's dtype."""
    dtype, device = dtype_of(target.ir_type.dtype), DeviceRef.parse(target.ir_type.device.data)
    if isinstance(source, Value) and dtype_of(source.ir_type.dtype) is not dtype:
        got = dtype_of(source.ir_type.dtype).name
        raise wrong(f"{op}: the source is of another dtype", dtype.name, got, f"source.cast(DType.{dtype.name})")
    return in_dtype(op, "source", source, dtype, device)


def _in_shape(op: str, x: TensorValue, shape: Dims) -> TensorValue:
    """`x` broadcast to `shape`; where only a run knows that a size is the same, that run checks it."""
    own = x.ir_type.shape
    if len(own) > len(shape):
        raise wrong(f"{op}: the source has too many dims", str(Shape(shape)), str(Shape(own)))
    wanted = [to if size != 1 else 1 for size, to in zip(own, shape[len(shape) - len(own) :], strict=True)]
    for size, to in zip(own, wanted, strict=True):
        if size != to and isinstance(algebra.sub(size, to), int):
            raise unbroadcastable(op, size, to, own, shape)
    named = rebind(x, [Dim(d) for d in wanted], f"{op}: {Shape(own)} is stored in {Shape(shape)}")
    return broadcast(op, named, shape)
