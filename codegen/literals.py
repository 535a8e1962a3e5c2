"""Constants of a kernel as Python literals.

Enters: an `arith.constant`. Leaves: a term with the constant's type, or without it where the text beside it gives that.
"""

from __future__ import annotations

import struct

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float16Type, FloatAttr, IntegerAttr
from xdsl.ir import Attribute

from pelton.codegen.spelling import register_name
from pelton.codegen.terms import Term, call, number
from pelton.dialects.kernel.uniformity import is_index
from pelton.dialects.types import bytes_of, is_bool
from pelton.support.errors import CompileError


def literal(op: arith.ConstantOp, bare: bool) -> Term:
    """A constant with its type (`f32(0.5)`), or `bare` (`0.5`) where the text beside it gives the type."""
    t, value = op.result.type, op.value
    match value:
        case IntegerAttr() if is_bool(t):
            return Term(str(value.value.data != 0))
        case IntegerAttr():
            typed, term = not is_index(t), number(value.value.data)
        case FloatAttr() if is_half(t):
            typed, term = True, number(half_bits(value.value.data, register_name(t)))
            return term if bare else call("u16", term)
        case FloatAttr():
            typed, term = bytes_of(t) < 8, number(value.value.data, bytes_of(t) * 8)
        case _:
            raise CompileError("a kernel constant is one number", op=op.name, got=str(value))
    return call(register_name(t), term) if typed and not bare else term


def is_half(t: Attribute) -> bool:
    """f16 or bf16: held in registers as the 16 bits that stand in memory."""
    return isinstance(t, Float16Type | BFloat16Type)


def half_bits(value: float, t: str) -> int:
    """The 16 bits of an f16 or bf16 value, rounded to nearest even."""
    if t == "f16":
        try:
            return int.from_bytes(struct.pack("<e", value), "little")
        except OverflowError:
            return 0x7C00 if value > 0 else 0xFC00
    bits = int.from_bytes(struct.pack("<f", value), "little")
    if value != value:
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
