"""Error-free sums and products: two floats enter, a pair (rounded result, what rounding lost) leaves.

Sources: T. J. Dekker, "A floating-point technique for extending the available precision" (1971); D. E. Knuth, TAOCP
2, 4.2.2.
"""

from __future__ import annotations

from pelton.codegen.cpu.elements import F64
from pelton.codegen.cpu.emitter import Emitter, Value

SPLITTER = 134217729.0
"""2^27 + 1: halves a double into two parts whose products are exact."""


def fast_two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """For |a| >= |b| or a = 0."""
    s = a + b
    return s, b - (s - a)


def two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """For any a and b."""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


def two_product(e: Emitter, a: Value, b: Value) -> tuple[Value, Value]:
    """With FMA by its definition, without by splitting the doubles into halves; both are exact."""
    p = a * b
    if e.target.has_fma:
        return p, e.fma(a, b, -p)
    assert a.element is F64
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: Value) -> tuple[Value, Value]:
    scaled = a * SPLITTER
    high = scaled - (scaled - a)
    return high, a - high
