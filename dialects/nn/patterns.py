"""Canonicalization patterns of the nn ops."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern


def patterns_for(cls: type[Operation]) -> tuple[RewritePattern, ...]:
    """The patterns of an op class."""
    return ()
