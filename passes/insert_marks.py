"""`insert-marks`: notes for a profiler when each launch of a plan begins and ends.

Before: `plan.launch @add(…)`. After: `plan.mark begin "add"`, the launch, `plan.mark end "add"`. With `mode=detailed`
copies are marked too, and the whole function under its name (`@main`). With `mode=off` nothing is: a plan without marks
becomes the very words it would become without this pass. Next: `codegen/plan.py` writes a mark as an instruction that
reads the clock; `runtime/marks.py` collects what it read.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from pelton.dialects import plan
from pelton.passes import expect_option
from pelton.support.levels import PROFILING_MODES


@dataclass(frozen=True)
class InsertMarks(ModulePass):
    """`on` marks launches, `detailed` copies and functions as well, `off` nothing."""

    name = "insert-marks"
    mode: str = "on"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expect_option(self.name, "no such mode of profiling", self.mode, PROFILING_MODES)
        for function in op.body.block.ops:
            if isinstance(function, plan.FuncOp) and self.mode != "off":
                _mark_steps(function, detailed=self.mode == "detailed")


def _mark_steps(function: plan.FuncOp, *, detailed: bool) -> None:
    block = function.body.block
    for op in list(block.ops):
        match op:
            case plan.LaunchOp():
                _mark(block, op, op.callee.string_value())
            case plan.CopyOp() if detailed:
                _mark(block, op, "copy")
            case _:
                pass
    if detailed and block.first_op is not None and block.last_op is not None:
        _mark(block, block.first_op, f"@{function.sym_name.data}", block.last_op)


def _mark(block: Block, first: Operation, label: str, last: Operation | None = None) -> None:
    block.insert_op_before(plan.MarkOp("begin", label), first)
    block.insert_op_after(plan.MarkOp("end", label), last or first)
