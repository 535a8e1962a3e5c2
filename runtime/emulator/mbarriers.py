"""mbarriers: counts of arrivals and of bytes in shared memory, and what is ordered by them.

Enters: what threads do to the mbarriers of a batch. Leaves: whether phases are complete. A phase ends when all its
arrivals have come and as many bytes as were expected. Copies and arrivals that are under way happen when somebody waits
for the phase they belong to, one after another until it ends: what more was started than was expected stays under way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from pelton.runtime.emulator.clocks import Clocks
from pelton.runtime.emulator.errors import EmulationError, Race
from pelton.runtime.emulator.values import Array

_LIMIT = (1 << 20) - 1
"""The most arrivals, and bytes expected in a phase."""


class Mbarrier:
    """One mbarrier. `under_way`: copies and arrivals that have yet to happen; each returns how many arrivals and bytes
    it counts for."""

    __slots__ = ("bytes", "count", "done", "fenced", "pending", "phase", "told", "under_way")

    def __init__(self, count: int, columns: int) -> None:
        self.count = self.pending = count
        self.phase = self.bytes = 0
        self.told, self.done = np.zeros(columns, np.int32), np.zeros(columns, np.int32)
        self.under_way: deque[Callable[[Mbarrier], None]] = deque()
        self.fenced = False

    def arrive(self, thread: int, count: int, rows: Array) -> None:
        """Arrivals of a thread, with what its warp knows."""
        if count > self.pending:
            raise EmulationError(
                thread, f"{count} more arrivals at an mbarrier that expects {self.pending} ({self.count} in a phase)"
            )
        self.pending -= count
        np.maximum(self.told, rows, out=self.told)
        self.settle()

    def expect(self, thread: int, size: int) -> None:
        """So many bytes more belong to this phase."""
        self.bytes += size
        if abs(self.bytes) > _LIMIT:
            raise EmulationError(thread, f"{self.bytes} bytes expected at an mbarrier, at most {_LIMIT} can be")

    def settle(self) -> None:
        """Ends the phase if nothing is missing."""
        if self.pending == 0 and self.bytes == 0:
            self.phase += 1
            self.pending = self.count
            np.maximum(self.done, self.told, out=self.done)
            self.told[:] = 0

    def is_done(self, phase: int, *, parity: bool) -> bool:
        """Whether a phase, by number or by parity, is complete; what is under way happens until it is."""

        def done() -> bool:
            return self.phase & 1 != phase & 1 if parity else self.phase > phase

        while not done() and self.under_way:
            self.under_way.popleft()(self)
        return done()

    def describe(self, phase: int) -> str:
        """What is missing."""
        return (
            f"phase {phase} of an mbarrier ({self.pending} of {self.count} arrivals and {self.bytes} bytes are missing)"
        )


class Mbarriers:
    """Those of a batch, by their place in its shared memory."""

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self.all: dict[int, Mbarrier] = {}

    def init(self, place: int, thread: int, count: int) -> None:
        """A new one."""
        if not 0 < count <= _LIMIT:
            raise EmulationError(thread, f"an mbarrier for {count} arrivals; from 1 to {_LIMIT} can be")
        if place in self.all:
            raise EmulationError(thread, "the mbarrier is in use: mbarrier.inval comes before another init")
        self.all[place] = Mbarrier(count, self.clocks.warps + 1)

    def find(self, place: int, thread: int) -> Mbarrier:
        """The one at a place."""
        if (found := self.all.get(place)) is None:
            raise EmulationError(thread, "no mbarrier was initialised here")
        return found

    def for_copy(self, place: int, thread: int) -> Mbarrier:
        """The one at a place, for an asynchronous copy: a fence must have made its initialisation known to copies."""
        found = self.find(place, thread)
        if not found.fenced:
            raise Race(
                thread, "a copy on an mbarrier whose initialisation no fence.mbarrier_init or fence.proxy.async follows"
            )
        return found

    def fence(self) -> None:
        """Copies know of all there are."""
        for one in self.all.values():
            one.fenced = True

    def left(self) -> Iterator[Mbarrier]:
        """Those with something under way."""
        return (one for one in self.all.values() if one.under_way)
