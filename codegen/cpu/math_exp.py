"""exp, tanh and erf of f32 and f64: values enter, values leave. Each type has its own polynomials; none widens.

Bounds over all finite arguments, in units in the last place: exp 1.2 (with FMA 0.9), tanh 1.6, erf 1.5. Results below
the normal range are rounded, not flushed. Polynomials are minimax fits (Remez exchange) on the reduced interval.
"""

from __future__ import annotations

from dataclasses import dataclass

from pelton.codegen.cpu.elements import F32, F64, Element
from pelton.codegen.cpu.emitter import Emitter, Value


@dataclass(frozen=True)
class ExpTable:
    """The constants of one float type."""

    shifter: float
    """1.5 * 2^(mantissa bits): adding it rounds to an integer, which then stands in the low bits."""
    ln2_high: float
    """Few enough bits that every n * ln2_high is exact."""
    ln2_low: float
    overflow: float
    """The largest argument with a finite exp."""
    underflow: float
    """exp rounds to 0 below."""
    mantissa: int
    bias: int
    q: tuple[float, ...]
    """(exp(r) - 1 - r) / r^2 on |r| <= ln 2 / 2, highest power first."""
    tanh_small: tuple[float, ...]
    """(tanh(x) / x - 1) / x^2 in x^2 on |x| <= 0.55."""
    tanh_limit: float
    """tanh rounds to 1 from here on."""
    erf_limit: float
    """erf rounds to 1 from here on."""
    erf_small: tuple[float, ...]
    """erf(x) / x - 1 in x^2 on |x| <= 1."""
    erfc_log: tuple[float, ...]
    """ln(erfc(x)) in x on 1 <= x <= erf_limit."""


LOG2_E = 1.4426950408889634

TABLES: dict[Element, ExpTable] = {
    F32: ExpTable(
        shifter=12582912.0,
        ln2_high=0.693145751953125,
        ln2_low=1.428606765330187e-06,
        overflow=88.72283935546875,
        underflow=-103.97208404541016,
        mantissa=23,
        bias=127,
        q=(0.00138168153, 0.00836867467, 0.0416683443, 0.166665211, 0.49999994),
        tanh_small=(-0.00628190022, 0.0210774373, -0.0538538061, 0.133326009, -0.333333194),
        tanh_limit=9.02,
        erf_limit=3.925,
        erf_small=(7.8891193e-05, -0.000802084571, 0.00518953661, -0.0268544462, 0.112836003, -0.37612626, 0.128379166),
        erfc_log=(
            0.000185570098,
            -0.00293956883,
            0.0218051635,
            -0.103037044,
            -0.638226032,
            -1.12703979,
            -0.000353774143,
        ),
    ),
    F64: ExpTable(
        shifter=6755399441055744.0,
        ln2_high=0.6931471805598903,
        ln2_low=5.497923018708371e-14,
        overflow=709.782712893384,
        underflow=-745.1332191019412,
        mantissa=52,
        bias=1023,
        q=(
            2.5000772915405116e-08,
            2.7629978794963153e-07,
            2.7557583019273403e-06,
            2.4801493955455062e-05,
            0.0001984126951209368,
            0.001388888894267828,
            0.008333333333490721,
            0.04166666666653443,
            0.16666666666666421,
            0.500000000000001,
        ),
        tanh_small=(
            5.1080150114050265e-05,
            -0.0002103914604141411,
            0.000579194385959003,
            -0.0014532371742092423,
            0.003591724075133067,
            -0.008863195082222358,
            0.021869486020908855,
            -0.05396825387815902,
            0.13333333333173306,
            -0.3333333333333235,
        ),
        tanh_limit=19.1,
        erf_limit=5.93,
        erf_small=(
            -7.801188874097751e-10,
            1.3722976265924504e-08,
            -1.6209175911748696e-07,
            1.6447517677871873e-06,
            -1.4924744663335489e-05,
            0.00012055295320494294,
            -0.0008548325989696758,
            0.005223977607423468,
            -0.02686617064327622,
            0.11283791670945253,
            -0.3761263890318355,
            0.12837916709551256,
        ),
        erfc_log=(
            1.0388611655360337e-12,
            -4.7509455750526756e-11,
            1.0169038672045755e-09,
            -1.3520555594806781e-08,
            1.2481729330790757e-07,
            -8.451117853616527e-07,
            4.301408353969182e-06,
            -1.642014743320703e-05,
            4.4766110127436004e-05,
            -6.974176590811568e-05,
            -4.597173601329026e-05,
            0.000642856531368941,
            -0.0017709514278721145,
            0.0002822516340161766,
            0.019076939943693375,
            -0.10274663504967664,
            -0.6366287062920599,
            -1.1283772818593834,
            -1.84437847082312e-07,
        ),
    ),
}


def reduce_by_ln2(e: Emitter, x: Value) -> tuple[Value, Value]:
    """(n as a signed integer, r) with x = n ln 2 + r and |r| <= ln 2 / 2."""
    t = TABLES[x.element]
    shifted = e.fma(x, LOG2_E, t.shifter)
    n = shifted - t.shifter
    r = e.fma(n, -t.ln2_low, e.fma(n, -t.ln2_high, x))
    return shifted.bits() - x.constant(t.shifter).bits(), r


def power_of_two(n: Value, like: Value) -> Value:
    """2^n as a float, for n in the normal range."""
    t = TABLES[like.element]
    return ((n + t.bias) << t.mantissa).convert("bitcast", like.element)


def exp_reduced(e: Emitter, r: Value) -> Value:
    """exp(r) for |r| <= ln 2 / 2."""
    return e.polynomial(r, (*TABLES[r.element].q, 1.0, 1.0))


def scale(e: Emitter, y: Value, n: Value) -> Value:
    """y 2^n in two steps, so that a result below the normal range is rounded once."""
    half = n >> 1
    return y * power_of_two(half, y) * power_of_two(n - half, y)


def exp(e: Emitter, x: Value) -> Value:
    """e^x."""
    t = TABLES[x.element]
    over, under = x > t.overflow, x < t.underflow
    # Lanes whose result is 0 compute e^0: an underflowing product costs a hundred cycles or more.
    n, r = reduce_by_ln2(e, e.select(over | under, x.constant(0.0), x))
    y = scale(e, exp_reduced(e, r), n)
    y = e.select(over, x.constant(float("inf")), y)
    return e.select(under, x.constant(0.0), y)


def tanh(e: Emitter, x: Value) -> Value:
    """x + x^3 p(x^2) up to 0.55, then 1 - 2 / (exp(2 |x|) + 1), and the sign of x."""
    t = TABLES[x.element]
    a = e.intrinsic("fabs", x)
    z = x * x
    small = e.fma(a * z, e.polynomial(z, t.tanh_small), a)
    n, r = reduce_by_ln2(e, e.select(a > t.tanh_limit, a.constant(t.tanh_limit), a) * 2.0)
    large = 1.0 - 2.0 / (exp_reduced(e, r) * power_of_two(n, x) + 1.0)
    return e.intrinsic("copysign", e.select(a < 0.55, small, large), x)


def erf(e: Emitter, x: Value) -> Value:
    """x + x p(x^2) up to 1, then 1 - exp(g(|x|)), and the sign of x."""
    t = TABLES[x.element]
    a = e.intrinsic("fabs", x)
    small = e.fma(x, e.polynomial(x * x, t.erf_small), x)
    n, r = reduce_by_ln2(e, e.polynomial(e.select(a > t.erf_limit, a.constant(t.erf_limit), a), t.erfc_log))
    large = 1.0 - exp_reduced(e, r) * power_of_two(n, x)
    return e.intrinsic("copysign", e.select(a < 1.0, small, large), x)
