"""Remainders and floor division of floats, as NumPy defines them: values enter, values leave. f32 computes in f64.

The remainder of floats is exact. It is found by long division: each step subtracts a multiple of y scaled by a power
of two, and takes 25 bits off the quotient. So one step does for quotients below 2^25, and the loop runs on only for
larger ones.
"""

from __future__ import annotations

from pelton.codegen.cpu import math_round
from pelton.codegen.cpu.elements import F32, F64, U64
from pelton.codegen.cpu.emitter import Emitter, Value
from pelton.codegen.cpu.lanes import mask_bits
from pelton.codegen.cpu.math_exp import scale

STEP_BITS = 25
LOW_HALF = (1 << 27) - 1
SMALLEST = 2.2250738585072014e-308
SUBNORMAL_SHIFT = 54


def _exponent(e: Emitter, x: Value) -> Value:
    """floor(log2 x) for positive x, as i64."""
    tiny = x < SMALLEST
    field = e.select(tiny, x * 2.0**SUBNORMAL_SHIFT, x).bits() >> 52
    return field - e.select(tiny, field.constant(SUBNORMAL_SHIFT), 0)


def _step(e: Emitter, a: Value, b: Value) -> Value:
    """a less a multiple of b, at most 2^25 times smaller than a where a was larger than b."""
    k = _exponent(e, a) - _exponent(e, b) - (STEP_BITS - 1)
    k = e.select(k > 0, k, 0)
    scaled = scale(e, scale(e, b, k >> 1), k - (k >> 1))  # k can be larger than the exponent of any float
    q = math_round.trunc(e, a / scaled)
    high = (scaled.bits().as_element(U64) & ~LOW_HALF & ((1 << 64) - 1)).convert("bitcast", F64)
    # Both products and both differences are exact: q has 26 bits, each half of `scaled` 27.
    r = (a - q * high) - q * (scaled - high)
    # The rounded quotient can be one too large.
    return e.select(r < 0.0, r + scaled, r)


def fmod(e: Emitter, x: Value, y: Value) -> Value:
    """x - y trunc(x / y), exact, with the sign of x."""
    if x.element is F32:
        return fmod(e, x.convert("fpext", F64), y.convert("fpext", F64)).convert("fptrunc", F32)
    b = e.builder
    start, divisor = e.intrinsic("fabs", x), e.intrinsic("fabs", y)
    before, loop, after = b.block, b.append_basic_block("fmod"), b.append_basic_block("fmod_done")
    b.branch(loop)
    b.position_at_end(loop)
    a = start.like(b.phi(start.llvm.type))
    a.llvm.add_incoming(start.llvm, before)
    rest = e.select(a < divisor, a, _step(e, a, divisor))
    a.llvm.add_incoming(rest.llvm, b.block)
    b.cbranch(mask_bits(e, rest >= divisor).differs(0).llvm, loop, after)
    b.position_at_end(after)
    undefined = divisor.equals(0.0) | start.equals(float("inf"))
    r = e.select(undefined, rest.constant(float("nan")), rest)
    return e.intrinsic("copysign", r, x)


def divmod(e: Emitter, x: Value, y: Value) -> tuple[Value, Value]:
    """(floor of the quotient, remainder with the sign of y) in f64."""
    remainder = fmod(e, x, y)
    quotient = (x - remainder) / y
    crosses = remainder.differs(0.0) & (remainder < 0.0).differs(y < 0.0)
    quotient = e.select(crosses, quotient - 1.0, quotient)
    remainder = e.select(crosses, remainder + y, remainder)
    remainder = e.select(remainder.equals(0.0), e.intrinsic("copysign", remainder, y), remainder)
    below = math_round.floor(e, quotient)
    below = e.select(quotient - below > 0.5, below + 1.0, below)
    ratio = x / y
    below = e.select(quotient.equals(0.0), e.intrinsic("copysign", quotient.constant(0.0), ratio), below)
    return e.select(y.equals(0.0), ratio, below), remainder


def floordiv(e: Emitter, x: Value, y: Value) -> Value:
    """The quotient rounded down; by 0 as the plain quotient, inf or NaN."""
    if x.element is F32:
        return divmod(e, x.convert("fpext", F64), y.convert("fpext", F64))[0].convert("fptrunc", F32)
    return divmod(e, x, y)[0]


def floormod(e: Emitter, x: Value, y: Value) -> Value:
    """The remainder of that, with the sign of y; by 0 NaN."""
    if x.element is F32:
        return divmod(e, x.convert("fpext", F64), y.convert("fpext", F64))[1].convert("fptrunc", F32)
    return divmod(e, x, y)[1]
