"""`x[...]` as in NumPy: a tensor and an index enter; slices, reshapes and a gather are emitted, and their result
leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

from xdsl.dialects.builtin import IntegerAttr, i64

from pelton.dialects import dims as algebra
from pelton.dialects.nn.shapes import at_most
from pelton.dialects.types import DimsAttr
from pelton.dtype import MOST_BYTES
from pelton.graph.build import Body, Value, emit
from pelton.graph.check import wrong, wrong_type
from pelton.graph.constant import is_array
from pelton.graph.dims import Dim, raw_dim
from pelton.graph.location import place
from pelton.graph.operands import tensor
from pelton.graph.ops.movement import reshaped
from pelton.support.errors import GraphIndexError

if TYPE_CHECKING:
    from pelton.graph.operands import TensorLike
    from pelton.graph.value import TensorValue


def slice_tensor(x: TensorLike, indices: Any) -> TensorValue:
    """`x[indices]`, as in NumPy. `indices` is one index or a sequence of them, one per dim:

    - an int or Dim takes one element, and the dim falls away; negative ints count from the end;
    - a slice takes a range, clamped to the dim, with bounds of ints or Dims and a step that is an int other than 0;
    - `None` is a new dim of size 1; `...` stands for all dims that are not named;
    - one tensor (or array) of integers gathers along its dim.

    Raises IndexError for an int out of range or too many indices, TypeError for other objects, bools and boolean masks
    too.

    >>> with Graph("g", input_types=[TensorType(DType.float32, ["n", 8], DeviceRef.CPU())]) as g:
    ...     g.output(ops.slice_tensor(g.inputs[0], (slice(None, None, -1), 0)))  # [n]
    """
    op = "ops.slice_tensor"
    index = tuple(cast("list[Any]", indices)) if isinstance(indices, list) else indices
    return _get(op, tensor(op, "x", x), index)


def get_item(x: TensorLike, index: Any) -> TensorValue:
    """`x[index]`."""
    return _get("x[...]", tensor("x[...]", "x", x), index)


@dataclass
class Plan:
    """What an index does, dim by dim: the part of `x` to take, then the dims of the result, then perhaps a gather."""

    parts: list[Part] = field(default_factory=list)
    shape: list[algebra.Dim] = field(default_factory=list)
    indices: TensorValue | None = None
    gather_axis: int = 0

    def properties(self) -> dict[str, DimsAttr]:
        """The parts as `nn.slice` and `nn.store_slice` take them."""
        return _columns(self.parts)


@dataclass(frozen=True)
class Part:
    """The elements start, start + step, … before `stop` of one dim, as `nn.slice` takes them."""

    start: algebra.Dim
    stop: algebra.Dim
    step: int = 1

    @property
    def size(self) -> algebra.Dim:
        distance = algebra.sub(self.stop, self.start)
        return algebra.ceildiv(distance if self.step > 0 else algebra.mul(-1, distance), abs(self.step))


def plan_of(op: str, index: Any, shape: tuple[algebra.Dim, ...]) -> Plan:
    """What an index does to a tensor or buffer of that shape."""
    plan = Plan()
    for item in _expanded(op, index, len(shape)):
        if item is None:
            plan.shape.append(1)
            continue
        axis = len(plan.parts)
        _take(op, plan, item, shape[axis], axis)
    return plan


def _get(op: str, x: TensorValue, index: Any) -> TensorValue:
    plan = plan_of(op, index, x.ir_type.shape)
    taken = _sliced(op, x, plan.parts)
    result = reshaped(op, taken, [Dim(d) for d in plan.shape])
    if plan.indices is None:
        return result
    return emit(op, "gather", result, plan.indices, axis=IntegerAttr(plan.gather_axis, i64))


def _expanded(op: str, index: Any, rank: int) -> list[Any]:
    """One item per dim of `x`, and the Nones between them."""
    items: list[Any] = list(cast("tuple[Any, ...]", index)) if isinstance(index, tuple) else [index]
    dots = [k for k, item in enumerate(items) if item is Ellipsis]
    named = sum(item is not None and item is not Ellipsis for item in items)
    if len(dots) > 1:
        raise GraphIndexError(f"{op}: the index has more than one '...'", location=place())
    if named > rank:
        raise GraphIndexError(f"{op}: too many indices", location=place(), expected=f"at most {rank}", got=str(named))
    at = dots[0] if dots else len(items)
    return [*items[:at], *[slice(None)] * (rank - named), *items[at + 1 :]]


def _take(op: str, plan: Plan, item: Any, size: algebra.Dim, axis: int) -> None:
    """Note what `item` does with dim `axis`."""
    match item:
        case slice():
            part = _range(op, cast("slice[Any, Any, Any]", item), size)
            plan.parts.append(part)
            plan.shape.append(part.size)
        case Value():
            _gather(op, plan, item, size)
        case _ if is_array(item) and (item.ndim or item.dtype.kind not in "iu"):
            _gather(op, plan, tensor(op, "index", item), size)
        case bool():
            raise wrong_type(f"{op}: a bool is no index", got=repr(item))
        case Dim() | SupportsIndex():
            at = _element(op, item, size, axis)
            plan.parts.append(Part(at, algebra.add(at, 1)))
        case _:
            kinds = "an int, a Dim, a slice, None, ... or an integer tensor"
            raise wrong_type(f"{op}: not an index", kinds, repr(item), "gather along a dim with ops.gather")


def _gather(op: str, plan: Plan, indices: Any, size: algebra.Dim) -> None:
    if not indices.dtype.is_integral():
        remedy = "ops.where chooses by a mask" if indices.dtype.size_in_bits == 1 else "x.cast(DType.int64)"
        raise wrong_type(f"{op}: a tensor index is not of integers", "int32 or int64", indices.dtype.name, remedy)
    if plan.indices is not None:
        raise wrong(f"{op}: more than one tensor in an index", "one", remedy="ops.gather one after the other")
    plan.indices, plan.gather_axis = indices, len(plan.shape)
    plan.parts.append(Part(0, size))
    plan.shape.append(size)


def _element(op: str, item: Any, size: algebra.Dim, axis: int) -> algebra.Dim:
    """The place of one element, counted from the front."""
    at = _bound(op, item)
    if isinstance(at, int) and at < 0:
        at = algebra.add(size, at)
    low, high = at, algebra.sub(size, at)
    if (isinstance(low, int) and low < 0) or (isinstance(high, int) and high <= 0):
        raise GraphIndexError(
            f"{op}: index {item} is out of range for dim {axis}",
            location=place(),
            expected=f"-{size} <= index < {size}",
            got=str(item),
        )
    return at


def _bound(op: str, value: Any) -> algebra.Dim:
    if isinstance(value, Value):
        raise wrong_type(f"{op}: a tensor bounds a slice", "ints or Dims", repr(value), "gather with ops.range(...)")
    raw = raw_dim(value)
    Body.open(op).check_symbols(op, (raw,))
    return raw


def _range(op: str, item: slice[Any, Any, Any], size: algebra.Dim) -> Part:
    """What a slice takes of a dim, by Python's rules, for sizes that may be unknown.

    The count is written so that it stays simple: min(stop - start, stop) is stop - max(start, 0).
    """
    step = 1 if item.step is None else raw_dim(_within(item.step))
    if not isinstance(step, int) or step == 0:
        raise wrong(f"{op}: the step of a slice is an int other than 0", got=str(step))
    if step > 0:
        start = _from_front(op, item.start, size, 0)
        stop = _least(_from_front(op, item.stop, size, size), size)
        count = _most(_least(algebra.sub(stop, start), stop), 0)
        first = _least(_most(start, 0), size)
        return Part(0, 0) if count == 0 else Part(first, algebra.add(first, count), step)
    last = algebra.sub(size, 1)
    start = _least(_from_front(op, item.start, size, last), last)
    stop = -1 if item.stop is None else _from_front(op, item.stop, size, 0)
    count = _most(_least(algebra.sub(start, stop), algebra.add(start, 1)), 0)
    first = _most(start, -1)
    return Part(0, 0) if count == 0 else Part(first, algebra.sub(first, count), step)


def _from_front(op: str, bound: Any, size: algebra.Dim, default: algebra.Dim) -> algebra.Dim:
    """A bound counted from the front: negative ints count from the end; not clamped."""
    if bound is None:
        return default
    raw = _bound(op, _within(bound))
    return algebra.add(size, raw) if isinstance(raw, int) and raw < 0 else raw


def _within(value: Any) -> Any:
    """An int as far as any dim could reach: what is further means the same, and sums with it fit 64 bits."""
    if isinstance(value, SupportsIndex) and not isinstance(value, Dim | bool):
        return max(-MOST_BYTES, min(value.__index__(), MOST_BYTES))
    return value


def _least(x: algebra.Dim, y: algebra.Dim) -> algebra.Dim:
    """The smaller; one of the two where the algebra knows which."""
    return x if at_most(x, y) else y if at_most(y, x) else algebra.minimum(x, y)


def _most(x: algebra.Dim, y: algebra.Dim) -> algebra.Dim:
    """The larger; one of the two where the algebra knows which."""
    return x if at_most(y, x) else y if at_most(x, y) else algebra.maximum(x, y)


def slice_axis(op: str, x: TensorValue, axis: int, start: algebra.Dim, size: algebra.Dim) -> TensorValue:
    """The elements start … start + size - 1 of one dim."""
    parts = [Part(0, d) for d in x.ir_type.shape]
    parts[axis] = Part(start, algebra.add(start, size))
    return _sliced(op, x, parts)


def _sliced(op: str, x: TensorValue, parts: Sequence[Part]) -> TensorValue:
    """The parts of all dims; `x` itself where they are the whole."""
    if all(p == Part(0, d) for p, d in zip(parts, x.ir_type.shape, strict=True)):
        return x
    return emit(op, "slice", x, **_columns(parts))


def _columns(parts: Sequence[Part]) -> dict[str, DimsAttr]:
    return {f"{name}s": DimsAttr(tuple(getattr(p, name) for p in parts)) for name in ("start", "stop", "step")}
