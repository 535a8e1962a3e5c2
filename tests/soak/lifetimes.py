"""Nothing is freed while it is used. Enters: how many rounds. Leaves: a summary, or AssertionError where it is.

Weights and inputs lie in mappings of their own, which go when the last holder does: a kernel that reads one too late
ends the process. Outputs are held past their models and compared.
"""

from __future__ import annotations

import gc
import mmap
import threading
from collections import deque
from typing import Any

import numpy as np

from pelton.dtype import DType
from pelton.engine import InferenceSession, Model
from pelton.graph import DeviceRef, Graph, TensorType, Weight, ops

F32, CPU = DType.float32, DeviceRef.CPU()
ROWS, INNER, COLUMNS = 64, 96, 160
THREADS = 3


def mapped(array: np.ndarray[Any, Any], read_only: bool = False) -> np.ndarray[Any, Any]:
    """A copy in a mapping that goes with it."""
    copy = np.frombuffer(mmap.mmap(-1, array.nbytes), array.dtype).reshape(array.shape)
    copy[...] = array
    copy.flags.writeable = not read_only
    return copy


def graph() -> Graph:
    """A packed weight, a weight that is read where it lies, and a weight that is returned."""

    def layer(x: Any) -> Any:
        bias = Weight("bias", F32, [COLUMNS], CPU)
        return ops.relu(x @ Weight("w", F32, [INNER, COLUMNS], CPU) + bias), bias + 0.0

    return Graph("layer", layer, [TensorType(F32, ["n", INNER], CPU)])


class Stress:
    """Models that one thread loads and drops while others run them, collecting garbage all the time."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.compiled = InferenceSession().compile(graph())
        self.models = deque[tuple[Model, float]](maxlen=2)
        self.wrong: list[str] = []
        self.calls = 0
        self.loaded = threading.Event()
        self.done = threading.Event()

    def load(self) -> None:
        """A model whose weights nobody else holds takes the place of the oldest."""
        session = InferenceSession()
        try:
            for number in range(self.rounds):
                value = float(number % 11)
                weights = {
                    "w": mapped(np.full((INNER, COLUMNS), value, np.float32), read_only=bool(number % 2)),
                    "bias": mapped(np.full(COLUMNS, value, np.float32), read_only=number % 3 == 0),
                }
                self.models.append((session.init(self.compiled, weights_registry=weights), value))
                self.loaded.set()
                del weights
                if number % 16 == 0:
                    gc.collect()
        except Exception as error:  # whatever it is, the main thread has to know
            self.wrong.append(f"load: {error!r}")
        self.done.set()
        self.loaded.set()

    def run(self) -> None:
        """Call whichever model there is, with an input nobody else holds; look at outputs once it may be gone."""
        held = deque[tuple[list[Any], float]](maxlen=4)
        self.loaded.wait()
        try:
            while not self.done.is_set():
                model, value = self.models[-1]
                run = model.execute
                del model
                outputs = run(mapped(np.ones((ROWS, INNER), np.float32)))
                del run
                held.append(([b.to_numpy() for b in outputs], value))
                self.calls += 1
                for (product, bias), factor in held:
                    want = INNER * factor + factor
                    if not (product == want).all() or not (bias == factor).all():
                        self.wrong.append(f"got {product[0, 0]}, {bias[0]}, expected {want}, {factor}")
        except Exception as error:  # see above
            self.wrong.append(f"run: {error!r}")


def stress(rounds: int) -> str:
    """As many models as `rounds` come and go."""
    work = Stress(rounds)
    threads = [threading.Thread(target=work.load), *(threading.Thread(target=work.run) for _ in range(THREADS))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not work.wrong, f"{len(work.wrong)} times: {work.wrong[0]}"
    assert work.calls > 0, "nothing ran meanwhile"
    return f"{work.calls:,} calls meanwhile"
