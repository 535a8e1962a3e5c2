"""Resident memory over many loads and runs. Enters: how many. Leaves: a summary, or AssertionError where it grows.

What is watched are the pages of the process and its mappings: mapped code, blocks of NumPy's and of llvmlite's are in
none of Python's own statistics.
"""

from __future__ import annotations

import gc
import mmap
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pelton.driver import Buffer
from pelton.dtype import DType
from pelton.engine import CompiledModel, InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, TensorValue, Weight, ops

F32, CPU = DType.float32, DeviceRef.CPU()
NOISE = 1536 << 10
"""Bytes by which the allocators of a process may move, however many rounds there are."""


def resident() -> int:
    """Bytes of the process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def mappings() -> int:
    """How many ranges of addresses the process has mapped."""
    return Path("/proc/self/maps").read_text().count("\n")


def stays_flat(step: Callable[[int], object], rounds: int) -> str:
    """Take `rounds` steps, after others to get warm. Raises AssertionError where memory grows with them."""
    for number in range(min(rounds, 500)):
        step(number)
    gc.collect()
    before, mapped = resident(), mappings()
    for number in range(rounds):
        step(number)
    gc.collect()
    grown, more = resident() - before, mappings() - mapped
    text = f"{grown / 1024:+,.0f} KiB ({grown / rounds:+.1f} bytes a round), {more:+d} mappings; {before >> 20} MiB"
    assert grown <= NOISE, f"memory grows: {text}"
    assert more <= 32, f"mappings grow: {text}"
    return text


def small_graph() -> Graph:
    """A product with a packed weight, a constant, and a row op: an artifact with all its parts."""

    def layer(x: TensorValue) -> TensorValue:
        scaled = x @ Weight("w", F32, [8, 4], CPU)
        return ops.softmax(scaled + ops.constant(np.ones((1, 4), np.float32), F32, CPU))

    return Graph("small", layer, [TensorType(F32, ["n", 8], CPU)])


def weights(number: int) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    return {"w": np.full((8, 4), number % 7, np.float32)}


def loads(rounds: int) -> str:
    """Every second model comes from the graph, the others from what was compiled; each runs once."""
    session, graph = InferenceSession(), small_graph()
    compiled: CompiledModel = session.compile(graph)
    x = np.arange(16, dtype=np.float32).reshape(2, 8)

    def step(number: int) -> None:
        source = {"weights_registry": weights(number)}
        model = session.load(graph, **source) if number % 2 else session.init(compiled, **source)
        assert model.execute(x)[0].to_numpy().sum() == 2  # each row of equal products: quarters

    return stays_flat(step, rounds)


def captures(rounds: int) -> str:
    """Each run is captured under a key, replayed, and released three rounds later."""
    model = InferenceSession().load(small_graph(), weights_registry=weights(1))
    inputs = [Buffer.from_numpy(np.ones((rows, 8), np.float32)) for rows in (1, 2, 3, 300)]
    keys: list[int] = []

    def step(number: int) -> None:
        keys.append(keys[-1] + 1 if keys else 0)
        x = inputs[number % len(inputs)]
        (y,) = model.capture(keys[-1], x)
        model.replay(keys[-1], x)
        assert y.to_numpy().sum() == x.shape[0]
        if len(keys) > 3:
            model.release_captured_graph(keys.pop(0))

    return stays_flat(step, rounds)


def executes(rounds: int) -> str:
    """Sizes vary, some calls fail, and outputs are held for a while."""
    model = InferenceSession().load(small_graph(), weights_registry=weights(1))
    inputs = [np.ones((rows, 8), np.float32) for rows in (0, 1, 2, 3, 300)]
    held: list[object] = [None] * 16

    def step(number: int) -> None:
        if number % 1000 == 999:
            try:
                model.execute(inputs[1][:, :4])
            except ValueError:
                return
            raise AssertionError("a slice that is not contiguous was taken")
        held[number % len(held)] = model.execute(inputs[number % len(inputs) if number % 50 == 0 else 2])

    return stays_flat(step, rounds)
