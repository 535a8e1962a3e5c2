"""What asynchronous operations still do to shared memory: bytes that they write, bytes that they read.

Enters: the start and the end of each operation, and every other access meanwhile. Leaves: nothing, or an `InFlight`. A
copy lands only when somebody waits for it, as late as it may: who reads too early is refused, and finds nothing that
happens to be there already.
"""

from __future__ import annotations

import numpy as np

from pelton.runtime.emulator.clocks import Clocks
from pelton.runtime.emulator.errors import InFlight, Race
from pelton.runtime.emulator.memory import Index, Private
from pelton.runtime.emulator.program import Instruction
from pelton.runtime.emulator.values import Array


def spans(offset: Index, size: int) -> Array:
    """The bytes of accesses: [accesses, size]."""
    return offset[:, None] + np.arange(size)


class Flight:
    """Of the shared memory of a batch. Records are made when the first operation starts."""

    def __init__(self, shared: Private) -> None:
        self.shared = shared
        self.writing = self.reading = np.zeros(0, np.int32)
        """By byte: the operation (from 1) that writes it, and how many read it."""
        self.operations: list[Instruction] = []
        self.reader = np.zeros(0, np.int32)
        """By byte: the operation that began to read it last."""
        self.stored = self.stored_at = np.zeros(0, np.int32)
        """By byte: the thread (from 1) that stored it since the last fence, and when; empty where nobody asks."""

    def watch_stores(self) -> None:
        """From now on it is kept what threads stored and no fence has made known to asynchronous operations."""
        self.stored, self.stored_at = (np.zeros(self.shared.bytes.size, np.int32) for _ in range(2))

    def note_store(self, offset: Index, size: int, threads: Index, time: Array) -> None:
        """Threads stored; `time` is their blocks'."""
        if self.stored.size:
            at = spans(offset, size)
            self.stored[at], self.stored_at[at] = (threads + 1)[:, None], time[:, None]

    def fence(self, threads: Index, clocks: Clocks, cta: Index) -> None:
        """What the warps of threads stored or know of is known to asynchronous operations."""
        if not self.stored.size:
            return
        for key in np.unique(threads // 32).tolist():
            block, warp = int(cta[32 * key]), key % clocks.warps
            piece = slice(block * self.shared.stride, (block + 1) * self.shared.stride)
            open_at = np.flatnonzero(self.stored[piece])
            writer = (self.stored[piece][open_at] - 1) // 32 % clocks.warps
            known = (writer == warp) | (self.stored_at[piece][open_at] <= clocks.known[block, warp, writer])
            self.stored[piece][open_at[known]] = 0

    def require_fence(self, offset: Index, size: int, threads: Index) -> None:
        """Refuses an asynchronous read of what was stored and not fenced."""
        if self.stored.size and (bad := self.stored[spans(offset, size)]).any():
            row, column = (int(k) for k in np.unravel_index(int(np.argmax(bad > 0)), bad.shape))
            who, place = int(bad[row, column]) - 1, self.shared.describe(int(offset[row]) + column)
            text = f"reads {place}, which #{who} wrote: no fence.proxy.async makes it known to asynchronous operations"
            raise Race(int(threads[row]), text)

    def name(self, instruction: Instruction) -> int:
        """The number of one more operation."""
        if not self.operations:
            self.writing, self.reading, self.reader = (np.zeros(self.shared.bytes.size, np.int32) for _ in range(3))
        self.operations.append(instruction)
        return len(self.operations)

    def check(self, offset: Index, size: int, threads: Index, *, write: bool) -> None:
        """Refuses an access to bytes that are in flight."""
        if not self.operations:
            return
        at = spans(offset, size)
        self._refuse(self.writing[at], at, threads, "is still written by")
        if write:
            self._refuse(np.where(self.reading[at] > 0, self.reader[at], 0), at, threads, "is still read by")

    def _refuse(self, busy: Array, at: Array, threads: Index, verb: str) -> None:
        if busy.any():
            row, column = (int(k) for k in np.unravel_index(int(np.argmax(busy > 0)), busy.shape))
            operation = self.operations[int(busy[row, column]) - 1]
            place = self.shared.describe(int(at[row, column]))
            raise InFlight(int(threads[row]), f"{place} {verb} {operation.where()}, for which nobody has waited")

    def start_write(self, at: Array, number: int) -> None:
        """An operation writes these bytes from now on."""
        self.writing[at] = number

    def end_write(self, at: Array) -> None:
        """It has written them: what was stored there before is gone."""
        self.writing[at] = 0
        if self.stored.size:
            self.stored[at] = 0

    def start_read(self, at: Array, number: int) -> None:
        """An operation reads these bytes, each named once, from now on."""
        self.reading[at] += 1
        self.reader[at] = number

    def end_read(self, at: Array) -> None:
        """It has read them."""
        self.reading[at] -= 1
