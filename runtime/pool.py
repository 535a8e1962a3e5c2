"""The threads that share launches: one pool per process, and how a program's launches are cut for it.

Enters: an artifact's walker object, which holds the pool's code (`codegen/cpu/pool.py`), and the costs of launches.
Leaves: the pool's address, for the header of frames, and steps. Next: `walker.py`, `plan.py`.

The code and the memory of the pool are never freed: workers look at them until the process ends. They hold no Python
and no lock, so the interpreter ends without waiting for them. A forked child has memory and code but no workers; its
pool begins anew, and its first launch to be shared makes new ones.
"""

from __future__ import annotations

import ctypes
import os
from array import array
from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple

from pelton.artifact import KernelCode
from pelton.program import Cost, Op, Program, evaluated, instructions
from pelton.runtime.loader import map_objects
from pelton.support.pool_words import LINE, MOST_CHUNKS, SHARE_NAME, SIZE, WORK_NAME, PoolWord

SPIN_TICKS = 80_000
"""About 30 µs: launches of one walk follow each other faster, and waking a thread takes longer."""
STACK_BYTES = 8 << 20
MOST_WORKERS = 4095
ATTRIBUTES_BYTES = 64
DETACHED = 1

BYTES_PER_NS, FLOPS_PER_NS = 16, 64
"""What one thread does: the work of a launch, in nanoseconds, is what its bytes and its product take at these rates.
Functions like exp take twice as long per byte, an addition in the cache a fourth.
"""
WORTH_NS = 20_000
"""Work that is worth other threads. Sharing takes half a microsecond where they are looking for work, and some
microseconds where they have to be woken; a thread that the system puts aside while it has a chunk costs more.
"""
CHUNK_NS = 6_000
"""The work of a chunk, at least: small, so that all threads end at about the same time."""

_lock = Lock()
_pool: list[ctypes.Array[ctypes.c_int64]] = []


class Threads(NamedTuple):
    """What may run a launch: the thread that walks, and up to `number` - 1 others of the pool at an address."""

    number: int
    pool: int


ALONE = Threads(1, 0)


def threads_of(number: int, walker: KernelCode) -> Threads:
    """`number` threads of the process's pool. The first call makes the pool, from the code in that object; no thread
    starts before a launch is shared.
    """
    if number == 1:
        return ALONE
    with _lock:
        if not _pool:
            _pool.append(_made(walker))
        return Threads(number, ctypes.addressof(_pool[0]))


def _made(walker: KernelCode) -> ctypes.Array[ctypes.c_int64]:
    """The words of a pool without workers."""
    code = map_objects([walker], "the thread pool")
    libc = ctypes.CDLL(None)
    libc.calloc.restype = ctypes.c_void_p
    memory: int = libc.calloc(1, 8 * SIZE + ATTRIBUTES_BYTES + 8 * LINE)
    start = -(-memory // (8 * LINE)) * 8 * LINE
    words = (ctypes.c_int64 * SIZE).from_address(start)
    attributes = ctypes.c_void_p(start + 8 * SIZE)
    libc.pthread_attr_init(attributes)
    libc.pthread_attr_setdetachstate(attributes, DETACHED)
    libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(STACK_BYTES))
    words[PoolWord.SHARE], words[PoolWord.WORK] = map(code.address, (SHARE_NAME, WORK_NAME))
    words[PoolWord.SYSCALL], words[PoolWord.CREATE] = map(_address, (libc.syscall, libc.pthread_create))
    words[PoolWord.ATTRIBUTES], words[PoolWord.SPIN] = attributes.value or 0, SPIN_TICKS
    words[PoolWord.MOST] = MOST_WORKERS
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))  # it stays mapped while the interpreter takes itself apart
    return words


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _begin_anew() -> None:
    """In a forked child: whatever the parent's threads were doing, nobody does it here."""
    for words in _pool:
        for index in range(PoolWord.LOCK, SIZE):
            words[index] = 0
        words[PoolWord.MOST] = MOST_WORKERS
    _lock.release()


os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_begin_anew)


class Sharing:
    """How the launches of a program are cut in chunks: by what they cost at given sizes, never by who is there."""

    def __init__(self, program: Program, threads: Threads) -> None:
        self.threads = threads
        launches = [operands for _, op, operands in instructions(program.body) if op is Op.LAUNCH]
        shared = threads.number > 1 and len(program.costs) == len(launches)
        self._launches = [(row[2], cost) for row, cost in zip(launches, program.costs, strict=shared)] if shared else []

    def steps(self, values: Sequence[int]) -> array[int]:
        """Per launch, how many items a thread takes at a time, 0 for all of them; empty where no launch is shared."""
        known: dict[tuple[int, Cost], int] = {}
        steps = array("q")
        for launch in self._launches:
            if launch not in known:
                known[launch] = step_for(values[launch[0]], launch[1], values)
            steps.append(known[launch])
        return steps if any(steps) else array("q")


def step_for(items: int, cost: Cost, values: Sequence[int]) -> int:
    """How many items of a launch a thread takes at a time, at these sizes; 0 where sharing does not pay."""
    work = evaluated(cost.bytes, values) // BYTES_PER_NS + evaluated(cost.flops, values) // FLOPS_PER_NS
    if items < 2 or work < WORTH_NS:
        return 0
    chunks = max(min(work // CHUNK_NS, items, MOST_CHUNKS), 1)
    return -(-items // chunks)
