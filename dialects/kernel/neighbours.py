"""Which accesses of a loop over lanes are to neighbours in memory, lane by lane, and could be made four at once.

Enters: a function, then its `kernel.lanes`. Leaves: those accesses and what their places depend on, to
`passes/widen_lanes.py`, which decides, and to the printer of a GPU. Lanes depend on no other lane, so their order is
free; within a lane nothing may be loaded after something was stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.ir import BlockArgument, Operation, SSAValue

from pelton.dialects.kernel.checks import CheckOp, ReportOp
from pelton.dialects.kernel.loops import BarrierOp, FuncOp, LanesOp
from pelton.dialects.kernel.memory import LoadOp, StoreOp
from pelton.dialects.kernel.uniformity import Steps, buffer_type, constant_of

Access = LoadOp | StoreOp
MOST_INDICES = 2
FOUR = 4


@dataclass(frozen=True)
class Neighbours:
    """A loop, its accesses to neighbours, in their order, and the ops that compute their places."""

    loop: LanesOp
    accesses: Sequence[Access]
    places: Sequence[Operation]

    @property
    def all_access(self) -> bool:
        """Whether no other op of the body touches memory or asks which lane it is in."""
        here = {*self.loop.body.block.args, *(r for op in self.places for r in op.results)}
        rest = [op for op in self.loop.body.block.ops if op not in self.accesses and op not in self.places]
        read = {v for op in rest for v in op.operands}
        read.update(op.value for op in self.accesses if isinstance(op, StoreOp))
        return here.isdisjoint(read) and not any(isinstance(op, LoadOp | StoreOp | CheckOp | ReportOp) for op in rest)


class Finder:
    """Finds them in the loops of one function."""

    def __init__(self, func: FuncOp) -> None:
        self._steps = [Steps(func, partial(_only, k)) for k in range(MOST_INDICES)]

    def neighbours(self, loop: LanesOp) -> Neighbours | None:
        """None where there are none, or where the body's order forbids to load all of them first."""
        body = list(loop.body.block.ops)
        loads, stores = ([k for k, op in enumerate(body) if isinstance(op, kind)] for kind in (LoadOp, StoreOp))
        mixed = bool(loads and stores) and loads[-1] > stores[0]
        if mixed or len(loop.bounds) > MOST_INDICES or any(op.regions or isinstance(op, BarrierOp) for op in body):
            return None
        found: list[Access] = []
        places: set[Operation] = set()
        for op in body:
            if isinstance(op, Access) and self._to_neighbours(loop, op) and (needed := _behind(op, loop)) is not None:
                found.append(op)
                places |= needed
        return Neighbours(loop, found, [op for op in body if op in places]) if found else None

    def _to_neighbours(self, loop: LanesOp, op: Access) -> bool:
        """Whether the elements of four lanes, the first a multiple of four, stand side by side in their order."""
        if op.guard is not None or buffer_type(op.buf).space.data != "global":
            return False
        spans = [self._steps[k].span(op) for k in range(len(loop.bounds))]
        if spans[-1] != 1 or len(spans) == 1:
            return spans[-1] == 1
        length = constant_of(loop.bounds[1])
        return length is not None and (length % FOUR == 0 or spans[0] == length)


def _only(k: int, indices: Sequence[BlockArgument]) -> Sequence[BlockArgument]:
    return indices[k : k + 1]


def _behind(op: Access, loop: LanesOp) -> set[Operation] | None:
    """The ops of the loop that the place of an access depends on; None where it depends on what is loaded."""
    found: set[Operation] = set()
    ahead: list[SSAValue] = list(op.index)
    while ahead:
        owner = ahead.pop().owner
        if not isinstance(owner, Operation) or owner.parent is not loop.body.block or owner in found:
            continue
        if isinstance(owner, LoadOp):
            return None
        found.add(owner)
        ahead += owner.operands
    return found
