"""The plan walker: one compiled function that runs any `Program`, so that no code is compiled per plan.

Enters: a CPU target. Leaves: object code of `i64 walk(i64 *frame)`, which ships in every artifact like a kernel.
Next: `runtime/walker.py` lays out the frame and calls it. The frame's first words are the addresses of the program's words,
of the table of kernel addresses, of the values and of ctx. The result is 0, or 1 + the position of the instruction that
failed. `PythonWalker` there does the same in plain Python and is the definition; a test compares them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pelton.codegen.cpu import contexts
from pelton.codegen.cpu.compile import TRIPLE, machine_for, optimise
from pelton.codegen.cpu.elements import I64, MASK
from pelton.codegen.cpu.kernel_types import SCALAR_I64, VOID, Call, Lanes, Pointer, Word
from pelton.codegen.cpu.seam import ir
from pelton.codegen.cpu.target import CpuTarget
from pelton.program import LOWEST, Op

NAME = "walk"
I32_LLVM, I64_LLVM = ir.IntType(32), I64.llvm
WORDS_LLVM = I64_LLVM.as_pointer()

END, CONST, ADD, SUB, MUL, FLOORDIV, MIN, MAX, REQUIRE_EQ, REQUIRE_LE, LAUNCH, COPY = (int(op) for op in Op)


def _word(name: str, gives: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a word of the walker's text from how it is written: `write(builder, *LLVM arguments)`."""

    def decorate(write: Callable[..., Any]) -> Word:
        def emit(call: Call) -> Any:
            numbers = range(len(call.kinds))
            args = [call.args[i] if isinstance(call.kinds[i], Pointer) else call.index(i).llvm for i in numbers]
            return write(call.emitter.builder, *args)

        return Word(name, lambda lanes, args: gives, emit)

    return decorate


@_word("pointer", Pointer(I64))
def pointer(builder: Any, address: Any) -> Any:
    """An address as a pointer to words."""
    return builder.inttoptr(address, WORDS_LLVM)


@_word("call_kernel", SCALAR_I64)
def call_kernel(builder: Any, kernel: Any, values: Any, first: Any, items: Any, ctx: Any) -> Any:
    """The status of kernel(&values[first], 0, items, ctx)."""
    kind = ir.FunctionType(I32_LLVM, [WORDS_LLVM, I64_LLVM, I64_LLVM, WORDS_LLVM])
    function = builder.inttoptr(kernel, kind.as_pointer())
    status = builder.call(function, [builder.gep(values, [first]), I64_LLVM(0), items, ctx])
    return builder.sext(status, I64_LLVM)


@_word("copy_bytes", VOID)
def copy_bytes(builder: Any, destination: Any, source: Any, size: Any) -> Any:
    """memcpy."""
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, byte, I64_LLVM, ir.IntType(1)])
    name = "llvm.memcpy.p0.p0.i64"
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    builder.call(
        function, [builder.inttoptr(destination, byte), builder.inttoptr(source, byte), size, ir.IntType(1)(0)]
    )
    return I64_LLVM(0)


@_word("quotient", SCALAR_I64)
def quotient(builder: Any, a: Any, b: Any) -> Any:
    """a / b rounded towards zero; undefined for b = 0 and for LOWEST / -1."""
    return builder.sdiv(a, b)


def _overflows(name: str) -> Any:
    """A word: whether the operation on two words leaves 64 bits."""

    def write(builder: Any, a: Any, b: Any) -> Any:
        pair = getattr(builder, f"s{name}_with_overflow")(a, b)
        return builder.extract_value(pair, 1)

    return _word(f"{name}_overflows", Lanes(MASK, 0))(write)


add_overflows, sub_overflows, mul_overflows = (_overflows(name) for name in ("add", "sub", "mul"))


def walk(frame: Any, stop: Any) -> None:
    """Run the words at frame[0] until END; stop[0] is the result."""
    program = pointer(frame[0])
    kernels = pointer(frame[1])
    values = pointer(frame[2])
    ctx = pointer(frame[3])
    at = 0
    while True:
        op = program[at]
        stop[0] = at + 1
        if op == LAUNCH:
            count = program[at + 5]
            first = program[at + 4]
            for i in range(count):
                values[first + i] = values[program[at + 6 + i]]
            status = call_kernel(kernels[program[at + 1]], values, first, values[program[at + 3]], ctx)
            if status != 0:
                return
            if ctx[0] != 0:
                return
            at += 6 + count
        elif op == END:
            stop[0] = 0
            return
        elif op == CONST:
            values[program[at + 1]] = program[at + 2]
            at += 3
        elif op == COPY:
            size = values[program[at + 3]]
            if size < 0:
                return
            copy_bytes(values[program[at + 1]], values[program[at + 2]], size)
            at += 4
        else:
            a = values[program[at + 2]]
            b = values[program[at + 3]]
            if op == REQUIRE_EQ:
                if a != b:
                    return
            elif op == REQUIRE_LE:
                if a > b:
                    return
            else:
                result = a
                if op == ADD:
                    if add_overflows(a, b):
                        return
                    result = a + b
                elif op == SUB:
                    if sub_overflows(a, b):
                        return
                    result = a - b
                elif op == MUL:
                    if mul_overflows(a, b):
                        return
                    result = a * b
                elif op == FLOORDIV:
                    if b == 0:
                        return
                    if b == -1:
                        if a == LOWEST:
                            return
                    result = quotient(a, b)
                    if result * b != a:
                        if (a ^ b) < 0:
                            result = result - 1
                elif op == MIN:
                    result = min(a, b)
                elif op == MAX:
                    result = max(a, b)
                else:
                    return
                values[program[at + 1]] = result
            at += 4


def compile_walker(target: CpuTarget) -> bytes:
    """An ELF object that defines `walk`."""
    machine = machine_for(target)
    machine.typing.lanes = 0
    words = Pointer(I64)
    module = contexts.llvm_module(walk, [words, words], machine.typing, machine.context)
    module.triple, module.data_layout = TRIPLE, machine.data_layout
    _add_entry(module)
    return bytes(machine.machine.emit_object(optimise(str(module), machine)))


def _add_entry(module: Any) -> None:
    """`i64 walk(i64 *frame)`: room for the result, the body, the result."""
    body = module.globals[contexts.BODY]
    body.linkage = "private"
    body.attributes.add("alwaysinline")
    entry = ir.Function(module, ir.FunctionType(I64_LLVM, [WORDS_LLVM]), NAME)
    builder = ir.IRBuilder(entry.append_basic_block("entry"))
    stop = builder.alloca(I64_LLVM)
    builder.call(body, [entry.args[0], stop])
    builder.ret(builder.load(stop))
