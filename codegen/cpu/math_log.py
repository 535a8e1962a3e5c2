"""log, log1p, atanh and pow: values enter, values leave. log has polynomials of both types; the others compute in f64
for f32.

Bounds over all finite arguments, in units in the last place: log 0.9; log1p 0.51 f32, 1.5 f64; atanh 0.51 f32, 2.3
f64; pow 0.51 f32, 1.2 f64. Arguments below the normal range are scaled first, so they are as exact as the others.
"""

from __future__ import annotations

from pelton.codegen.cpu import math_exp
from pelton.codegen.cpu.doubles import fast_two_sum, two_product
from pelton.codegen.cpu.elements import F32, F64
from pelton.codegen.cpu.emitter import Emitter, Value
from pelton.codegen.cpu.math_round import roundeven

LOG32 = (
    0.0674718246,
    -0.11675144,
    0.11887598,
    -0.124056473,
    0.142196491,
    -0.166679949,
    0.200021133,
    -0.250000089,
    0.333333135,
)
"""(log(1 + f) - f + f^2 / 2) / f^3 on sqrt(1/2) <= 1 + f <= sqrt(2)."""

LOG64 = (
    0.14797429410261878,
    0.15313911660249568,
    0.18183569382386433,
    0.22222198483574468,
    0.2857142874317925,
    0.3999999999941153,
    0.6666666666666735,
)
"""(2 atanh(s) - 2 s) / s^3 in s^2 for s = f / (2 + f), on the same interval."""

TWO_THIRDS = (0.6666666666666666, 3.7007434154171886e-17)
"""2/3 as a pair of doubles."""
ATANH64 = (
    0.13163937241428764,
    0.13260597419641837,
    0.15386579958236055,
    0.18181788623516515,
    0.22222222465320757,
    0.2857142857045036,
    0.4000000000000139,
)
"""(2 atanh(s) - 2 s - 2/3 s^3) / s^5 in s^2."""

TINY = {F32: (1.1754943508222875e-38, 8388608.0, 23), F64: (2.2250738585072014e-308, 4503599627370496.0, 52)}
"""The smallest normal number, and the power of two that makes smaller ones normal."""


def split(e: Emitter, x: Value) -> tuple[Value, Value]:
    """(k as a float, m) with x = 2^k m and sqrt(1/2) <= m < sqrt(2), for positive finite x."""
    t = math_exp.TABLES[x.element]
    smallest, factor, shift = TINY[x.element]
    tiny = x < smallest
    bits = e.select(tiny, x * factor, x).bits()
    # sqrt(1/2) in integer form: everything between it and sqrt(2) keeps exponent 0.
    root = x.constant(0.70710678118654752).bits()
    k = (bits - root) >> t.mantissa
    m = (bits - (k << t.mantissa)).convert("bitcast", x.element)
    count = k - e.select(tiny, k.constant(shift), 0)
    shifted = count + x.constant(t.shifter).bits()
    return shifted.convert("bitcast", x.element) - t.shifter, m


def log_positive(e: Emitter, x: Value) -> Value:
    """log of a positive finite number."""
    t = math_exp.TABLES[x.element]
    k, m = split(e, x)
    f = m - 1.0
    half = f * f * 0.5
    if x.element is F32:
        rest = e.fma(f * f * f, e.polynomial(f, LOG32), k * t.ln2_low)
        return e.fma(k, t.ln2_high, f - (half - rest))
    s = f / (f + 2.0)
    z = s * s
    rest = e.fma(s, half + z * e.polynomial(z, LOG64), k * t.ln2_low)
    return e.fma(k, t.ln2_high, f - (half - rest))


def log(e: Emitter, x: Value) -> Value:
    """Natural logarithm: -inf at 0, NaN below."""
    y = log_positive(e, x)
    y = e.select(x < float("inf"), y, x)
    y = e.select(x < 0.0, x.constant(float("nan")), y)
    return e.select(x.equals(0.0), x.constant(float("-inf")), y)


def log1p(e: Emitter, x: Value) -> Value:
    """log(1 + x): the logarithm of the rounded sum, plus what rounding lost."""
    if x.element is F32:
        return log1p(e, x.convert("fpext", F64)).convert("fptrunc", F32)
    u = x + 1.0
    lost = e.select(x > 1.0, 1.0 - (u - x), x - (u - 1.0))
    y = log(e, u) + lost / u
    y = e.select(x.equals(0.0) | x.equals(float("inf")), x, y)
    return e.select(x.equals(-1.0), x.constant(float("-inf")), y)


def atanh(e: Emitter, x: Value) -> Value:
    """log1p(2a / (1 - a)) / 2 with a = |x|, and the sign of x."""
    if x.element is F32:
        return atanh(e, x.convert("fpext", F64)).convert("fptrunc", F32)
    a = e.intrinsic("fabs", x)
    return e.intrinsic("copysign", log1p(e, a * 2.0 / (1.0 - a)) * 0.5, x)


def pow(e: Emitter, x: Value, y: Value) -> Value:
    """x^y with the special cases of C: 1^y and x^0 are 1 even for NaN, a negative x needs an integer y."""
    ax = e.intrinsic("fabs", x)
    # Beyond 2^65 every power of a number other than 1 is 0 or inf; clamped, all products stay finite.
    limit = 2.0**65
    yc = e.select(y > limit, y.constant(limit), y)
    yc = e.select(yc < -limit, y.constant(-limit), yc)
    r = pow_positive(e, ax, yc)
    grows = (y > 0.0).equals(ax > 1.0)
    edge = ax.equals(0.0) | ax.equals(float("inf"))
    r = e.select(edge, e.select(grows, x.constant(float("inf")), 0.0), r)
    whole = roundeven(e, y).equals(y)
    half = y * 0.5
    odd = whole & roundeven(e, half).differs(half)
    r = e.select((x.bits() < 0) & odd, -r, r)
    r = e.select((x < 0.0) & ~(whole | edge), x.constant(float("nan")), r)
    r = e.select(x.is_nan() | y.is_nan(), x + y, r)
    return e.select(x.equals(1.0) | y.equals(0.0), x.constant(1.0), r)


def pow_positive(e: Emitter, x: Value, y: Value) -> Value:
    """x^y for positive finite x and |y| <= 2^65; f64 carries the logarithm as a pair of doubles."""
    if x.element is F32:
        wide = log_positive(e, x.convert("fpext", F64)) * y.convert("fpext", F64)
        return math_exp.exp(e, wide).convert("fptrunc", F32)
    log_high, log_low = log_pair(e, x)
    high, low = two_product(e, y, log_high)
    low = low + y * log_low
    t = math_exp.TABLES[F64]
    over, under = high > t.overflow + 1.0, high < t.underflow - 1.0
    extreme = over | under
    n, r = math_exp.reduce_by_ln2(e, e.select(extreme, high.constant(0.0), high))
    r = r + e.select(extreme, low.constant(0.0), low)
    p = math_exp.scale(e, math_exp.exp_reduced(e, r), n)
    p = e.select(over, p.constant(float("inf")), p)
    return e.select(under, p.constant(0.0), p)


def log_pair(e: Emitter, x: Value) -> tuple[Value, Value]:
    """log of a positive finite f64 as high + low, to about 2^-65 of its value."""
    t = math_exp.TABLES[F64]
    k, m = split(e, x)
    f = m - 1.0
    d_high = m + 1.0
    d_low = m - (d_high - 1.0)
    s_high = f / d_high
    product, error = two_product(e, s_high, d_high)
    s_low = ((f - product) - error - s_high * d_low) / d_high
    z_high, z_low = two_product(e, s_high, s_high)
    z_low = z_low + s_high * s_low * 2.0
    cube_high, cube_low = two_product(e, z_high, s_high)
    cube_low = cube_low + (z_high * s_low + z_low * s_high)
    c_high, c_low = fast_two_sum(z_high.constant(TWO_THIRDS[0]), z_high * e.polynomial(z_high, ATANH64))
    c_low = c_low + TWO_THIRDS[1]
    term_high, term_low = two_product(e, cube_high, c_high)
    term_low = term_low + (cube_high * c_low + cube_low * c_high)
    high, low = fast_two_sum(k * t.ln2_high, s_high * 2.0)
    high, second = fast_two_sum(high, term_high)
    low = low + second + (k * t.ln2_low + (s_low * 2.0 + term_low))
    return fast_two_sum(high, low)
