"""Global memory: allocations at addresses of one space, which every launch works on where they lie.

Enters: arrays to be reached by kernels, then per access the threads' addresses. Leaves: which allocations they lie in
and where, or an error that names the nearest. What an access costs does not depend on how much memory there is.
Next: machine.py reads and writes the bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import NamedTuple

import numpy as np

from pelton.runtime.emulator.errors import OutOfBounds
from pelton.runtime.emulator.memory import GAP, Index, Layout, Marked, check, round_up
from pelton.runtime.emulator.values import Array

ROOM = 1 << 20
"""What at least lies between two allocations: a kernel that strays by rows does not meet the next."""
_REMEMBERED = 4096
_NEAR = 1 << 30


class Allocation(Marked):
    """`size` bytes from address `start` on; `bytes` may have some more."""

    __slots__ = ("name", "size", "start")

    def __init__(self, start: int, bytes: Array, written: Array | None = None, name: str = "", size: int = -1) -> None:
        super().__init__(bytes, written)
        self.start, self.size = start, bytes.size if size < 0 else size
        self.name = name or f"the allocation at {start:#x}"

    def describe(self, offset: int) -> str:
        """What stands at an offset."""
        return f"byte {offset} of {self.name}"


class Part(NamedTuple):
    """The threads of an access that go to one allocation, as what selects them, and how far into it each goes."""

    allocation: Allocation
    chosen: Index | slice
    offsets: Index


class Global:
    """The allocations of a device. Between any two lie addresses that belong to nobody, and none is used twice."""

    def __init__(self, first: int) -> None:
        self._next = first
        self._starts: list[int] = []
        self._all: dict[int, Allocation] = {}
        self._freed: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)
        self._table: tuple[Index, Index] | None = None

    def __contains__(self, start: object) -> bool:
        """Whether an allocation begins there."""
        return start in self._all

    def allocate(self, size: int, *, marked: bool, fill: int = 0) -> Allocation:
        """New memory of that content; with `marked` it is kept which bytes are written."""
        room = round_up(size, 16)
        written = np.zeros(room, np.bool_) if marked and size else None
        content = np.full(room, fill, np.uint8) if fill else np.zeros(room, np.uint8)
        return self.place(content, written, size=size)

    def place(self, bytes: Array, written: Array | None = None, name: str = "", size: int = -1) -> Allocation:
        """Makes memory that is there already reachable."""
        return self._add(Allocation(self._next, bytes, written, name, size))

    def load(self, variables: Layout) -> None:
        """The variables of a module, at the addresses that its code knows. `variables.base` is what `next` was."""
        for name, start, size, data in variables.data:
            content = np.zeros(round_up(size, 16), np.uint8)
            content[: len(data or b"")] = np.frombuffer(data or b"", np.uint8)
            self._add(Allocation(start, content, None, name.rsplit(".", 1)[0], size))

    @property
    def next(self) -> int:
        """Where the next allocation begins."""
        return self._next

    def _add(self, new: Allocation) -> Allocation:
        self._starts.append(new.start)
        self._all[new.start] = new
        self._next = round_up(new.start + new.size, ROOM) + ROOM + GAP  # a multiple of GAP, but of no more
        self._table = None
        return new

    def remove(self, start: int) -> Allocation | None:
        """Takes away the allocation that begins there; None where none does."""
        found = self._all.pop(start, None)
        if found is not None:
            self._starts.remove(start)
            self._freed.append((start, found.size))
            self._table = None
        return found

    def find(self, address: int) -> Allocation | None:
        """The allocation an address lies in, its end included."""
        k = bisect_right(self._starts, address)
        found = self._all[self._starts[k - 1]] if k else None
        return found if found is not None and address - found.start <= found.size else None

    def parts(self, address: Index, size: int, threads: Index) -> list[Part]:
        """Where accesses of `size` bytes go; OutOfBounds for those that leave their allocation."""
        low, high = int(address.min()), int(address.max())
        found = self.find(low)
        if found is not None and high + size <= found.start + found.size:
            return [Part(found, slice(None), address - low + (low - found.start))]
        starts, ends = self._table = self._table or self._tabled()
        which = np.searchsorted(starts, address, "right") - 1
        inside = (which >= 0) & (address + size <= ends[which])
        check(OutOfBounds, inside, threads, lambda k: self.describe(int(address[k])))
        return [self._part(int(k), which == k, address) for k in np.unique(which)]

    def _part(self, number: int, chosen: Array, address: Index) -> Part:
        found, picked = self._all[self._starts[number]], np.flatnonzero(chosen)
        return Part(found, picked, address[picked] - found.start)

    def _tabled(self) -> tuple[Index, Index]:
        """Starts and ends, with one that nothing lies in, so that there always is one."""
        starts = [*self._starts, np.iinfo(np.int64).max]
        ends = [*(start + self._all[start].size for start in self._starts), 0]
        return np.array(starts, np.int64), np.array(ends, np.int64)

    def describe(self, address: int) -> str:
        """Where an address lies that is not in any allocation: which one is near, or was there."""
        for start, size in reversed(self._freed):
            if 0 <= address - start < size:
                return f"byte {address - start} of {size} at {start:#x}, which were freed"
        k = bisect_right(self._starts, address)
        if k < len(self._starts) and self._starts[k] - address <= ROOM // 2:
            after = self._all[self._starts[k]]
            return f"{after.start - address} bytes before the start of {after.name}"
        if not k:
            return f"address {address & (1 << 64) - 1:#x} lies in no buffer"
        below = self._all[self._starts[k - 1]]
        if address - below.start - below.size > _NEAR:
            return f"address {address:#x} lies in no buffer"
        return f"byte {address - below.start} of {below.name}, which has {below.size} bytes"
