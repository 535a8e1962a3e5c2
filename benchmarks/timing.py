"""Fair timing on a noisy machine: calls that do the same work enter, CPU seconds per call and paired ratios leave.

Contestants take turns in short blocks, in a new order each round, so that a slow spell of the machine meets all of
them. Time is the CPU time of the whole process, so waiting does not count, and no thread can hide. Of many rounds the
low decile is kept: what the code takes when little disturbs it. Ratios are taken within rounds; their spread is told.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

Call = Callable[[], object]
BLOCK_SECONDS = 0.004


@dataclass(frozen=True)
class Ratio:
    """How many times longer the first of two took, within rounds: the middle one, and the 10th and 90th percentile."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}–{self.high:.2f})"


@dataclass(frozen=True)
class Measured:
    """CPU seconds per call by contestant, one figure per round; all contestants took part in every round."""

    rounds: dict[str, list[float]]

    def seconds(self, name: str) -> float:
        """The low decile over the rounds."""
        return float(np.percentile(self.rounds[name], 10))

    def ratio(self, name: str, other: str) -> Ratio:
        each = np.array(self.rounds[name]) / np.array(self.rounds[other])
        low, median, high = (float(v) for v in np.percentile(each, (10, 50, 90)))
        return Ratio(median, low, high)


def measure(contestants: Mapping[str, Call], seconds: float, min_rounds: int = 12) -> Measured:
    """Time the contestants for about `seconds` of CPU time altogether, at least `min_rounds` rounds."""
    per_block = {name: _calls_per_block(call) for name, call in contestants.items()}
    rounds: dict[str, list[float]] = {name: [] for name in contestants}
    names, shuffle = list(contestants), np.random.default_rng(0)
    end = time.process_time() + seconds
    collecting = gc.isenabled()
    gc.disable()
    try:
        while time.process_time() < end or len(rounds[names[0]]) < min_rounds:
            for k in shuffle.permutation(len(names)):
                name = names[int(k)]
                rounds[name].append(_time(contestants[name], per_block[name]))
    finally:
        if collecting:
            gc.enable()
    return Measured(rounds)


def _calls_per_block(call: Call) -> int:
    """So many calls that a block takes `BLOCK_SECONDS`; the calls made to find out warm the caches up."""
    call()
    calls = 1
    while (taken := _time(call, calls) * calls) < BLOCK_SECONDS / 2:
        calls *= 2
    return max(1, math.ceil(calls * BLOCK_SECONDS / taken)) if taken < BLOCK_SECONDS else calls


def _time(call: Call, calls: int) -> float:
    begun = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - begun) / calls
