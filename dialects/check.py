"""The check every module passes before and between passes: a module enters, a VerifyError leaves if an op is wrong.

Three questions: does each op obey its definition, does each block end as it must, is each value defined before it is
used. xDSL's own verifier answers the first two but does not say where, and does not ask the third.
"""

from __future__ import annotations

from io import StringIO

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator
from xdsl.utils.exceptions import VerifyException

from pelton.support.errors import VerifyError, shortened

LONGEST = 500
"""Characters of a message that are worth reading: some hold the text of whole functions."""


def check_module(module: Operation, stage: str = "") -> None:
    """Raise VerifyError for the first op that is wrong; `stage` names the pass that has just run, for the message."""
    for op in module.walk(region_first=True):
        try:
            _check_blocks(op)
            op.verify(verify_nested_ops=False)
        except (VerifyException, ValueError) as error:
            raise located_error(op, str(error), stage) from error
    for region in module.regions:
        _check_order(region, set(), stage)


def _check_blocks(op: Operation) -> None:
    """Blocks are not empty and every op points to the block it stands in."""
    for region in op.regions:
        for block in region.blocks:
            if any(inner.parent is not block for inner in block.ops):
                raise VerifyException("an op inside does not point to the block that holds it")
            if not block.first_op and len(region.blocks) == 1 and not op.has_trait(NoTerminator):
                raise VerifyException("holds an empty block where at least a terminator is expected")


def _check_order(region: Region, visible: set[SSAValue], stage: str) -> None:
    """Values are defined before use and in scope; `visible` holds the outer values and is left as it was."""
    blocks = tuple(region.blocks)
    dominance = DominanceInfo(region) if len(blocks) > 1 else None
    for block in blocks:
        above = [] if dominance is None else [b for b in blocks if dominance.strictly_dominates(b, block)]
        added = [value for other in above for value in _values(other)]
        visible.update(added)
        _check_block(block, visible, stage)
        visible.difference_update(added)


def _check_block(block: Block, visible: set[SSAValue], stage: str) -> None:
    visible.update(block.args)
    for op in block.ops:
        for operand in op.operands:
            if operand not in visible:
                raise located_error(op, _misplaced(operand), stage)
        for region in op.regions:
            _check_order(region, set() if op.has_trait(IsolatedFromAbove) else visible, stage)
        visible.update(op.results)
    visible.difference_update(_values(block))


def _values(block: Block) -> list[SSAValue]:
    """What a block defines for itself and the blocks it dominates."""
    return [*block.args, *(result for op in block.ops for result in op.results)]


def _misplaced(value: SSAValue) -> str:
    name = f"value %{value.name_hint}" if value.name_hint else "a value"
    owner = value.owner
    place = location_text(owner) if isinstance(owner, Operation) else ""
    return f"{name} is used before it is defined, or out of its scope" + (f" (defined at {place})" if place else "")


def located_error(op: Operation, message: str, stage: str = "") -> VerifyError:
    """A VerifyError about `op`, with its text and its place."""
    return VerifyError(shortened(message, LONGEST), op=op_text(op), location=location_text(op), stage=stage)


def location_text(op: Operation) -> str:
    """`file:line:column` of an op, or of the nearest op around it that knows its place; empty when none does."""
    at: Operation | None = op
    while at is not None:
        if place := _place(at.location):
            return place
        at = at.parent_op()
    return ""


def _place(location: Attribute) -> str:
    match location:
        case FileLineColLoc():
            return f"{location.filename.data}:{location.line.data}:{location.column.data}"
        case NameLoc():
            return _place(location.location)
        case CallSiteLoc():
            return _place(location.callee) or _place(location.caller)
        case FusedLoc(locations=ArrayAttr(data=parts)):
            return next((place for part in parts if (place := _place(part))), "")
        case _:
            return ""


def op_text(op: Operation, limit: int = 160) -> str:
    """The op as text, its first line only; its bare name when it cannot be printed."""
    out = StringIO()
    try:
        Printer(stream=out).print_op(op)
    except Exception:
        return op.name
    first = out.getvalue().strip().partition("\n")[0]
    return first if len(first) <= limit else first[: limit - 1] + "…"
