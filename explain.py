"""Why a model runs the kernels it runs: a module, a target and a session's options enter, a row per launch leaves.

`explain` runs the passes up to the kernels, on a copy, and reads what `choose-kernels` and `fuse-groups` decided.
`pelton explain` prints the rows. Nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from pelton.compiler import cuda_passes, passes_for
from pelton.dialects import dims, kernel, plan
from pelton.dialects.check import location_text
from pelton.dialects.context import new_context
from pelton.dialects.dims import Dim
from pelton.dialects.nn import GroupOp, YieldOp
from pelton.kernels.choices import Choice, choice_of
from pelton.kernels.cost import call_flops, gathered_buffers, launch_bytes
from pelton.passes.fuse_groups import FuseGroups
from pelton.passes.lower_groups import LowerGroups
from pelton.support.options import DEFAULTS, Options

NESTS = {
    "elementwise": "element by element: one pass over the result",
    "row": "reduces along the last axis: a row at a time, its lanes together",
    "column": "reduces along another axis: each lane down a column, neighbours side by side",
    "transpose": "moves the last axis: tile by tile, so that reads and writes are both of neighbours",
    "check": "an assert: each element of its condition is judged by itself, nothing is stored",
    "top_k": "ranks the elements of a row: a hand schedule, a row per item",
    "matmul": "a matrix product: a hand schedule, what follows in its epilogue",
}
"""Why a group without a choice of its own has the loops it has."""


@dataclass(frozen=True)
class Row:
    """One launch of a kernel."""

    function: str
    """`init`, which runs once when weights are bound, or `main`."""
    kernel: str
    """The kernel's name, as traces and `artifact.kernels` have it."""
    kind: str
    """The loop nest: a key of `NESTS`."""
    op: str
    """The op that the choice was about, or the one that the group ends in."""
    line: str
    """The user's line that made it, where that is known."""
    fused: tuple[str, ...]
    """Every op the kernel computes, in order."""
    reason: str
    choice: Choice | None
    """What there was to choose; None where only loops are generated."""
    result: str
    """The type of its first result, as `<[n, 8], f32>`."""
    bytes: Dim
    """What a launch reads and writes at least."""
    flops: Dim
    """Multiplications and additions of a product; 0 where it is none."""


def explain(module: ModuleOp, target: str, options: Options = DEFAULTS) -> list[Row]:
    """A row per launch, `init` first. `target`: a CPU target (`avx2`), for what is on the host, or `cuda`, for all to
    be on a GPU; `module` is not changed.

    Raises CompileError where a pass does.
    """
    module, context, groups = module.clone(), new_context(), list[tuple[str, GroupOp]]()
    for each in cuda_passes(options) if target == "cuda" else passes_for(target, options):
        each.apply(context, module)
        if isinstance(each, FuseGroups):
            groups = list(_groups(module.clone()))
        if isinstance(each, LowerGroups):
            break
    functions = {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, kernel.FuncOp)}
    launches = ((op, functions[op.callee.string_value()]) for op in _launches(module))
    return [_row(name, group, *each) for (name, group), each in zip(groups, launches, strict=True)]


def _groups(module: ModuleOp) -> Iterator[tuple[str, GroupOp]]:
    for function in module.body.block.ops:
        if isinstance(function, func.FuncOp):
            yield from ((function.sym_name.data, op) for op in function.body.block.ops if isinstance(op, GroupOp))


def _launches(module: ModuleOp) -> Iterator[plan.LaunchOp]:
    """In the order of functions and steps: a launch per group."""
    for function in module.body.block.ops:
        if isinstance(function, plan.FuncOp):
            yield from (op for op in function.body.block.ops if isinstance(op, plan.LaunchOp))


def _row(function: str, group: GroupOp, launch: plan.LaunchOp, called: kernel.FuncOp) -> Row:
    ops = [op for op in group.body.block.ops if not isinstance(op, YieldOp)]
    found = next(((op, choice) for op in ops if (choice := choice_of(op)) is not None), None)
    at, choice = found or (group, None)
    return Row(
        function=function,
        kernel=called.sym_name.data,
        kind=group.kind.data,
        op=choice.op if choice else ops[-1].name,
        line=location_text(at),
        fused=tuple(op.name for op in ops),
        reason=choice.reason if choice else NESTS[group.kind.data],
        choice=choice,
        result=str(group.outputs[0].type).removeprefix("!nn.tensor") if group.outputs else "",
        bytes=launch_bytes(launch, gathered_buffers(called)),
        flops=dims.substitute(call_flops(called), _bound(launch, called)),
    )


def _bound(launch: plan.LaunchOp, called: kernel.FuncOp) -> dict[str, Dim]:
    """The sizes that a launch gives to the symbols of its kernel."""
    return dict(zip((str(s) for s in called.sizes.data), launch.sizes.data, strict=True))
