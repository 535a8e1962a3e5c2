"""Conversions between register types, and between the 16-bit formats and floats: values enter, values leave.

Floats become integers truncated and saturated, NaN becomes 0. f16 and bf16 are read and rounded (to nearest, ties to
even) by integer code unless the target has the instruction; both ways give the same bits.
"""

from __future__ import annotations

from pelton.codegen.cpu import math_round
from pelton.codegen.cpu.elements import F16, F32, F64, I32, I64, U8, U16, U32, U64, Element
from pelton.codegen.cpu.emitter import Emitter, Value


def to(e: Emitter, x: Value, element: Element) -> Value:
    """`x` as `element`."""
    source = x.element
    if source is element:
        return x
    match source.kind, element.kind:
        case _, "mask":
            return x.differs(0)
        case "mask", _:
            one = e.number(element, 1, x.lanes)
            return e.select(x, one, 0)
        case "float", "float":
            return x.convert("fpext" if element.bits > source.bits else "fptrunc", element)
        case "float", _:
            return _float_to_integer(e, x, element)
        case kind, "float":
            return x.convert("uitofp" if kind == "uint" else "sitofp", element)
        case kind, _ if element.bits > source.bits:
            return x.convert("zext" if kind == "uint" else "sext", element)
        case _:
            return x.convert("trunc", element)


def _limits(element: Element) -> tuple[int, int]:
    """The smallest and the largest integer."""
    if element.kind == "uint":
        return 0, (1 << element.bits) - 1
    return -(1 << (element.bits - 1)), (1 << (element.bits - 1)) - 1


def _float_to_integer(e: Emitter, x: Value, element: Element) -> Value:
    """Truncated; what lies outside becomes the nearest limit, NaN 0."""
    low, high = _limits(element)
    below, above = x < float(low), x >= float(high + 1)
    inside = (x >= float(low)) & (x < float(high + 1))
    y = _truncated(e, e.select(inside, x, 0.0), element)
    return e.select(above, y.constant(high), e.select(below, y.constant(low), y))


def _truncated(e: Emitter, x: Value, element: Element) -> Value:
    """x, known to be in range, as an integer."""
    if element.bits < I32.bits:
        return x.convert("fptosi", I32).convert("trunc", element)
    if element is I32:
        return x.convert("fptosi", I32)
    wide = x.convert("fpext", F64) if x.element is F32 else x
    if element is U32:
        return _low_words(math_round.trunc(e, wide)).convert("trunc", U32)
    if element is I64 and (not x.lanes or e.target.vector_bits == 512):
        return wide.convert("fptosi", I64)
    # In two halves of 32 bits, each of which the mantissa of a double holds.
    whole = math_round.trunc(e, wide)
    upper = math_round.floor(e, whole * 2.0**-32)
    lower = _low_words(whole - upper * 2.0**32)
    shifter = upper.constant(6755399441055744.0)
    return (((upper + shifter).bits() - shifter.bits()) << 32) + lower if element is I64 else _unsigned(upper, lower)


def _low_words(x: Value) -> Value:
    """An integer in [0, 2^32) as i64: the low bits of x + 2^52."""
    offset = x.constant(4503599627370496.0)
    return (x + offset).bits() - offset.bits()


def _unsigned(upper: Value, lower: Value) -> Value:
    return ((_low_words(upper) << 32) + lower).as_element(U64)


def f16_to_f32(e: Emitter, h: Value) -> Value:
    """Exact; a NaN becomes quiet."""
    if e.target.has_f16c:
        return h.convert("bitcast", F16).convert("fpext", F32)
    magnitude = (h & 0x7FFF).convert("zext", I32)
    # The exponent is 112 too low: a product repairs it, for subnormal numbers too.
    finite = (magnitude << 13).convert("bitcast", F32) * 2.0**112
    special = (magnitude << 13) | 0x7F800000
    quiet = e.select(magnitude > 0x7C00, special | 0x400000, special)
    bits = e.select(magnitude >= 0x7C00, quiet, finite.bits())
    sign = (h & 0x8000).convert("zext", I32) << 16
    return (bits | sign).convert("bitcast", F32)


def f32_to_f16(e: Emitter, x: Value) -> Value:
    """To nearest, ties to even; from 65520 on inf."""
    if e.target.has_f16c:
        return x.convert("fptrunc", F16).convert("bitcast", U16)
    bits = x.bits()
    magnitude = bits & 0x7FFFFFFF
    normal = (magnitude + 0xFFF + ((magnitude >> 13) & 1) - 0x38000000) >> 13
    # Below 2^-14 the last bit of a half is the last bit of 0.5.
    a = magnitude.convert("bitcast", F32)
    small = (a + 0.5).bits() - a.constant(0.5).bits()
    h = e.select(magnitude < 0x38800000, small, normal)
    h = e.select(magnitude >= 0x477FF000, h.constant(0x7C00), h)
    nan = ((magnitude >> 13) & 0x3FF) | 0x7E00
    h = e.select(magnitude > 0x7F800000, nan, h)
    return (h | ((bits.as_element(U32) >> 16).as_element(I32) & 0x8000)).convert("trunc", U16)


def bf16_to_f32(e: Emitter, h: Value) -> Value:
    """Exact."""
    return (h.convert("zext", I32) << 16).convert("bitcast", F32)


def f16_to_f64(e: Emitter, h: Value) -> Value:
    """Exact; a NaN becomes quiet."""
    return to(e, f16_to_f32(e, h), F64)


def bf16_to_f64(e: Emitter, h: Value) -> Value:
    """Exact."""
    return to(e, bf16_to_f32(e, h), F64)


def f32_to_bf16(e: Emitter, x: Value) -> Value:
    """To nearest, ties to even; a NaN becomes quiet."""
    bits = x.bits().as_element(U32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return e.select(x.is_nan(), (bits >> 16) | 0x40, rounded).convert("trunc", U16)


def _to_odd(e: Emitter, x: Value) -> Value:
    """f64 → f32 with an odd last bit where inexact, so that a second rounding is the only one."""
    y = x.convert("fptrunc", F32)
    back = y.convert("fpext", F64)
    larger = e.intrinsic("fabs", back) > e.intrinsic("fabs", x)
    bits = y.bits()
    towards_zero = bits - larger.convert("zext", I32)
    exact = back.equals(x) | x.is_nan()
    return e.select(exact, bits, towards_zero | 1).convert("bitcast", F32)


def f64_to_f16(e: Emitter, x: Value) -> Value:
    """To nearest, ties to even, rounded once."""
    return f32_to_f16(e, _to_odd(e, x))


def f64_to_bf16(e: Emitter, x: Value) -> Value:
    """To nearest, ties to even, rounded once."""
    return f32_to_bf16(e, _to_odd(e, x))


def as_mask(e: Emitter, x: Value) -> Value:
    """A stored bool as a mask: any byte but 0 is true."""
    return x.differs(0)


def as_bytes(e: Emitter, x: Value) -> Value:
    """A mask as stored bools, 0 and 1."""
    return x.convert("zext", U8)
