"""Numbers as PTX defines them, where NumPy's own operator is not enough: fused and directed rounding, wide products,
conversions.

Enters: typed arrays. Leaves: typed arrays. Pure functions; rules.py says which instruction calls which.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from pelton.runtime.emulator.errors import UnsupportedInstruction
from pelton.runtime.emulator.values import SIGNED, UNSIGNED, Array, Type, bf16_to_f32, f32_to_bf16

ROUND_TO_INTEGER: dict[str, Callable[[Array], Array]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}


# ---- floating point
def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as its rounded value and the exact error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def round_to_odd(s: Array, error: Array) -> Array:
    """The float64 sum with error, rounded to odd: rounding it once more to fewer bits gives the bits of a single
    rounding."""
    bits = s.view(np.int64)
    inexact = np.isfinite(s) & (error != 0) & np.isfinite(error) & (bits & 1 == 0)
    step = np.where((error > 0) == (s > 0), 1, -1)
    return np.where(inexact, bits + step, bits).view(np.float64)


def narrow(value: Array, mode: str) -> Array:
    """float64 to float32: rn to nearest even, rz toward zero, rm down, rp up."""
    nearest = value.astype(np.float32)
    if mode == "rn":
        return nearest
    back = nearest.astype(np.float64)
    down = {"rm": back > value, "rp": np.zeros(back.shape, bool), "rz": (back > value) & (value > 0)}[mode]
    up = {"rm": np.zeros(back.shape, bool), "rp": back < value, "rz": (back < value) & (value < 0)}[mode]
    lower = np.nextafter(nearest, np.float32(-np.inf))
    upper = np.nextafter(nearest, np.float32(np.inf))
    return np.where(down, lower, np.where(up, upper, nearest))


def fma32(a: Array, b: Array, c: Array, mode: str = "rn") -> Array:
    """a*b + c in float32, rounded once. The product is exact in float64."""
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total, error = two_sum(product, addend)
    out = narrow(round_to_odd(total, error), mode)
    if mode == "rm":
        cancelled = (total == 0) & (np.signbit(product) | np.signbit(addend))
        out = np.where(cancelled, np.float32(-0.0), out)
    return out


def fma64(a: Array, b: Array, c: Array, mode: str = "rn") -> Array:
    """a*b + c in float64, rounded once (Boldo and Melquiond); exact fractions where the splitting could over- or
    underflow."""
    if mode != "rn":
        raise UnsupportedInstruction(f"fma.{mode}.f64")
    a, b, c = np.broadcast_arrays(a, b, c)
    plain = np.where(np.isfinite(a) & np.isfinite(b) & ~np.isfinite(c), c, a * b + c)  # a product never overflows
    size = np.abs(a * b)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    tame = finite & (size > 1e-250) & (size < 1e280) & (np.abs(a) < 1e280) & (np.abs(b) < 1e280) & (np.abs(c) < 1e280)
    high, low = two_product(a, b)
    inner, inner_error = two_sum(c, low)
    outer, outer_error = two_sum(high, inner)
    rest = round_to_odd(*two_sum(outer_error, inner_error))
    out = np.where(tame, outer + rest, plain)
    odd = np.flatnonzero(finite & ~tame & (a != 0) & (b != 0))
    for k in odd:
        exact = Fraction(float(a.flat[k])) * Fraction(float(b.flat[k])) + Fraction(float(c.flat[k]))
        out.flat[k] = _nearest(exact)
    return out


def _nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a * b as its rounded value and the exact error (Dekker)."""
    product = a * b
    ah, al = _split(a)
    bh, bl = _split(b)
    return product, ((ah * bh - product) + ah * bl + al * bh) + al * bl


def _split(a: Array) -> tuple[Array, Array]:
    scaled = a * 134217729.0
    high = scaled - (scaled - a)
    return high, a - high


def flush(value: Array) -> Array:
    """`.ftz`: subnormals become zeros of their sign."""
    tiny = np.abs(value) < np.finfo(value.dtype).tiny
    return np.where(tiny, np.copysign(value.dtype.type(0), value), value)


def minimum(a: Array, b: Array, *, largest: bool, keep_nan: bool) -> Array:
    """PTX min and max: -0 below +0; a NaN operand is ignored, or with `.NaN` kept."""
    a, b = np.broadcast_arrays(a, b)
    first = (a > b) if largest else (a < b)
    tied = np.signbit(b) if largest else np.signbit(a)
    out = np.where(first | ((a == b) & tied), a, b)
    either = np.isnan(a) | np.isnan(b)
    rest = a.dtype.type(np.nan) if keep_nan else np.where(np.isnan(a), b, a)
    return np.where(either, rest, out)


# ---- integers
def multiply_high(a: Array, b: Array) -> Array:
    """The upper half of the full product."""
    size = a.dtype.itemsize
    if size < 8:
        wide = SIGNED[2 * size] if a.dtype.kind == "i" else UNSIGNED[2 * size]
        return (a.astype(wide) * b.astype(wide) >> wide.type(8 * size)).astype(a.dtype)
    x, y = a.view(np.uint64), b.view(np.uint64)
    half, mask = np.uint64(32), np.uint64(0xFFFF_FFFF)
    xh, xl, yh, yl = x >> half, x & mask, y >> half, y & mask
    middle = xh * yl + (xl * yl >> half)
    high = xh * yh + (middle >> half) + ((middle & mask) + xl * yh >> half)
    if a.dtype.kind == "i":
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return high.view(a.dtype)


def multiply_wide(a: Array, b: Array) -> Array:
    """The full product, in twice the width."""
    wide = SIGNED[2 * a.dtype.itemsize] if a.dtype.kind == "i" else UNSIGNED[2 * a.dtype.itemsize]
    return a.astype(wide) * b.astype(wide)


def divide(a: Array, b: Array) -> Array:
    """Integer quotient toward zero; by zero it is all ones, as on the hardware."""
    safe = np.where(b == 0, b.dtype.type(1), b)
    quotient = a // safe
    if a.dtype.kind == "i":
        overflow = (safe == -1) & (a == np.iinfo(a.dtype).min)
        safe = np.where(overflow, a.dtype.type(1), safe)
        quotient = np.where(overflow, a, a // safe)
        quotient = quotient + ((quotient < 0) & (quotient * safe != a)).astype(a.dtype)
    return np.where(b == 0, np.array(-1).astype(a.dtype), quotient)


def remainder(a: Array, b: Array) -> Array:
    """Integer remainder with the dividend's sign; by zero it is the dividend, as on the hardware."""
    return np.where(b == 0, a, a - divide(a, b) * b)


def shift(a: Array, count: Array, *, left: bool) -> Array:
    """Shifts that clamp: a count beyond the width leaves zeros (or copies of the sign)."""
    width = 8 * a.dtype.itemsize
    inside = np.minimum(count, np.uint32(width - 1)).astype(a.dtype)
    if not left and a.dtype.kind == "i":
        return a >> inside
    return np.where(count >= width, a.dtype.type(0), a << inside if left else a >> inside)


def add_carry(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    """32- or 64-bit unsigned sum and its carry."""
    part = a + b
    total = part + carry.astype(a.dtype)
    return total, (part < a) | (total < part)


def bit_insert(a: Array, b: Array, start: Array, length: Array) -> Array:
    """`bfi`: the low bits of a over b's field."""
    width = 8 * a.dtype.itemsize
    start, length = (np.minimum(x & np.uint32(255), np.uint32(width)) for x in (start, length))
    ones = shift(~a.dtype.type(0) + a * 0, np.uint32(width) - length, left=False)
    ones = np.where(length == 0, a.dtype.type(0), ones)
    field = shift(ones, start, left=True)
    return (b & ~field) | (shift(a, start, left=True) & field)


def bit_extract(a: Array, start: Array, length: Array) -> Array:
    """`bfe`: a field, extended by its top bit when signed."""
    width = np.uint32(8 * a.dtype.itemsize)
    start, length = start & np.uint32(255), np.minimum(length & np.uint32(255), width)
    top = shift(shift(a, start, left=False), width - length, left=True)
    return np.where(length == 0, a.dtype.type(0), shift(top, width - length, left=False))


def funnel(low: Array, high: Array, count: Array, *, left: bool, wrap: bool) -> Array:
    """`shf`: 32 bits of a 64-bit value shifted by count."""
    count = (count & np.uint32(31) if wrap else np.minimum(count, np.uint32(32))).astype(np.uint64)
    both = (high.astype(np.uint64) << np.uint64(32)) | low
    moved = (both << count) >> np.uint64(32) if left else both >> count
    return (moved & np.uint64(0xFFFF_FFFF)).astype(np.uint32)


def leading_zeros(a: Array) -> Array:
    """`clz`"""
    bits, count = 8 * a.dtype.itemsize, np.zeros(a.shape, np.uint32)
    for k in range(bits):
        count += (a >> a.dtype.type(k)) == 0
    return count


# ---- conversions
def convert(value: Array, source: Type, target: Type, rounding: str, saturate: bool) -> Array:
    """`cvt`: any of the types to any other. Integers wrap unless saturated, floats to integers saturate always."""
    if source.kind == "h":
        value = bf16_to_f32(value)
    if target.kind == "h":
        return f32_to_bf16(_to_odd32(value) if value.dtype == np.float64 else value.astype(np.float32))
    if value.dtype.kind == "f" and target.kind in "us":
        return float_to_integer(value, target, rounding)
    if target.kind == "f":
        return _to_float(value, target, rounding, saturate)
    if saturate:
        limits = np.iinfo(target.dtype)
        value = np.clip(value, max(limits.min, np.iinfo(value.dtype).min), min(limits.max, np.iinfo(value.dtype).max))
    return value.astype(target.dtype)


def _to_odd32(value: Array) -> Array:
    """float64 to float32, rounded to odd: what is rounded to fewer bits next is rounded once."""
    cut = narrow(value, "rz")
    return (cut.view(np.uint32) | (cut != value)).view(np.float32)


def float_to_integer(value: Array, target: Type, rounding: str) -> Array:
    """Rounds and saturates. NaN gives 0, except from f64 or to 64 bits: there it gives the most negative pattern."""
    whole = ROUND_TO_INTEGER[rounding](value.astype(np.float64))
    limits = np.iinfo(target.dtype)
    high, low = whole >= float(limits.max) + (target.size < 8), whole <= float(limits.min)
    nan = 1 << (8 * target.size - 1) if value.dtype.itemsize == 8 or target.size == 8 else 0
    inside = np.where(high | low | np.isnan(whole), 0.0, whole).astype(target.dtype)
    out = np.where(high, target.dtype.type(limits.max), np.where(low, target.dtype.type(limits.min), inside))
    return np.where(np.isnan(whole), np.array([nan], UNSIGNED[target.size]).view(target.dtype), out)


def _to_float(value: Array, target: Type, rounding: str, saturate: bool) -> Array:
    if rounding in ROUND_TO_INTEGER:
        value = ROUND_TO_INTEGER[rounding](value)
    elif rounding not in ("rn", ""):
        if value.dtype != np.float64 or target.size != 4:
            raise UnsupportedInstruction(f"cvt.{rounding} from {value.dtype} to {target.name}")
        return narrow(value, rounding)
    if saturate:
        value = np.where(np.isnan(value) | (value <= 0), value.dtype.type(0), np.minimum(value, value.dtype.type(1)))
    out = value.astype(target.dtype)
    if value.dtype.kind == "f" and target.size == 2:
        out = np.where(np.isnan(value), np.array([0x7FFF], np.uint16).view(np.float16), out)
    return out
