"""What a compilation shows of itself while it runs: the IR after each pass, what became one kernel, source, assembly.

Enters: the module after each pass and the text of each kernel, from `compiler.py`. Leaves: the files of `PELTON_DUMP`
and, on stderr, what `PELTON_DEBUG` asks for. With neither knob set, nothing is printed, written or computed.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from pelton.codegen.backend import Backend
from pelton.codegen.source import Source
from pelton.dialects import plan
from pelton.dialects.nn import GroupOp, YieldOp
from pelton.dialects.op import location_of
from pelton.passes.fuse_groups import FuseGroups
from pelton.passes.lower_groups import LowerGroups
from pelton.support import knobs, trace
from pelton.support.dump import Dump
from pelton.support.errors import shortened


@dataclass(frozen=True)
class Group:
    """What is told of one `nn.group`."""

    function: str
    kind: str
    ops: tuple[str, ...]
    result: str
    place: str


@dataclass(eq=False)
class Sight:
    """The eyes of one compilation called `name`, for a target."""

    name: str
    target: str
    dump: Dump = field(init=False)
    groups: list[Group] = field(default_factory=list[Group])

    def __post_init__(self) -> None:
        self.dump = Dump.begin(self.name)

    def module(self, previous: ModulePass | None, module: ModuleOp) -> None:
        """The input, or what it is after the pass `previous`."""
        title = previous.name if previous is not None else "input"
        dumping, telling = self.dump.folder is not None, trace.telling(knobs.IR)
        if dumping or telling:
            text = f"{module!s}\n"
            command = f"pelton-opt {self.dump.last()} -p {shlex.quote(str(previous))}" if previous else ""
            self.dump.write(title, ".mlir", text, command)
            trace.tell(knobs.IR, f"IR after {title}" if previous else "IR of the input", text)
        if trace.telling(knobs.CHOICES):
            if isinstance(previous, FuseGroups):
                self.groups = list(_groups(module))
            elif isinstance(previous, LowerGroups):
                trace.tell(knobs.CHOICES, f"choices for {self.target}", _table(self.groups, _launched(module)))

    def source(self, source: Source, backend: Backend, edited: bool) -> None:
        """The text of a kernel, as it is going to be compiled."""
        printer, _ = backend.printers(source.name)
        command = "" if edited else f"pelton-opt {self.dump.last()} -t {shlex.quote(printer)}"
        self.dump.beside(source.name, ".py", source.text, command)
        trace.tell(knobs.SOURCE, f"{'edited source' if edited else 'source'} of {source.name}", source.text)

    def code(self, source: Source, backend: Backend, edited: bool) -> None:
        """What the kernel becomes; compiles it for this alone, where somebody wants to see it."""
        if self.dump.folder is None and not trace.telling(knobs.ASSEMBLY):
            return
        text, (_, printer) = backend.readable(source), backend.printers(source.name)
        command = "" if edited else f"pelton-opt {self.dump.last()} -t {shlex.quote(printer)}"
        self.dump.beside(source.name, backend.suffix, text, command)
        trace.tell(knobs.ASSEMBLY, f"assembly of {source.name} for {backend.name}", text)


def _groups(module: ModuleOp) -> Iterator[Group]:
    for function in module.body.block.ops:
        if isinstance(function, func.FuncOp):
            for op in function.body.block.ops:
                if isinstance(op, GroupOp):
                    names = tuple(o.name.removeprefix("nn.") for o in op.body.block.ops if not isinstance(o, YieldOp))
                    result = str(op.outputs[0].type).removeprefix("!nn.tensor")
                    yield Group(function.sym_name.data, op.kind.data, names, result, location_of(op) or "")


def _launched(module: ModuleOp) -> list[str]:
    """The kernels in the order in which the functions launch them: a launch per group."""
    plans = (f for f in module.body.block.ops if isinstance(f, plan.FuncOp))
    return [op.callee.string_value() for f in plans for op in f.body.block.ops if isinstance(op, plan.LaunchOp)]


def _table(groups: list[Group], kernels: list[str]) -> str:
    """A line per kind of group: where, which kernel, how it loops, how many there are and how many ops each computes
    and which, its result, the place of the first.
    """
    found: dict[tuple[str, ...], list[str]] = {}
    for g, kernel in zip(groups, kernels, strict=True):
        key = (f"@{g.function}", kernel, g.kind, f"{len(g.ops)}", g.result, shortened(" ".join(g.ops), 100))
        found.setdefault(key, []).append(g.place)
    rows = [(*key[:3], f"{len(places)}", *key[3:5], places[0], key[5]) for key, places in found.items()]
    rows.insert(0, ("in", "kernel", "loops", "groups", "ops", "result", "made at", "computes"))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]) - 1)]
    return "\n".join(
        "  " + "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    )
