"""`cvt`: any type to any other, each value rounded once.

Enters: typed arrays, types by name, rounding mode. Leaves: typed arrays. Every number but a 64-bit integer is exact in
float64, and that one is rounded to odd; `quantize` then rounds to the grid of the target. Half types and 8-bit floats
travel as their bits. rules.py, half_rules.py and the tensor cores' steps call this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pelton.runtime.emulator.arithmetic import round_to_odd, two_sum
from pelton.runtime.emulator.errors import UnsupportedInstruction
from pelton.runtime.emulator.values import UNSIGNED, Array, Type

ROUND_TO_INTEGER: dict[str, Callable[[Array], Array]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}


def _away(value: Array) -> Array:
    return np.copysign(np.floor(np.abs(value) + 0.5), value)


_ROUND = {"rn": np.rint, "rna": _away, "rz": np.trunc, "rm": np.floor, "rp": np.ceil}


class Grid(NamedTuple):
    """A floating-point format: bits of precision, least exponent, greatest finite number, NaN's bits, bytes."""

    precision: int
    least: int
    greatest: float
    nan: int
    size: int


GRIDS = {
    "f16": Grid(11, -14, 65504.0, 0x7FFF, 2),
    "bf16": Grid(8, -126, float.fromhex("0x1.fep127"), 0x7FFF, 2),
    "tf32": Grid(11, -126, float.fromhex("0x1.ffcp127"), 0x7FFF_FFFF, 4),
    "f32": Grid(24, -126, float.fromhex("0x1.fffffep127"), 0x7FFF_FFFF, 4),
    "e4m3": Grid(4, -6, 448.0, 0x7F, 1),
    "e5m2": Grid(3, -14, 57344.0, 0x7F, 1),
}


def _e4m3(bits: int) -> float:
    exponent, mantissa = bits >> 3 & 15, bits & 7
    if exponent == 15 and mantissa == 7:
        return float("nan")
    value = mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)
    return -value if bits & 0x80 else value


_E4M3 = np.array([_e4m3(bits) for bits in range(256)])
_DECODE: dict[str, Callable[[Array], Array]] = {
    "f16": lambda bits: bits.view(np.float16),
    "bf16": lambda bits: (bits.astype(np.uint32) << np.uint32(16)).view(np.float32),
    "tf32": lambda bits: (bits & np.uint32(0xFFFF_E000)).view(np.float32),
    "f32": lambda bits: bits.view(np.float32),
    "f64": lambda bits: bits.view(np.float64),
    "e4m3": lambda bits: _E4M3[bits],
    "e5m2": lambda bits: (bits.astype(np.uint16) << np.uint16(8)).view(np.float16),
}
"""Bits to numbers. tf32 has the layout of f32, whose lower 13 bits the tensor cores ignore."""


def decode(bits: Array, name: str) -> Array:
    """The numbers that bits of a format mean, as float64: exact."""
    return _DECODE[name](np.ascontiguousarray(bits)).astype(np.float64)


def quantize(value: Array, grid: Grid, mode: str, finite: bool = False) -> Array:
    """float64 numbers rounded to a format; beyond its range infinite, or with `finite` (`.satfinite`) the greatest."""
    value = np.asarray(value, np.float64)
    regular = np.where(np.isfinite(value), value, 0.0)
    exponent = np.maximum(np.frexp(regular)[1] - 1, grid.least) - (grid.precision - 1)
    rounded = np.copysign(np.ldexp(_ROUND[mode](np.ldexp(regular, -exponent)), exponent), value)
    stops = {"rz": np.ones(value.shape, bool), "rm": value > 0, "rp": value < 0}.get(mode, np.zeros(value.shape, bool))
    beyond = np.where(stops, np.copysign(grid.greatest, value), np.copysign(np.inf, value))
    rounded = np.where(np.abs(rounded) > grid.greatest, beyond, rounded)
    rounded = np.where(np.isfinite(value), rounded, value)
    return np.clip(rounded, -grid.greatest, grid.greatest) if finite else rounded


def encode(value: Array, name: str, mode: str = "rn", *, finite: bool = False) -> Array:
    """float64 numbers as the bits of a format, rounded once; NaN becomes the format's canonical one."""
    grid = GRIDS[name]
    number = quantize(value, grid, mode, finite)
    return np.where(np.isnan(number), UNSIGNED[grid.size].type(grid.nan), _bits(number, name))


def _bits(number: Array, name: str) -> Array:
    """The bits of numbers that the format holds exactly."""
    match name:
        case "f16":
            return number.astype(np.float16).view(np.uint16)
        case "e5m2":
            return (number.astype(np.float16).view(np.uint16) >> np.uint16(8)).astype(np.uint8)
        case "e4m3":
            place = np.searchsorted(_E4M3[:127], np.abs(number)).astype(np.uint8)
            return place | (np.signbit(number).astype(np.uint8) << np.uint8(7))
        case "bf16":
            return (number.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        case _:
            return number.astype(np.float32).view(np.uint32)


def real(value: Array, source: Type) -> Array:
    """A typed value as float64: exact, except 64-bit integers, which are rounded to odd."""
    if source.kind == "h":
        return decode(value, "bf16")
    if source.kind in "us" and source.size == 8:
        high, low = value >> value.dtype.type(32), value & value.dtype.type(0xFFFF_FFFF)
        return round_to_odd(*two_sum(high.astype(np.float64) * 2.0**32, low.astype(np.float64)))
    return value.astype(np.float64)


def convert(value: Array, source: Type, target: Type, rounding: str, saturate: bool) -> Array:
    """`cvt` between the fundamental types and bf16. Integers wrap unless saturated, floats to integers saturate
    always."""
    floats = "fh"
    if source.kind in floats and target.kind in "us":
        return float_to_integer(real(value, source), target, rounding, wide=source.size == 8)
    if target.kind in floats:
        return _to_float(value, source, target, rounding, saturate)
    if saturate:
        limits = np.iinfo(target.dtype)
        value = np.clip(value, max(limits.min, np.iinfo(value.dtype).min), min(limits.max, np.iinfo(value.dtype).max))
    return value.astype(target.dtype)


def float_to_integer(value: Array, target: Type, rounding: str, *, wide: bool) -> Array:
    """Rounds and saturates. NaN gives 0, except from f64 (`wide`) or to 64 bits: there it gives the most negative
    pattern."""
    whole = ROUND_TO_INTEGER[rounding](value)
    limits = np.iinfo(target.dtype)
    high, low = whole >= float(limits.max) + (target.size < 8), whole <= float(limits.min)
    nan = 1 << (8 * target.size - 1) if wide or target.size == 8 else 0
    inside = np.where(high | low | np.isnan(whole), 0.0, whole).astype(target.dtype)
    out = np.where(high, target.dtype.type(limits.max), np.where(low, target.dtype.type(limits.min), inside))
    return np.where(np.isnan(whole), np.array([nan], UNSIGNED[target.size]).view(target.dtype), out)


def _to_float(value: Array, source: Type, target: Type, rounding: str, saturate: bool) -> Array:
    number = real(value, source)
    if rounding in ROUND_TO_INTEGER:
        number, rounding = ROUND_TO_INTEGER[rounding](number), "rn"
    if saturate:
        number = np.where(np.isnan(number) | (number <= 0), 0.0, np.minimum(number, 1.0))
    if target.size == 8:
        if source.kind in "us" and source.size == 8:
            if rounding != "rn":
                raise UnsupportedInstruction(f"cvt.{rounding} from {source.name} to f64")
            return value.astype(np.float64)
        return number
    if rounding in ("", "rn") and target.size == 4:
        return number.astype(np.float32)
    return encode(number, "bf16" if target.kind == "h" else target.name, rounding or "rn").view(target.dtype)


def relu(value: Array) -> Array:
    """`.relu`: negative numbers become 0; NaN stays."""
    return np.where(value < 0, 0.0, value)
