"""What a tensor core computes: D = A·B + C for numbers of the types that `mma` and `wgmma` take.

Enters: registers (bits) or matrices of bits. Leaves: matrices of numbers and registers again. Sums are made in float64
and rounded once: the order and the shorter sums of real tensor cores are not modelled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pelton.runtime.emulator.conversions import decode, encode
from pelton.runtime.emulator.errors import UnsupportedInstruction
from pelton.runtime.emulator.values import Array

_UNSIGNED = {"e4m3": "u1", "e5m2": "u1", "f16": "u2", "bf16": "u2", "tf32": "u4", "f64": "u8"}
_INTEGERS = {"s8": "i1", "u8": "u1"}
_RESULTS = {"f32": "u4", "f16": "u2", "s32": "i4", "f64": "u8"}


class Element(NamedTuple):
    """The type of a multiplicand's elements: its name and how their bits are stored."""

    name: str
    dtype: np.dtype[np.generic]

    @property
    def bits(self) -> int:
        """Of one element."""
        return 8 * self.dtype.itemsize

    def numbers(self, bits: Array) -> Array:
        """The bits' numbers, exact: float64, or int64 of integers."""
        return bits.astype(np.int64) if self.name in _INTEGERS else decode(bits, self.name)


def element(name: str) -> Element:
    """A multiplicand's type."""
    code = _UNSIGNED.get(name) or _INTEGERS.get(name)
    if code is None:
        raise UnsupportedInstruction(f"a matrix of .{name}")
    return Element(name, np.dtype(code))


def unpacked(registers: Array, dtype: np.dtype[np.generic]) -> Array:
    """[warps, 32, registers] → [warps, 32, elements]."""
    return np.ascontiguousarray(registers).view(dtype)


def sums(name: str, bits: Array) -> Array:
    """Accumulators as numbers."""
    if name not in _RESULTS:
        raise UnsupportedInstruction(f"accumulators of .{name}")
    return bits.astype(np.int64) if name == "s32" else decode(bits, name)


def result_bits(name: str, numbers: Array, *, finite: bool = False) -> Array:
    """Numbers rounded to the accumulators' type; integers wrap, or with `finite` (`.satfinite`) stop at the limits."""
    match name:
        case "s32":
            limits = np.iinfo(np.int32)
            return (np.clip(numbers, limits.min, limits.max) if finite else numbers).astype(np.int32)
        case "f64":
            return numbers.view(np.uint64)
        case "f32":
            return numbers.astype(np.float32).view(np.uint32)
        case _:
            return encode(numbers, name)


def result_dtype(name: str) -> np.dtype[np.generic]:
    """How an accumulator is stored."""
    return np.dtype(_RESULTS[name])
