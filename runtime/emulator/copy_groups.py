"""`cp.async` copies of 4, 8 and 16 bytes, in each thread's groups: started, committed, waited for.

Enters: copies with the data that they read. Leaves: shared memory, written when a thread waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pelton.runtime.emulator.clocks import SharedTracker
from pelton.runtime.emulator.flight import Flight, spans
from pelton.runtime.emulator.memory import Index
from pelton.runtime.emulator.program import Instruction
from pelton.runtime.emulator.values import Array


@dataclass(slots=True)
class Copies:
    """What the `number`-th step started: by copy, its thread, place, data, and group of that thread."""

    number: int
    threads: Index
    offset: Index
    data: Array
    group: Index

    def part(self, chosen: Array) -> Copies:
        """Some of them."""
        return Copies(self.number, self.threads[chosen], self.offset[chosen], self.data[chosen], self.group[chosen])


class CopyGroups:
    """Of the threads of a batch."""

    def __init__(self, flight: Flight, cta: Array, tracker: SharedTracker, races: bool) -> None:
        self.flight, self.cta, self.tracker, self.races = flight, cta, tracker, races
        self.pending: list[Copies] = []
        self.started = 0
        self.committed = np.zeros(cta.size, np.int64)

    def start(self, threads: Index, offset: Index, data: Array, instruction: Instruction) -> None:
        """Copies that threads start, into bytes at arena offsets."""
        size = data.shape[1]
        if self.races:
            self.tracker.begin_copy(offset, size, threads, self.cta[threads])
        number = self.flight.name(instruction)
        self.flight.check(offset, size, threads, write=True)
        self.flight.start_write(spans(offset, size), number)
        self.started += 1
        self.pending.append(Copies(self.started, threads, offset, data, self.committed[threads]))

    def commit(self, mask: Array) -> None:
        """What threads started so far is a group."""
        self.committed[mask] += 1

    def wait(self, mask: Array, newest: int | None) -> None:
        """Threads wait for all groups but so many of the newest; with None for every copy."""
        self.land(lambda c: mask[c.threads] & (newest is None or c.group < self.committed[c.threads] - (newest or 0)))

    def land(self, chosen: Callable[[Copies], Array]) -> None:
        """Copies arrive."""
        kept: list[Copies] = []
        for copies in self.pending:
            done = chosen(copies)
            if done.any():
                self._write(copies.part(done))
            if not done.all():
                kept.append(copies.part(~done))
        self.pending = kept

    def _write(self, copies: Copies) -> None:
        size, shared = copies.data.shape[1], self.flight.shared
        at = spans(copies.offset, size)
        shared.bytes[at] = copies.data
        for part in range(0, size, 8):
            shared.mark(copies.offset + part, min(size, 8))
        self.flight.end_write(at)
        self.flight.note_store(copies.offset, size, copies.threads, self.tracker.clocks.now[self.cta[copies.threads]])
        if self.races:
            self.tracker.write(copies.offset, size, copies.threads, self.cta[copies.threads])
