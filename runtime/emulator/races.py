"""A simple race detector: per element, who wrote and who read it last, and how many barriers their block had passed by
then.

Enters: every plain access (offsets, threads, blocks, barriers passed). Leaves: nothing, or a `Race`. Threads of one
block are ordered only by the block's barriers; threads of different blocks are not ordered at all. Warp-level
ordering is not modelled, so that a kernel that relies on it is refused.

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

_SEVERAL = -1
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


class Tracker:
    """The last accesses of one arena of `size` bytes."""

    def __init__(self, size: int) -> None:
        self.size, self.grain = size, 0
        self.slots = np.zeros(size // _PAGE + 1, np.int64) if size > _SMALL else None
        """By page: which of the pages with records it is; 0 for none."""
        self.pages = 1 if self.slots is not None else -(-size // _PAGE)
        self.writer, self.reader = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.writer_block, self.reader_block = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self.write_epoch, self.read_epoch = np.zeros(0, np.int32), np.zeros(0, np.int32)

    def read(self, offset: Index, size: int, thread: Index, block: Index, epoch: Index) -> None:
        """Records a read; refuses it beside another thread's write."""
        now = self._access(offset, size, thread, block, epoch)
        self._after_write(now, "reads")
        at, last = now.element, self.reader_block[now.element]
        again = (last == now.block) & (self.read_epoch[at] == now.epoch) & (self.reader[at] != now.thread)
        elsewhere = (last != 0) & (last != now.block)
        self.reader[at], self.reader_block[at], self.read_epoch[at] = now.thread, now.block, now.epoch
        self.reader[at[again | (self.reader[at] != now.thread)]] = _SEVERAL
        self.reader_block[at[elsewhere | (self.reader_block[at] != now.block)]] = _SEVERAL

    def write(self, offset: Index, size: int, thread: Index, block: Index, epoch: Index) -> None:
        """Records a write; refuses it beside another thread's read or write."""
        now = self._access(offset, size, thread, block, epoch)
        self._after_write(now, "writes")
        at, last = now.element, self.reader_block[now.element]
        here = (last == now.block) & (self.read_epoch[at] == now.epoch) & (self.reader[at] != now.thread)
        bad = here | ((last != 0) & (last != now.block))
        _refuse(bad, now, self.reader, "writes what {} read with no barrier between")
        self.writer[at], self.writer_block[at], self.write_epoch[at] = now.thread, now.block, now.epoch
        _refuse(self.writer[at] != now.thread, now, self.writer, "writes what {} wrote in the same step")

    def _after_write(self, now: Access, verb: str) -> None:
        at, writer = now.element, self.writer[now.element]
        bad = (writer != 0) & (writer != now.thread)
        if bad.any():
            bad &= (self.writer_block[at] != now.block) | (self.write_epoch[at] == now.epoch)
            _refuse(bad, now, self.writer, f"{verb} what {{}} wrote with no barrier between")

    def _access(self, offset: Index, size: int, thread: Index, block: Index, epoch: Index) -> Access:
        if not self.grain or size < self.grain:
            self._refine(size)
        if self.slots is not None:
            offset = self._recorded(self.slots, offset // _PAGE) * _PAGE + offset % _PAGE
        first, count = offset // self.grain, size // self.grain
        if count == 1:
            return Access(first, thread + 1, block + 1, epoch)
        every = (first[:, None] + np.arange(count)).ravel()
        return Access(every, *(np.repeat(part, count) for part in (thread + 1, block + 1, epoch)))

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
        for name in ("writer", "reader", "writer_block", "reader_block", "write_epoch", "read_epoch"):
            setattr(self, name, make(getattr(self, name)))


def _refuse(bad: Array, now: Access, others: Index, text: str) -> None:
    if bad.any():
        k = int(np.argmax(bad))
        raise Race(int(now.thread[k]) - 1, text.format(_who(int(others[now.element[k]]))))


def _who(thread: int) -> str:
    """Named by machine.py's numbering: `#17` becomes the thread's place in its block."""
    return "other threads" if thread == _SEVERAL else f"#{thread - 1}"
