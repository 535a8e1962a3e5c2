"""Order between the threads of a block: vector clocks of its warps, and a race detector for shared memory on them.

Enters: barriers of all kinds as `publish` and `learn`, and every plain access. Leaves: nothing, or a `Race`. What a
warp did up to some time is ordered before another's next step once that one has learnt of it: through `bar`, through
`bar.warp.sync` for the lanes of one warp, or through an mbarrier. Asynchronous copies are one more column of the
clocks: who has not waited for them knows nothing of their writes. A warp learns as a whole, so that one lane's wait
counts for all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pelton.runtime.emulator.errors import Race
from pelton.runtime.emulator.values import Array

_SEVERAL = -1
COPIES = -2
"""In place of a thread: an asynchronous copy."""
Index = NDArray[np.int64]


class Clocks:
    """Of the blocks of a batch: a time per block, and per warp up to when it knows what each warp did."""

    def __init__(self, threads: int, blocks: int) -> None:
        self.warps = threads // 32
        self.now = np.ones(blocks, np.int32)
        self.known = np.zeros((blocks, self.warps, self.warps + 1), np.int32)

    def publish(self, block: Index, warp: Index) -> Array:
        """All that warps know and did, as rows for others to learn. (Afterwards the caller ticks.)"""
        rows = self.known[block, warp]
        rows[np.arange(warp.size), warp] = self.now[block]
        return rows

    def learn(self, block: Index, warp: Index, rows: Array) -> None:
        """From now on warps know it too."""
        self.known[block, warp] = np.maximum(self.known[block, warp], rows)

    def tick(self, block: Index) -> None:
        """What follows is later."""
        self.now[np.unique(block)] += 1

    def meet_in_warps(self, block: Index, warp: Index) -> None:
        """The lanes of each warp learn what the others did."""
        self.known[block, warp, warp] = self.now[block]
        self.tick(block)


class Access(NamedTuple):
    """One entry per element touched: which, by which thread (from 1) of which block and warp of it."""

    element: Index
    thread: Index
    block: Index
    warp: Index


class SharedTracker:
    """The last write, and per warp the last read, of each element. An element is as large as the smallest access so
    far."""

    def __init__(self, size: int, clocks: Clocks) -> None:
        self.size, self.grain, self.clocks = size, 0, clocks
        self.writer, self.write_time = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self.reader = np.zeros((0, clocks.warps), np.int32)
        self.read_time = np.zeros((0, clocks.warps), np.int32)

    def read(self, offset: Index, size: int, thread: Index, block: Index) -> None:
        """Records a read by threads of the batch; refuses it beside another thread's write."""
        now = self._access(offset, size, thread, block)
        self._after_write(now, "reads")
        at, warp = now.element, now.warp
        last, others = self.reader[at, warp], self.clocks.known[now.block, warp, warp]
        again = (last != 0) & (last != now.thread) & (self.read_time[at, warp] > others)
        self.reader[at, warp] = now.thread
        again |= self.reader[at, warp] != now.thread
        self.reader[at[again], warp[again]] = _SEVERAL
        self.read_time[at, warp] = self.clocks.now[now.block]

    def write(self, offset: Index, size: int, thread: Index, block: Index) -> None:
        """Records a write; refuses it beside another thread's read or write."""
        now = self._access(offset, size, thread, block)
        self.check_write(now)
        self.writer[now.element], self.write_time[now.element] = now.thread, self.clocks.now[now.block]
        met = self.writer[now.element] != now.thread
        self._refuse(met, now, self.writer[now.element], "writes what {} wrote in the same step")

    def check_write(self, now: Access) -> None:
        """Refuses a write beside another thread's read or write."""
        self._after_write(now, "writes")
        readers = self.reader[now.element]
        known = self.clocks.known[now.block, now.warp, : self.clocks.warps]
        bad = (readers != 0) & (readers != now.thread[:, None]) & (self.read_time[now.element] > known)
        if (some := bad.any(1)).any():
            who = readers[np.arange(some.size), bad.argmax(1)]
            self._refuse(some, now, who, "writes what {} read with no barrier between")

    def after_write(self, offset: Index, size: int, thread: Index, block: Index) -> None:
        """Refuses a use of what another thread has just written, and keeps no record of it."""
        self._after_write(self._access(offset, size, thread, block), "uses")

    def begin_copy(self, offset: Index, size: int, thread: Index, block: Index) -> None:
        """A copy that threads start will write here: all readers and writers must be done."""
        self.check_write(self._access(offset, size, thread, block))

    def end_copy(self, offset: Index, size: int, block: Index) -> None:
        """It has: whoever reads must have waited for it."""
        now = self._access(offset, size, np.zeros(offset.size, np.int64), block)
        self.writer[now.element], self.write_time[now.element] = COPIES, self.clocks.now[now.block]

    def _after_write(self, now: Access, verb: str) -> None:
        writer = self.writer[now.element]
        foreign = (writer != 0) & (writer != now.thread)
        if foreign.any():
            column = np.where(writer == COPIES, self.clocks.warps, self._warp(writer - 1))
            bad = foreign & (self.write_time[now.element] > self.clocks.known[now.block, now.warp, column])
            self._refuse(bad, now, writer, f"{verb} what {{}} wrote with no barrier between")

    def _warp(self, thread: Array) -> Array:
        return np.maximum(thread, 0) // 32 % self.clocks.warps

    def _access(self, offset: Index, size: int, thread: Index, block: Index) -> Access:
        if not self.grain or size < self.grain:
            self._refine(size)
        first, count = offset // self.grain, size // self.grain
        parts = (thread + 1, block, self._warp(thread))
        if count == 1:
            return Access(first, *parts)
        every = (first[:, None] + np.arange(count)).ravel()
        return Access(every, *(np.repeat(part, count) for part in parts))

    def _refine(self, size: int) -> None:
        """From now on an element has `size` bytes."""
        for name in ("writer", "write_time", "reader", "read_time"):
            old: Array = getattr(self, name)
            fresh = np.zeros((-(-self.size // size), *old.shape[1:]), old.dtype)
            setattr(self, name, np.repeat(old, self.grain // size, 0) if self.grain else fresh)
        self.grain = size

    def _refuse(self, bad: Array, now: Access, others: Array, text: str) -> None:
        if bad.any():
            k = int(np.argmax(bad))
            raise Race(int(now.thread[k]) - 1, text.format(_who(int(others[k]))))


def _who(thread: int) -> str:
    """Named by machine.py's numbering: `#17` becomes the thread's place in its block."""
    return {_SEVERAL: "other threads", COPIES: "an asynchronous copy"}.get(thread, f"#{thread - 1}")
