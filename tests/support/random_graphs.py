"""Random graphs as recipes: a seed enters, a list of steps leaves, which can be built, shrunk and printed.

A recipe is plain data: step k makes value k out of earlier ones. `build` makes a graph of it through the graph API,
with the symbols as they are or with known sizes in their place. Magnitudes are kept small, so that no partial sum
leaves the range of its dtype: there the order of a sum would decide what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pelton.dtype import DType
from pelton.graph import DeviceRef, Graph, TensorType, Weight, ops
from pelton.graph.value import TensorValue

CPU = DeviceRef.CPU()
Sizes = Mapping[str, int]
Shape = Sequence[int | str]


@dataclass(frozen=True)
class Step:
    """One value: what makes it, of which earlier values, and what else that takes: a source, its dtype and shape."""

    kind: str
    operands: tuple[int, ...] = ()
    parameters: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """A graph: its values in order, and which of them it returns."""

    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    def __str__(self) -> str:
        lines = [
            f"%{k} = {s.kind} {' '.join(f'%{o}' for o in s.operands)} {s.parameters}" for k, s in enumerate(self.steps)
        ]
        return "\n".join([*lines, f"return {' '.join(f'%{o}' for o in self.outputs)}"])


SOURCES = ("input", "weight", "constant")


def _reshaped(x: TensorValue, how: str, axis: int) -> TensorValue:
    shape = list(x.shape)
    match how:
        case "merge":
            return ops.flatten(x, axis, axis + 1)
        case "unsqueeze":
            return ops.unsqueeze(x, axis)
        case "squeeze":
            return ops.squeeze(x, axis)
        case "halve":
            return ops.reshape(x, [*shape[:axis], 2, shape[axis] // 2, *shape[axis + 1 :]])
        case "swap":
            shape[axis], shape[axis + 1] = shape[axis + 1], shape[axis]
            return ops.reshape(x, shape)
        case _:
            return ops.reshape(x, [-1])


def _stretched(x: TensorValue, axis: int, size: int) -> TensorValue:
    """Broadcast along a dim of size 1, or along a new first one."""
    shape = [size, *x.shape] if axis < 0 else [*x.shape[:axis], size, *x.shape[axis + 1 :]]
    return ops.broadcast_to(x, shape)


MAKE: Mapping[str, Callable[..., TensorValue]] = {
    "unary": lambda x, name: getattr(ops, name)(x),
    "gelu": ops.gelu,
    "tame": lambda x, name: getattr(ops, name)(ops.abs(x) + 0.5),
    "binary": lambda x, y, name: getattr(ops, name)(x, y),
    "divide": lambda x, y: x / (ops.abs(y) + 0.25),
    "number": lambda x, name, number: getattr(ops, name)(x, number),
    "reversed": lambda x, name, number: getattr(ops, name)(number, x),
    "by size": lambda x, axis: x * x.shape[axis],
    "where": ops.where,
    "cast": lambda x, dtype: x.cast(DType[dtype]),
    "reduce": lambda x, name, axis: getattr(ops, name)(x, axis=axis),
    "norm": lambda x, g, b: ops.layer_norm(x, g, b, 1e-5),
    "rms": lambda x, g, first: ops.rms_norm(x, g, 1e-6, 1.0, first),
    "matmul": ops.matmul,
    "permute": ops.permute,
    "index": lambda x, index: x[index],
    "reshape": _reshaped,
    "stretch": _stretched,
    "concat": lambda *xs: ops.concat(xs[:-1], xs[-1]),
    "gather": lambda x, i, axis: ops.gather(x, ops.mod(i, x.shape[axis]), axis),
    "range": lambda x, axis: ops.range(0, x.shape[axis], 1, dtype=DType.int64, device=CPU),
    "shape": lambda x: ops.shape_to_tensor(x.shape),
}  # fmt: skip


def known(shape: Shape, sizes: Sizes) -> list[int | str]:
    """A shape with some symbols replaced."""
    return [sizes.get(d, d) if isinstance(d, str) else d for d in shape]


def contents(step: Step, number: int, sizes: Sizes, special: bool = False) -> Any:
    """The array of a source: the same for the same number and shape."""
    dtype, shape = DType[step.parameters[0]], [int(d) for d in known(step.parameters[1], sizes)]
    random = np.random.default_rng([number, *shape])
    if dtype is DType.bool:
        return random.random(shape) < 0.5
    if dtype.is_integral():
        return random.integers(-5, 6, shape).astype(dtype.to_numpy())
    array = random.standard_normal(shape)
    if special and array.size:
        places = random.integers(0, array.size, max(array.size // 30, 1))
        array.ravel()[places] = random.choice([0.0, -0.0, np.inf, -np.inf, np.nan], len(places))
    return array.astype(dtype.to_numpy())


def build(recipe: Recipe, sizes: Sizes | None = None) -> Graph:
    """The graph; symbols that `sizes` names become known."""
    given = [s for s in recipe.steps if s.kind == "input"]
    types = [TensorType(DType[dtype], known(shape, sizes or {}), CPU) for dtype, shape in (s.parameters for s in given)]
    with Graph("random", input_types=types) as graph:
        inputs, values = iter(graph.inputs), list[Any]()
        for k, step in enumerate(recipe.steps):
            values.append(next(inputs) if step.kind == "input" else make(step, k, values))
        graph.output(*(values[k] for k in recipe.outputs))
    return graph


def make(step: Step, number: int, values: Sequence[Any]) -> Any:
    """The value of a step inside the current graph."""
    match step.kind:
        case "weight":
            dtype, shape = step.parameters
            return Weight(f"w{number}", DType[dtype], shape, CPU)
        case "constant":
            return ops.constant(contents(step, number, {}))
        case _:
            return MAKE[step.kind](*(values[o] for o in step.operands), *step.parameters)


def weights(recipe: Recipe) -> dict[str, Any]:
    """What the registry holds."""
    return {f"w{k}": contents(s, k, {}) for k, s in enumerate(recipe.steps) if s.kind == "weight"}


def arrays(recipe: Recipe, sizes: Sizes, special: bool = False) -> list[Any]:
    """The inputs for these sizes."""
    return [contents(s, k, sizes, special) for k, s in enumerate(recipe.steps) if s.kind == "input"]


def pruned(recipe: Recipe) -> Recipe:
    """Without steps that no output needs. At least one input stays, to bind symbols."""
    needed = set(recipe.outputs)
    for k in reversed(range(len(recipe.steps))):
        if k in needed:
            needed.update(recipe.steps[k].operands)
    kept = sorted(needed)
    place = {k: i for i, k in enumerate(kept)}
    steps = [Step(s.kind, tuple(place[o] for o in s.operands), s.parameters) for s in (recipe.steps[k] for k in kept)]
    return Recipe(tuple(steps), tuple(place[o] for o in recipe.outputs))
