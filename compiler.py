"""The path from a graph to an artifact, on one page: every stage and pass in its order, and why it stands there.

Enters: a module with one `func.func` of `nn` ops (from the graph API or from text), and the constants too large for
the IR. Leaves: an
`Artifact`. Nothing here decides anything: decisions are passes, code is made by `codegen/`; this file is the order.

    nn ops ──graph──▶ groups ──lower──▶ kernel.func + plan.func ──shape, place──▶ source text ──▶ object code ──▶
    Artifact
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from pelton.artifact import Artifact, Constant, KernelCode, TensorInfo
from pelton.codegen.cpu.sources import cpu_source
from pelton.codegen.cpu.target import CpuTarget
from pelton.codegen.key import object_key, walker_key
from pelton.codegen.plan import Encoder
from pelton.codegen.source import Source
from pelton.dialects import kernel, plan
from pelton.dialects.check import check_module
from pelton.dialects.signature import Signature, describe
from pelton.passes.assign_buffers import AssignBuffers
from pelton.passes.choose_kernels import ChooseKernels
from pelton.passes.expand_ops import ExpandOps
from pelton.passes.fuse_groups import FuseGroups
from pelton.passes.insert_barriers import InsertBarriers
from pelton.passes.lower_groups import LowerGroups
from pelton.passes.simplify import Simplify
from pelton.passes.split_init import SplitInit
from pelton.passes.split_lanes import SplitLanes
from pelton.support import knobs
from pelton.support.dump import Dump, write_reproducer
from pelton.support.errors import CompileError, InternalError, PeltonError
from pelton.support.trace import stage


def cpu_passes(target: str, separate: bool = False) -> list[ModulePass]:
    """The passes for a CPU target, in order."""
    return [
        # graph: still tensors, so rewrites are cheap and need no proof about memory
        Simplify(),  # first, so that nothing dead or duplicate is expanded
        ExpandOps(),  # before choosing and fusing, which know primitive ops only
        Simplify(),  # expansions share casts, constants and broadcasts
        ChooseKernels(target),  # before split-init, which moves the packing of weights out of the way
        SplitInit(),  # before fusion, so that no group mixes what runs once with what runs always
        DeadCodeElimination(),  # main no longer needs what moved
        FuseGroups(separate),  # last on tensors: it decides what becomes one kernel
        # kernels and plans
        LowerGroups(),  # loops and memory appear here; equal kernels become one
        SplitLanes(),  # one long row becomes many items, which the pool can share
        AssignBuffers(),  # last: it needs every launch and every size
    ]


def cuda_passes() -> list[ModulePass]:
    """The passes for a GPU, in order; what they share with a CPU stands where it does there."""
    return [
        Simplify(),
        ExpandOps(),
        Simplify(),
        ChooseKernels("cuda"),  # operands stay as they are
        SplitInit(),
        DeadCodeElimination(),
        FuseGroups(),
        LowerGroups(),
        AssignBuffers(),  # before the barriers: results may now stand where operands were
        InsertBarriers(),  # last: it looks at every access there is
    ]


PIPELINES: dict[str, str] = {
    "graph": "simplify,expand-ops,simplify",
    **{f"cpu-{name}": ",".join(str(p) for p in cpu_passes(name)) for name in ("avx512", "avx2", "baseline")},
    "cuda": ",".join(str(p) for p in cuda_passes()),
}
"""What `pelton-opt -p` takes by name."""


class ObjectStore(Protocol):
    """Where object code is kept between processes."""

    def get(self, key: str) -> bytes | None:
        """The code, or None where there is none (or none that is intact)."""
        ...

    def put(self, key: str, content: bytes) -> None:
        """Keep the code; failing to is no error."""
        ...


@dataclass(frozen=True)
class Compiled:
    """What `compile_module` made, and the texts on the way, for whoever wants to read them."""

    artifact: Artifact
    sources: tuple[Source, ...]


@dataclass(eq=False)
class Compilation:
    """One run of the path over one module."""

    module: ModuleOp
    target: CpuTarget
    store: ObjectStore
    constants: Mapping[str, Any] = field(default_factory=dict[str, Any])
    name: str = "model"
    separate: bool = False

    def __post_init__(self) -> None:
        self.dump = Dump.begin(self.name)

    def run(self) -> Compiled:
        """Raises CompileError naming op, place and pass; a reproducer is written beside."""
        infos = self.describe()
        with stage("passes"):
            self.passes()
        functions = {f.sym_name.data: f for f in self.module.body.block.ops if isinstance(f, kernel.FuncOp)}
        plans = {f.sym_name.data: f for f in self.module.body.block.ops if isinstance(f, plan.FuncOp)}
        with stage("source"):
            sources = {name: self.source(f) for name, f in functions.items()}
        with stage("object code"):
            codes = self.objects(list(sources.values()))
        with stage("plan"):
            stored = [i.name for i in (*infos.weights, *infos.constants)]
            prepared = [n.data for n in plans["main"].names if n.data.startswith("prepared")]
            init = Encoder(plans["init"], functions, sources).run(stored)
            arguments = [*(i.name for i in infos.inputs), *stored, *prepared]
            main = Encoder(plans["main"], functions, sources).run(arguments)
        artifact = Artifact(
            name=self.name,
            target=self.target.name,
            cpu_features=tuple(sorted(self.target.required)),
            llvmlite=("0.50", "0.51"),
            inputs=infos.inputs,
            outputs=infos.outputs,
            weights=infos.weights,
            constants=tuple(Constant(i, self.bytes_of(i)) for i in infos.constants),
            init=init,
            main=main,
            kernels=tuple(KernelCode(s.name, codes[s.name]) for s in sources.values()),
            walker=self.walker(),
            text="\n".join(str(p) for p in plans.values()),
        )
        return Compiled(artifact, tuple(sources.values()))

    def describe(self) -> Signature:
        """What goes in and out, read off the graph before passes change it."""
        return describe(self.module, self.constants)

    def bytes_of(self, info: TensorInfo) -> bytes:
        return self.constants[info.name].tobytes()

    # passes
    def passes(self) -> None:
        context = Context()
        last, careful = [""], knobs.DEBUG.value() > 0

        def between(previous: ModulePass | None, module: ModuleOp, following: ModulePass | None) -> None:
            if previous is None or following is None or careful:
                check_module(module, last[0])
            self.write(previous, module)
            last[0] = following.name if following is not None else ""

        before = str(self.module) if knobs.DUMP.value() else ""
        pipeline = PassPipeline(tuple(cpu_passes(self.target.name, self.separate)), between)
        try:
            pipeline.apply(context, self.module)
        except PeltonError:
            self.reproduce(before)
            raise
        except Exception as error:
            self.reproduce(before)
            raise InternalError(f"{last[0]} failed: {error}", stage=last[0]) from error

    def write(self, previous: ModulePass | None, module: ModuleOp) -> None:
        if self.dump.folder is not None:
            command = f"pelton-opt {self.dump.last()} -p {shlex.quote(str(previous))}" if previous else ""
            self.dump.write(previous.name if previous else "input", ".mlir", f"{module!s}\n", command)

    def reproduce(self, before: str) -> None:
        if before:
            spec = ",".join(str(p) for p in cpu_passes(self.target.name, self.separate))
            write_reproducer(self.name, {"input.mlir": before}, f"pelton-opt input.mlir -p {shlex.quote(spec)}")

    # code
    def source(self, function: kernel.FuncOp) -> Source:
        source = cpu_source(function, self.target.name)
        if self.dump.folder is not None:
            self.dump.write(source.name, ".py", source.text)
        return source

    def objects(self, sources: Sequence[Source]) -> dict[str, bytes]:
        """Object code per kernel: from the cache, else compiled and put there."""
        keys = {s.name: object_key(s, self.target) for s in sources}
        codes = {name: code for name, key in keys.items() if (code := self.store.get(key)) is not None}
        missing = [s for s in sources if s.name not in codes]
        if missing:
            from pelton.codegen.cpu.compile import compile_sources  # Numba: only where something is missing

            for source in missing:
                with stage(f"compile {source.name}"):
                    codes |= compile_sources([source], self.target)
                self.store.put(keys[source.name], codes[source.name])
        return codes

    def walker(self) -> KernelCode:
        """The function that walks programs, kept like a kernel."""
        key = walker_key(self.target)
        code = self.store.get(key)
        if code is None:
            from pelton.codegen.cpu.walker import compile_walker

            code = compile_walker(self.target)
            self.store.put(key, code)
        return KernelCode("walk", code)


__all__ = ["PIPELINES", "Compilation", "CompileError", "Compiled", "ObjectStore", "cpu_passes", "cuda_passes"]
