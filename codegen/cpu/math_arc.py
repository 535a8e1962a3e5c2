"""asin, acos and atan: values enter, values leave. f32 computes in f64.

Bounds over all arguments, in units in the last place: 0.51 f32; asin 0.9, acos 0.9, atan 1.8 f64. Polynomials are
minimax fits (Remez exchange).
"""

from __future__ import annotations

from collections.abc import Callable

from pelton.codegen.cpu.doubles import two_product
from pelton.codegen.cpu.elements import F32, F64
from pelton.codegen.cpu.emitter import Emitter, Value

HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
QUARTER_PI = (0.7853981633974483, 3.061616997868383e-17)

ASIN64 = (
    0.03270222271290055,
    -0.021116832438388848,
    0.021790741302235177,
    0.003672139128755869,
    0.01078933568854314,
    0.011397289939029557,
    0.013981018990825114,
    0.017351595454851886,
    0.02237221590887821,
    0.03038194267515604,
    0.04464285717528906,
    0.07499999999970094,
    0.16666666666666763,
)
"""(asin(x) / x - 1) / x^2 in x^2 on |x| <= 1/2."""

ATAN64 = (
    0.01520254349310956,
    -0.03348174360481432,
    0.045038628986210597,
    -0.05218481614131539,
    0.05877033818429254,
    -0.06666227987737873,
    0.07692282842214633,
    -0.09090908148237176,
    0.11111111088281099,
    -0.14285714285389678,
    0.19999999999997684,
    -0.33333333333333326,
)
"""(atan(x) / x - 1) / x^2 in x^2 on |x| <= tan(pi / 8)."""


def widened(write: Callable[[Emitter, Value], Value]) -> Callable[[Emitter, Value], Value]:
    """The same function for f32, computed in f64 and rounded once."""

    def either(e: Emitter, x: Value) -> Value:
        if x.element is F32:
            return write(e, x.convert("fpext", F64)).convert("fptrunc", F32)
        return write(e, x)

    return either


def _root(e: Emitter, a: Value) -> tuple[Value, Value]:
    """sqrt((1 - a) / 2) as a pair."""
    z = (1.0 - a) * 0.5
    s = e.intrinsic("sqrt", z)
    square, lost = two_product(e, s, s)
    rest = ((z - square) - lost) / (s + s)
    return s, e.select(s.equals(0.0), s, rest)


@widened
def asin(e: Emitter, x: Value) -> Value:
    """x + x^3 p(x^2) up to 1/2; pi/2 - 2 asin(sqrt((1 - |x|) / 2)) above."""
    a = e.intrinsic("fabs", x)
    outer = a > 0.5
    s, rest = _root(e, a)
    t = e.select(outer, s, a)
    tail = t * t * t * e.polynomial(t * t, ASIN64)
    high = HALF_PI[0] - s * 2.0
    # (pi/2 - high) - 2 s is what the subtraction lost.
    lost = (HALF_PI[0] - high) - s * 2.0
    far = high + (lost + HALF_PI[1] - (rest + tail) * 2.0)
    return e.intrinsic("copysign", e.select(outer, far, t + tail), x)


@widened
def acos(e: Emitter, x: Value) -> Value:
    """pi/2 - asin(x) up to 1/2; 2 asin(sqrt((1 - |x|) / 2)) above, and pi less that below -1/2."""
    a = e.intrinsic("fabs", x)
    outer = a > 0.5
    s, rest = _root(e, a)
    t = e.select(outer, s, x)
    tail = t * t * t * e.polynomial(t * t, ASIN64)
    near = HALF_PI[0] - (t - (HALF_PI[1] - tail))
    above = (s + (rest + tail)) * 2.0
    below = (HALF_PI[0] - (s + (rest + tail - HALF_PI[1]))) * 2.0
    return e.select(outer, e.select(x < 0.0, below, above), near)


@widened
def atan(e: Emitter, x: Value) -> Value:
    """base + atan(y) with y one of a, (a - 1) / (a + 1) and -1 / a for a = |x|, so that |y| <= tan(pi / 8)."""
    a = e.intrinsic("fabs", x)
    middle, far = a > 0.4142135623730950, a > 2.414213562373095
    numerator = e.select(far, a.constant(-1.0), e.select(middle, a - 1.0, a))
    denominator = e.select(far, a, e.select(middle, a + 1.0, 1.0))
    y = numerator / denominator
    high, low = (
        e.select(far, a.constant(HALF_PI[i]), e.select(middle, a.constant(QUARTER_PI[i]), 0.0)) for i in (0, 1)
    )
    z = y * y
    r = high + (y + e.fma(y * z, e.polynomial(z, ATAN64), low))
    return e.intrinsic("copysign", r, x)
