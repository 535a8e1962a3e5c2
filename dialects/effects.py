"""Effects: what an op does beside computing its results, and whether two ops may change places.

Enters: ops. Leaves: the one answer that every pass asks for before it reorders anything, `may_move`. An op declares its
effects in one place, its method `effects`; xDSL's own passes (cse, dce) see the same through the trait
`DeclaredEffects`.

The rules: ops on one buffer stay in program order, except that two reads may change places. Buffers that nobody knows
to be different may be one. What is `ordered` (a check, a message) stays in order with the like of it and with writes: a
check that fails leaves memory as it was there. Everything else moves freely.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import EffectInstance, IsTerminator, MemoryEffect, MemoryEffectKind, is_side_effect_free


class Effects(NamedTuple):
    """What an op does to buffers and to whoever watches."""

    reads: tuple[SSAValue, ...] = ()
    """Buffers whose contents it needs."""
    writes: tuple[SSAValue, ...] = ()
    """Buffers whose contents it changes."""
    makes: tuple[SSAValue, ...] = ()
    """Buffers that exist from here on: the op's own results."""
    ordered: bool = False
    """Whether somebody outside sees when it happens: a check that may fail, a message."""
    unknown: bool = False
    """Whether it may do anything at all."""


NONE = Effects()
UNKNOWN = Effects(unknown=True)


class HasEffects(ABC):
    """An op that says what its effects are."""

    @abstractmethod
    def effects(self) -> Effects:
        """What the op does beside computing its results."""


class DeclaredEffects(MemoryEffect):
    """The trait of ops with effects: xDSL's passes see what `effects` says. Pure ops have the trait `Pure` instead."""

    @classmethod
    def get_effects(cls, op: Operation) -> frozenset[EffectInstance]:
        found = effects_of(op)
        kinds = MemoryEffectKind
        instances = [EffectInstance(kinds.READ, v) for v in found.reads]
        instances += [EffectInstance(kinds.WRITE, v) for v in found.writes]
        instances += [EffectInstance(kinds.ALLOC, v) for v in found.makes]
        if found.ordered or found.unknown:
            instances.append(EffectInstance(kinds.WRITE))
        return frozenset(instances)


def effects_of(op: Operation) -> Effects:
    """What any op does; an op that says nothing about itself may do anything."""
    if isinstance(op, HasEffects):
        return op.effects()
    return NONE if op.has_trait(IsTerminator) or is_side_effect_free(op) else UNKNOWN


def effects_inside(block: Block, arguments: Sequence[SSAValue]) -> Effects:
    """What the ops of a block do to the buffers that its arguments stand for; what it makes itself stays inside."""
    names = dict[SSAValue, SSAValue](zip(block.args, arguments, strict=True))
    found = [e for op in block.ops if (e := effects_of(op)) != NONE]

    def outside(values: Iterable[SSAValue]) -> tuple[SSAValue, ...]:
        return tuple(dict.fromkeys(names[v] for v in values if v in names))

    return Effects(
        outside(v for e in found for v in e.reads),
        outside(v for e in found for v in e.writes),
        ordered=any(e.ordered for e in found),
        unknown=any(e.unknown for e in found),
    )


def may_move(op: Operation, past: Operation) -> bool:
    """Whether `op` may stand on the other side of `past`, as far as effects go.

    That values are made before they are used is the asking pass's own affair.
    """
    return may_swap(effects_of(op), effects_of(past))


def may_swap(one: Effects, other: Effects) -> bool:
    """Whether things with these effects may happen in either order."""
    if NONE in (one, other):
        return True
    if one.unknown or other.unknown:
        return False
    if (one.ordered and (other.ordered or other.writes)) or (other.ordered and one.writes):
        return False
    return not (_touch(one.writes, (*other.reads, *other.writes)) or _touch(other.writes, one.reads))


def may_alias(x: SSAValue, y: SSAValue) -> bool:
    """Whether two buffers may share memory. Those that a function takes do not: whoever calls it sees to that."""
    return x is y or not (_is_itself(x) and _is_itself(y))


def _touch(some: Sequence[SSAValue], others: Sequence[SSAValue]) -> bool:
    return any(may_alias(x, y) for x in some for y in others)


def _is_itself(value: SSAValue) -> bool:
    """Whether a buffer is made by an op, or is an argument of a function: it is no other such buffer."""
    if isinstance(value, BlockArgument):
        return isinstance(value.block.parent_op(), FuncOp)
    assert isinstance(value.owner, Operation)
    return value in effects_of(value.owner).makes
