"""`insert-barriers`: where the lanes of a team exchange data through memory, they wait for each other (GPU only).

Before: one loop stores `%t[%a, %b]`, the next loads `%t[%b, %a]`; after: a `kernel.barrier` stands between them. Lane
k of two loops is the same thread where the loops have the same bounds and do as many lanes a turn; so no barrier is
needed between accesses that give each lane the same element. Next: printing for a GPU; printers take barriers as they
find them.

The pass walks a grid item in program order with the accesses since the last barrier. A lane loop is one step: its
lanes are independent. A sequential loop is walked twice, so that its end meets its beginning; there, whatever the
loop computes anew counts as different. Two parameters of one type may be one buffer (results are written in place).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from pelton.dialects.kernel import BarrierOp, BufType, FuncOp, GridOp, LanesOp, LoadOp, Loop, ReduceOp, StoreOp
from pelton.dialects.types import GPU
from pelton.passes import expect_option

Key: TypeAlias = tuple["str | int | SSAValue | Key", ...]
"""A value as an expression over loop indices and opaque values: equal keys, equal values in the same thread."""


@dataclass(frozen=True)
class Access:
    """A load or store: which element each thread touches. `where` is None once that is no longer known."""

    buf: SSAValue
    stores: bool
    who: Key
    where: Key | None


@dataclass(frozen=True)
class InsertBarriers(ModulePass):
    """Puts in the fewest barriers that program order needs: each directly before the op that would meet another's
    data."""

    name = "insert-barriers"
    device: str = ""
    """With `gpu` only kernels that are marked for one; by default all."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expect_option(self.name, "no such kind of device", self.device, ("", GPU))
        for func in [o for o in op.walk() if isinstance(o, FuncOp) and (not self.device or o.is_for_gpu)]:
            for grid in [o for o in func.walk() if isinstance(o, GridOp)]:
                _walk(grid.body.block, ())


def _walk(block: Block, pending: tuple[Access, ...]) -> tuple[Access, ...]:
    """Inserts barriers into a uniform block; the accesses since the last barrier enter and leave."""
    for op in list(block.ops):
        match op:
            case BarrierOp():
                pending = ()
            case scf.ForOp():
                pending = _loop(op, pending)
            case scf.IfOp():
                arms = [_walk(r.block, pending) for r in op.regions if r.blocks]
                pending = _united(arms if len(arms) > 1 else [pending, *arms])
            case _:
                mine = _accesses(op)
                if any(_conflict(p, a) for p in pending for a in mine):
                    block.insert_op_before(BarrierOp(), op)
                    pending = ()
                pending = _united([pending, mine])
    return pending


def _loop(op: scf.ForOp, pending: tuple[Access, ...]) -> tuple[Access, ...]:
    """The body after what stands before it, then after itself; it may also not run at all."""
    body = op.body.block
    once = _walk(body, pending)
    again = _walk(body, tuple(_aged(a, op) for a in once))
    return _united([pending, once, again])


def _aged(access: Access, loop: Operation) -> Access:
    """An access of the previous iteration: it is no longer known where, if the iteration decides that."""
    if access.where is not None and any(_inside(v, loop) for v in _values((access.who, access.where))):
        return Access(access.buf, access.stores, access.who, None)
    return access


def _values(key: Key) -> Iterable[SSAValue]:
    for part in key:
        match part:
            case SSAValue():
                yield part
            case str() | int():
                pass
            case _:
                yield from _values(part)


def _inside(value: SSAValue, loop: Operation) -> bool:
    owner: Operation | Block | None = value.owner
    while owner is not None and owner is not loop:
        owner = owner.parent_op() if isinstance(owner, Block) else owner.parent
    return owner is loop


def _united(parts: Iterable[tuple[Access, ...]]) -> tuple[Access, ...]:
    return tuple(dict.fromkeys(a for part in parts for a in part))


def _accesses(op: Operation) -> tuple[Access, ...]:
    """What one step touches: a lane loop as a whole, else an op that all threads run (a store: thread 0)."""
    if not isinstance(op, LanesOp | ReduceOp):
        return (_access(op, None),) if isinstance(op, LoadOp | StoreOp) else ()
    return tuple(dict.fromkeys(_access(o, op) for o in op.walk() if isinstance(o, LoadOp | StoreOp)))


def _access(op: LoadOp | StoreOp, loop: LanesOp | ReduceOp | None) -> Access:
    stores = isinstance(op, StoreOp)
    who: Key = ("first" if stores else "all",)
    if loop is not None:
        how = "by_four" if isinstance(loop, LanesOp) and loop.by_four else ""
        who = ("lanes", how, *(_key(b, None) for b in loop.bounds))
    return Access(op.buf, stores, who, tuple(_key(i, loop) for i in op.index))


def _key(value: SSAValue, loop: Loop | None) -> Key:
    """The expression behind a value, down to lane indices and what is not computed here."""
    if loop is not None and isinstance(value, BlockArgument) and value.block is loop.body.block:
        return ("lane", value.index)
    op = value.owner
    if isinstance(op, Block) or op.regions or len(op.results) != 1 or not is_side_effect_free(op):
        return (value,)
    attributes = sorted((k, str(v)) for k, v in {**op.attributes, **op.properties}.items())
    return (op.name, str(attributes), *(_key(o, loop) for o in op.operands))


def _conflict(earlier: Access, later: Access) -> bool:
    """Whether a thread may touch now what another thread touched since the last barrier, one of them storing."""
    if not (earlier.stores or later.stores) or not _may_alias(earlier.buf, later.buf):
        return False
    if earlier.who == later.who == ("first",):
        return False
    same = earlier.who == later.who and earlier.where == later.where and earlier.where is not None
    return not same or earlier.who == ("all",)


def _may_alias(x: SSAValue, y: SSAValue) -> bool:
    if x is y:
        return True
    both = isinstance(x, BlockArgument) and isinstance(y, BlockArgument)
    return both and isinstance(x.type, BufType) and x.type == y.type
