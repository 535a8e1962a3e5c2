"""Words that compute: extremes, guarded division, conversions, half types, and the functions of libdevice.

Leaves: `WORDS`, name → (number of arguments, rule, emitter). The meanings are those of the CPU vocabulary: NaN is
kept, integer division never traps, float to integer truncates and saturates. No word lets NVVM contract or
reassociate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pelton.codegen.cuda.seam import ir, types
from pelton.codegen.cuda.words import ELEMENTS, Call, Emit, Rule, WordError, elementwise, is_float, is_integer

I16, I32, I64, F32, F64 = ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType(), ir.DoubleType()
BIT = ir.IntType(1)


def _number(kind: Any) -> bool:
    return is_float(kind) or is_integer(kind)


def _zero(x: Any) -> Any:
    return ir.Constant(x.type, 0)


# ---- extremes
def extreme(call: Call, x: Any, y: Any, kind: Any, *, largest: bool) -> Any:
    """max or min: signed for integers; of floats NaN wins, and -0 counts as below +0."""
    if is_integer(kind):
        compare = call.builder.icmp_signed if kind.signed else call.builder.icmp_unsigned
        return call.builder.select(compare(">" if largest else "<", x, y), x, y)
    if x.type == F32:
        return call.ptx(f"{'max' if largest else 'min'}.NaN.f32 $0, $1, $2;", F32, "=f,f,f", [x, y])
    return _extreme64(call.builder, x, y, largest=largest)


def _extreme64(b: Any, x: Any, y: Any, *, largest: bool) -> Any:
    """PTX has no max.NaN.f64."""
    chosen = b.select(b.fcmp_ordered(">" if largest else "<", x, y), x, y)
    x_bits, y_bits = b.bitcast(x, I64), b.bitcast(y, I64)
    zeros = b.and_(x_bits, y_bits) if largest else b.or_(x_bits, y_bits)
    tied = b.select(b.fcmp_ordered("==", x, y), b.bitcast(zeros, F64), chosen)
    return b.select(b.fcmp_unordered("uno", x, y), b.fadd(x, y), tied)


def _extreme(*, largest: bool) -> Emit:
    return lambda call: extreme(call, call.values[0], call.values[1], call.result, largest=largest)


# ---- integer division
def _divide(call: Call) -> tuple[Any, Any]:
    """C's quotient and remainder; 0 and 0 by zero, and MIN / -1 wraps."""
    b, (x, y), signed = call.builder, call.values, call.result.signed
    one, zero = ir.Constant(x.type, 1), _zero(x)
    none = b.icmp_unsigned("==", y, zero)
    if not signed:
        safe = b.select(none, one, y)
        return b.select(none, zero, b.udiv(x, safe)), b.select(none, zero, b.urem(x, safe))
    minus = b.icmp_signed("==", y, ir.Constant(x.type, -1))
    safe = b.select(b.or_(none, minus), one, y)
    quotient = b.select(minus, b.sub(zero, x), b.sdiv(x, safe))
    return b.select(none, zero, quotient), b.srem(x, safe)


def _remainder(call: Call) -> Any:
    """C's remainder; of floats exact, NaN by zero."""
    if not is_float(call.result):
        return _divide(call)[1]
    x = call.values[0]
    return call.function("__nv_fmodf" if x.type == F32 else "__nv_fmod", x.type, call.values)


def _floor_divide(call: Call) -> tuple[Any, Any]:
    """Python's quotient and remainder, with the same guards."""
    b, (_, y), (quotient, remainder) = call.builder, call.values, _divide(call)
    if not call.result.signed:
        return quotient, remainder
    zero = _zero(y)
    crosses = b.icmp_signed("<", b.xor(remainder, y), zero)
    off = b.and_(b.icmp_signed("!=", remainder, zero), crosses)
    down = b.sub(quotient, b.zext(off, y.type))
    return down, b.select(off, b.add(remainder, y), remainder)


# ---- conversions
def convert(call: Call, x: Any, source: Any, target: Any) -> Any:
    """Any register type to any other."""
    b, to = call.builder, _llvm(target)
    if source == types.boolean:
        x, source = b.zext(x, I32), types.int32
    match is_float(source), is_float(target):
        case True, True:
            return _resized(x, to, source.bitwidth, target.bitwidth, b.fptrunc, b.fpext)
        case True, False:
            return _to_integer(b, x, target)
        case False, True:
            return b.sitofp(x, to) if source.signed else b.uitofp(x, to)
        case _:
            wider = b.sext if source.signed else b.zext
            return _resized(x, to, source.bitwidth, target.bitwidth, b.trunc, wider)


def _resized(x: Any, to: Any, source: int, target: int, narrow: Any, widen: Any) -> Any:
    """By width: the instruction that narrows, the one that widens, or none."""
    return x if source == target else widen(x, to) if target > source else narrow(x, to)


def _llvm(kind: Any) -> Any:
    if is_float(kind):
        return F32 if kind.bitwidth == 32 else F64
    return BIT if kind == types.boolean else ir.IntType(kind.bitwidth)


def _to_integer(b: Any, x: Any, target: Any) -> Any:
    """Truncates and saturates; NaN gives 0. LLVM leaves what is out of range undefined, so it is never converted."""
    to, bits = ir.IntType(target.bitwidth), target.bitwidth
    low, high = (-(1 << bits - 1), 1 << bits - 1) if target.signed else (0, 1 << bits)
    above = b.fcmp_ordered(">=", x, ir.Constant(x.type, float(high)))
    # One below the least integer is exact for narrow targets, and equal to it where the float cannot tell them apart.
    below = b.fcmp_ordered("<=", x, ir.Constant(x.type, float(low - 1 if bits < 32 else low)))
    inside = b.and_(b.fcmp_ordered("ord", x, x), b.not_(b.or_(above, below)))
    safe = b.select(inside, x, ir.Constant(x.type, 0.0))
    whole = b.fptosi(safe, to) if target.signed else b.fptoui(safe, to)
    return b.select(above, ir.Constant(to, high - 1), b.select(below, ir.Constant(to, low), whole))


def _conversion(target: Any) -> tuple[int, Rule, Emit]:
    def rule(kind: Any) -> tuple[Any, tuple[Any]]:
        if not (_number(kind) or kind == types.boolean):
            raise WordError(f"does not take {kind}")
        return target, (kind,)

    return 1, rule, lambda call: convert(call, call.values[0], call.kinds[0], target)


def _takes(source: Any, target: Any) -> Rule:
    """One argument of one type."""

    def rule(kind: Any) -> tuple[Any, tuple[Any]]:
        if kind != source:
            raise WordError(f"takes {source}, not {kind}")
        return target, (source,)

    return rule


def _half(text: str, constraints: str, source: Any, target: Any) -> tuple[int, Rule, Emit]:
    """A conversion of the half types, which stand as their 16 bits."""
    return 1, _takes(source, target), lambda call: call.ptx(text, _llvm(target), constraints, call.values)


def _bf16_to_f32(call: Call) -> Any:
    b = call.builder
    return b.bitcast(b.shl(b.zext(call.values[0], I32), ir.Constant(I32, 16)), F32)


def _as_mask(call: Call) -> Any:
    return call.builder.icmp_unsigned("!=", call.values[0], _zero(call.values[0]))


# ---- order
def _key_rule(kind: Any) -> tuple[Any, tuple[Any]]:
    if not _number(kind):
        raise WordError(f"does not take {kind}")
    return types.Integer.from_bitwidth(kind.bitwidth) if is_float(kind) else kind, (kind,)


def _order_key(call: Call) -> Any:
    """An integer that orders as the element does: of floats with -0 equal to 0, and every NaN alike above infinity."""
    b, x = call.builder, call.values[0]
    if not is_float(call.kinds[0]):
        return x
    integer = ir.IntType(call.result.bitwidth)
    bits = b.bitcast(b.fadd(x, ir.Constant(x.type, 0.0)), integer)  # -0 + 0 is 0
    largest = ir.Constant(integer, 2 ** (integer.width - 1) - 1)
    flipped = b.xor(bits, b.and_(b.ashr(bits, ir.Constant(integer, integer.width - 1)), largest))
    return b.select(b.fcmp_unordered("uno", x, x), largest, flipped)


# ---- choice and comparison
def _where_rule(condition: Any, x: Any, y: Any) -> tuple[Any, tuple[Any, Any, Any]]:
    if condition != types.boolean or x != y:
        raise WordError("takes a condition and two values of one type")
    return x, (condition, x, y)


def _unsigned(operator: str) -> Emit:
    return lambda call: call.builder.icmp_unsigned(operator, *call.values)


def _absolute(call: Call) -> Any:
    x = call.values[0]
    if is_float(call.result):
        return call.function("__nv_fabsf" if x.type == F32 else "__nv_fabs", x.type, [x])
    b = call.builder
    return b.select(b.icmp_signed("<", x, _zero(x)), b.sub(_zero(x), x), x)


def _reciprocal_root(call: Call) -> Any:
    """1/sqrt(x), each step rounded: rsqrt.approx flushes subnormals."""
    x = call.values[0]
    root = call.function("__nv_sqrtf" if x.type == F32 else "__nv_sqrt", x.type, [x])
    return call.builder.fdiv(ir.Constant(x.type, 1.0), root)


def _libdevice(symbol: str) -> Emit:
    def emit(call: Call) -> Any:
        single = call.values[0].type == F32
        return call.function(f"__nv_{symbol}{'f' if single else ''}", call.values[0].type, call.values)

    return emit


LIBDEVICE: Mapping[str, tuple[int, str]] = {
    **{name: (1, name) for name in ("exp", "log", "log1p", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atanh",
                                    "tanh", "erf", "floor", "ceil", "trunc")},
    "roundeven": (1, "rint"), "pow": (2, "pow"), "copysign": (2, "copysign"), "fma": (3, "fma"),
    "maxnum": (2, "fmax"), "minnum": (2, "fmin"),
}  # fmt: skip
"""Word → (number of arguments, libdevice's name)."""

_FLOATS, _INTEGERS = elementwise(is_float), elementwise(is_integer)
_BITS = elementwise(is_integer, types.boolean)
_F16, _F32, _F64 = types.uint16, types.float32, types.float64


def _pair(part: int, divide: Callable[[Call], tuple[Any, Any]]) -> tuple[int, Rule, Emit]:
    return 2, _INTEGERS, lambda call: divide(call)[part]


WORDS: dict[str, tuple[int, Rule, Emit]] = {
    "maximum": (2, elementwise(_number), _extreme(largest=True)),
    "minimum": (2, elementwise(_number), _extreme(largest=False)),
    "truncdiv": _pair(0, _divide),
    "truncmod": (2, elementwise(_number), _remainder),
    "floordiv": _pair(0, _floor_divide),
    "floormod": _pair(1, _floor_divide),
    "order_key": (1, _key_rule, _order_key),
    "where": (3, _where_rule, lambda call: call.builder.select(*call.values)),
    "ult": (2, _BITS, _unsigned("<")),
    "ule": (2, _BITS, _unsigned("<=")),
    "absolute": (1, elementwise(_number), _absolute),
    "rsqrt": (1, _FLOATS, _reciprocal_root),
    **{name: (count, _FLOATS, _libdevice(symbol)) for name, (count, symbol) in LIBDEVICE.items()},
    **{f"to_{name}": _conversion(kind) for name, kind in ELEMENTS.items() if name != "i1"},
    **{name: _conversion(kind) for name, kind in ELEMENTS.items() if name != "i1"},
    "bf16_to_f32": (1, _takes(_F16, _F32), _bf16_to_f32),
    "f16_to_f32": _half("cvt.f32.f16 $0, $1;", "=f,h", _F16, _F32),
    "f32_to_f16": _half("cvt.rn.f16.f32 $0, $1;", "=h,f", _F32, _F16),
    "f64_to_f16": _half("cvt.rn.f16.f64 $0, $1;", "=h,d", _F64, _F16),
    "f32_to_bf16": _half("cvt.rn.bf16.f32 $0, $1;", "=h,f", _F32, _F16),
    "f64_to_bf16": _half("cvt.rn.bf16.f64 $0, $1;", "=h,d", _F64, _F16),
    "as_mask": (1, _takes(types.uint8, types.boolean), _as_mask),
    "as_bytes": (1, _takes(types.boolean, types.uint8), lambda call: call.builder.zext(call.values[0], ir.IntType(8))),
}
