"""The thread pool's memory, word by word: what `codegen/cpu/pool.py` compiles in and `runtime/pool.py` lays out.

A process has one pool, which runs the code of the first artifact that needed it, and so does every later artifact,
through word SHARE. So these numbers are part of the artifact's ABI (`artifact.ABI_VERSION`). Words that threads
contend for have a cache line of their own.
"""

from __future__ import annotations

from enum import IntEnum

LINE = 8
SIZE = 8 * LINE


SHARE_NAME, WORK_NAME = "share_launch", "work_in_pool"
"""The two functions of the pool, in the walker's object."""


class PoolWord(IntEnum):
    """Indices of 64-bit words."""

    # written once
    SHARE = 0
    """Address of `i64 share(pool, kernel, args, items, step, ctx, threads)`: whether a part of a launch failed."""
    WORK = 1
    """Address of `work(pool)`, the life of a worker."""
    SYSCALL = 2
    CREATE = 3
    """Addresses of libc's `syscall` and `pthread_create`."""
    ATTRIBUTES = 4
    """Address of the `pthread_attr_t` of workers."""
    SPIN = 5
    """For how many ticks of the processor's clock a worker looks for work before it sleeps."""
    # whoever launches
    LOCK = LINE
    """1 while a launch is shared; who finds it so runs its launch alone."""
    STARTED = LINE + 1
    MOST = LINE + 2
    """How many workers there are, and may be."""
    HANDLE = LINE + 3
    """Where `pthread_create` puts what nobody asks for."""
    # the launch
    KERNEL = 2 * LINE
    ARGS = 2 * LINE + 1
    ITEMS = 2 * LINE + 2
    STEP = 2 * LINE + 3
    CTX = 2 * LINE + 4
    MODES = 2 * LINE + 5
    """The floating-point modes (MXCSR) of the thread that launches: rounding, and what becomes of subnormal numbers."""
    # all threads
    TICKET = 3 * LINE
    """Threads that may take part << 32 | chunks << 16 | the next chunk: one atomic addition claims it."""
    DONE = 4 * LINE
    """Chunks that are done."""
    FAILED = 4 * LINE + 1
    """1 where a kernel refused."""
    SLEEPING = 5 * LINE
    """How many workers sleep, or are about to."""
    WAKES = 5 * LINE + 1
    """How often workers were woken: what they wait on."""
    NUMBERS = 5 * LINE + 2
    """The number of the youngest worker. Whoever launches is number 0."""


MOST_CHUNKS = 1024
"""Chunks of a launch. With those that workers claim in vain they must fit 16 bits."""
