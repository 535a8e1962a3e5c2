"""The race detector of global memory against its definition: a list of all accesses, each compared with each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from pelton.runtime.emulator import Race
from pelton.runtime.emulator.races import Tracker

THREADS = 3


class One(NamedTuple):
    """An access of one thread to one byte."""

    byte: int
    thread: int
    epoch: int
    write: bool

    def races_with(self, other: One) -> bool:
        """Two threads, one byte, a write, and no barrier between."""
        ordered = self.thread // THREADS == other.thread // THREADS and self.epoch != other.epoch
        return self.byte == other.byte and self.thread != other.thread and (self.write or other.write) and not ordered


def steps(rng: np.random.Generator) -> list[tuple[bool, int, np.ndarray, np.ndarray, np.ndarray]]:
    """Random accesses, to so few bytes that threads meet: write or not, bytes, offsets, threads, barriers passed."""
    blocks, found = int(rng.integers(1, 4)), []
    epoch, chance = np.zeros(blocks, np.int64), rng.choice([0.2, 0.7])
    for _ in range(8):
        write = bool(rng.random() < 0.3)
        threads = rng.permutation(THREADS * blocks)[: 1 if write else rng.integers(1, 6)]
        bytes = int(rng.choice([1, 4, 8]))
        offsets = rng.integers(0, 16 // bytes, threads.size) * bytes
        found.append((write, bytes, offsets, threads, epoch[threads // THREADS]))
        epoch += rng.random(blocks) < chance
    return found


@pytest.mark.parametrize("size", [16, 1 << 19])
def test_a_race_is_found_if_and_only_if_there_is_one(size: int) -> None:
    raced = 0
    for seed in range(1500):
        tracker, seen = Tracker(size, THREADS), list[One]()
        for write, bytes, offsets, threads, epochs in steps(np.random.default_rng(seed)):
            places = offsets if size == 16 else offsets % 8 + offsets // 8 * 2048
            now = [
                One(int(p) + k, int(t), int(e), write)
                for p, t, e in zip(places, threads, epochs, strict=True)
                for k in range(bytes)
            ]
            races = any(a.races_with(b) for i, a in enumerate(now) for b in (*seen, *now[:i]))
            note = tracker.write if write else tracker.read
            if not races:
                note(places, bytes, threads, threads // THREADS, epochs)
                seen += now
                continue
            with pytest.raises(Race, match="with no barrier between"):
                note(places, bytes, threads, threads // THREADS, epochs)
            raced += 1
            break
    assert 500 < raced < 1400


def test_two_writes_in_one_step_are_a_race() -> None:
    two = np.arange(2)
    with pytest.raises(Race, match="writes what #1 wrote in the same step"):
        Tracker(8, THREADS).write(0 * two, 4, two, 0 * two, 0 * two)


def test_records_are_kept_of_what_is_touched_alone() -> None:
    tracker, one = Tracker(1 << 34, THREADS), np.ones(1, np.int64)
    for offset in (0, 1 << 33, (1 << 34) - 4):
        tracker.write(one * offset, 4, one, 0 * one, one)
    assert tracker.writer.size <= 8 * 1024
