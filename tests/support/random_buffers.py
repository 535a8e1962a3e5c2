"""Random graphs that load and store: a seed enters, a graph leaves, whose every result is exact.

All numbers are small whole ones, and stay it: what is computed from them (sums, products, extremes) is exact in f32, so
compiled code, fused or not, and the interpreter must agree in every bit. Loads and stores of several buffers stand
between the other ops, in whole and in slices of every kind: in one piece of memory, scattered, backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pelton.dialects.dims import Dim
from pelton.dtype import DType
from pelton.graph import BufferType, BufferValue, DeviceRef, Graph, TensorType, TensorValue, ops

CPU = DeviceRef.CPU()
F32 = DType.float32
SHAPES: Sequence[tuple[str, ...]] = (("n", "m"), ("n", "m"), ("m", "n"), ("n",))
BUFFERS, TENSORS = 4, 2
LIMIT = 8.0
PARTS: Sequence[Any] = (
    slice(None), slice(None), slice(None), slice(1, None), slice(None, -1), slice(None, 2), slice(-2, None),
    slice(None, None, 2), slice(None, None, -1), slice(1, None, 3), slice(2, 0, -1),
)  # fmt: skip
Shape = tuple[Dim, ...]


class Writer:
    """A graph in the making: its buffers, and the tensors that steps may use."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.buffers: list[BufferValue] = []
        self.values: list[TensorValue] = []

    def pick(self, items: Sequence[Any]) -> Any:
        return items[int(self.random.integers(len(items)))]

    def graph(self) -> Graph:
        """The whole graph: inputs are buffers and tensors; outputs are what was computed last and what is held."""
        sizes: Mapping[str, int | str] = {"n": 5, "m": 6} if self.random.random() < 0.3 else {"n": "n", "m": "m"}
        shapes = [self.pick(SHAPES) for _ in range(BUFFERS + TENSORS)]
        types = [
            (BufferType if k < BUFFERS else TensorType)(F32, [sizes[d] for d in shape], CPU)
            for k, shape in enumerate(shapes)
        ]
        with Graph("random", input_types=[*types, TensorType(F32, ["n", "m"], CPU)]) as graph:
            self.buffers, self.values = list(graph.inputs[:BUFFERS]), list(graph.inputs[BUFFERS:])
            for _ in range(int(self.random.integers(6, 22))):
                self.step()
            count = min(len(self.values), int(self.random.integers(1, 5)))
            graph.output(*self.values[-count:], *(b[...] for b in self.buffers[BUFFERS:]))
        return graph

    def step(self) -> None:
        self.pick(STEPS)(self)

    def keep(self, value: TensorValue) -> None:
        self.values.append(value)

    def value(self, shape: Shape | None = None) -> TensorValue | None:
        """A tensor, late ones more often; of that shape, if one is given."""
        fitting = [v for v in self.values if shape is None or v.ir_type.shape == shape]
        return fitting[-1 - min(int(self.random.geometric(0.4)) - 1, len(fitting) - 1)] if fitting else None

    def index(self, rank: int) -> tuple[Any, ...]:
        return tuple(self.pick(PARTS) for _ in range(rank))


def tame(x: TensorValue) -> TensorValue:
    """Small again."""
    return ops.min(ops.max(x, -LIMIT), LIMIT)


def load(w: Writer) -> None:
    w.keep(w.pick(w.buffers)[...])


def load_slice(w: Writer) -> None:
    b = w.pick(w.buffers)
    w.keep(b[w.index(b.rank)])


def unary(w: Writer) -> None:
    if (x := w.value()) is not None:
        w.keep(w.pick([ops.relu, ops.abs, ops.negate, lambda x: tame(x + 1), lambda x: tame(x * 2)])(x))


def binary(w: Writer) -> None:
    x = w.value()
    if x is not None and (y := w.value(x.ir_type.shape)) is not None:
        w.keep(tame(w.pick([ops.add, ops.sub, ops.mul, ops.max, ops.min])(x, y)))


def reduce(w: Writer) -> None:
    """Along the last axis, with what belongs to it: x - max(x)."""
    if (x := w.value()) is not None and x.rank:
        axis = int(w.random.integers(x.rank))
        w.keep(tame(x - ops.max(x, axis=axis)) if w.random.random() < 0.5 else tame(x + tame(ops.sum(x, axis))))


def transpose(w: Writer) -> None:
    if (x := w.value()) is not None and x.rank == 2:
        w.keep(ops.transpose(x, 0, 1))


def matmul(w: Writer) -> None:
    x = w.value()
    if x is not None and x.rank == 2 and (y := w.value(x.ir_type.shape[::-1])) is not None:
        w.keep(tame(ops.matmul(x, y)))


def reshape(w: Writer) -> None:
    if (x := w.value()) is not None:
        w.keep(ops.flatten(x) if x.rank != 1 else ops.unsqueeze(x, 0))


def store(w: Writer) -> None:
    b = w.pick(w.buffers)
    if (x := w.value(b.ir_type.shape)) is not None:
        b[...] = x


def store_slice(w: Writer) -> None:
    """Values of the slice's shape: a number, one that happens to have it, or the same slice of what another holds."""
    b = w.pick(w.buffers)
    index = w.index(b.rank)
    shape = b[index].ir_type.shape
    alike = [c for c in w.buffers if c.ir_type.shape == b.ir_type.shape]
    source = w.value(shape)
    if source is None or w.random.random() < 0.4:
        source = w.pick([w.pick(alike)[index] + 1, float(w.random.integers(-4, 5)), -b[index]])
    b[index] = tame(source) if isinstance(source, TensorValue) else source


def update(w: Writer) -> None:
    """A buffer in place: the form that models write most."""
    b = w.pick(w.buffers)
    y = w.value(b.ir_type.shape)
    b[...] = tame(b[...] + (1 if y is None else y))


def late(w: Writer) -> None:
    """What is computed before another store to the same place, and stored after it."""
    b = w.pick(w.buffers)
    index = w.index(b.rank)
    alike = [c for c in w.buffers if c.ir_type.shape == b.ir_type.shape]
    early = tame(w.pick(alike)[index] * 2)
    b[...] = w.pick(alike)[...]
    b[index] = early


def create(w: Writer) -> None:
    b = w.pick(w.buffers[:BUFFERS])
    w.buffers.append(ops.buffer_create(b.type, w.pick([None, 3.0])))


STEPS: Sequence[Callable[[Writer], None]] = (
    *[load] * 4, *[load_slice] * 3, *[unary] * 3, *[binary] * 4, *[reduce] * 2, transpose, matmul, reshape,
    *[store] * 5, *[store_slice] * 4, *[update] * 3, *[late] * 2, create,
)  # fmt: skip


def generate(seed: int) -> Graph:
    """The graph of a seed."""
    return Writer(seed).graph()


def arrays(graph: Graph, sizes: Mapping[str, int], seed: int) -> list[Any]:
    """Inputs of whole numbers."""
    random = np.random.default_rng(seed)
    shapes = [[d if isinstance(d, int) else sizes[str(d)] for d in t.shape.raw] for t in graph.input_types]
    return [random.integers(-4, 5, shape).astype(np.float32) for shape in shapes]
