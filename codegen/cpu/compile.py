"""Kernel texts → object files. `Source`s and a target enter; one ELF object per kernel leaves, for the artifact and the cache.

Each object defines one symbol, the kernel's name, with the ABI `i32 kernel(const i64 *args, i64 lo, i64 hi, i64 *ctx)`. Numba
reads the text (contexts.py); one LLVM pipeline with a target machine of our own optimises and assembles it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from pelton.codegen.cpu import contexts, vocabulary
from pelton.codegen.cpu.elements import I64, STORAGE
from pelton.codegen.cpu.kernel_types import SCALAR_I64, Pointer
from pelton.codegen.cpu.seam import binding, ir
from pelton.codegen.cpu.target import CpuTarget
from pelton.codegen.source import Source

TRIPLE = "x86_64-unknown-linux-gnu"


class Machine:
    """LLVM and Numba set up for one target; made once per process."""

    def __init__(self, target: CpuTarget) -> None:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        machine = binding.Target.from_triple(TRIPLE).create_target_machine(
            cpu=target.llvm_cpu, features=target.llvm_features, opt=2, reloc="pic", codemodel="small"
        )
        self.machine = machine
        self.data_layout = str(machine.target_data)
        self.typing = contexts.KernelTyping(vocabulary.SYNTAX)
        self.context = contexts.KernelTarget(self.typing, target)
        self.target = target


@cache
def machine_for(target: CpuTarget) -> Machine:
    """The one `Machine` of this target."""
    return Machine(target)


def unoptimised(source: Source, machine: Machine) -> str:
    """LLVM IR as Numba's lowering leaves it, with the ABI shim."""
    namespace = vocabulary.names(source.lanes)
    namespace["__name__"] = __name__
    exec(compile(source.text, f"<{source.name}>", "exec"), namespace)
    buffers = [Pointer(STORAGE[element]) for _, element in source.buffers]
    parameters = [*buffers, *([SCALAR_I64] * (len(source.symbols) + 2)), Pointer(I64)]
    machine.typing.lanes = source.lanes
    module = contexts.llvm_module(namespace[source.name], parameters, machine.typing, machine.context)
    module.triple, module.data_layout = TRIPLE, machine.data_layout
    _add_shim(module, source.name)
    return str(module)


def _add_shim(module: Any, name: str) -> None:
    """The kernel's ABI: unpack `args`, run the body, return 0."""
    body = module.globals[contexts.BODY]
    body.linkage = "private"
    body.attributes.add("alwaysinline")
    words = I64.llvm.as_pointer()
    shim = ir.Function(module, ir.FunctionType(ir.IntType(32), [words, I64.llvm, I64.llvm, words]), name)
    builder = ir.IRBuilder(shim.append_basic_block("entry"))
    args, lo, hi, ctx = shim.args
    values: list[Any] = []
    for i, parameter in enumerate(body.args[:-3]):
        word = builder.load(builder.gep(args, [ir.Constant(I64.llvm, i)]))
        values.append(builder.inttoptr(word, parameter.type) if parameter.type.is_pointer else word)
    builder.call(body, [*values, lo, hi, ctx])
    builder.ret(ir.Constant(ir.IntType(32), 0))


def optimised(source: Source, machine: Machine) -> Any:
    """The LLVM module of a kernel, ready for the assembler."""
    return optimise(unoptimised(source, machine), machine)


def optimise(text: str, machine: Machine) -> Any:
    """LLVM IR as text, ready for the assembler."""
    module = binding.parse_assembly(text)
    options = binding.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = False
    options.slp_vectorization = False
    builder = binding.create_pass_builder(machine.machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def compile_sources(sources: Sequence[Source], target: CpuTarget) -> dict[str, bytes]:
    """An ELF object per source, by kernel name."""
    machine = machine_for(target)
    return {s.name: bytes(machine.machine.emit_object(optimised(s, machine))) for s in sources}


def assembly(source: Source, target: CpuTarget) -> str:
    """What `compile_sources` assembles, as text."""
    machine = machine_for(target)
    return machine.machine.emit_assembly(optimised(source, machine))


def llvm_ir(source: Source, target: CpuTarget) -> str:
    """The optimised LLVM IR of a kernel."""
    return str(optimised(source, machine_for(target)))
