"""Floating point as PTX defines it, where NumPy's own operator is not enough: fused and directed rounding.

Enters: typed arrays. Leaves: typed arrays. Pure functions; rules.py says which instruction calls which.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from pelton.runtime.emulator.errors import UnsupportedInstruction
from pelton.runtime.emulator.values import Array


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
    if mode == "rn":
        return _sum32(product, addend)
    total, error = two_sum(product, addend)
    out = narrow(round_to_odd(total, error), mode)
    if mode == "rm":
        cancelled = (total == 0) & (np.signbit(product) | np.signbit(addend))
        out = np.where(cancelled, np.float32(-0.0), out)
    return out


def _sum32(a: Array, b: Array) -> Array:
    """float64 a + b in float32, rounded once, to nearest. Rounding twice is the same but where the first sum lies in
    the middle of two float32, or is so small that they are further apart: those few are done with care."""
    total = a + b
    out = total.astype(np.float32)
    middle = (total.view(np.int64) & 0x1FFFFFFF) == 0x10000000
    if (doubtful := middle | ((np.abs(total) < 2.0**-126) & (total != 0))).any():
        some = np.flatnonzero(doubtful)
        parts = (np.broadcast_to(x, total.shape)[some] for x in (a, b))
        out[some] = round_to_odd(*two_sum(*parts)).astype(np.float32)
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


def quotient(a: Array, b: Array) -> Array:
    """a / b of float32, in float64 rounded to odd."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    q = x / y
    product, error = two_product(q, y)
    rest = (x - product) - error
    return round_to_odd(q, np.where(np.isfinite(rest), rest * np.sign(y), 0.0))


def root(a: Array) -> Array:
    """sqrt(a) of float32, in float64 rounded to odd."""
    x = a.astype(np.float64)
    q = np.sqrt(x)
    product, error = two_product(q, q)
    rest = (x - product) - error
    return round_to_odd(q, np.where(np.isfinite(rest), rest, 0.0))


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
