"""Integer division, shifts and unsigned compares that never trap: values enter, values leave.

A quotient and a remainder by 0 are 0; the most negative number by -1 wraps; a shift by the width or more shifts
everything out.
"""

from __future__ import annotations

from pelton.codegen.cpu.elements import F32, F64, I32, U8, U16, U32, U64, Element
from pelton.codegen.cpu.emitter import Emitter, Value
from pelton.codegen.cpu.lanes import lanewise

UNSIGNED: dict[int, Element] = {8: U8, 16: U16, 32: U32, 64: U64}


def ult(e: Emitter, x: Value, y: Value) -> Value:
    """x < y as unsigned numbers."""
    unsigned = UNSIGNED[x.element.bits]
    return x.as_element(unsigned) < y.as_element(unsigned)


def ule(e: Emitter, x: Value, y: Value) -> Value:
    """x <= y as unsigned numbers."""
    unsigned = UNSIGNED[x.element.bits]
    return x.as_element(unsigned) <= y.as_element(unsigned)


def shift_left(e: Emitter, x: Value, count: Value) -> Value:
    """x 2^count, wrapped."""
    fits = ult(e, count, count.constant(x.element.bits))
    return e.select(fits, x << e.select(fits, count, 0), 0)


def shift_right(e: Emitter, x: Value, count: Value) -> Value:
    """x / 2^count rounded down; an unsigned x is filled with 0."""
    fits = ult(e, count, count.constant(x.element.bits))
    if x.element.kind == "int":
        return x >> e.select(fits, count, x.element.bits - 1)
    return e.select(fits, x >> e.select(fits, count, 0), 0)


def truncdiv(e: Emitter, x: Value, y: Value) -> Value:
    """The quotient rounded towards 0."""
    match x.element.name:
        case "i32":
            quotient = _by_float(e, x, y, F64)
        case "i8" | "i16" | "u8" | "u16":
            quotient = _by_float(e, x, y, F32)
        case _:
            return lanewise(e, (x, y), _by_instruction)
    return e.select(y.equals(0), x.constant(0), quotient)


def _safe_divisor(e: Emitter, y: Value) -> Value:
    """y, or 1 where dividing by y is not defined or overflows."""
    unsafe = y.equals(0) | y.equals(-1) if y.element.kind == "int" else y.equals(0)
    return e.select(unsafe, y.constant(1), y)


def _by_float(e: Emitter, x: Value, y: Value, element: Element) -> Value:
    """The quotient through a float type with more than as many bits: the next integer is further away than rounding
    reaches.
    """
    divisor = _safe_divisor(e, y)
    widen = "zext" if x.element.kind == "uint" else "sext"
    a, b = (v.convert(widen, I32).convert("sitofp", element) for v in (x, divisor))
    quotient = (a / b).convert("fptosi", I32).convert("trunc", x.element)
    return e.select(y.equals(-1), -x, quotient) if x.element.kind == "int" else quotient


def _by_instruction(e: Emitter, x: Value, y: Value) -> Value:
    """One scalar division."""
    divisor = _safe_divisor(e, y)
    if x.element.kind == "uint":
        return e.select(y.equals(0), x.constant(0), x.like(e.builder.udiv(x.llvm, divisor.llvm)))
    quotient = e.select(y.equals(-1), -x, x.like(e.builder.sdiv(x.llvm, divisor.llvm)))
    return e.select(y.equals(0), x.constant(0), quotient)


def truncmod(e: Emitter, x: Value, y: Value) -> Value:
    """x - y truncdiv(x, y): the sign of x."""
    return e.select(y.equals(0), x.constant(0), x - truncdiv(e, x, y) * y)


def _crosses(remainder: Value, y: Value) -> Value:
    """-1 where rounding towards 0 and rounding down differ, else 0. For y = 0 the remainder must be 0.

    Made of sign bits: from a sum of a quotient and a truth value LLVM's assembler for AVX-512 may never return.
    """
    last = y.element.bits - 1
    return ((remainder ^ y) >> last) & ((remainder | -remainder) >> last)


def floordiv(e: Emitter, x: Value, y: Value) -> Value:
    """The quotient rounded down."""
    quotient = truncdiv(e, x, y)
    if x.element.kind == "uint":
        return quotient
    remainder = e.select(y.equals(0), x.constant(0), x - quotient * y)
    return quotient + _crosses(remainder, y)


def floormod(e: Emitter, x: Value, y: Value) -> Value:
    """x - y floordiv(x, y): the sign of y."""
    remainder = truncmod(e, x, y)
    if x.element.kind == "uint":
        return remainder
    return remainder + (_crosses(remainder, y) & y)


def order_key(e: Emitter, x: Value) -> Value:
    """An integer that orders as `x` does: of floats with -0 equal to 0, and every NaN alike above infinity."""
    if not x.element.is_float:
        return x
    bits = (x + 0.0).bits()  # -0 + 0 is 0
    largest = 2 ** (x.element.bits - 1) - 1
    return e.select(x.is_nan(), bits.constant(largest), bits ^ ((bits >> (x.element.bits - 1)) & largest))
