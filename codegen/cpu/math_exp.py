"""exp of f32 and f64: values enter, values leave. 2^n p(r) with r = x - n ln 2, gradual underflow included."""

from __future__ import annotations

from dataclasses import dataclass

from pelton.codegen.cpu.elements import INTEGER_OF
from pelton.codegen.cpu.emitter import Emitter, Value


@dataclass(frozen=True)
class ExpFormat:
    """The constants of one float type."""

    shifter: float
    """1.5 * 2^mantissa bits: adding it rounds to an integer, which then stands in the low bits."""
    ln2_high: float
    ln2_low: float
    log2e: float
    overflow: float
    """exp is inf above."""
    underflow: float
    """exp rounds to 0 below."""
    mantissa: int
    bias: int
    coefficients: tuple[float, ...]
    """(exp(r) - 1 - r) / r^2 on |r| <= ln 2 / 2, highest power first."""


EXP32 = ExpFormat(12582912.0, 0.693145751953125, 1.42860682030941723212e-6, 1.44269504088896341, 88.72283935546875,
                  -103.97208404541016, 23, 127, (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1))


def exp(e: Emitter, x: Value) -> Value:
    f = EXP32
    over, under = x > f.overflow, x < f.underflow
    xc = e.select(over, x.constant(0.0), x)
    xc = e.select(under, x.constant(0.0), xc)
    shifted = e.fma(xc, f.log2e, f.shifter)
    n = shifted - f.shifter
    r = e.fma(n, -f.ln2_low, e.fma(n, -f.ln2_high, xc))
    q = e.polynomial(r, f.coefficients)
    y = e.fma(q, r * r, r) + 1.0
    i = shifted.bits() - x.constant(f.shifter).bits()
    half = i >> 1
    y = y * power_of_two(half, f, x) * power_of_two(i - half, f, x)
    y = e.select(over, x.constant(float("inf")), y)
    return e.select(under, x.constant(0.0), y)


def power_of_two(n: Value, f: ExpFormat, like: Value) -> Value:
    return ((n + f.bias) << f.mantissa).convert("bitcast", like.element)
