"""Rounding to integers, roots, signs: values enter, values leave; every result is exact or correctly rounded, but
rsqrt (1 ulp).
"""

from __future__ import annotations

from pelton.codegen.cpu.elements import F32, F64
from pelton.codegen.cpu.emitter import Emitter, Value

INTEGRAL_FROM = {F32: 8388608.0, F64: 4503599627370496.0}
"""From here on every float is an integer."""


def roundeven(e: Emitter, x: Value) -> Value:
    """To the nearest integer, ties to even."""
    if e.target.has_rounding:
        return e.intrinsic("roundeven", x)
    limit = INTEGRAL_FROM[x.element]
    a = e.intrinsic("fabs", x)
    near = e.intrinsic("copysign", (a + limit) - limit, x)
    return e.select(a < limit, near, x)


def floor(e: Emitter, x: Value) -> Value:
    """To the integer below."""
    if e.target.has_rounding:
        return e.intrinsic("floor", x)
    near = roundeven(e, x)
    return e.intrinsic("copysign", near - e.select(near > x, x.constant(1.0), 0.0), x)


def ceil(e: Emitter, x: Value) -> Value:
    """To the integer above."""
    if e.target.has_rounding:
        return e.intrinsic("ceil", x)
    near = roundeven(e, x)
    return e.intrinsic("copysign", near + e.select(near < x, x.constant(1.0), 0.0), x)


def trunc(e: Emitter, x: Value) -> Value:
    """To the integer towards 0."""
    if e.target.has_rounding:
        return e.intrinsic("trunc", x)
    return e.intrinsic("copysign", floor(e, e.intrinsic("fabs", x)), x)


def sqrt(e: Emitter, x: Value) -> Value:
    """Square root."""
    return e.intrinsic("sqrt", x)


def rsqrt(e: Emitter, x: Value) -> Value:
    """1 / sqrt(x)."""
    return 1.0 / sqrt(e, x)


def absolute(e: Emitter, x: Value) -> Value:
    """|x|; the most negative integer stays as it is."""
    if x.element.is_float:
        return e.intrinsic("fabs", x)
    return x if x.element.kind == "uint" else e.select(x < 0, -x, x)


def copysign(e: Emitter, x: Value, y: Value) -> Value:
    """The magnitude of x with the sign of y."""
    return e.intrinsic("copysign", x, y)
