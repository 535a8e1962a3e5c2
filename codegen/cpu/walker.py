"""The plan walker: one compiled function that runs any `Program`, so that no code is compiled per plan.

Enters: a CPU target. Leaves: object code of `i64 walk(i64 *frame)`, which ships in every artifact like a kernel.
The same object defines the functions of the thread pool (`pool.py`). Next: `runtime/walker.py` lays out the frame and
calls it. The frame's first words are the addresses of the program's words, of the table of kernel addresses, of the
values, of ctx, of `clock_gettime`, of a step per launch (how many items a thread takes at a time; 0: all of them, on
this thread) and of the pool, and how many threads may take part. The result is 0, or 1 + the position of the
instruction that failed. `PythonWalker` there does the same in plain Python, on one thread, and is the definition; a
test compares them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pelton.codegen.cpu.kernel_types import VOID
from pelton.codegen.cpu.native import (
    I32_LLVM,
    I64_LLVM,
    KERNEL_LLVM,
    TRUTH,
    WORDS,
    WORDS_LLVM,
    call_address,
    compile_texts,
    pointer,
    word,
)
from pelton.codegen.cpu.pool import POOL
from pelton.codegen.cpu.seam import ir
from pelton.codegen.cpu.target import CpuTarget
from pelton.program import HEAD, LOWEST, RING_WORDS, WHOLE, Op
from pelton.support.pool_words import PoolWord

NAME = "walk"
BIT = ir.IntType(1)
SHARE_LLVM = ir.FunctionType(I64_LLVM, [WORDS_LLVM, *[I64_LLVM] * 6])

END, CONST, LAUNCH, COPY, MARK, TRACE = map(int, (Op.END, Op.CONST, Op.LAUNCH, Op.COPY, Op.MARK, Op.TRACE))
MONOTONIC = 1


@word("launch", TRUTH)
def launch(builder: Any, frame: Any, kernel: Any, args: Any, items: Any, number: Any) -> Any:
    """Whether kernel(args, lo, hi, ctx) failed: called once, for all items, or by the pool, some at a time."""
    context, steps, pool, threads = (builder.load(builder.gep(frame, [I64_LLVM(index)])) for index in (3, 5, 6, 7))
    ctx, pool = (builder.inttoptr(address, WORDS_LLVM) for address in (context, pool))
    step = _step(builder, steps, threads, number)
    with builder.if_else(builder.icmp_signed("==", step, I64_LLVM(0))) as (alone, shared):
        with alone:
            status = call_address(builder, kernel, KERNEL_LLVM, [args, I64_LLVM(0), items, ctx])
            results = [(builder.sext(status, I64_LLVM), builder.block)]
        with shared:
            share = builder.load(builder.gep(pool, [I64_LLVM(PoolWord.SHARE)]))
            numbers = [kernel, builder.ptrtoint(args, I64_LLVM), items, step, context, threads]
            status = call_address(builder, share, SHARE_LLVM, [pool, *numbers])
            results.append((status, builder.block))
    refused = builder.phi(I64_LLVM)
    for status, block in results:
        refused.add_incoming(status, block)
    return builder.icmp_signed("!=", builder.or_(refused, builder.load(ctx)), I64_LLVM(0))


def _step(builder: Any, steps: Any, threads: Any, number: Any) -> Any:
    """How many items of launch `number` a thread takes at a time; 0: all. Only frames of several threads have steps."""
    step = [(I64_LLVM(0), builder.block)]
    with builder.if_then(builder.icmp_signed(">", threads, I64_LLVM(1))):
        step.append((builder.load(builder.gep(builder.inttoptr(steps, WORDS_LLVM), [number])), builder.block))
    chosen = builder.phi(I64_LLVM)
    for value, block in step:
        chosen.add_incoming(value, block)
    return chosen


@word("place", WORDS)
def place(builder: Any, words: Any, index: Any) -> Any:
    """A pointer to one of the words."""
    return builder.gep(words, [index])


def _copy(builder: Any, destination: Any, source: Any, size: Any) -> Any:
    """Copy between ranges that do not overlap: 32 bytes at a time, then the rest. An object must not call memcpy."""
    at = I64_LLVM(0)
    for step in (32, 1):
        kind = ir.VectorType(ir.IntType(8), step) if step > 1 else ir.IntType(8)
        before, head, body, after = builder.block, *(builder.append_basic_block("copy") for _ in range(3))
        builder.branch(head)
        builder.position_at_end(head)
        offset = builder.phi(I64_LLVM)
        end = builder.add(offset, I64_LLVM(step))
        builder.cbranch(builder.icmp_signed("<=", end, size), body, after)
        builder.position_at_end(body)
        start, to = (builder.inttoptr(builder.add(base, offset), kind.as_pointer()) for base in (source, destination))
        builder.store(builder.load(start, align=1), to, align=1)
        builder.branch(head)
        offset.add_incoming(at, before)
        offset.add_incoming(end, body)
        builder.position_at_end(after)
        at = offset
    return at


copy_bytes = word("copy_bytes", VOID)(_copy)


@word("read_clock", VOID)
def read_clock(builder: Any, clock: Any, values: Any, first: Any) -> Any:
    """Seconds and nanoseconds of the monotonic clock into values[first] and values[first + 1]."""
    kind = ir.FunctionType(I32_LLVM, [I32_LLVM, WORDS_LLVM])
    function = builder.inttoptr(clock, kind.as_pointer())
    return builder.call(function, [I32_LLVM(MONOTONIC), builder.gep(values, [first])])


@word("note", VOID)
def note(builder: Any, ring: Any, site: Any, source: Any, size: Any) -> None:
    """Write an entry to the ring at that address; where there is no room, count it."""
    kept = builder.select(builder.icmp_signed(">", size, I64_LLVM(WHOLE)), I64_LLVM(HEAD), size)
    words = builder.inttoptr(ring, WORDS_LLVM)
    used_at, lost_at, room_at = (builder.gep(words, [I64_LLVM(k)]) for k in range(3))
    used = builder.load(used_at)
    end = builder.add(builder.add(used, I64_LLVM(16)), kept)
    with builder.if_else(builder.icmp_signed("<=", end, builder.load(room_at))) as (fits, full):
        with fits:
            place = builder.add(builder.add(ring, I64_LLVM(8 * RING_WORDS)), used)
            head = builder.inttoptr(place, WORDS_LLVM)
            builder.store(site, head)
            builder.store(kept, builder.gep(head, [I64_LLVM(1)]))
            _copy(builder, builder.add(place, I64_LLVM(16)), source, kept)
            builder.store(builder.and_(builder.add(end, I64_LLVM(7)), I64_LLVM(-8)), used_at)
        with full:
            builder.store(builder.add(builder.load(lost_at), I64_LLVM(1)), lost_at)


@word("compute", TRUTH)
def compute(builder: Any, op: Any, values: Any, destination: Any, a: Any, b: Any) -> Any:
    """Carry out an opcode of two operands: whether it failed; if not, its value is in values[destination]."""
    done, unknown = builder.append_basic_block("done"), builder.append_basic_block("unknown")
    choice = builder.switch(op, unknown)
    results = [(BIT(1), unknown)]
    for code, rule in RULES.items():
        choice.add_case(I64_LLVM(int(code)), block := builder.append_basic_block(code.name.lower()))
        builder.position_at_end(block)
        value, failed = rule(builder, a, b)
        if value is not None:
            with builder.if_then(builder.not_(failed)):
                builder.store(value, builder.gep(values, [destination]))
        results.append((failed, builder.block))
        builder.branch(done)
    builder.position_at_end(unknown)
    builder.branch(done)
    builder.position_at_end(done)
    failed = builder.phi(BIT)
    for value, block in results:
        failed.add_incoming(value, block)
    return failed


def _checked(name: str) -> Callable[[Any, Any, Any], tuple[Any, Any]]:
    """LLVM's operation that tells whether the result leaves 64 bits."""

    def rule(builder: Any, a: Any, b: Any) -> tuple[Any, Any]:
        pair = getattr(builder, f"{name}_with_overflow")(a, b)
        return builder.extract_value(pair, 0), builder.extract_value(pair, 1)

    return rule


def _floordiv(builder: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Rounded down. The division itself sees 1 where it would trap."""
    zero, minus = I64_LLVM(0), I64_LLVM(-1)
    overflow = builder.and_(builder.icmp_signed("==", b, minus), builder.icmp_signed("==", a, I64_LLVM(LOWEST)))
    failed = builder.or_(builder.icmp_signed("==", b, zero), overflow)
    divisor = builder.select(failed, I64_LLVM(1), b)
    quotient = builder.sdiv(a, divisor)
    inexact = builder.icmp_signed("!=", builder.mul(quotient, divisor), a)
    negative = builder.icmp_signed("<", builder.xor(a, divisor), zero)
    return builder.add(quotient, builder.sext(builder.and_(inexact, negative), I64_LLVM)), failed


def _smaller(operator: str) -> Callable[[Any, Any, Any], tuple[Any, Any]]:
    """a where `a operator b`, else b."""
    return lambda builder, a, b: (builder.select(builder.icmp_signed(operator, a, b), a, b), BIT(0))


def _required(operator: str) -> Callable[[Any, Any, Any], tuple[Any, Any]]:
    """No value; fails unless `a operator b`."""
    return lambda builder, a, b: (None, builder.not_(builder.icmp_signed(operator, a, b)))


RULES: dict[Op, Callable[[Any, Any, Any], tuple[Any, Any]]] = {
    Op.ADD: _checked("sadd"),
    Op.SUB: _checked("ssub"),
    Op.MUL: _checked("smul"),
    Op.FLOORDIV: _floordiv,
    Op.MIN: _smaller("<"),
    Op.MAX: _smaller(">"),
    Op.REQUIRE_EQ: _required("=="),
    Op.REQUIRE_LE: _required("<="),
}
"""How an opcode of two operands is written: (value or None, whether it failed)."""


def walk(frame: Any, stop: Any) -> None:
    """Run the words at frame[0] until END; stop[0] is the result."""
    program, kernels, values = pointer(frame[0]), pointer(frame[1]), pointer(frame[2])
    at = launches = 0
    while True:
        op = program[at]
        stop[0] = at + 1
        if op == LAUNCH:
            first, count = program[at + 4], program[at + 5]
            for i in range(count):
                values[first + i] = values[program[at + 6 + i]]
            args, items = place(values, first), values[program[at + 3]]
            if launch(frame, kernels[program[at + 1]], args, items, launches):
                return
            launches += 1
            at += 6 + count
        elif op == END:
            stop[0] = 0
            return
        elif op == CONST:
            values[program[at + 1]] = program[at + 2]
            at += 3
        elif op == COPY:
            if values[program[at + 3]] < 0:
                return
            copy_bytes(values[program[at + 1]], values[program[at + 2]], values[program[at + 3]])
            at += 4
        elif op == TRACE:
            if values[program[at + 4]] < 0:
                return
            note(values[program[at + 1]], program[at + 2], values[program[at + 3]], values[program[at + 4]])
            at += 5
        elif op == MARK:
            read_clock(frame[4], values, program[at + 1])
            at += 4
        else:
            if compute(op, values, program[at + 1], values[program[at + 2]], values[program[at + 3]]):
                return
            at += 4


def compile_walker(target: CpuTarget) -> bytes:
    """An ELF object that defines `walk`, and the functions of the thread pool."""
    return compile_texts(((NAME, walk, (WORDS,)), *POOL), target)
