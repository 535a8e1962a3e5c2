"""A random graph in the making: which values there are, what fits them, how large they get.

The graph is built while it is chosen, so that the graph API says which step fits and what shape its value has. What it
refuses, is too large, or could leave the range of its dtype is not taken. What steps there are to choose from stands in
`random_steps.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pelton.dialects import dims
from pelton.dtype import DType
from pelton.graph import Graph, TensorType
from pelton.support.errors import PeltonError
from pelton.tests.support.random_graphs import CPU, SOURCES, Recipe, Step, make, pruned

SYMBOLS = ("n", "m", "k")
LARGEST = 30_000
"""Elements of one value at most."""
LIMITS = {"float64": 1e6, "float32": 1e6, "float16": 30.0, "bfloat16": 30.0}
FLOATS = tuple(LIMITS)
Choice = tuple[Step, float] | None
"""A step and a bound of its value's magnitude, or nothing that fits."""


class Chooser:
    """A recipe in the making: its steps, their values, and a bound of their magnitude."""

    def __init__(self, random: np.random.Generator, choices: Sequence[Callable[[Chooser, int], Choice]]) -> None:
        self.random = random
        self.choices = choices
        self.base = self.shape(int(random.integers(1, 5)))
        self.steps: list[Step] = self.sources()
        self.values: list[Any] = []
        self.bounds: list[float] = []

    def pick(self, items: Sequence[Any]) -> Any:
        return items[int(self.random.integers(len(items)))]

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    # sources
    def shape(self, rank: int) -> list[int | str]:
        return [
            self.pick(SYMBOLS) if self.chance(0.6) else int(self.pick([1, 2, 3, 4, 8, 16, 33])) for _ in range(rank)
        ]

    def sources(self) -> list[Step]:
        """Inputs like the base shape with dims missing, of size 1, replaced or exchanged; weights and constants."""
        main = str(self.pick(["float32"] * 7 + ["float64", "bfloat16", "float16"]))
        steps = [Step("input", (), (main, tuple(self.base)))]
        for _ in range(int(self.random.integers(5, 10))):
            shape = [1 if self.chance(0.15) else d for d in self.base]
            if self.chance(0.2):
                shape[-1] = self.shape(1)[0]
            if self.chance(0.3):
                shape = shape[int(self.random.integers(len(shape) + 1)) :]
            if self.chance(0.2):
                shape = [shape[int(k)] for k in self.random.permutation(len(shape))]
            kind = str(self.pick(["input"] * 5 + ["weight", "constant"]))
            if kind != "input":
                shape = [d if isinstance(d, int) else int(self.pick([1, 3, 8, 33])) for d in shape]
            dtype = (
                main
                if self.chance(0.75)
                else str(self.pick(["float32", "float64", "bfloat16", "int64", "int32", "bool"]))
            )
            steps.append(Step(kind, (), (dtype, tuple(shape))))
        return [s for s in steps if s.kind == "input"] + [s for s in steps if s.kind != "input"]

    # the walk
    def run(self) -> Recipe:
        given = [s.parameters for s in self.steps if s.kind == "input"]
        with Graph("g", input_types=[TensorType(DType[d], list(shape), CPU) for d, shape in given]) as graph:
            for k, step in enumerate(self.steps):
                self.values.append(graph.inputs[k] if step.kind == "input" else make(step, k, self.values))
                self.bounds.append(6.0)
            wanted = len(self.steps) + int(self.random.integers(3, 26))
            for _ in range(20 * wanted):
                if len(self.steps) == wanted:
                    break
                self.attempt()
        return pruned(Recipe(tuple(self.steps), tuple(self.outputs())))

    def attempt(self) -> None:
        """One more step, if what is chosen fits."""
        x = self.recent()
        found: Choice = self.pick(self.choices)(self, x)
        if found is None:
            return
        step, bound = found
        try:
            value = make(step, len(self.steps), self.values)
        except (PeltonError, ValueError, TypeError, IndexError):
            return
        if self.elements(value) <= LARGEST and bound <= LIMITS.get(value.dtype.name, math.inf):
            self.steps.append(step)
            self.values.append(value)
            self.bounds.append(max(bound, 1.0))

    def elements(self, value: Any) -> int:
        return dims.evaluate(dims.product(value.ir_type.shape), dict.fromkeys(SYMBOLS, 40))

    def recent(self) -> int:
        """A value, late ones more often."""
        count = len(self.steps)
        return (
            int(count - 1 - min(self.random.geometric(0.25) - 1, count - 1))
            if self.chance(0.7)
            else self.pick(range(count))
        )

    def outputs(self) -> list[int]:
        """What nobody uses, a few of the others, and now and then a source or the same value twice."""
        used = {o for s in self.steps for o in s.operands}
        made = [k for k, s in enumerate(self.steps) if s.kind not in SOURCES]
        outputs = [k for k in made if k not in used] + [k for k in made if k in used and self.chance(0.15)]
        if self.chance(0.15):
            outputs.append(self.pick(range(len(self.steps))))
        if outputs and self.chance(0.15):
            outputs.append(self.pick(outputs))
        return outputs or [len(self.steps) - 1]

    # what the choices ask
    def dtype(self, x: int) -> str:
        return self.values[x].dtype.name

    def is_float(self, x: int) -> bool:
        return self.dtype(x) in FLOATS

    def axis(self, x: int) -> int:
        return int(self.random.integers(max(self.values[x].rank, 1)))

    def partner(self, x: int, dtype: str | None = None) -> int | None:
        """A value that broadcasts with `x`, perhaps `x` itself."""
        wanted = dtype or self.dtype(x)
        fitting = [k for k in range(len(self.steps)) if self.dtype(k) == wanted and self.broadcast(k, x)]
        alike = [k for k in fitting if self.values[k].ir_type.shape == self.values[x].ir_type.shape]
        return self.pick(alike if alike and self.chance(0.6) else fitting) if fitting else None

    def broadcast(self, x: int, y: int) -> bool:
        a, b = (self.values[k].ir_type.shape[::-1] for k in (x, y))
        return all(d == e or 1 in (d, e) for d, e in zip(a, b, strict=False))
