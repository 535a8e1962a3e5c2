"""Canonicalization of nn ops: rules that always help, so `canonicalize` and `simplify` run them all. Folding constants
is in `fold.py`.

A rule takes an op and returns the value that replaces it, or new ops whose last one does, or None where it does not
apply. No rule changes a bit of a result: x + 0 stays (it makes +0 of -0), x * 1 and x - 0 go. A number that fills a
tensor is in canonical form a constant of rank 0, broadcast: kernels then need no memory for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from pelton.dialects.dense import DenseAttr
from pelton.dialects.effects import effects_of, may_swap
from pelton.dialects.fold import constant_array, exact_results
from pelton.dialects.nn import buffers, creation, indexing, messages, movement, rows, select
from pelton.dialects.nn.elementwise import Elementwise, RowOp
from pelton.dialects.op import NnOp
from pelton.dialects.types import DimsAttr, TensorType, bytes_of, dtype_name, is_bool, is_float, is_int, is_unsigned

Rewrite: TypeAlias = SSAValue | Sequence[Operation] | None
Rule: TypeAlias = Callable[..., Rewrite]


class Rules(RewritePattern):
    """The rules of one op class, as one pattern. What a rule makes keeps the op's location."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        for rule in self.rules:
            match rule(op):
                case None:
                    continue
                case SSAValue() as value:
                    rewriter.replace(op, (), (value,))
                case new:
                    for each in new:
                        each.location = op.location
                    rewriter.replace(op, new)
            return


@cache
def patterns_for(cls: type[Operation]) -> tuple[RewritePattern, ...]:
    """The pattern of an op class; none where it has no rules."""
    found: list[Rule] = [rule for base, rules in GENERAL for rule in rules if issubclass(cls, base)]
    found += SPECIAL.get(cls, ())
    return (Rules(found),) if found else ()


# numbers that fill a tensor
def splat(value: SSAValue) -> DenseAttr | None:
    """The number that every element of `value` is known to be."""
    match value.owner:
        case creation.ConstantOp() as op:
            return op.value.splat()
        case movement.BroadcastToOp() as op:
            return splat(op.x)
        case _:
            return None


def filled(number: DenseAttr, t: TensorType) -> list[Operation]:
    """A tensor of type `t` full of one number."""
    constant = creation.ConstantOp.declare(TensorType((), t.dtype, t.device.data), value=number)
    if not t.rank:
        return [constant]
    return [constant, movement.BroadcastToOp.make(constant.results[0], shape=t.dims)]


def is_number(value: SSAValue, number: float) -> bool:
    """Whether `value` is full of `number`; zeros have signs."""
    found = splat(value)
    return found is not None and repr(float(found.values()[0])) == repr(number)


def splat_constant(op: creation.ConstantOp) -> Rewrite:
    """A tensor full of one number: the number, broadcast."""
    number = op.value.splat() if op.value.dims.data else None
    return None if number is None else filled(number, op.result_type)


def fold_splats(op: Elementwise) -> Rewrite:
    """An elementwise op on tensors full of numbers: the number it gives, broadcast, if that is exact."""
    numbers = [splat(v) for v in op.operands]
    known = [n for n in numbers if n is not None]
    if len(known) < len(numbers) or not op.result_type.rank:
        return None
    results = exact_results(op.evaluate, op.tolerance, [n.array() for n in known])
    return results and filled(DenseAttr.from_array(results[0], op.result_type.dtype), op.result_type)


def moved_splat(op: movement.Movement) -> Rewrite:
    """Moving the elements of a tensor full of one number."""
    number = splat(op.x)
    if number is None or isinstance(op, movement.RebindOp | movement.BroadcastToOp) or op.requires():
        return None
    return filled(number, op.result_type)


def known_to_hold(op: messages.AssertOp) -> Rewrite:
    """An assert whose condition is true everywhere: nothing."""
    number = splat(op.condition)
    known = number.array() if number is not None else constant_array(op.condition)
    return [] if known is not None and known.all() else None


# elementwise
def constant_to_the_right(op: RowOp) -> Rewrite:
    """c + x: x + c."""
    if not op.ROW.commutes or splat(op.operands[0]) is None or splat(op.operands[1]) is not None:
        return None
    return [type(op).make(op.operands[1], op.operands[0])]


def times_one(op: RowOp) -> Rewrite:
    """x * 1, x / 1: x."""
    return op.operands[0] if is_number(op.operands[1], 1.0) else None


def by_power_of_two(op: RowOp) -> Rewrite:
    """x / 2**k: x * 2**-k, the same bits and faster."""
    divisor = splat(op.operands[1])
    if divisor is None or abs(math.frexp(value := divisor.values()[0])[0]) != 0.5 or abs(math.log2(abs(value))) > 14:
        return None
    number = filled(DenseAttr.of([1 / value], (), divisor.dtype), op.result_type)
    return [*number, rows.MulOp.make(op.operands[0], number[-1].results[0])]


def plus_nothing(op: RowOp) -> Rewrite:
    """x + -0: x; of integers, x + 0."""
    nothing = -0.0 if is_float(op.result_type.dtype) else 0.0
    return op.operands[0] if is_number(op.operands[1], nothing) else None


def minus_zero(op: RowOp) -> Rewrite:
    """x - 0: x."""
    return op.operands[0] if is_number(op.operands[1], 0.0) else None


def twice(op: RowOp) -> Rewrite:
    """-(-x), not not x: x."""
    inner = op.operands[0].owner
    return inner.operands[0] if isinstance(inner, type(op)) else None


def again(op: RowOp) -> Rewrite:
    """floor(floor(x)): floor(x)."""
    return op.operands[0] if isinstance(op.operands[0].owner, type(op)) else None


# select
def same_dtype(op: select.CastOp) -> Rewrite:
    return op.x if op.tensor().dtype == op.dtype else None


def through_wider(op: select.CastOp) -> Rewrite:
    """A cast of a cast that lost nothing: one cast. From a float to an integer is to saturate, between integers to
    wrap: so a float on the way stays, unless the last dtype holds everything.
    """
    inner = op.x.owner
    if not isinstance(inner, select.CastOp) or not loses_nothing(source := inner.tensor().dtype, inner.dtype):
        return None
    if is_int(op.dtype) and is_float(inner.dtype) and is_int(source) and not loses_nothing(source, op.dtype):
        return None
    return [select.CastOp.make(inner.x, dtype=op.dtype)]


def loses_nothing(source: Attribute, to: Attribute) -> bool:
    """Whether every number of one dtype is one of the other too."""
    if source == to or is_bool(source):
        return True
    digits = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
    if is_float(source):
        return is_float(to) and bytes_of(to) > bytes_of(source)
    if is_float(to):
        bits = 8 * bytes_of(source) - (not is_unsigned(source))
        return dtype_name(to) != "f16" and bits <= digits[dtype_name(to)]
    return is_int(to) and bytes_of(to) > bytes_of(source) and (is_unsigned(source) or not is_unsigned(to))


def same_choices(op: select.WhereOp) -> Rewrite:
    """Both choices the same, or the condition known."""
    if op.x is op.y or is_number(op.condition, 1.0):
        return op.x
    return op.y if is_number(op.condition, 0.0) else None


# movement
def same_type(op: NnOp) -> Rewrite:
    """A reshape, broadcast or rebind to the shape that is there."""
    return op.operands[0] if op.operands[0].type == op.result_type else None


def reshape_of_reshape(op: movement.ReshapeOp) -> Rewrite:
    inner = op.x.owner
    if not isinstance(inner, movement.ReshapeOp) or inner.requires() or op.requires():
        return None
    return [movement.ReshapeOp.make(inner.x, shape=op.shape)]


def broadcast_of_broadcast(op: movement.BroadcastToOp) -> Rewrite:
    inner = op.x.owner
    return [movement.BroadcastToOp.make(inner.x, shape=op.shape)] if isinstance(inner, movement.BroadcastToOp) else None


def permute_of_permute(op: movement.PermuteOp) -> Rewrite:
    inner = op.x.owner
    if not isinstance(inner, movement.PermuteOp):
        return None
    return [movement.PermuteOp.make(inner.x, order=DimsAttr(tuple(inner.order[k] for k in op.order)))]


def permute_in_place(op: movement.PermuteOp) -> Rewrite:
    """Where only axes of size 1 change places, no element does: a reshape, or nothing."""
    moving = [k for k in op.order if op.tensor().shape[k] != 1]
    if moving != sorted(moving):
        return None
    if list(op.order) == sorted(op.order):
        return op.x
    return [movement.ReshapeOp.make(op.x, shape=op.result_type.dims)]


def whole_slice(op: indexing.SliceOp) -> Rewrite:
    whole = not any(op.starts.data) and op.stops.data == op.tensor().shape and set(op.step_numbers) <= {1}
    return op.x if whole else None


def trivial_concat(op: indexing.ConcatOp) -> Rewrite:
    """Operands without elements go; one operand alone is the result."""
    axis = op.axis_index
    kept = [v for k, v in enumerate(op.operands) if op.tensor(k).shape[axis] != 0] or [op.operands[0]]
    if len(kept) == 1:
        return kept[0]
    return [indexing.ConcatOp.make(*kept, axis=op.axis)] if len(kept) < len(op.operands) else None


# buffers
def whole_store(op: buffers.StoreSliceOp) -> Rewrite:
    """A store to all of a buffer."""
    ranges = op.ranges
    rows = zip(ranges.starts, ranges.stops, ranges.steps, ranges.shape, strict=True)
    if all((start, stop, step) == (0, size, 1) for start, stop, step, size in rows):
        return [buffers.StoreOp.make(op.source, op.target)]
    return None


def unseen_store(op: buffers.Storing) -> Rewrite:
    """What is overwritten, or forgotten with its buffer, before anybody looks need not be stored."""
    mine, after = op.effects(), op.next_op
    while after is not None:
        if isinstance(after, buffers.StoreOp) and after.target is op.target:
            return []
        if not may_swap(mine, effects_of(after)):
            return None
        after = after.next_op
    made_by = op.target.owner
    return [] if isinstance(made_by, buffers.BufferCreateOp) and made_by.parent is op.parent else None


def known_contents(op: buffers.LoadOp) -> Rewrite:
    """What a buffer holds is what was last stored in all of it, or loaded from it with no store since.

    (cse merges loads too, but not past a store to any buffer.)
    """
    mine, before = op.effects(), op.prev_op
    while before is not None:
        if isinstance(before, buffers.StoreOp) and before.target is op.source:
            return before.source
        if isinstance(before, buffers.LoadOp) and before.source is op.source:
            return before.result
        if not may_swap(mine, effects_of(before)):
            return None
        before = before.prev_op
    return None


GENERAL: Sequence[tuple[type[Operation], Sequence[Rule]]] = (
    (RowOp, (constant_to_the_right,)),
    (Elementwise, (fold_splats,)),
    (movement.Movement, (moved_splat,)),
)
SPECIAL: dict[type[Operation], Sequence[Rule]] = {
    creation.ConstantOp: (splat_constant,),
    rows.MulOp: (times_one,),
    rows.DivOp: (times_one, by_power_of_two),
    rows.AddOp: (plus_nothing,),
    rows.SubOp: (minus_zero,),
    **dict.fromkeys((rows.NegateOp, rows.LogicalNotOp, rows.BitwiseNotOp), (twice,)),
    **dict.fromkeys((rows.AbsOp, rows.FloorOp, rows.CeilOp, rows.RoundOp, rows.TruncOp, rows.ReluOp), (again,)),
    select.CastOp: (same_dtype, through_wider),
    select.WhereOp: (same_choices,),
    movement.ReshapeOp: (same_type, reshape_of_reshape),
    movement.BroadcastToOp: (same_type, broadcast_of_broadcast),
    movement.RebindOp: (same_type,),
    movement.PermuteOp: (permute_of_permute, permute_in_place),
    indexing.SliceOp: (whole_slice,),
    indexing.ConcatOp: (trivial_concat,),
    buffers.LoadOp: (known_contents,),
    buffers.StoreOp: (unseen_store,),
    buffers.StoreSliceOp: (whole_store, unseen_store),
    messages.AssertOp: (known_to_hold,),
}
