"""`widen-lanes`: loops whose threads do four neighbouring lanes a turn (GPU only).

Before: `kernel.lanes (%j) in (%n)`, which loads `%x[%i, %j]`: a thread asks for one element, waits, and stores one.
After: `kernel.lanes (%j) in (%n) by_four`: it asks for four that stand side by side, with one instruction where they
begin at a multiple of 16 bytes. It takes that much on its way in each thread to keep a GPU's memory busy. A loop with
fewer than `fewest` lanes stays as it is, for lack of lanes to give to all threads. Next: `assign-buffers`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from pelton.dialects.kernel import FuncOp, LanesOp
from pelton.dialects.kernel.neighbours import Finder
from pelton.dialects.kernel.uniformity import constant_of


@dataclass(frozen=True)
class WidenLanes(ModulePass):
    """Marks the loops that can and have as many lanes as to pay."""

    name = "widen-lanes"
    fewest: int = 256

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.is_for_gpu:
                finder = Finder(func)
                for loop in [o for o in func.walk() if isinstance(o, LanesOp)]:
                    if _known_lanes(loop) >= self.fewest and finder.neighbours(loop) is not None:
                        loop.by_four = UnitAttr()


def _known_lanes(loop: LanesOp) -> float:
    """How many lanes there are; without end where that is not known."""
    lanes: float = 1
    for bound in loop.bounds:
        known = constant_of(bound)
        lanes *= float("inf") if known is None else known
    return lanes
