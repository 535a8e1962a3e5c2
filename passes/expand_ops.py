"""`expand-ops`: ops that are shorthand for others become them.

Before: `%y = nn.softmax %x {axis = 1}`; after: max, subtract, exp, sum, divide. What an op stands for is its own
`expand`. Next:
`simplify`, which finds what the expansions have in common.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from pelton.dialects.op import NnOp


@dataclass(frozen=True)
class ExpandOps(ModulePass):
    """Expands until only primitive ops are left; new ops carry the location of the op they came from."""

    name = "expand-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        todo = list(op.walk())
        while todo:
            current = todo.pop()
            if isinstance(current, NnOp):
                todo.extend(_expand(current))


def _expand(op: NnOp) -> list[Operation]:
    """Replaces `op` by its expansion; returns the new ops, which may expand further."""
    before = op.prev_op
    results = op.expand(Builder(InsertPoint.before(op)))
    if results is None:
        return []
    first = before.next_op if before is not None else (op.parent.first_op if op.parent else None)
    new: list[Operation] = []
    while first is not None and first is not op:
        first.location = op.location
        new.append(first)
        first = first.next_op
    for old, result in zip(op.results, results, strict=True):
        if result.name_hint is None:
            result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    op.detach()
    op.erase()
    return new
