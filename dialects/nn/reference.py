"""NumPy helpers that `evaluate` and `tolerance` share. Imported inside those functions only: the dialects load without
NumPy.

Arrays hold tensors as they lie in memory: bf16 as `ml_dtypes.bfloat16`, bool as one byte. `wide` is what formulas
compute in, `rounded` takes their result back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import Attribute

from pelton.dialects.dims import Dim, evaluate
from pelton.dialects.types import TensorType, dtype_name

Array = np.ndarray[Any, Any]

DTYPES: Mapping[str, Any] = {
    "i1": np.dtype(np.bool_), "i8": np.dtype(np.int8), "i16": np.dtype(np.int16), "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64), "u8": np.dtype(np.uint8), "u16": np.dtype(np.uint16), "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
}  # fmt: skip
HALVES = ("f16", "bf16")


def numpy_dtype(dtype: Attribute) -> Any:
    """The NumPy dtype that stores elements of `dtype`."""
    return DTYPES[dtype_name(dtype)]


def shape_of(t: TensorType, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The numbers a tensor's dims stand for."""
    return tuple(evaluate(d, sizes) for d in t.shape)


def sizes_of(dims: tuple[Dim, ...], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The numbers that `dims` stand for."""
    return tuple(evaluate(d, sizes) for d in dims)


def quiet() -> Any:
    """NumPy without warnings: overflow, division by zero and NaN are ordinary results here."""
    return np.errstate(all="ignore")


def is_float(x: Array) -> bool:
    """Whether `x` holds floats, bf16 included."""
    return x.dtype.kind == "f" or x.dtype == DTYPES["bf16"]


def wide(x: Array, beyond: bool = False) -> Array:
    """Floats as float64, or with `beyond` float64 as the widest float of the machine; anything else as it is."""
    if not is_float(x):
        return x
    return x.astype(np.longdouble if beyond and x.dtype == np.float64 else np.float64)


def rounded(x: Any, dtype: Attribute) -> Array:
    """`x` in `dtype`, rounded once, to nearest even; integers wrap."""
    x, to = np.asarray(x), numpy_dtype(dtype)
    if to != DTYPES["bf16"] or not is_float(x) or x.dtype == to:
        with quiet():
            return x.astype(to)
    return _bf16(x)


def _bf16(x: Array) -> Array:
    """A float array as bf16: first to a float32 whose last bit records what was cut off, then to nearest even."""
    with quiet():
        single = x.astype(np.float32)
        bits = single.view(np.uint32).astype(np.uint64)
        inexact = (single != x) & ~np.isnan(single)
        bits -= (np.abs(single) > np.abs(x)).astype(np.uint64) * inexact
        bits |= inexact.astype(np.uint64)
        upper = ((bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)).astype(np.uint16)
        sign = (single.view(np.uint32) >> np.uint32(16)).astype(np.uint16) & np.uint16(0x8000)
        return np.where(np.isnan(single), sign | np.uint16(0x7FC0), upper).astype(np.uint16).view(DTYPES["bf16"])


def info(dtype: Any) -> Any:
    """`finfo` of a float dtype, bf16 included."""
    finfo: Any = ml_dtypes.finfo
    return finfo(dtype)


def spacing(x: Array) -> Array:
    """The distance from each element to its neighbour away from zero; 1 for integers, 0 where not finite."""
    if not is_float(x):
        return np.ones(x.shape)
    limits = info(x.dtype)
    lowest = math.log2(float(limits.smallest_subnormal))
    with quiet():
        size = np.abs(x.astype(np.float64))
        exponent = np.where(size > 0, np.frexp(size)[1] - 1 - limits.nmant, lowest)
        return np.where(np.isfinite(size), np.exp2(np.maximum(exponent, lowest)), 0.0)


def unit(dtype: Any) -> float:
    """The largest relative error of one rounding in the type that compiled code computes a dtype in."""
    return 2.0**-53 if dtype == np.float64 else 2.0**-24


def half_step(x: Array) -> Array:
    """The step a half may be off where the value before rounding was a little off; 0 for wider floats."""
    return spacing(x) if x.dtype in (DTYPES["f16"], DTYPES["bf16"]) else np.zeros(x.shape)


def erf(x: Array) -> Array:
    """The error function, in float64."""
    return _each(math.erf, x)


def erfc(x: Array) -> Array:
    """1 - erf(x) without cancellation, in float64."""
    return _each(math.erfc, x)


def _each(function: Callable[[float], float], x: Array) -> Array:
    flat = x.astype(np.float64).ravel()
    return np.fromiter(map(function, flat.tolist()), np.float64, flat.size).reshape(x.shape)


def disagreement(got: Array, expected: Array, tolerance: Any) -> str | None:
    """What is wrong with `got`, in words with the worst element; None where every element is within `tolerance` of
    `expected`.

    NaN agrees with NaN. Where the tolerance is 0 the sign of zero counts too.
    """
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return f"expected {expected.dtype}{list(expected.shape)}, got {got.dtype}{list(got.shape)}"
    tolerance = np.broadcast_to(np.asarray(tolerance, np.float64), expected.shape)
    if is_float(expected):
        error, wrong = _float_errors(got.astype(np.float64), expected.astype(np.float64), tolerance)
    else:
        wrong = got != expected
        error = wrong.astype(np.float64)
    if not wrong.any():
        return None
    worst = np.unravel_index(int(np.argmax(np.where(wrong, error, -1))), wrong.shape)
    place = [int(i) for i in worst]
    return (
        f"{int(wrong.sum())} of {wrong.size} elements are wrong; at {place} expected {expected[worst]!s}, "
        f"got {got[worst]!s}, tolerance {tolerance[worst]:.3g}"
    )


def _float_errors(got: Array, expected: Array, tolerance: Array) -> tuple[Array, Array]:
    with quiet():
        same = (got == expected) | (np.isnan(got) & np.isnan(expected))
        error = np.where(same, 0.0, np.abs(got - expected))
        error = np.where(np.isnan(error), np.inf, error)
        signs = (np.signbit(got) != np.signbit(expected)) & ~np.isnan(expected) & (tolerance == 0)
        return error, (error > tolerance) | signs
