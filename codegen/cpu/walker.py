"""The plan walker: one compiled function that runs any `Program`, so that no code is compiled per plan.

Enters: a CPU target. Leaves: object code of `i64 walk(i64 *frame)`, shipped in every artifact.
Next: `runtime/plan.py` lays out the frame and calls it. The frame's first words are the addresses of the program's words,
of the table of kernel addresses, of the value array and of ctx. The result is 0, or 1 + the position of the instruction
that failed; `runtime/plan.py` has the same function in plain Python, which is the reference.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from pelton.program import LOWEST, Op

I32, I64 = ir.IntType(32), ir.IntType(64)
ADDRESS = types.CPointer(types.int64)
SIGNATURE = types.int64(ADDRESS)

END, CONST, ADD, SUB, MUL, FLOORDIV, MIN, MAX, REQUIRE_EQ, REQUIRE_LE, LAUNCH, COPY = (int(op) for op in Op)


@intrinsic
def pointer(typingctx: Any, address: Any) -> Any:
    """An address as a pointer to int64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], I64.as_pointer())

    return ADDRESS(types.int64), generate


@intrinsic
def offset(typingctx: Any, start: Any, words: Any) -> Any:
    """The address of `start[words]`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ptrtoint(builder.gep(args[0], [args[1]]), I64)

    return types.int64(ADDRESS, types.int64), generate


@intrinsic
def call_kernel(typingctx: Any, kernel: Any, args: Any, items: Any, ctx: Any) -> Any:
    """Call `i32 kernel(i64 *args, i64 0, i64 items, i64 *ctx)` by address."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        kernel, args, items, ctx = given
        words = I64.as_pointer()
        function = ir.FunctionType(I32, [words, I64, I64, words])
        frame = builder.inttoptr(args, words)
        return builder.call(builder.inttoptr(kernel, function.as_pointer()), [frame, I64(0), items, ctx])

    return types.int32(types.int64, types.int64, types.int64, ADDRESS), generate


@intrinsic
def copy_bytes(typingctx: Any, destination: Any, source: Any, size: Any) -> Any:
    """memcpy between two addresses."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        to, start = builder.inttoptr(args[0], byte), builder.inttoptr(args[1], byte)
        cgutils.raw_memcpy(builder, to, start, args[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


def walk(frame):  # pyright: ignore
    """Run the words at frame[0] until END; see the module's docstring."""
    program, code = pointer(frame[0]), pointer(frame[1])
    values, ctx = pointer(frame[2]), pointer(frame[3])
    at = 0
    while True:
        op = program[at]
        if op == LAUNCH:
            count = program[at + 5]
            args = program[at + 4]
            for i in range(count):
                values[args + i] = values[program[at + 6 + i]]
            kernel, items = code[program[at + 1]], values[program[at + 3]]
            if call_kernel(kernel, offset(values, args), items, ctx) != 0 or ctx[0] != 0:
                return at + 1
            at += 6 + count
            continue
        if op == END:
            return 0
        if op == CONST:
            values[program[at + 1]] = program[at + 2]
            at += 3
            continue
        if op == COPY:
            size = values[program[at + 3]]
            if size < 0:
                return at + 1
            copy_bytes(values[program[at + 1]], values[program[at + 2]], size)
            at += 4
            continue
        a, b = values[program[at + 2]], values[program[at + 3]]
        result = a
        if op == ADD:
            result = a + b
            if ((a ^ result) & (b ^ result)) < 0:
                return at + 1
        elif op == SUB:
            result = a - b
            if ((a ^ b) & (a ^ result)) < 0:
                return at + 1
        elif op == MUL:
            result = a * b
            if (a == -1 and b == LOWEST) or (a != 0 and a != -1 and result // a != b):
                return at + 1
        elif op == FLOORDIV:
            if b == 0 or (a == LOWEST and b == -1):
                return at + 1
            result = a // b
        elif op == MIN:
            result = a if a < b else b
        elif op == MAX:
            result = a if a > b else b
        elif (op == REQUIRE_EQ and a == b) or (op == REQUIRE_LE and a <= b):
            at += 4
            continue
        else:
            return at + 1
        values[program[at + 1]] = result
        at += 4
