"""sin, cos and tan: values enter, values leave. f32 computes in f64.

The angle is reduced to |r| <= pi/4 and a quadrant: below 2^20 by subtracting n pi/2 in three exact parts, above it by
huge_angles.py. So the bounds hold for every finite argument, in units in the last place: sin and cos 0.51 f32, 0.8
f64; tan 0.51 f32, 2.1 f64. Infinite arguments give NaN. Polynomials are minimax fits (Remez exchange).
"""

from __future__ import annotations

from pelton.codegen.cpu.doubles import fast_two_sum, two_sum
from pelton.codegen.cpu.elements import F32, F64
from pelton.codegen.cpu.emitter import Emitter, Value
from pelton.codegen.cpu.huge_angles import replace_huge
from pelton.codegen.cpu.math_exp import TABLES

TWO_OVER_PI = 0.6366197723675814
HALF_PI_PARTS = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32)
"""pi/2 in parts of 33 bits, the last one of 53: n < 2^20 times one of the first three is exact."""
HALF_PI_REST = 6.077100506506192e-11
"""pi/2 less its first part."""
HUGE = 1048576.0

SIN64 = (
    1.5896678454209824e-10,
    -2.505075623068062e-08,
    2.755731368086472e-06,
    -0.00019841269829779098,
    0.008333333333322382,
    -0.16666666666666632,
)
"""(sin(r) / r - 1) / r^2 in r^2."""
COS64 = (
    -1.135955877615344e-11,
    2.087572162699477e-09,
    -2.75573143408214e-07,
    2.480158728944468e-05,
    -0.0013888888888874068,
    0.0416666666666666,
)
"""(cos(r) - 1 + r^2 / 2) / r^4 in r^2."""
SIN32 = (2.7182740907697943e-06, -0.0001983933101744536, 0.008333329374532286, -0.16666666641536057)
COS32 = (2.4438105553327718e-05, -0.0013887364787308208, 0.04166664681940118)
"""The same two, to the precision of f32."""


def reduced(e: Emitter, x: Value, pair: bool) -> tuple[Value, Value | None, Value]:
    """(r, what rounding lost or None, n) with x = n pi/2 + r; `pair` asks for r to twice the precision of a double."""
    t = TABLES[F64]
    shifted = e.fma(x, TWO_OVER_PI, t.shifter)
    n = shifted - t.shifter
    first, second, third, last = HALF_PI_PARTS
    if pair:
        high, low = two_sum(x - n * first, -(n * second))
        high, more = two_sum(high, -(n * third))
        high, low = fast_two_sum(high, low + more - n * last)
    else:
        high, low = (x - n * first) - n * HALF_PI_REST, None
    return replace_huge(e, x, HUGE, high, low, shifted.bits())


def sin_cos(e: Emitter, x: Value) -> tuple[Value, Value, Value]:
    """(sin(r), cos(r), n) in f64 for x = n pi/2 + r."""
    if x.element is F32:
        r, _, n = reduced(e, x.convert("fpext", F64), pair=False)
        z = r * r
        sine = e.fma(r * z, e.polynomial(z, SIN32), r)
        return sine, e.fma(z * z, e.polynomial(z, COS32), 1.0 - z * 0.5), n
    r, low, n = reduced(e, x, pair=True)
    assert low is not None
    z = r * r
    half = z * 0.5
    w = 1.0 - half
    cosine = w + (((1.0 - w) - half) + (z * z * e.polynomial(z, COS64) - r * low))
    tail = e.fma(z * r, e.polynomial(z, SIN64), low - half * low)
    return r + tail, cosine, n


def _finish(e: Emitter, x: Value, y: Value) -> Value:
    """Back to the type of `x`; infinite arguments give NaN."""
    y = y.convert("fptrunc", F32) if x.element is F32 else y
    infinite = e.intrinsic("fabs", x).equals(float("inf"))
    return e.select(infinite, x.constant(float("nan")), y)


def _choose(e: Emitter, even: Value, odd: Value, n: Value, quarter: Value) -> Value:
    """`even` or `odd` by the lowest bit of n, negated by the second bit of `quarter`."""
    y = e.select((n & 1).equals(0), even, odd)
    sign = (quarter & 2) << 62
    return (y.bits() ^ sign).convert("bitcast", F64)


def sin(e: Emitter, x: Value) -> Value:
    """Sine of an angle in radians."""
    sine, cosine, n = sin_cos(e, x)
    y = _finish(e, x, _choose(e, sine, cosine, n, n))
    return e.select(x.equals(0.0), x, y)


def cos(e: Emitter, x: Value) -> Value:
    """Cosine of an angle in radians."""
    sine, cosine, n = sin_cos(e, x)
    return _finish(e, x, _choose(e, cosine, sine, n, n + 1))


def tan(e: Emitter, x: Value) -> Value:
    """Tangent of an angle in radians."""
    sine, cosine, n = sin_cos(e, x)
    even = (n & 1).equals(0)
    y = _finish(e, x, e.select(even, sine, -cosine) / e.select(even, cosine, sine))
    return e.select(x.equals(0.0), x, y)
