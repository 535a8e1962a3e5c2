"""Functions that are no kernels: the plan walker and the thread pool. Texts and their words enter; object code leaves.

Such a text is a Python function over 64-bit words and pointers to them. Its last parameter is a pointer to the result.
Next: `walker.py` and `pool.py` have the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pelton.codegen.cpu import contexts
from pelton.codegen.cpu.compile import TRIPLE, Machine, frontend, machine_for, optimise
from pelton.codegen.cpu.elements import I64, MASK
from pelton.codegen.cpu.kernel_types import SCALAR_I64, Call, Lanes, Pointer, Word
from pelton.codegen.cpu.seam import binding, ir
from pelton.codegen.cpu.target import CpuTarget

I32_LLVM, I64_LLVM = ir.IntType(32), I64.llvm
WORDS_LLVM = I64_LLVM.as_pointer()
WORDS = Pointer(I64)
NUMBER = SCALAR_I64
TRUTH = Lanes(MASK, 0)
KERNEL_LLVM = ir.FunctionType(I32_LLVM, [WORDS_LLVM, I64_LLVM, I64_LLVM, WORDS_LLVM])


def word(name: str, gives: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a word of a text from how it is written: `write(builder, *LLVM arguments)`."""

    def decorate(write: Callable[..., Any]) -> Word:
        def emit(call: Call) -> Any:
            numbers = range(len(call.kinds))
            args = [call.args[i] if isinstance(call.kinds[i], Pointer) else call.index(i).llvm for i in numbers]
            return write(call.emitter.builder, *args)

        return Word(name, lambda lanes, args: gives, emit)

    return decorate


@word("pointer", WORDS)
def pointer(builder: Any, address: Any) -> Any:
    """An address as a pointer to words."""
    return builder.inttoptr(address, WORDS_LLVM)


def call_address(builder: Any, function: Any, kind: Any, args: Sequence[Any]) -> Any:
    """Call what stands at an address."""
    return builder.call(builder.inttoptr(function, kind.as_pointer()), args)


Text = tuple[str, Callable[..., None], tuple[Any, ...]]
"""A function of an object: its symbol, its text, the types of its parameters but the result."""


def compile_texts(texts: Sequence[Text], target: CpuTarget) -> bytes:
    """An ELF object that defines the functions; each returns its result, an i64."""
    machine = machine_for(target)
    whole, *others = (binding.parse_assembly(_module(text, machine)) for text in texts)
    for other in others:
        whole.link_in(other)
    return bytes(machine.machine.emit_object(optimise(str(whole), machine)))


def _module(text: Text, machine: Machine) -> str:
    name, function, parameters = text
    with frontend:
        machine.typing.lanes = 0
        module = contexts.llvm_module(function, [*parameters, WORDS], machine.typing, machine.context)
        module.triple, module.data_layout = TRIPLE, machine.data_layout
        _add_entry(module, name)
        return str(module)


def _add_entry(module: Any, name: str) -> None:
    """The function that others call: room for the result, the body, the result."""
    body = module.globals[contexts.BODY]
    body.linkage = "private"
    body.attributes.add("alwaysinline")
    kinds = [argument.type for argument in body.args[:-1]]
    entry = ir.Function(module, ir.FunctionType(I64_LLVM, kinds), name)
    builder = ir.IRBuilder(entry.append_basic_block("entry"))
    result = builder.alloca(I64_LLVM)
    builder.call(body, [*entry.args, result])
    builder.ret(builder.load(result))
