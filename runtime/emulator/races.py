"""A simple race detector: per element, who wrote and who read it last, and how many barriers their block had passed by
then.

Enters: every plain access to global memory (offsets, threads, blocks, barriers passed). Leaves: nothing, or a `Race`.
Threads of one block are ordered only by the block's barriers; threads of different blocks are not ordered at all.
Ordering within a warp is not modelled here, so that a kernel that relies on it is refused. (Shared memory has
clocks.py, which knows more.)

An element is as large as the smallest access so far, so that the bytes of a word cost as much as a byte. Of large
memory only the pages that are touched have records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pelton.runtime.emulator.errors import Race
from pelton.runtime.emulator.values import Array

_MANY = np.iinfo(np.int64).min
_PAGE = 4096
_SMALL = 1 << 18
Index = NDArray[np.int64]


class Access(NamedTuple):
    """One entry per element touched: which, by which thread (from 1), of which block (from 1), after how many
    barriers of it."""

    element: Index
    thread: Index
    block: Index
    epoch: Index

    def of(self, some: Index) -> Access:
        """Some of the entries."""
        return Access(*(part[some] for part in self))


class Tracker:
    """The last accesses of one arena of `size` bytes, by blocks of `threads` threads.

    Who wrote an element is the thread's number, from 1. Who read it too, or minus a block's number where it was several
    threads of that, or `_MANY` where it was several blocks.
    """

    def __init__(self, size: int, threads: int) -> None:
        self.size, self.threads, self.grain = size, threads, 0
        self.slots = np.zeros(size // _PAGE + 1, np.int64) if size > _SMALL else None
        """By page: which of the pages with records it is; 0 for none."""
        self.pages = 1 if self.slots is not None else -(-size // _PAGE)
        self.writer, self.reader = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.write_epoch, self.read_epoch = np.zeros(0, np.int32), np.zeros(0, np.int32)

    def read(self, offset: Index, size: int, thread: Index, block: Index, epoch: Index) -> None:
        """Records a read; refuses it beside another thread's write."""
        now = self._access(offset, size, thread, block, epoch)
        self._after_write(now, "reads")
        at, new = now.element, now.thread
        last = self.reader[at]
        if (others := (last != 0) & (last != new)).any():
            some = np.flatnonzero(others)
            new = new.copy()
            new[some] = self._joined(last[some], now.of(some))
        self.reader[at], self.read_epoch[at] = new, now.epoch
        if (met := self.reader[at] != new).any():  # several threads of this very access
            some = np.flatnonzero(met)
            cells, home = at[some], self._block(new[some])
            both = np.where(self._block(self.reader[cells]) == home, -home, _MANY)
            self.reader[cells] = both
            self.reader[cells[self.reader[cells] != both]] = _MANY

    def write(self, offset: Index, size: int, thread: Index, block: Index, epoch: Index) -> None:
        """Records a write; refuses it beside another thread's read or write."""
        now = self._access(offset, size, thread, block, epoch)
        self._after_write(now, "writes")
        at, last = now.element, self.reader[now.element]
        if (others := (last != 0) & (last != now.thread)).any():
            bad = others & ((self._block(last) != now.block) | (self.read_epoch[at] == now.epoch))
            _refuse(bad, now, self.reader, "writes what {} read with no barrier between")
        self.writer[at], self.write_epoch[at] = now.thread, now.epoch
        _refuse(self.writer[at] != now.thread, now, self.writer, "writes what {} wrote in the same step")

    def _after_write(self, now: Access, verb: str) -> None:
        at, writer = now.element, self.writer[now.element]
        if (others := (writer != 0) & (writer != now.thread)).any():
            bad = others & ((self._block(writer) != now.block) | (self.write_epoch[at] == now.epoch))
            _refuse(bad, now, self.writer, f"{verb} what {{}} wrote with no barrier between")

    def _joined(self, last: Index, now: Access) -> Index:
        """The readers of elements that others read before: those since the block's last barrier."""
        lately = self.read_epoch[now.element] == now.epoch
        return np.where(self._block(last) == now.block, np.where(lately, -now.block, now.thread), _MANY)

    def _block(self, who: Index) -> Index:
        """The block, from 1, of who read or wrote; below 0 for many."""
        return np.where(who > 0, (who - 1) // self.threads + 1, -who)

    def _access(self, offset: Index, size: int, thread: Index, block: Index, epoch: Index) -> Access:
        if not self.grain or size < self.grain:
            self._refine(size)
        if self.slots is not None:
            offset = self._recorded(self.slots, offset // _PAGE) * _PAGE + offset % _PAGE
        first, count = offset >> (self.grain.bit_length() - 1), size // self.grain
        now = Access(first, thread + 1, block + 1, epoch)
        if count == 1:
            return now
        every = (first[:, None] + np.arange(count)).ravel()
        return Access(every, *(np.repeat(part, count) for part in now[1:]))

    def _refine(self, size: int) -> None:
        """From now on an element has `size` bytes."""
        if self.grain:
            self._change(lambda old: np.repeat(old, self.grain // size))
        else:
            self._change(lambda old: np.zeros(self.pages * _PAGE // size, old.dtype))
        self.grain = size

    def _recorded(self, slots: Index, page: Index) -> Index:
        """Where the records of pages are; new ones are made."""
        if not (found := slots[page]).all():
            new = np.unique(page[found == 0])
            slots[new] = np.arange(self.pages, self.pages + new.size)
            self.pages += new.size
            if (lacking := self.pages * _PAGE // self.grain - self.writer.size) > 0:
                self._change(lambda old: np.concatenate([old, np.zeros(max(lacking, old.size), old.dtype)]))
            found = slots[page]
        return found

    def _change(self, make: Callable[[Array], Array]) -> None:
        for name in ("writer", "reader", "write_epoch", "read_epoch"):
            setattr(self, name, make(getattr(self, name)))


def _refuse(bad: Array, now: Access, others: Index, text: str) -> None:
    if bad.any():
        k = int(np.argmax(bad))
        raise Race(int(now.thread[k]) - 1, text.format(_who(int(others[now.element[k]]))))


def _who(thread: int) -> str:
    """Named by machine.py's numbering: `#17` becomes the thread's place in its block."""
    return f"#{thread - 1}" if thread > 0 else "other threads"
