"""`apply-assert-level`: which asserts of a model are compiled, and what a failed one does.

| level | `nn.assert` | index checks of gather and the like |
|---|---|---|
| `none` | removed | removed: an index is clamped in silence |
| `warn` | logged | logged |
| `safe` | kept where it costs a bounded amount of work; others are removed | kept |
| `all` | kept | kept |

An assert is of bounded cost where what is computed for it alone is single elements: a comparison of scalars, or of one
element of a tensor; not a condition with as many elements as an input, nor a single one that sums up many. What is
computed for a removed assert alone goes with it, so that nothing tells afterwards that it was there.

Indices in bodies of users (`nn.custom`) are checked at every level but `none`, and a wrong one stops the run.

What a run requires of sizes (`plan.require`: rebind, reshape, slices) is no assert: what follows would leave its memory
otherwise, so it fails at every level. Memory is safe at every level: see `nn.gather`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from pelton.dialects.checks import Checked
from pelton.dialects.dims import product
from pelton.dialects.nn import AssertOp, CustomOp, RebindOp, ReshapeOp, WeightOp
from pelton.dialects.op import NnOp, Pointwise
from pelton.dialects.removal import orphans, remove
from pelton.dialects.types import TensorType
from pelton.passes import expect_option
from pelton.support.levels import AssertLevel

LEVELS = tuple(level.value for level in AssertLevel)
PICKS = (Pointwise, ReshapeOp, RebindOp, WeightOp)
"""Ops an element of whose result needs a bounded number of elements of their operands."""


@dataclass(frozen=True)
class ApplyAssertLevel(ModulePass):
    """Running it twice is running it once."""

    name = "apply-assert-level"
    level: str = "safe"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expect_option(self.name, "there is no such assert level", self.level, LEVELS)
        found = [o for o in op.walk() if isinstance(o, Checked)]
        asserts = [o for o in found if isinstance(o, AssertOp)]
        match self.level:
            case "none":
                remove(asserts)
                for each in found:
                    if not isinstance(each, AssertOp):
                        each.checks = StringAttr("off")
                for each in op.walk():
                    if isinstance(each, CustomOp):
                        each.unchecked = UnitAttr()
            case "warn":
                for each in found:
                    each.checks = StringAttr("report")
            case "safe":
                alone = orphans(asserts)
                remove([o for o in asserts if not _is_bounded(o, alone)])
            case _:
                pass


def _is_bounded(op: AssertOp, alone: set[Operation]) -> bool:
    """Whether the assert, with what is computed for asserts alone, costs as much for any size."""
    todo: list[SSAValue] = list(op.operands)
    if not _is_single(op.condition):
        return False
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, NnOp) and owner in alone:
            every = (*owner.operands, *owner.results)
            picks = isinstance(owner, PICKS) and all(map(_is_single, owner.results))
            if not (picks or all(map(_is_single, every))):
                return False
            todo += owner.operands
    return True


def _is_single(value: SSAValue) -> bool:
    """Whether a tensor is known to have at most one element."""
    t = value.type
    size = product(t.shape) if isinstance(t, TensorType) else None
    return isinstance(size, int) and size <= 1
