"""Maximum, minimum and the reductions across lanes: values enter, values leave, the same tree on every target.

The tree halves: lane i meets lane i + n/2, then i + n/4, …; so a row gives the same bits however wide the registers
are.
"""

from __future__ import annotations

from collections.abc import Callable

from pelton.codegen.cpu.elements import I64, MASK
from pelton.codegen.cpu.emitter import Emitter, Value, constant
from pelton.codegen.cpu.lanes import mask_bits
from pelton.codegen.cpu.seam import ir


def maximum(e: Emitter, x: Value, y: Value) -> Value:
    """The larger; for floats NaN wins over everything, and 0 over -0."""
    return _extremum(e, x, y, e.select(x > y, x, y), e.select(y > x, y, x), zeros_or=False)


def minimum(e: Emitter, x: Value, y: Value) -> Value:
    """The smaller; for floats NaN wins over everything, and -0 over 0."""
    return _extremum(e, x, y, e.select(x < y, x, y), e.select(y < x, y, x), zeros_or=True)


def _extremum(e: Emitter, x: Value, y: Value, first: Value, second: Value, zeros_or: bool) -> Value:
    """`first` gives y for equal numbers and for NaN, `second` gives x; for all other lanes they agree.

    So `and` of their bits decides between 0 and -0 for the maximum, `or` for the minimum, and `or` with NaN stays
    NaN.
    """
    if not x.element.is_float:
        return first
    a, b = first.bits(), second.bits()
    union = (a | b).convert("bitcast", x.element)
    if zeros_or:
        return union
    unordered = Value(e, e.builder.fcmp_unordered("uno", x.llvm, y.llvm), MASK, x.lanes)
    return e.select(unordered, union, (a & b).convert("bitcast", x.element))


def maxnum(e: Emitter, x: Value, y: Value) -> Value:
    """The larger; NaN only where both are NaN."""
    if not x.element.is_float:
        return maximum(e, x, y)
    return e.select(x.is_nan(), y, e.select(y.is_nan(), x, maximum(e, x, y)))


def minnum(e: Emitter, x: Value, y: Value) -> Value:
    """The smaller; NaN only where both are NaN."""
    if not x.element.is_float:
        return minimum(e, x, y)
    return e.select(x.is_nan(), y, e.select(y.is_nan(), x, minimum(e, x, y)))


def across(e: Emitter, x: Value, combine: Callable[[Emitter, Value, Value], Value]) -> Value:
    """All lanes of `x` combined into a scalar; a scalar is its own result."""
    lanes = x.lanes
    while lanes > 1:
        lanes //= 2
        x = combine(e, e.part(x, 0, lanes), e.part(x, lanes, lanes))
    if not x.lanes:
        return x
    return Value(e, e.builder.extract_element(x.llvm, ir.Constant(ir.IntType(32), 0)), x.element, 0)


def bits_of(e: Emitter, mask: Value) -> Value:
    """A mask as an integer: bit k is lane k. Of up to 64 lanes."""
    return mask_bits(e, mask).as_element(I64)


def first_bit(e: Emitter, bits: Value) -> Value:
    """The place of the lowest 1 of an i64; 64 where there is none."""
    return bits.like(e.call("llvm.cttz.i64", bits.llvm.type, [bits.llvm, constant(MASK, 0, 0)]))


def count_bits(e: Emitter, bits: Value) -> Value:
    """How many bits of an i64 are 1."""
    return bits.like(e.call("llvm.ctpop.i64", bits.llvm.type, [bits.llvm]))
