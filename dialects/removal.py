"""Removing ops that have an effect, with all that was computed for them alone: asserts and messages of a level."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation
from xdsl.transforms.dead_code_elimination import would_be_trivially_dead


def orphans(ops: Sequence[Operation]) -> set[Operation]:
    """The ops whose results nobody would use without `ops`, directly or by others of them."""
    gone: set[Operation] = set(ops)
    todo = [v.owner for op in ops for v in op.operands]
    while todo:
        op = todo.pop()
        if isinstance(op, Operation) and op not in gone and would_be_trivially_dead(op) and _unused(op, gone):
            gone.add(op)
            todo += [v.owner for v in op.operands]
    return gone - set(ops)


def _unused(op: Operation, gone: set[Operation]) -> bool:
    return all(use.operation in gone for result in op.results for use in result.uses)


def remove(ops: Sequence[Operation]) -> None:
    """Erase `ops` and their orphans. What was unused before stays: it is not for this to remove."""
    gone = [*ops, *orphans(ops)]
    for op in gone:
        op.detach()
        op.drop_all_references()
    for op in gone:
        op.erase()
