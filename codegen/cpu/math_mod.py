"""Remainders of floats, as C and NumPy define them: values enter, values leave. f32 computes in f64.

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
