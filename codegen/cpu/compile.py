"""Kernel texts → object files. `Source`s and a target enter; one ELF object per kernel leaves, for the artifact and
the cache.

Each object defines one symbol, the kernel's name, with the ABI `i32 kernel(const i64 *args, i64 lo, i64 hi, i64
*ctx)`. Numba reads the text (contexts.py); one LLVM pipeline with a target machine of our own optimises and assembles
it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from threading import Lock
from typing import Any

from pelton.codegen.cpu import contexts, vocabulary
from pelton.codegen.cpu.elements import I64, STORAGE
from pelton.codegen.cpu.kernel_types import SCALAR_I64, Pointer
from pelton.codegen.cpu.seam import binding, ir
from pelton.codegen.cpu.target import CpuTarget
from pelton.codegen.source import Source
from pelton.support.elf import read_symbols
from pelton.support.errors import CompileError, InternalError

TRIPLE = "x86_64-unknown-linux-gnu"

PASSES = ("always_inliner", "sroa", "instruction_combine", "simplify_cfg", "new_gvn", "dead_code_elimination")
"""All that the IR of a text needs: slots to registers, shared subexpressions once. The texts are vectorised, the
words written as they shall run; LLVM's own O2 costs three times as much and gives the same speed.
"""

LAST = "global_dead_code_eliminate"
"""For a user's body: what it does not call must not be left, as it may call what there is not."""

LANES = (2, 4, 8, 16, 32, 64)
"""What a function may choose as its logical lanes: a mask of them fits a 64-bit word."""

frontend = Lock()
"""Numba's types and contexts are shared by all threads and targets; one text is read at a time."""


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


def machine_for(target: CpuTarget) -> Machine:
    """The one `Machine` of this target."""
    with frontend:
        return _machine(target)


@cache
def _machine(target: CpuTarget) -> Machine:
    return Machine(target)


def unoptimised(source: Source, machine: Machine) -> str:
    """LLVM IR as Numba's lowering leaves it, with the ABI shim. Raises CompileError for a text outside the
    vocabulary.
    """
    if source.user_body:
        from pelton.codegen.cpu.user_body import llvm_text  # all of Numba: only where a user's body needs it

        with frontend:
            return llvm_text(source, machine.target, TRIPLE, machine.data_layout)
    if source.lanes not in LANES:
        raise CompileError(
            f"kernel {source.name} asks for vectors of a length there is none of",
            expected=f"one of {', '.join(map(str, LANES))} lanes",
            got=f"{source.lanes}",
        )
    namespace = vocabulary.names(source.lanes)
    namespace["__name__"] = __name__
    buffers = [Pointer(STORAGE[element]) for _, element in source.buffers]
    parameters = [*buffers, *([SCALAR_I64] * (len(source.symbols) + 2)), Pointer(I64)]
    with frontend:
        machine.typing.lanes = source.lanes
        try:
            exec(compile(source.text, f"<{source.name}>", "exec"), namespace)
            module = contexts.llvm_module(namespace[source.name], parameters, machine.typing, machine.context)
        except Exception as error:
            raise _text_error(source, error) from error
        module.triple, module.data_layout = TRIPLE, machine.data_layout
        _add_shim(module, source.name)
        return str(module)


def _text_error(source: Source, error: Exception) -> CompileError:
    """What is wrong with a text, and on which of its lines."""
    reason = str(error)
    line = re.search(rf"<{re.escape(source.name)}>\W+(?:line )?(\d+)", reason)
    place = f"line {line[1]}: {source.text.splitlines()[int(line[1]) - 1].strip()}" if line else ""
    return CompileError(
        f"the text of kernel {source.name} does not compile",
        op=source.name,
        location=place,
        got=reason.splitlines()[0] if reason else repr(error),
        remedy="a text calls the words of codegen/cpu/vocabulary.py and nothing else",
    )


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
    return optimise(unoptimised(source, machine), machine, PASSES if not source.user_body else (*PASSES, LAST))


def optimise(text: str, machine: Machine, names: Sequence[str] = PASSES) -> Any:
    """LLVM IR as text, ready for the assembler."""
    module = binding.parse_assembly(text)
    passes = binding.newpassmanagers.create_new_module_pass_manager()
    for name in names:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, binding.create_pass_builder(machine.machine, binding.create_pipeline_tuning_options()))
    return module


def compile_sources(sources: Sequence[Source], target: CpuTarget) -> dict[str, bytes]:
    """An ELF object per source, by kernel name."""
    machine = machine_for(target)
    return {s.name: _checked(s, bytes(machine.machine.emit_object(optimised(s, machine)))) for s in sources}


def _checked(source: Source, code: bytes) -> bytes:
    """`code` if it calls nothing outside itself, as the loader demands. Raises CompileError naming the symbols."""
    name, unknown = source.name, read_symbols(code).undefined
    if unknown and source.user_body:
        from pelton.codegen.cpu.user_calls import NAMES

        raise CompileError(
            f"the body of the custom op {name} calls functions that no kernel may call",
            op=name,
            expected=f"of mathematical functions, {NAMES}",
            got=", ".join(sorted(unknown)),
            remedy="write them with those that there are",
        )
    if unknown:
        raise InternalError(
            f"kernel {name} calls functions that no kernel may call",
            expected="code that stands alone",
            got=", ".join(sorted(unknown)),
            remedy="write the operation in codegen/cpu without LLVM operations that this target leaves to libm",
        )
    return code


def assembly(source: Source, target: CpuTarget) -> str:
    """What `compile_sources` assembles, as text. Raises as that does."""
    machine = machine_for(target)
    module = optimised(source, machine)
    _checked(source, bytes(machine.machine.emit_object(module)))
    return machine.machine.emit_assembly(module)


def llvm_ir(source: Source, target: CpuTarget) -> str:
    """The optimised LLVM IR of a kernel."""
    return str(optimised(source, machine_for(target)))
