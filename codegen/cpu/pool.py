"""The thread pool: how a launch is shared among threads, and what a worker does all day. Object code like the walker's.

Enters: the words of `support/pool_words.py`, which `runtime/pool.py` lays out. Leaves: `POOL`, two functions that ship
in the walker's object. `share` cuts the items of a launch in chunks and makes one ticket of them; it and the workers
claim chunks by adding 1 to the ticket, so that a thread the system has put aside holds nobody up. What is claimed in
vain is judged by the word that the addition gave, and so belongs to no other launch. Workers are made by the first
launch that wants them; when they have found nothing for a while they sleep until a launch wakes them.

No Python is in here, and no lock that a thread waits for: who finds the pool taken runs its launch alone.
"""

from __future__ import annotations

from typing import Any

from pelton.codegen.cpu.kernel_types import VOID
from pelton.codegen.cpu.native import (
    I32_LLVM,
    I64_LLVM,
    KERNEL_LLVM,
    NUMBER,
    TRUTH,
    WORDS,
    WORDS_LLVM,
    Text,
    call_address,
    word,
)
from pelton.codegen.cpu.seam import ir
from pelton.support.pool_words import SHARE_NAME, WORK_NAME, PoolWord

PATIENCE = 2000
"""Looks at the chunks that others still work on before the processor is offered to them."""

FUTEX, YIELD, SIGNAL_MASK = 202, 24, 14  # system calls of x86-64
WAIT_BITS, WAKE_BITS = 9 | 128, 10 | 128  # FUTEX_WAIT_BITSET and FUTEX_WAKE_BITSET, private to the process
BLOCK, SET, MASK_BYTES = 0, 2, 8
OWN_SIGNALS = (4, 5, 6, 7, 8, 11, 31, 32, 33)
"""What a worker takes: faults of its own, which faulthandler reports, and the two that libc sends to all threads, of
which one changes the user: setuid waits for every thread.
"""
DEAF = ~sum(1 << signal - 1 for signal in OWN_SIGNALS)

SYSCALL_LLVM = ir.FunctionType(I64_LLVM, [I64_LLVM], var_arg=True)
CREATE_LLVM = ir.FunctionType(I32_LLVM, [WORDS_LLVM, I64_LLVM, I64_LLVM, WORDS_LLVM])
PAUSE_LLVM = ir.FunctionType(ir.VoidType(), [])
BYTES_LLVM = ir.IntType(8).as_pointer()
MODES_LLVM = ir.FunctionType(ir.VoidType(), [BYTES_LLVM])


def _at(builder: Any, pool: Any, index: Any) -> Any:
    return builder.gep(pool, [index])


@word("look", NUMBER)
def look(builder: Any, pool: Any, index: Any) -> Any:
    """A word that other threads write."""
    return builder.load_atomic(_at(builder, pool, index), "seq_cst", 8)


@word("add", NUMBER)
def add(builder: Any, pool: Any, index: Any, number: Any) -> Any:
    """Add to such a word; gives what it was before."""
    return builder.atomic_rmw("add", _at(builder, pool, index), number, "seq_cst")


@word("swap", NUMBER)
def swap(builder: Any, pool: Any, index: Any, number: Any) -> Any:
    """Write such a word; gives what it was before."""
    return builder.atomic_rmw("xchg", _at(builder, pool, index), number, "seq_cst")


@word("pause", VOID)
def pause(builder: Any) -> Any:
    """Tell the processor that this loop waits."""
    return builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), PAUSE_LLVM), [])


@word("ticks", NUMBER)
def ticks(builder: Any) -> Any:
    """The processor's clock."""
    kind = ir.FunctionType(I64_LLVM, [])
    return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", (), kind), [])


@word("is_open", TRUTH)
def is_open(builder: Any, ticket: Any, number: Any) -> Any:
    """Whether thread `number` may take part in what a ticket is for, and a chunk of it is left."""
    chunk, chunks = (builder.and_(builder.lshr(ticket, I64_LLVM(bits)), I64_LLVM(0xFFFF)) for bits in (0, 16))
    left = builder.icmp_unsigned("<", chunk, chunks)
    return builder.and_(left, builder.icmp_unsigned("<", number, builder.lshr(ticket, I64_LLVM(32))))


@word("run_items", TRUTH)
def run_items(builder: Any, kernel: Any, args: Any, lo: Any, hi: Any, ctx: Any) -> Any:
    """Run items [lo, hi); whether the kernel refused."""
    args, ctx = (builder.inttoptr(address, WORDS_LLVM) for address in (args, ctx))
    return builder.icmp_signed("!=", call_address(builder, kernel, KERNEL_LLVM, [args, lo, hi, ctx]), I32_LLVM(0))


@word("create", TRUTH)
def create(builder: Any, pool: Any) -> Any:
    """Start a worker; whether that failed.

    It leaves the process's signals to other threads: one that they all block, to wait for it, must stay pending. A
    thread begins with the mask of the one that makes it, so there is no moment in which it takes one.
    """
    own = _mask_signals(builder, pool, BLOCK, I64_LLVM(DEAF))
    create, attributes, work = (
        builder.load(_at(builder, pool, I64_LLVM(index)))
        for index in (PoolWord.CREATE, PoolWord.ATTRIBUTES, PoolWord.WORK)
    )
    handle = _at(builder, pool, I64_LLVM(PoolWord.HANDLE))
    status = call_address(builder, create, CREATE_LLVM, [handle, attributes, work, pool])
    _mask_signals(builder, pool, SET, builder.load(own))
    return builder.icmp_signed("!=", status, I32_LLVM(0))


def _mask_signals(builder: Any, pool: Any, how: int, signals: Any) -> Any:
    """Change which signals this thread blocks; where it is noted which it blocked before."""
    mask, before = builder.alloca(I64_LLVM), builder.alloca(I64_LLVM)
    builder.store(signals, mask)
    places = [builder.ptrtoint(place, I64_LLVM) for place in (mask, before)]
    _system(builder, pool, I64_LLVM(SIGNAL_MASK), I64_LLVM(how), *places, I64_LLVM(MASK_BYTES))
    return before


@word("futex", VOID)
def futex(builder: Any, pool: Any, what: Any, number: Any, threads: Any) -> Any:
    """Wait while WAKES is `number`, or wake `number` of those who wait; `threads` has a bit for each meant."""
    place, zero = builder.ptrtoint(_at(builder, pool, I64_LLVM(PoolWord.WAKES)), I64_LLVM), I64_LLVM(0)
    return _system(builder, pool, I64_LLVM(FUTEX), place, what, number, zero, zero, threads)


@word("offer", VOID)
def offer(builder: Any, pool: Any) -> Any:
    """Let another thread have the processor."""
    return _system(builder, pool, I64_LLVM(YIELD))


@word("tell_modes", VOID)
def tell_modes(builder: Any, pool: Any) -> Any:
    """Note the floating-point modes of this thread."""
    return _modes(builder, "llvm.x86.sse.stmxcsr", pool)


@word("take_modes", VOID)
def take_modes(builder: Any, pool: Any) -> Any:
    """Compute as the thread that launches does: a worker's own modes are those of whoever made it, long ago."""
    return _modes(builder, "llvm.x86.sse.ldmxcsr", pool)


def _modes(builder: Any, intrinsic: str, pool: Any) -> Any:
    place = builder.bitcast(_at(builder, pool, I64_LLVM(PoolWord.MODES)), BYTES_LLVM)
    return builder.call(builder.module.declare_intrinsic(intrinsic, (), MODES_LLVM), [place])


def _system(builder: Any, pool: Any, *args: Any) -> Any:
    function = builder.load(_at(builder, pool, I64_LLVM(PoolWord.SYSCALL)))
    return call_address(builder, function, SYSCALL_LLVM, args)


LOCK, STARTED, MOST, SPIN = (int(w) for w in (PoolWord.LOCK, PoolWord.STARTED, PoolWord.MOST, PoolWord.SPIN))
KERNEL, ARGS, ITEMS, STEP, CTX = (
    int(w) for w in (PoolWord.KERNEL, PoolWord.ARGS, PoolWord.ITEMS, PoolWord.STEP, PoolWord.CTX)
)
TICKET, DONE, FAILED = (int(w) for w in (PoolWord.TICKET, PoolWord.DONE, PoolWord.FAILED))
SLEEPING, WAKES, NUMBERS = (int(w) for w in (PoolWord.SLEEPING, PoolWord.WAKES, PoolWord.NUMBERS))


def share(pool: Any, kernel: Any, args: Any, items: Any, step: Any, ctx: Any, threads: Any, failed: Any) -> None:
    """Run all items of a launch, `step` at a time, on up to `threads` threads; failed[0]: whether a kernel refused."""
    failed[0] = 0
    if swap(pool, LOCK, 1) != 0:
        if run_items(kernel, args, 0, items, ctx):
            failed[0] = 1
        return
    while pool[STARTED] < min(threads - 1, pool[MOST]):
        if create(pool):
            pool[MOST] = pool[STARTED]
        else:
            pool[STARTED] = pool[STARTED] + 1
    chunks = (items + step - 1) // step
    pool[KERNEL] = kernel
    pool[ARGS] = args
    pool[ITEMS] = items
    pool[STEP] = step
    pool[CTX] = ctx
    tell_modes(pool)
    pool[FAILED] = 0
    pool[DONE] = 0
    swap(pool, TICKET, (threads << 32) | (chunks << 16))
    if look(pool, SLEEPING) > 0:
        add(pool, WAKES, 1)
        futex(pool, WAKE_BITS, min(chunks, threads) - 1, (1 << min(threads, 32)) - 1)
    while is_open(look(pool, TICKET), 0):
        ticket = add(pool, TICKET, 1)
        if is_open(ticket, 0):
            lo = (ticket & 0xFFFF) * step
            if run_items(kernel, args, lo, min(lo + step, items), ctx):
                swap(pool, FAILED, 1)
            add(pool, DONE, 1)
    looks = 0
    while look(pool, DONE) < chunks:
        pause()
        looks += 1
        if looks == PATIENCE:
            offer(pool)
            looks = 0
    failed[0] = look(pool, FAILED)
    swap(pool, LOCK, 0)


def work(pool: Any, unused: Any) -> None:
    """Claim chunks; sleep where there are none. The process ends, a worker does not."""
    number = add(pool, NUMBERS, 1) + 1
    begun = ticks()
    while True:
        while is_open(look(pool, TICKET), number):
            ticket = add(pool, TICKET, 1)
            if is_open(ticket, 0):
                take_modes(pool)
                step = pool[STEP]
                lo = (ticket & 0xFFFF) * step
                if run_items(pool[KERNEL], pool[ARGS], lo, min(lo + step, pool[ITEMS]), pool[CTX]):
                    swap(pool, FAILED, 1)
                add(pool, DONE, 1)
            begun = ticks()
        pause()
        if ticks() - begun > pool[SPIN]:
            seen = look(pool, WAKES)
            add(pool, SLEEPING, 1)
            if not is_open(look(pool, TICKET), number):
                futex(pool, WAIT_BITS, seen, 1 << (number & 31))
            add(pool, SLEEPING, -1)
            begun = ticks()


POOL: tuple[Text, ...] = (
    (SHARE_NAME, share, (WORDS, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER)),
    (WORK_NAME, work, (WORDS,)),
)
