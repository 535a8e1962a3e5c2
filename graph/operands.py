"""What users pass to an operation beside tensors: numbers, arrays and sizes enter, tensors of one dtype and shape
leave, ready to emit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from pelton.dialects import dims
from pelton.dialects.types import DimsAttr
from pelton.dtype import DType
from pelton.graph.build import AnyValue, Value, emit
from pelton.graph.check import wrong, wrong_type
from pelton.graph.constant import NUMBERS, cast_to, constant, is_array, size
from pelton.graph.device_ref import DeviceRef
from pelton.graph.dims import Dim, Shape, StaticDim, raw_dim
from pelton.graph.promotion import fit, promote
from pelton.graph.types import dtype_of
from pelton.support.errors import GraphError

if TYPE_CHECKING:
    import numpy as np

    from pelton.graph.value import TensorValue

    TensorLike: TypeAlias = Value | Dim | float | np.generic | np.ndarray[Any, Any]
"""What serves as an operand: a tensor, a number, a NumPy array or scalar, a size."""


def tensor(op: str, argument: str, x: Any) -> TensorValue:
    """`x` as a tensor: numbers as `ops.constant` makes them, sizes as int64. TypeError for anything else."""
    if isinstance(x, Value):
        return x  # pyright: ignore[reportReturnType]  # every Value is a TensorValue
    if isinstance(x, Dim) and not isinstance(x, StaticDim):
        return size(op, raw_dim(x), DeviceRef.CPU())
    _check_weak(op, argument, x)
    return constant(int(x) if isinstance(x, Dim) else x)


def together(op: str, **operands: Any) -> list[TensorValue]:
    """The operands in the one dtype they promote to, on one device; shapes stay.

    Numbers and arrays take the tensors' dtype if they fit.
    """
    strong = [x for x in operands.values() if isinstance(x, Value)]
    for name, x in operands.items():
        if not isinstance(x, Value):
            _check_weak(op, name, x)
    dtype = common_dtype(op, list(operands.values()))
    device = DeviceRef.parse(strong[0].ir_type.device.data) if strong else DeviceRef.CPU()
    return [_in_dtype(op, x, dtype, device) for x in operands.values()]


def common_dtype(op: str, operands: Sequence[Any]) -> DType:
    """The dtype operands promote to: that of the tensors; where there are none, of the arrays; else of the numbers."""
    strong = [dtype_of(x.ir_type.dtype) for x in operands if isinstance(x, Value)]
    arrays = [DType.from_numpy(x.dtype) for x in operands if is_array(x)]
    return reduce(lambda a, b: promote(op, a, b), strong or arrays or [_own_dtype(x) for x in operands])


def _own_dtype(x: Any) -> DType:
    """The dtype that a number or a size has by itself."""
    return next((dtype for kind, dtype in NUMBERS.items() if isinstance(x, kind)), DType.int64)


def in_dtype(op: str, argument: str, x: Any, dtype: DType, device: DeviceRef) -> TensorValue:
    """One operand in a known dtype: a tensor is cast, a number or an array has to fit."""
    if not isinstance(x, Value):
        _check_weak(op, argument, x)
    return _in_dtype(op, x, dtype, device)


def _in_dtype(op: str, x: Any, dtype: DType, device: DeviceRef) -> TensorValue:
    if isinstance(x, Value):
        return cast_to(op, x, dtype)
    if isinstance(x, Dim) and not isinstance(x, StaticDim):
        return cast_to(op, size(op, raw_dim(x), device), dtype)
    return constant(fit(op, int(x) if isinstance(x, Dim) else x, dtype), dtype, device)


def _check_weak(op: str, argument: str, x: object) -> None:
    if isinstance(x, Dim | int | float) or is_array(x):
        return
    kinds = "a TensorValue, a number, a NumPy array or a Dim"
    remedy = "make a tensor of it with ops.constant" if isinstance(x, list | tuple) else ""
    remedy = "load what it holds: buffer[...]" if isinstance(x, AnyValue) else remedy
    raise wrong_type(f"{op}: {argument} is no operand", kinds, f"{x!r} ({type(x).__name__})", remedy)  # pyright: ignore[reportUnknownArgumentType]


def aligned(op: str, values: Sequence[TensorValue]) -> list[TensorValue]:
    """The values broadcast to the one shape they have together.

    ValueError where two sizes differ and neither is a literal 1.
    """
    shape = reduce(lambda a, b: broadcast_shape(op, a, b), [v.ir_type.shape for v in values])
    return [broadcast(op, v, shape) for v in values]


def broadcast(op: str, x: TensorValue, shape: tuple[dims.Dim, ...]) -> TensorValue:
    """`x` broadcast to `shape`; itself where it has that shape."""
    return x if x.ir_type.shape == shape else emit(op, "broadcast_to", x, shape=DimsAttr(shape))


def broadcast_shape(op: str, x: tuple[dims.Dim, ...], y: tuple[dims.Dim, ...]) -> tuple[dims.Dim, ...]:
    """The shape that two shapes broadcast to, aligned at their last dims."""
    rank = max(len(x), len(y))
    padded = [(1,) * (rank - len(s)) + s for s in (x, y)]
    return tuple(_broadcast_dim(op, a, b, x, y) for a, b in zip(*padded, strict=True))


def _broadcast_dim(op: str, a: dims.Dim, b: dims.Dim, x: tuple[dims.Dim, ...], y: tuple[dims.Dim, ...]) -> dims.Dim:
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    raise unbroadcastable(op, a, b, x, y)


def unbroadcastable(op: str, a: dims.Dim, b: dims.Dim, x: tuple[dims.Dim, ...], y: tuple[dims.Dim, ...]) -> GraphError:
    """The error for two sizes that are neither equal nor 1."""
    known = isinstance(a, int) and isinstance(b, int)
    return wrong(
        f"{op}: sizes {a} and {b} do not broadcast",
        "equal sizes, or a literal 1",
        f"shapes {Shape(x)} and {Shape(y)}",
        "reshape or unsqueeze one of them"
        if known
        else "if they are equal when the model runs, say so with x.rebind(...)",
    )
