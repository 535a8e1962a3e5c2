"""What the generic op test runs: for each op of `nn`, calls with symbolic and with known sizes.

An elementwise op needs no line here: its arity and dtypes are found by asking its class. Any other op has a row in
`CALLS`; the test fails for an op that has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import BoolAttr, FloatAttr, IntegerAttr, StringAttr, f32, f64, i1, i32, i64
from xdsl.ir import Attribute

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.nn import BY_NAME, Elementwise
from pelton.dialects.op import NnOp
from pelton.dialects.types import DimsAttr, TensorType, is_float
from pelton.tests.support.nn_values import BF16, F16, U8, U16, U32, UNSIGNED, dtypes_of, special, values

FLOATS = (f32, f64, F16, BF16)
NUMBERS = (*FLOATS, i32, i64, *UNSIGNED)
TESTED = (*NUMBERS, i1)
SIZES = ({"n": 5, "m": 33}, {"n": 1, "m": 1}, {"n": 0, "m": 7}, {"n": 3, "m": 0}, {"n": 2, "m": 32}, {"n": 7, "m": 100})
"""What the symbols are bound to: 0, 1, a multiple of the lane count, and none."""
STATIC = {"n": 5, "m": 33}

Properties = Mapping[str, Attribute]
Fill = Callable[[tuple[int, ...], Attribute, int], Any]


def numbers(shape: tuple[int, ...], dtype: Attribute, seed: int) -> Any:
    """Random values with the dtype's special ones among them."""
    array = values(dtype, int(np.prod(shape)), seed)
    some = special(dtype)
    if seed % 2 and array.size:
        places = np.random.default_rng(seed).integers(0, array.size, min(array.size, 2 * len(some)))
        array[places] = np.resize(np.random.default_rng(seed + 1).permutation(some), len(places))
    return array.reshape(shape)


def moderate(shape: tuple[int, ...], dtype: Attribute, seed: int) -> Any:
    """Random values with zeros, infinities and NaN among them, none so large that a partial sum leaves the range.

    Where it does, the order of the sum decides between a number and an infinity, which `evaluate` does not fix.
    """
    array = values(dtype, int(np.prod(shape)), seed, 1.0)
    if is_float(dtype) and array.size and seed % 2:
        random = np.random.default_rng(seed)
        some = np.array([0.0, -0.0, np.inf, -np.inf, np.nan]).astype(array.dtype)
        array[random.integers(0, array.size, max(array.size // 40, 1))] = random.choice(some)
    return array.reshape(shape)


def finite(shape: tuple[int, ...], dtype: Attribute, seed: int) -> Any:
    """Random values without the special ones."""
    return values(dtype, int(np.prod(shape)), seed, 1.0).reshape(shape)


def below(limit: int) -> Fill:
    """Indices from -limit to limit - 1."""
    return lambda shape, dtype, seed: np.random.default_rng(seed).integers(-limit, limit, shape).astype(str_of(dtype))


def str_of(dtype: Attribute) -> str:
    return {i32: "int32", i64: "int64"}[dtype]  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True)
class Call:
    """One use of an op: its operands (shapes over the symbols n and m, dtypes, fills) and its properties."""

    op: str
    shapes: Sequence[Sequence[Dim]]
    dtypes: Sequence[Attribute]
    properties: Properties = field(default_factory=dict[str, Attribute])
    fills: Sequence[Fill] = ()

    def types(self, known: Mapping[str, Dim]) -> list[TensorType]:
        """The operand types with some symbols replaced."""
        return [
            TensorType([dims.substitute(d, known) for d in shape], dtype)
            for shape, dtype in zip(self.shapes, self.dtypes, strict=True)
        ]

    def bound(self, known: Mapping[str, Dim]) -> dict[str, Attribute]:
        """The properties with some symbols replaced."""
        return {k: _substitute(v, known) for k, v in self.properties.items()}

    def arrays(self, sizes: Mapping[str, int], seed: int) -> list[Any]:
        """Operand values."""
        fills = [*self.fills, *[numbers] * (len(self.shapes) - len(self.fills))]
        shapes = [tuple(dims.evaluate(d, sizes) for d in shape) for shape in self.shapes]
        return [f(s, t, seed + k) for k, (f, s, t) in enumerate(zip(fills, shapes, self.dtypes, strict=True))]


def _substitute(value: Attribute, known: Mapping[str, Dim]) -> Attribute:
    if isinstance(value, DimsAttr):
        return DimsAttr(tuple(dims.substitute(d, known) for d in value.data))
    return value


def integer(value: int) -> IntegerAttr[Any]:
    return IntegerAttr(value, i64)


def sizes(*shape: Dim) -> DimsAttr:
    return DimsAttr(shape)


N, M = "n", "m"
AXES = ({"axis": integer(0)}, {"axis": integer(1)})


def over_axes(op: str, dtypes: Sequence[Attribute], fill: Fill = numbers) -> list[Call]:
    """A reduction along the first and the last axis, and along the middle of three."""
    calls = [Call(op, [[N, M]], [t], axis, [fill]) for t in dtypes for axis in AXES]
    return [*calls, Call(op, [[2, M, 3]], [dtypes[0]], {"axis": integer(1)}, [fill])]


def each(
    op: str, shapes: Sequence[Sequence[Dim]], dtypes: Sequence[Attribute], fill: Fill = numbers, **properties: Attribute
) -> list[Call]:
    """The call once per dtype, all operands of that dtype."""
    return [Call(op, shapes, [t] * len(shapes), properties, [fill] * len(shapes)) for t in dtypes]


def casts(a: Attribute, b: Attribute) -> bool:
    """Which casts are tested: each of two signed dtypes, and as many with an unsigned one as say what is different."""
    if a in UNSIGNED and b in UNSIGNED:
        return U8 in (a, b)
    return not {a, b} & {U16, U32} or bool({a, b} & {f32, i64})


EPSILON = FloatAttr(1e-5, f64)
EARLY = {"multiply_before_cast": BoolAttr.from_bool(True)}
GELUS = ("none", "tanh", "quick")
RANKS = ((BoolAttr.from_bool(True), 7), (BoolAttr.from_bool(False), 33))
CALLS: dict[str, list[Call]] = {
    "cast": [
        Call("cast", [[N, M]], [a], {"dtype": b}) for a in TESTED for b in TESTED if a != b and casts(a, b)
    ],
    "where": [Call("where", [[N, M]] * 3, [i1, t, t]) for t in TESTED],
    "gelu": [Call("gelu", [[N, M]], [t], {"approximate": StringAttr(a)}) for t in FLOATS for a in GELUS],
    "transfer": each("transfer", [[N, M]], TESTED, device=StringAttr("cpu:0")),
    "reshape": each("reshape", [[N, M, 2]], TESTED, shape=sizes(dims.mul(N, M), 2)),
    "permute": [
        *each("permute", [[N, M]], TESTED, order=sizes(1, 0)),
        *each("permute", [[N, 3, M]], (f32,), order=sizes(1, 0, 2)),
        *each("permute", [[N, 3, M]], (f32, i64), order=sizes(2, 0, 1)),
    ],
    "broadcast_to": [
        *each("broadcast_to", [[M]], TESTED, shape=sizes(N, M)),
        *each("broadcast_to", [[N, 1]], (f32, i64), shape=sizes(2, N, M)),
        *each("broadcast_to", [[]], (f32,), shape=sizes(N, M)),
    ],
    "rebind": each("rebind", [[N, M]], (f32, i1), shape=sizes(N, M)),
    "slice": [
        *each("slice", [[7, M]], TESTED, starts=sizes(6, 0), stops=sizes(-1, M), steps=sizes(-2, 1)),
        *each("slice", [[N, 40]], (f32,), starts=sizes(0, 3), stops=sizes(N, 40), steps=sizes(1, 5)),
    ],
    "concat": [
        *each("concat", [[N, M], [2, M]], TESTED, axis=integer(0)),
        *each("concat", [[N, M], [N, 3], [N, M]], (f32, BF16), axis=integer(1)),
    ],
    "gather": [
        *[Call("gather", [[6, M], [N, 3]], [t, i64], {"axis": integer(0)}, [numbers, below(6)]) for t in TESTED],
        Call("gather", [[N, 6], [M]], [f32, i32], {"axis": integer(1)}, [numbers, below(6)]),
    ],
    "sum": over_axes("sum", NUMBERS, moderate),
    "prod": over_axes("prod", NUMBERS, moderate),
    "max": over_axes("max", NUMBERS),
    "min": over_axes("min", NUMBERS),
    "mean": over_axes("mean", FLOATS, moderate),
    "argmax": [Call("argmax", [[N, 9]], [t], AXES[1]) for t in NUMBERS] + [Call("argmax", [[4, M]], [f32], AXES[0])],
    "argmin": [Call("argmin", [[N, 9]], [t], AXES[1]) for t in NUMBERS] + [Call("argmin", [[4, M]], [f32], AXES[0])],
    "softmax": over_axes("softmax", FLOATS, moderate),
    "logsoftmax": over_axes("logsoftmax", FLOATS, moderate),
    "layer_norm": each("layer_norm", [[N, M], [M], [M]], FLOATS, moderate, epsilon=EPSILON),
    "rms_norm": [
        *each("rms_norm", [[N, M], [M]], FLOATS, moderate, epsilon=EPSILON, weight_offset=FloatAttr(1.0, f64), **EARLY),
        *each("rms_norm", [[N, M], [M]], FLOATS, moderate, epsilon=EPSILON),
    ],
    "matmul": [
        *[Call("matmul", [[N, M], [M, 40]], [t, t], {}, [finite, finite]) for t in NUMBERS],
        *[Call("matmul", [[2, N, 17], [2, 17, M]], [t, t], {}, [finite, finite]) for t in (f32, f64)],
        Call("matmul", [[2, 3, N, M], [M, 5]], [f32, f32], {}, [finite, finite]),
    ],
    "pack": each("pack", [[N, M]], (f32, f64), width=integer(16)),
    "packed_matmul": [
        Call("packed_matmul", [[N, M], [3, M, 16]], [f32, f32], {"n": sizes(40)}, [finite, finite]),
    ],
    "top_k": [
        *[Call("top_k", [[N, 40]], [t], {"largest": b, "k": sizes(k)}) for t in NUMBERS for b, k in RANKS],
        *[Call("top_k", [[N, M]], [t], {"largest": b, "k": sizes(M)}) for t in NUMBERS for b, _ in RANKS],
        Call("top_k", [[40]], [f32], {"largest": RANKS[0][0], "k": sizes(0)}),
    ],
    "top_k_select": [
        Call("top_k_select", [[N, 2, 70]], [t], {"largest": RANKS[0][0], "k": sizes(70)}) for t in NUMBERS
    ],
    "top_k_sort": [Call("top_k_sort", [[N, 2, M]], [t], {"largest": RANKS[0][0]}) for t in NUMBERS],
    "take_along_axis": [
        *[Call("take_along_axis", [[N, 6], [N, M]], [t, i64], AXES[1], [numbers, below(9)]) for t in TESTED],
        Call("take_along_axis", [[6, M], [3, M]], [f32, i32], AXES[0], [numbers, below(9)]),
    ],
    "shape_to_tensor": [],
    "constant": [],
    "weight": [],
    "iota": [],
    "dim": [],
    "range": [],
}  # fmt: skip
"""Ops with no operand, or whose operands are sizes, are tested in `test_creation.py`."""


def calls() -> Iterator[Call]:
    """Every call of every op."""
    for name, op in BY_NAME.items():
        if name in CALLS:
            yield from CALLS[name]
        elif issubclass(op, Elementwise):
            arity = len(op.get_irdl_definition().operands)
            for dtype in dtypes_of(name, arity):
                if dtype in TESTED:
                    yield Call(name, [[N, M]] * arity, [dtype] * arity)
        elif op.effects is NnOp.effects:  # those that have are tested by themselves
            raise AssertionError(f"nn.{name} has no row in CALLS")
