"""Operations that make tensors from numbers and sizes, and the move to another device."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import StringAttr

from pelton.dialects import dims as algebra
from pelton.dialects.nn.shapes import at_most
from pelton.dialects.types import DimsAttr
from pelton.dtype import DType
from pelton.graph.build import Body, Value, emit
from pelton.graph.check import wrong, wrong_type
from pelton.graph.constant import cast_to, constant, is_array, shape_to_tensor, size
from pelton.graph.device_ref import DeviceRef
from pelton.graph.dims import Dim, DimLike, raw_dim
from pelton.graph.operands import tensor
from pelton.graph.ops.movement import rebind
from pelton.graph.promotion import is_safe
from pelton.graph.types import element_type

if TYPE_CHECKING:
    from pelton.graph.operands import TensorLike
    from pelton.graph.value import TensorValue

__all__ = ["constant", "range", "shape_to_tensor", "transfer_to"]
_RANGE = "ops.range"


def range(
    start: TensorLike,
    stop: TensorLike,
    step: TensorLike = 1,
    out_dim: DimLike | None = None,
    *,
    dtype: DType,
    device: DeviceRef,
) -> TensorValue:
    """`start`, `start + step`, … before `stop`, as a vector of `dtype` on `device`.

    Bounds are numbers, Dims or tensors of rank 0. The size follows from numbers and Dims, and `out_dim`, if given, has
    to agree; where a bound is a tensor, `out_dim` alone is the size, and a tensor `stop` is not read. Floats are
    computed as start + i · step in float64 and rounded once.

    Raises ValueError for a step of 0, a number that `dtype` cannot hold, a bound that is not of rank 0, or a size that
    is missing or contradicted.

    >>> with Graph("g", input_types=[TensorType(DType.float32, ["n"], DeviceRef.CPU())]) as g:
    ...     g.output(ops.range(0, g.inputs[0].shape[0], dtype=DType.int64, device=DeviceRef.CPU()))
    """
    element_type(dtype)
    place = DeviceRef.from_device(device)
    named = None if out_dim is None else raw_dim(out_dim)
    if named is not None:
        Body.open(_RANGE).check_symbols(_RANGE, (named,))
    bounds = [_bound(name, x) for name, x in (("start", start), ("stop", stop), ("step", step))]
    length = _length(*bounds) if not any(isinstance(b, Value) for b in bounds) else named
    if length is None:
        raise wrong(
            f"{_RANGE}: its size depends on a tensor",
            "out_dim, the size",
            remedy="out_dim=..., or bounds of ints and Dims",
        )
    first, _, by = (_scalar(name, b, dtype, place) for name, b in zip(("start", "stop", "step"), bounds, strict=True))
    result = emit(_RANGE, "range", first, by, length=DimsAttr((length,)))
    return (
        result
        if named is None
        else rebind(result, [Dim(named)], f"ops.range: out_dim {named} is not its size {length}")
    )


def _bound(argument: str, x: Any) -> Any:
    """A bound as an int, a float, a size or a tensor."""
    if isinstance(x, Value):
        return tensor(_RANGE, argument, x)
    if is_array(x) and x.ndim == 0:
        x = x.item()
    if isinstance(x, bool) or not isinstance(x, int | float | Dim):
        raise wrong_type(
            f"{_RANGE}: {argument} is no number", "an int, a float, a Dim or a tensor", f"{x!r} ({type(x).__name__})"
        )
    if isinstance(x, float) and not math.isfinite(x):
        raise wrong(f"{_RANGE}: {argument} is not finite", got=repr(x))
    return x if isinstance(x, float) else raw_dim(x)


def _length(start: Any, stop: Any, step: Any) -> algebra.Dim:
    """How many elements a range has whose bounds are no tensors."""
    if step == 0:
        raise wrong(f"{_RANGE}: step is 0", "another number")
    numbers = [x for x in (start, stop, step) if isinstance(x, float)]
    if numbers and not all(isinstance(x, int | float) for x in (start, stop, step)):
        raise wrong(
            f"{_RANGE}: it mixes floats and symbols", "ints and Dims, or known numbers", f"{start}, {stop}, {step}"
        )
    if numbers:
        return max(math.ceil((stop - start) / step), 0)
    if not isinstance(step, int):
        raise wrong(f"{_RANGE}: step is unknown", "an int", str(step))
    distance = algebra.sub(stop, start) if step > 0 else algebra.sub(start, stop)
    return algebra.ceildiv(distance if at_most(0, distance) else algebra.maximum(distance, 0), abs(step))


def _scalar(argument: str, x: Any, dtype: DType, device: DeviceRef) -> TensorValue:
    """A bound as a tensor of rank 0 and of the range's dtype."""
    if not isinstance(x, Value):
        if isinstance(x, int | float):
            return constant(x, dtype, device)
        return cast_to(_RANGE, size(_RANGE, x, device), dtype)
    value = tensor(_RANGE, argument, x)
    if value.rank or not is_safe(value.dtype, dtype):
        raise wrong(
            f"{_RANGE}: {argument} is no {dtype.name} of rank 0",
            f"{dtype.name}[]",
            f"{value.dtype.name}{value.shape}",
            "x.cast(dtype)",
        )
    return cast_to(_RANGE, value, dtype)


def transfer_to(x: TensorLike, device: DeviceRef) -> TensorValue:
    """`x` in the memory of `device`; itself where it is there.

    What is moved there is computed there: ops run where their operands are. A weight is moved once, when the model is
    loaded.

    >>> with Graph("g", input_types=[TensorType(DType.float32, ["n"], DeviceRef.CPU())]) as g:
    ...     x = ops.transfer_to(g.inputs[0], DeviceRef.GPU(0))
    ...     g.output((x * 2.0).to(DeviceRef.CPU()))
    """
    op = "ops.transfer_to"
    value, place = tensor(op, "x", x), DeviceRef.from_device(device)
    if value.device == place:
        return value
    return emit(op, "transfer", value, device=StringAttr(str(place)))
