"""The path from a graph to an artifact, on one page: every stage and pass in its order, and why it stands there.

Enters: a module with one `func.func` of `nn` ops (from the graph API or from text), and the constants too large for
the IR. Leaves: an
`Artifact`. Nothing here decides anything: decisions are passes, code is made by `codegen/`; this file is the order.

    nn ops ──graph──▶ groups ──lower──▶ kernel.func + plan.func ──shape, place──▶ source text ──▶ object code ──▶
    Artifact
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from pelton.artifact import Artifact, Constant, KernelCode, TensorInfo
from pelton.codegen.backend import Backend
from pelton.codegen.cpu.backend import CpuBackend
from pelton.codegen.cpu.target import CpuTarget
from pelton.codegen.cuda.backend import CudaBackend
from pelton.codegen.key import cubin_key, walker_key
from pelton.codegen.plan import Encoder
from pelton.codegen.source import Source
from pelton.dialects import kernel, plan
from pelton.dialects.check import check_module, location_text
from pelton.dialects.context import new_context
from pelton.dialects.places import number_ops, placed
from pelton.dialects.signature import Signature, describe, devices_of
from pelton.dialects.types import GPU, HOST
from pelton.failures import Attempt
from pelton.passes.apply_assert_level import ApplyAssertLevel
from pelton.passes.apply_log_level import ApplyLogLevel
from pelton.passes.assign_buffers import AssignBuffers
from pelton.passes.choose_kernels import ChooseKernels
from pelton.passes.expand_ops import ExpandOps
from pelton.passes.fuse_groups import FuseGroups
from pelton.passes.insert_barriers import InsertBarriers
from pelton.passes.insert_marks import InsertMarks
from pelton.passes.lower_groups import LowerGroups
from pelton.passes.outline_constants import OutlineConstants, outlined
from pelton.passes.place_on import PlaceOn
from pelton.passes.shape_blocks import ShapeBlocks
from pelton.passes.simplify import Simplify
from pelton.passes.split_init import SplitInit
from pelton.passes.split_lanes import SplitLanes
from pelton.passes.widen_lanes import WidenLanes
from pelton.program import Program
from pelton.sight import Sight
from pelton.support.dump import edited
from pelton.support.errors import CompileError, KnobError
from pelton.support.knobs import cache_folder
from pelton.support.options import DEFAULTS, Options
from pelton.support.trace import stage

T = TypeVar("T")


def level_passes(options: Options = DEFAULTS) -> list[ModulePass]:
    """What a session's levels leave of asserts and messages. They come before all else: once cse or a pattern has seen
    what an assert computes, its removal could not be without a trace.
    """
    return [ApplyAssertLevel(options.assert_level.value), ApplyLogLevel(options.log_level.value)]


def passes_for(target: str, options: Options = DEFAULTS) -> list[ModulePass]:
    """The passes, in order; levels and choices are theirs. What is on the host is made for a CPU target, what is on a
    GPU for that: each pass looks where a value is.
    """
    return [
        *level_passes(options),
        # graph: still tensors, so rewrites are cheap and need no proof about memory
        Simplify(),  # first, so that nothing dead or duplicate is expanded
        ExpandOps(),  # before choosing and fusing, which know primitive ops only
        *level_passes(options),  # again, for checks that expansions brought
        Simplify(),  # expansions share casts, constants and broadcasts
        OutlineConstants(),  # after folding, before anything asks what is a constant and what is memory
        ChooseKernels(target, *choices(options)),  # before split-init, which moves the packing of weights away
        SplitInit(),  # before fusion, so that no group mixes what runs once with what runs always
        DeadCodeElimination(),  # main no longer needs what moved
        FuseGroups(options.separate),  # last on tensors: it decides what becomes one kernel
        # kernels and plans
        LowerGroups(),  # loops and memory appear here; equal kernels become one
        SplitLanes(),  # one long row becomes many items, which the pool can share
        ShapeBlocks(),  # the same for a GPU, whose blocks also take several short rows
        WidenLanes(),  # once it is known which lanes a block has
        AssignBuffers(),  # after whatever makes a launch: it needs all of them, and every size
        InsertBarriers(GPU),  # after results came to stand where operands were; it looks at every access there is
        *([InsertMarks(options.profiling)] if options.profiling != "off" else []),  # last: nothing comes between
    ]


def choices(options: Options) -> tuple[str, str]:
    """What a session chooses between kernels, as `choose-kernels` takes it."""
    return "old" if options.old_top_k else "new", options.split_k.name.lower()


def cuda_passes(options: Options = DEFAULTS) -> list[ModulePass]:
    """The passes that make all of a module for a GPU, wherever its graph has it."""
    return [PlaceOn(f"{GPU}:0"), *passes_for("baseline", options)]


PIPELINES: dict[str, str] = {
    "graph": "simplify,expand-ops,simplify",
    **{f"cpu-{name}": ",".join(str(p) for p in passes_for(name)) for name in ("avx512", "avx2", "baseline")},
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
    """One run of the path over a copy of `module`.

    `architecture` ("sm_90") is that of the GPUs it names, as far as they have one in common.
    """

    module: ModuleOp
    target: CpuTarget
    store: ObjectStore
    constants: Mapping[str, Any] = field(default_factory=dict[str, Any])
    name: str = "model"
    options: Options = DEFAULTS
    architecture: str = ""
    cubins: bool = False
    """Whether machine code for the GPU is made too, where nvJitLink is installed."""
    traced: bool = False
    """Whether PTX says which line of its kernel's text an instruction comes from."""

    def __post_init__(self) -> None:
        self.pipeline = passes_for(self.target.name, self.options)
        self.attempt = Attempt(self.name, self.module, self.pipeline)
        self.host: Backend = CpuBackend(self.target)
        self.sight = Sight(self.name, "+".join(filter(None, (self.target.name, self.architecture))))
        self.places: dict[str, str] = {}
        self.edited: set[str] = set()

    def run(self) -> Compiled:
        """Raises CompileError naming op, place and pass, with a reproducer written beside."""
        infos = self.signature
        with stage("passes"):
            module = self.passes()
        functions = {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, kernel.FuncOp)}
        plans = {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, plan.FuncOp)}
        with stage("source"):
            sources = {name: self.source(f) for name, f in functions.items()}
        with stage("object code"):
            kernels = [self.kernel(sources[name], self.backend(f)) for name, f in functions.items()]
        with stage("plan"):
            constants = [*(Constant(i, self.bytes_of(i)) for i in infos.constants), *outlined(module)]
            stored = [*(i.name for i in infos.weights), *(c.info.name for c in constants)]
            places = argument_places(plans, len(infos.inputs), stored)
            init, main = (self.program(Encoder(plans[n], functions, sources), p) for n, p in places.items())
        native = not self.accelerated or not all(f.is_for_gpu for f in functions.values())
        artifact = Artifact(
            name=self.name,
            target="+".join(dict.fromkeys(self.backend(f).name for f in functions.values())) or self.target.name,
            cpu_features=tuple(sorted(self.target.required)) if native else (),
            llvmlite=("0.50", "0.51"),
            inputs=infos.inputs,
            outputs=infos.outputs,
            weights=infos.weights,
            constants=tuple(constants),
            init=init,
            main=main,
            kernels=tuple(kernels),
            walker=None if self.accelerated else self.walker(),
            text="\n".join(str(p) for p in plans.values()),
            architecture=self.architecture if any(k.is_ptx for k in kernels) else "",
        )
        return Compiled(placed(artifact, self.module), tuple(sources.values()))

    @cached_property
    def signature(self) -> Signature:
        """What goes in and out, read off the input. Raises CompileError for one that breaks a rule of its dialect."""
        check_module(self.module)
        signature = describe(self.module, self.constants)
        if self.accelerated and not self.architecture:
            raise CompileError(
                f"the model runs on {', '.join(self.accelerated)}, and nothing says which GPU that is",
                remedy="give the session its devices: InferenceSession(devices=[Accelerator()]); without one, set "
                "PELTON_TARGET to an architecture such as sm_90",
            )
        return signature

    @cached_property
    def accelerated(self) -> tuple[str, ...]:
        """The devices other than the host that the model names."""
        return tuple(name for name in devices_of(self.module) if name != HOST)

    def backend(self, function: kernel.FuncOp) -> Backend:
        """What makes the code of a kernel."""
        if not function.is_for_gpu:
            return self.host
        kept = cache_folder() / "sources" if self.traced else None
        return replace(CudaBackend.named(self.architecture), traced=kept)

    def bytes_of(self, info: TensorInfo) -> bytes:
        return self.constants[info.name].tobytes()

    def passes(self) -> ModuleOp:
        """What the passes make of a copy of the input."""
        module, context, last = self.module.clone(), new_context(), ""
        number_ops(module)  # what a run says about an op is about the user's, whatever passes make of it
        self.sight.module(None, module)
        try:
            for each in self.pipeline:
                last = each.name
                with stage(last):
                    each.apply(context, module)
                self.sight.module(each, module)
            check_module(module, last)
        except KnobError:
            raise
        except Exception as error:
            raise self.attempt.in_pass(last, error) from error
        return module

    # code
    def source(self, function: kernel.FuncOp) -> Source:
        """The text of a kernel: printed, or taken from the folder of edited ones."""
        place, backend = location_text(function), self.backend(function)
        name = function.sym_name.data
        text, _ = backend.printers(name)
        source = self.printed(text, name, place, lambda: backend.source(function))
        if (found := edited(f"{source.name}.py")) is not None:
            path, text = found
            place, source = str(path), replace(source, text=text)
            self.edited.add(source.name)
        self.places[source.name] = place
        self.sight.source(source, backend, source.name in self.edited)
        return source

    def kernel(self, source: Source, backend: Backend) -> KernelCode:
        """The code of a kernel: from the cache, else compiled and put there."""
        key = backend.key(source)
        data = self.store.get(key)
        if data is None:
            _, code = backend.printers(source.name)
            with stage(f"compile {source.name}"):
                data = self.printed(code, source.name, self.places[source.name], lambda: backend.compile(source))
            self.store.put(key, data)
        self.sight.code(source, backend, source.name in self.edited)
        code = backend.code(source, data)
        return code._replace(cubin=self.cubin(code, key, backend)) if code.is_ptx and self.cubins else code

    def cubin(self, code: KernelCode, key: str, backend: Backend) -> bytes:
        """The machine code of PTX that is kept under `key`: from the cache, else made and put there."""
        key = cubin_key(key)
        data = self.store.get(key)
        if data is None:
            _, printer = backend.printers(code.name)
            data = self.printed(printer, code.name, self.places[code.name], lambda: backend.machine_code(code))
            if data:
                self.store.put(key, data)
        return data

    def printed(self, printer: str, name: str, place: str, make: Callable[[], T]) -> T:
        """What `make` makes of the kernel `name`, as `pelton-opt -t` would. Raises CompileError naming it and the line
        it came from.
        """
        try:
            return make()
        except Exception as error:
            stage = f"{printer.partition('{')[0]} of kernel {name}"
            raise self.attempt.in_print(stage, printer, place, error) from error

    def program(self, encoder: Encoder, places: Sequence[int | None]) -> Program:
        try:
            return encoder.run(places)
        except Exception as error:
            raise self.attempt.in_pass("plan", error) from error

    def walker(self) -> KernelCode:
        """The function that walks programs, kept like a kernel."""
        key = walker_key(self.target)
        code = self.store.get(key)
        if code is None:
            from pelton.codegen.cpu.walker import compile_walker

            code = compile_walker(self.target)
            self.store.put(key, code)
        return KernelCode("walk", code)


def argument_places(
    plans: Mapping[str, plan.FuncOp], inputs: int, stored: Sequence[str]
) -> dict[str, list[int | None]]:
    """Per plan, which of its arguments each argument of its program is.

    Inputs and what `init` prepares go by position; what is `stored` by name, since a plan takes only what it uses.
    """
    prepared = sum(isinstance(op, plan.OutputOp) for op in plans["init"].body.block.ops)
    given = {"init": 0, "main": inputs + prepared}
    known = {name: {n.data: k for k, n in enumerate(plans[name].names) if k >= first} for name, first in given.items()}
    init, main = ([known[name].get(key) for key in stored] for name in given)
    return {"init": init, "main": [*range(inputs), *main, *range(inputs, inputs + prepared)]}


__all__ = ["PIPELINES", "Compilation", "CompileError", "Compiled", "ObjectStore", "cuda_passes", "passes_for"]
