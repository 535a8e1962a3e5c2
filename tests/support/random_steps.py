"""The steps that a random graph is made of: a seed enters, a `Recipe` leaves.

Each function proposes one step on a value, at random, with a bound of what its result can be; `Chooser` takes it if it
fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pelton.tests.support.random_chooser import SYMBOLS, Choice, Chooser
from pelton.tests.support.random_graphs import Recipe, Sizes, Step

UNARY = (
    "abs", "ceil", "cos", "erf", "exp", "floor", "negate", "relu", "round", "sigmoid", "silu", "sin", "tanh", "trunc",
)  # fmt: skip
CASTS = ["float32", "float32", "float64", "bfloat16", "float16", "int64", "int32", "bool"]
INTEGER = ("add", "sub", "mul", "floor_div", "mod", "max", "min")
FLOAT = ("add", "add", "sub", "mul", "mul", "max", "min", "floor_div", "mod")
COMPARE = ("equal", "not_equal", "greater", "greater_equal")
LOGIC = ("logical_and", "logical_or", "logical_xor")


def sizes_of(seed: int, count: int) -> Sequence[Sizes]:
    """What the symbols stand for, a few times: 0, 1, sizes around the lane count, and others."""
    random = np.random.default_rng([seed, 1])
    usual = [{s: int(random.choice([1, 2, 3, 5, 7, 31, 32, 33, 40])) for s in SYMBOLS} for _ in range(count)]
    usual[-1][str(random.choice(SYMBOLS))] = int(random.choice([0, 0, 1, 70]))
    return usual


def generate(seed: int) -> Recipe:
    """The recipe of a seed."""
    return Chooser(np.random.default_rng(seed), CHOICES).run()


def unary(c: Chooser, x: int) -> Choice:
    if not c.is_float(x):
        return (
            (Step("unary", (x,), ("abs",)), c.bounds[x])
            if c.dtype(x) != "bool"
            else (Step("unary", (x,), ("logical_not",)), 1)
        )
    kind = c.pick(["unary"] * 4 + ["gelu", "tame"])
    name = c.pick({"unary": UNARY, "gelu": ("none", "tanh", "quick"), "tame": ("log", "rsqrt", "sqrt")}[kind])
    bound = math.exp(min(c.bounds[x], 100)) if name == "exp" else c.bounds[x]
    return Step(kind, (x,), (name,)), 1 if name in ("tanh", "sigmoid", "erf", "sin", "cos") else bound + 1


def binary(c: Chooser, x: int) -> Choice:
    y = c.partner(x)
    if y is None:
        return None
    names = LOGIC if c.dtype(x) == "bool" else COMPARE if c.chance(0.1) else FLOAT if c.is_float(x) else INTEGER
    name = str(c.pick(names))
    operands = (x, y) if c.chance(0.5) else (y, x)
    return Step("binary", operands, (name,)), c.bounds[x] * c.bounds[y] if name == "mul" else c.bounds[x] + c.bounds[y]


def divide(c: Chooser, x: int) -> Choice:
    y = c.partner(x)
    return (Step("divide", (x, y), ()), 4 * c.bounds[x]) if c.is_float(x) and y is not None else None


def number(c: Chooser, x: int) -> Choice:
    if c.dtype(x) == "bool":
        return None
    name, value = c.pick(["add", "sub", "mul", "max", "min"]), c.pick([1, 2, -3, 0.5, 1.25])
    kind = c.pick(["number", "reversed", "by size"])
    if kind == "by size":
        return (Step(kind, (x,), (c.axis(x),)), 70 * c.bounds[x]) if c.values[x].rank else None
    return Step(kind, (x,), (name, value if c.is_float(x) else int(value))), 3 * c.bounds[x] + 3


def where(c: Chooser, x: int) -> Choice:
    y, condition = c.partner(x), c.partner(x, "bool")
    return None if y is None or condition is None else (Step("where", (condition, x, y)), c.bounds[x] + c.bounds[y])


def cast(c: Chooser, x: int) -> Choice:
    return Step("cast", (x,), (c.pick(CASTS),)), c.bounds[x]


def reduce(c: Chooser, x: int) -> Choice:
    if not c.values[x].rank:
        return None
    name = c.pick(["sum", "sum", "max", "min", "mean", "prod", "argmax", "argmin", "softmax", "logsoftmax"])
    axis = c.values[x].rank - 1 if c.chance(0.5) else c.axis(x)
    if name == "prod" and c.bounds[x] > 1 and c.is_float(x):
        return None
    if name == "sum" and c.chance(0.2):
        return Step("reduce", (x,), (name, tuple(range(c.values[x].rank)))), 500 * c.bounds[x]
    return Step("reduce", (x,), (name, axis)), {"sum": 40 * c.bounds[x], "softmax": 1}.get(name, c.bounds[x] + 5)


def norm(c: Chooser, x: int) -> Choice:
    if not (c.is_float(x) and c.values[x].rank):
        return None
    last = c.values[x].ir_type.shape[-1:]
    rows = [k for k in range(len(c.steps)) if c.values[k].ir_type.shape == last and c.dtype(k) == c.dtype(x)]
    if not rows:
        return None
    g, b = c.pick(rows), c.pick(rows)
    bound = 8 * c.bounds[g] + c.bounds[b]
    return (Step("norm", (x, g, b)), bound) if c.chance(0.5) else (Step("rms", (x, g), (c.chance(0.5),)), bound)


def matmul(c: Chooser, x: int) -> Choice:
    shape = c.values[x].ir_type.shape
    if not shape or c.dtype(x) == "bool":
        return None
    fitting = [
        k for k in range(len(c.steps))
        if c.dtype(k) == c.dtype(x) and (s := c.values[k].ir_type.shape) and s[-2 if len(s) > 1 else 0] == shape[-1]
    ]  # fmt: skip
    if not fitting:
        return None
    y = c.pick(fitting)
    return Step("matmul", (x, y)), 40 * c.bounds[x] * c.bounds[y] / 10


def permute(c: Chooser, x: int) -> Choice:
    rank = c.values[x].rank
    order = list(range(rank))
    if rank >= 2 and c.chance(0.5):
        order[-1], order[-2] = order[-2], order[-1]
    else:
        order = [int(k) for k in c.random.permutation(rank)]
    return Step("permute", (x,), (tuple(order),)), c.bounds[x]


SLICES = (
    slice(None, None, -1), slice(1, None), slice(None, -1), slice(0, 2), slice(None, None, 2), slice(-2, None),
    slice(3, 0, -1), slice(None), slice(None), slice(None), 0, -1, None,
)  # fmt: skip


def index(c: Chooser, x: int) -> Choice:
    return Step("index", (x,), (tuple(c.pick(SLICES) for _ in range(c.values[x].rank)),)), c.bounds[x]


def reshape(c: Chooser, x: int) -> Choice:
    how = c.pick(["merge", "merge", "unsqueeze", "squeeze", "halve", "swap", "swap", "flat"])
    return Step("reshape", (x,), (how, c.axis(x))), c.bounds[x]


def stretch(c: Chooser, x: int) -> Choice:
    ones = [k for k, d in enumerate(c.values[x].ir_type.shape) if d == 1]
    return Step("stretch", (x,), (c.pick([-1, *ones]), int(c.pick([2, 3, 33])))), c.bounds[x]


def concat(c: Chooser, x: int) -> Choice:
    if not c.values[x].rank:
        return None
    axis, shape = c.axis(x), c.values[x].ir_type.shape

    def fits(k: int) -> bool:
        s = c.values[k].ir_type.shape
        rest = zip(s[:axis] + s[axis + 1 :], shape[:axis] + shape[axis + 1 :], strict=False)
        return c.dtype(k) == c.dtype(x) and len(s) == len(shape) and all(a == b for a, b in rest)

    fitting = [k for k in range(len(c.steps)) if fits(k)]
    parts = tuple(int(c.pick(fitting)) for _ in range(int(c.random.integers(1, 5))))
    return Step("concat", (x, *parts), (axis,)), max(c.bounds[k] for k in (x, *parts))


def gather(c: Chooser, x: int) -> Choice:
    indices = [k for k in range(len(c.steps)) if c.dtype(k) in ("int64", "int32") and c.values[k].rank <= 2]
    if not (indices and c.values[x].rank):
        return None
    return Step("gather", (x, c.pick(indices)), (c.axis(x),)), c.bounds[x]


def places(c: Chooser, x: int) -> Choice:
    return (
        (Step("range", (x,), (c.axis(x),)) if c.chance(0.7) else Step("shape", (x,)), 40) if c.values[x].rank else None
    )


CHOICES: Sequence[Callable[[Chooser, int], Choice]] = (
    *[unary] * 8, *[binary] * 12, *[divide] * 2, *[number] * 3, *[where] * 2, cast, *[reduce] * 8, *[norm] * 4,
    *[matmul] * 4, *[permute] * 3, *[index] * 3, *[reshape] * 2, stretch, *[concat] * 2, gather, places,
)  # fmt: skip
