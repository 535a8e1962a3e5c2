"""Many threads at once. Enters: for how many seconds. Leaves: a summary, or AssertionError where a result is wrong."""

from __future__ import annotations

import threading
import time

import numpy as np

from pelton.engine import InferenceSession, Model
from pelton.tests.soak.memory import small_graph, weights
from pelton.tests.support.threads import finely_shared

THREADS = 8
PATIENCE = 60
"""Seconds after the end in which a thread has to have ended too."""


def seconds(duration: int) -> str:
    """Each thread loads models of its own, and runs them and one that all share; launches are cut finely."""
    with finely_shared():
        return _stress(duration)


def _stress(duration: int) -> str:
    rows = [np.random.default_rng(k).standard_normal((size, 8), np.float32) for k, size in enumerate((1, 7, 5000))]
    shared = InferenceSession(num_threads=2).load(small_graph(), weights_registry=weights(1))
    wanted = [run(shared, x) for x in rows]
    counts, wrong, end = [0] * THREADS, list[str](), time.monotonic() + duration

    def work(number: int) -> None:
        while time.monotonic() < end and not wrong:
            own = InferenceSession(num_threads=1 + number % 3).load(small_graph(), weights_registry=weights(1))
            for x, bits in zip(rows * 5, wanted * 5, strict=True):
                wrong.extend(f"thread {number}: {x.shape}" for model in (own, shared) if run(model, x) != bits)
            counts[number] += 1

    workers = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(max(end - time.monotonic(), 0) + PATIENCE)
    stuck = sum(worker.is_alive() for worker in workers)
    assert not stuck, f"{stuck} threads do not end"
    assert not wrong, f"{len(wrong)} results are wrong: {wrong[:3]}"
    assert all(counts), f"a thread never came to run: {counts}"
    return f"{sum(counts):,} models loaded, {sum(counts) * 30:,} runs"


def run(model: Model, x: object) -> bytes:
    return model.execute(x)[0].to_numpy().tobytes()
