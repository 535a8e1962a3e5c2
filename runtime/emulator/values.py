"""PTX types and the two ways between a register's bits and a typed value.

Enters: register contents, which are unsigned integers of the register's width (predicates are booleans). Leaves: the
same bits seen as a PTX type, for rules.py to compute with, and results as bits again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Type:
    """A PTX fundamental type. `kind`: u(nsigned), s(igned), b(its), f(loat), h (bfloat16, kept as bits),
    p(redicate)."""

    name: str
    kind: str
    size: int
    dtype: np.dtype[Any]


def _types() -> dict[str, Type]:
    table = {"pred": Type("pred", "p", 1, np.dtype(np.bool_))}
    for size in (1, 2, 4, 8):
        for kind, letter in (("u", "u"), ("s", "i"), ("b", "u")):
            name = f"{kind}{8 * size}"
            table[name] = Type(name, kind, size, np.dtype(f"{letter}{size}"))
    for size in (2, 4, 8):
        table[f"f{8 * size}"] = Type(f"f{8 * size}", "f", size, np.dtype(f"f{size}"))
    table["bf16"] = Type("bf16", "h", 2, np.dtype(np.uint16))
    table["f16x2"] = table["bf16x2"] = table["b32"]
    return table


TYPES = _types()
UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
SIGNED = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}


def as_type(bits: Array, type: Type) -> Array:
    """Register bits, cut to the type's width, seen as that type."""
    if bits.dtype == type.dtype:
        return bits
    if bits.dtype.itemsize != type.size:
        bits = bits.astype(UNSIGNED[type.size])
    return bits.view(type.dtype)


def as_bits(value: Array, size: int) -> Array:
    """A value as the bits of a register of `size` bytes; narrow integers extend by their own sign."""
    kind, width = value.dtype.kind, value.dtype.itemsize
    if kind == "b":
        return value
    if width != size:
        if kind == "f":
            value = value.view(UNSIGNED[width])
        value = value.astype(SIGNED[size] if kind == "i" else UNSIGNED[size])
    return value.view(UNSIGNED[size])


def immediate(literal: str, type: Type) -> Array:
    """A literal as a one-element array: `12`, `-1`, `0x7f`, `0f3F800000` (float bits), `0d3FF0000000000000` (double
    bits)."""
    if literal[:2] in ("0f", "0F", "0d", "0D"):
        size = 4 if literal[1] in "fF" else 8
        return as_type(np.array([int(literal[2:], 16)], UNSIGNED[size]), type)
    number = int(literal.rstrip("U"), 0)
    if type.kind == "p":
        return np.array([bool(number)])
    if type.kind == "f":
        return np.array([number], type.dtype)
    return np.array([number & ((1 << 8 * type.size) - 1)], UNSIGNED[type.size]).view(type.dtype)
