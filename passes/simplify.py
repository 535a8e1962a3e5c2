"""`simplify`: fewer ops, the same values. Canonicalize, then common subexpressions, then what nobody uses.

The three are xDSL's own passes; what is canonical stands in each op's class. cse ignores where an op came from, so
equal ops from different lines become one.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination


@dataclass(frozen=True)
class Simplify(ModulePass):
    """`canonicalize`, `cse` and `dce`, once each."""

    name = "simplify"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        CanonicalizePass().apply(ctx, op)
        CommonSubexpressionElimination().apply(ctx, op)
        DeadCodeElimination().apply(ctx, op)
