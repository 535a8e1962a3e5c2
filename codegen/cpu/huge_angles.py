"""Reduction of angles so large that n pi/2 has no exact parts: a finite f64 enters; r and n with x = n pi/2 + r
leave.

M. Payne and R. Hanek, "Radian reduction for trigonometric functions" (1983): x = m 2^e with an integer m of 53 bits.
Of the bits of 2/pi only a window of 192 matters: those before it make multiples of a full turn, those after it less
than the result shows. One function per module; lanes with huge angles call it one by one, and the others never pay.
"""

from __future__ import annotations

from typing import Any

from pelton.codegen.cpu.doubles import fast_two_sum, two_product
from pelton.codegen.cpu.elements import F64, I64, I128, U64
from pelton.codegen.cpu.emitter import Emitter, Value
from pelton.codegen.cpu.lanes import each_lane, reload, spill, when_any
from pelton.codegen.cpu.seam import ir

TWO_OVER_PI = (
    0x0000000000000000,
    0xA2F9836E4E441529,
    0xFC2757D1F534DDC0,
    0xDB6295993C439041,
    0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0,
    0x06492EEA09D1921C,
    0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484,
    0xE99C7026B45F7E41,
    0x3991D639835339F4,
    0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F,
    0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA,
    0x6BFB5FB11F8D5D08,
    0x56033046FC7B6BAB,
    0xF0CFBC209AF4361D,
    0xA9E391615EE61B08,
)
"""The bits of 2/pi after 64 zeros, so that a window can start before the first of them."""

HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
FUNCTION = "reduce_huge_angle"


def replace_huge(
    e: Emitter, x: Value, limit: float, high: Value, low: Value | None, n: Value
) -> tuple[Value, Value | None, Value]:
    """(high, low, n), but where |x| >= limit the results of the long reduction."""
    a = e.intrinsic("fabs", x)
    huge = (a >= limit) & (a < float("inf"))
    parts = [high, n] if low is None else [high, n, low]

    def reduce_each() -> list[Value]:
        function = _function(e)
        source = spill(e, x)
        slots = [spill(e, part) for part in parts]
        unused = e.stack(F64, 1)

        def one(lane: Any) -> None:
            b = e.builder
            targets = [e.offset(slot, lane) for slot in slots]
            low_target = unused if low is None else targets[2]
            b.call(function, [b.load(e.offset(source, lane)), targets[0], low_target, targets[1]])

        each_lane(e, huge, one)
        return [reload(e, slot, part) for slot, part in zip(slots, parts, strict=True)]

    high, n, *rest = when_any(e, huge, parts, reduce_each)
    return high, (rest[0] if rest else None), n


def _function(e: Emitter) -> Any:
    """`void reduce_huge_angle(double x, double *high, double *low, i64 *n)`, written at its first use."""
    module = e.builder.module
    if FUNCTION in module.globals:
        return module.globals[FUNCTION]
    double, word = F64.llvm, I64.llvm
    kind = ir.FunctionType(ir.VoidType(), [double, double.as_pointer(), double.as_pointer(), word.as_pointer()])
    function = ir.Function(module, kind, FUNCTION)
    function.linkage = "private"
    function.attributes.add("noinline")
    inner = Emitter(ir.IRBuilder(function.append_basic_block("entry")), e.target, 0)
    _write_body(inner, function)
    return function


def _write_body(e: Emitter, function: Any) -> None:
    x = Value(e, function.args[0], F64, 0)
    bits = x.bits().as_element(U64)
    mantissa = (bits & ((1 << 52) - 1)) | (1 << 52)
    exponent = ((bits >> 52) & 2047) - 1075
    window = _window(e, exponent + 62)
    product = _times(e, mantissa, window)
    quadrant = (product[0] >> 62).as_element(I64)
    signed, below = _shifted(e, product, 2)
    negative = signed.as_element(I64) >> 63
    high, low = _fraction(e, signed.as_element(I64), below)
    r, lost = two_product(e, high, high.constant(HALF_PI[0]))
    r, lost = fast_two_sum(r, lost + (high * HALF_PI[1] + low * HALF_PI[0]))
    sign = bits & (1 << 63)
    n = quadrant - negative
    flip = x.bits() >> 63
    for value, target in ((r, function.args[1]), (lost, function.args[2])):
        flipped = (value.bits().as_element(U64) ^ sign).convert("bitcast", F64)
        e.builder.store(flipped.llvm, target)
    e.builder.store(((n ^ flip) - flip).llvm, function.args[3])
    e.builder.ret_void()


def _window(e: Emitter, position: Value) -> list[Value]:
    """192 bits of the table from bit `position` on, as three words, the highest first."""
    table = _table(e)
    index, shift = position >> 6, position & 63
    zero = ir.Constant(I64.llvm, 0)

    def word(i: int) -> Value:
        address = e.builder.gep(table, [zero, (index + i).llvm], inbounds=True)
        return Value(e, e.builder.load(address), U64, 0)

    words = [word(i) for i in range(4)]
    return [e.intrinsic("fshl", words[i], words[i + 1], shift) for i in range(3)]


def _table(e: Emitter) -> Any:
    """The table as a constant of the module."""
    module = e.builder.module
    kind = ir.ArrayType(U64.llvm, len(TWO_OVER_PI))
    table = ir.GlobalVariable(module, kind, "two_over_pi")
    table.initializer = ir.Constant(kind, list(TWO_OVER_PI))
    table.global_constant = True
    table.linkage = "private"
    return table


def _times(e: Emitter, m: Value, window: list[Value]) -> list[Value]:
    """The lowest 192 bits of m times the window, as three words, the highest first."""

    def wide(a: Value) -> tuple[Value, Value]:
        product = a.convert("zext", I128) * m.convert("zext", I128)
        return (product >> 64).convert("trunc", U64), product.convert("trunc", U64)

    carry, lowest = wide(window[2])
    top, middle = wide(window[1])
    middle = middle + carry
    top = top + (middle < carry).convert("zext", U64) + window[0] * m
    return [top, middle, lowest]


def _shifted(e: Emitter, words: list[Value], count: int) -> tuple[Value, Value]:
    """The two highest words after a shift to the left."""
    shift = words[0].constant(count)
    return e.intrinsic("fshl", words[0], words[1], shift), e.intrinsic("fshl", words[1], words[2], shift)


def _fraction(e: Emitter, high: Value, low: Value) -> tuple[Value, Value]:
    """The signed 128-bit fraction high:low / 2^128 as a pair of doubles; each conversion but the last is exact."""
    upper = Value(e, e.builder.sitofp((high >> 11).llvm, F64.llvm), F64, 0) * 2.0**11
    lower = Value(e, e.builder.sitofp((high & 2047).llvm, F64.llvm), F64, 0)
    last = Value(e, e.builder.sitofp((low >> 1).llvm, F64.llvm), F64, 0) * 2.0**-63
    a, b = fast_two_sum(upper, lower + last)
    return a * 2.0**-64, b * 2.0**-64
