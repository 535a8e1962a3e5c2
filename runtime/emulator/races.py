"""A simple race detector: per byte, who wrote and who read it last, and how many barriers their block had passed by
then.

Enters: every plain access (offsets, threads, blocks, barriers passed). Leaves: nothing, or a `Race`. Threads of one
block are ordered only by the block's barriers; threads of different blocks are not ordered at all. Warp-level
ordering is not modelled, so that a kernel that relies on it is refused.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pelton.runtime.emulator.errors import Race

_NOBODY, _SEVERAL = -1, -2
Index = NDArray[np.int64]


class Tracker:
    """The last accesses of one arena."""

    def __init__(self, size: int) -> None:
        self.writer, self.reader = np.full(size, _NOBODY, np.int64), np.full(size, _NOBODY, np.int64)
        self.writer_block, self.reader_block = np.full(size, _NOBODY, np.int32), np.full(size, _NOBODY, np.int32)
        self.write_epoch, self.read_epoch = np.zeros(size, np.int32), np.zeros(size, np.int32)

    def read(self, offset: Index, size: int, thread: Index, block: Index, epoch: Index) -> None:
        """Records a read; refuses it beside another thread's write."""
        offset, thread, block, epoch = _bytes(offset, size, thread, block, epoch)
        self._after_write(offset, thread, block, epoch, "reads")
        last = self.reader_block[offset]
        again = (last == block) & (self.read_epoch[offset] == epoch) & (self.reader[offset] != thread)
        elsewhere = (last != _NOBODY) & (last != block)
        self.reader[offset], self.reader_block[offset], self.read_epoch[offset] = thread, block, epoch
        self.reader[offset[again | (self.reader[offset] != thread)]] = _SEVERAL
        self.reader_block[offset[elsewhere | (self.reader_block[offset] != block)]] = _SEVERAL

    def write(self, offset: Index, size: int, thread: Index, block: Index, epoch: Index) -> None:
        """Records a write; refuses it beside another thread's read or write."""
        offset, thread, block, epoch = _bytes(offset, size, thread, block, epoch)
        self._after_write(offset, thread, block, epoch, "writes")
        last = self.reader_block[offset]
        here = (last == block) & (self.read_epoch[offset] == epoch) & (self.reader[offset] != thread)
        bad = here | ((last != _NOBODY) & (last != block))
        if bad.any():
            k = int(np.argmax(bad))
            raise Race(int(thread[k]), f"writes what {_who(int(self.reader[offset[k]]))} read with no barrier between")
        self.writer[offset], self.writer_block[offset], self.write_epoch[offset] = thread, block, epoch
        if (met := self.writer[offset] != thread).any():
            k = int(np.argmax(met))
            raise Race(int(thread[k]), f"writes what {_who(int(self.writer[offset[k]]))} wrote in the same step")

    def _after_write(self, offset: Index, thread: Index, block: Index, epoch: Index, verb: str) -> None:
        writer, home = self.writer[offset], self.writer_block[offset]
        bad = (writer != _NOBODY) & (writer != thread) & ((home != block) | (self.write_epoch[offset] == epoch))
        if bad.any():
            k = int(np.argmax(bad))
            raise Race(int(thread[k]), f"{verb} what {_who(int(writer[k]))} wrote with no barrier between")


def _bytes(offset: Index, size: int, thread: Index, block: Index, epoch: Index) -> tuple[Index, Index, Index, Index]:
    """One entry per byte touched."""
    every = (offset[:, None] + np.arange(size)).ravel()
    return every, np.repeat(thread, size), np.repeat(block, size), np.repeat(epoch, size)


def _who(thread: int) -> str:
    """Named by machine.py's numbering: `#17` becomes the thread's place in its block."""
    return "other threads" if thread == _SEVERAL else f"#{thread}"
