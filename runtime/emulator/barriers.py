"""The 16 numbered barriers of each block: who waits at them, who has only arrived.

Enters: threads that come to `bar.sync`, `bar.red` or `bar.arrive`. Leaves: who may go on. A barrier opens when as many
threads as it is for have come; warps that wait may stand at different instructions, as a producer and its consumers do.
"""

from __future__ import annotations

import numpy as np

from pelton.runtime.emulator.clocks import Clocks
from pelton.runtime.emulator.errors import DivergentBarrier
from pelton.runtime.emulator.values import Array

_NUMBERS = 17
"""The last is the cluster's, of one block here."""


class Barriers:
    """Of the blocks of one batch."""

    def __init__(self, cta: Array, clocks: Clocks, blocks: int) -> None:
        self.cta, self.clocks = cta, clocks
        self.told = np.zeros((blocks * _NUMBERS, clocks.warps + 1), np.int32)
        """By barrier: what those who came have told."""
        self.key = np.full(cta.size, -1, np.int64)
        """By thread: the barrier it waits at."""
        self.aligned = np.zeros(cta.size, np.bool_)
        self.arrived, self.expected = np.zeros(blocks * _NUMBERS, np.int64), np.zeros(blocks * _NUMBERS, np.int64)

    def enter(self, mask: Array, number: Array, count: Array | int, *, aligned: bool) -> None:
        """Threads begin to wait."""
        self.key[mask] = self._keys(mask, number, count)
        self.aligned[mask] = aligned

    def arrive(self, mask: Array, number: Array, count: Array) -> None:
        """Threads come and go on."""
        keys = self._keys(mask, number, count)
        np.add.at(self.arrived, keys, 1)
        self._tell(keys, np.flatnonzero(mask))
        self.clocks.tick(self.cta[mask])

    def _tell(self, keys: Array, threads: Array) -> tuple[Array, Array, Array]:
        """Keeps what the threads' warps know at their barriers; the warps, each once: barrier, block and number."""
        warps = self.clocks.warps
        both, first = np.unique(keys * warps + threads // 32 % warps, return_index=True)
        barrier, warp, block = both // warps, both % warps, self.cta[threads[first]]
        np.maximum.at(self.told, barrier, self.clocks.publish(block, warp))
        return barrier, block, warp

    def _keys(self, mask: Array, number: Array, count: Array | int) -> Array:
        threads = np.flatnonzero(mask)
        which = np.broadcast_to(number, mask.shape)[threads].astype(np.int64)
        wanted = np.broadcast_to(count, mask.shape)[threads].astype(np.int64)
        keys = self.cta[threads] * _NUMBERS + np.minimum(which, _NUMBERS - 1)
        odd = (which >= _NUMBERS) | (wanted % 32 != 0) | (wanted == 0)
        other = (self.expected[keys] != 0) & (self.expected[keys] != wanted)
        if (odd | other).any():
            k = int(np.argmax(odd | other))
            has = f", others wait for {int(self.expected[keys[k]])}" if other[k] else ""
            raise DivergentBarrier(int(threads[k]), f"barrier {int(which[k])} for {int(wanted[k])} threads{has}")
        self.expected[keys] = wanted
        return keys

    def open(self, waiting: Array, place: Array) -> Array:
        """Who may go on now; their barriers are as new. `place`: the instruction each thread stands at."""
        here = waiting & (self.key >= 0)
        if not here.any():
            return here
        together = here.reshape(-1, 32).all(1) & (place.reshape(-1, 32) == place[::32, None]).all(1)
        counted = here & (~self.aligned | np.repeat(together, 32))
        keys = self.key[counted]
        full = (self.expected > 0) & (self.arrived + np.bincount(keys, minlength=self.arrived.size) >= self.expected)
        used = np.where(full, np.minimum(self.arrived, self.expected), 0)
        needed = np.where(full, self.expected - used, 0)
        released = np.zeros(waiting.size, np.bool_)
        released[np.flatnonzero(counted)[_ranks(keys) < needed[keys]]] = True
        if released.any():
            barrier, block, warp = self._tell(self.key[released], np.flatnonzero(released))
            self.clocks.learn(block, warp, self.told[barrier])
            self.clocks.tick(block)
        self.told[full & (self.arrived == used)] = 0
        self.key[released] = -1
        self.arrived -= used
        self.expected[full & (self.arrived == 0) & (np.bincount(keys, minlength=full.size) == needed)] = 0
        return released


def _ranks(keys: Array) -> Array:
    """How many before it have the same key."""
    order = np.argsort(keys, kind="stable")
    ranks = np.empty(keys.size, np.int64)
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    ranks[order] = np.arange(keys.size) - np.repeat(starts, np.diff(starts, append=keys.size))
    return ranks
