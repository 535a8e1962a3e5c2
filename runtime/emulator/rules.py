"""What each computing instruction does: a table from the opcode's stem to what makes its `Rule`.

Enters: an instruction's stem and modifiers. Leaves: a `Rule`; blocks.py binds it to registers. Memory, control flow and
warp-wide operations are steps of their own: a rule sees only values, one per thread. Bits are in bit_rules.py, half
types in half_rules.py, conversions in cvt_rules.py.
"""

from __future__ import annotations

import numpy as np

from pelton.runtime.emulator import arithmetic as ar
from pelton.runtime.emulator import carry
from pelton.runtime.emulator import integers as it
from pelton.runtime.emulator.bit_rules import BITS
from pelton.runtime.emulator.cvt_rules import CONVERSIONS
from pelton.runtime.emulator.errors import UnsupportedInstruction
from pelton.runtime.emulator.half_rules import HALVES, half_of
from pelton.runtime.emulator.rule import (
    PREDICATE,
    Binary,
    Maker,
    Modifiers,
    Rule,
    Unary,
    comparison,
    flushed,
    join_of,
    last,
    rounding,
    same,
)
from pelton.runtime.emulator.values import TYPES, Array, Type


def rule(stem: str, modifiers: Modifiers) -> Rule:
    """The rule of an opcode; UnsupportedInstruction for those outside the subset."""
    make = HALVES.get(stem) if half_of(modifiers) else None
    make = make or RULES.get(stem)
    if make is None:
        raise UnsupportedInstruction(f"no rule for {stem}; there are: {', '.join(sorted(RULES))}")
    return make(modifiers)


# ---- floating point or integer, by type
_PAIRS = {"u16x2": np.dtype(np.uint16), "s16x2": np.dtype(np.int16)}


def _pairs(modifiers: Modifiers, compute: Binary) -> Rule:
    """Two 16-bit integers in a register."""
    dtype, register = _PAIRS[modifiers[-1]], TYPES["b32"]

    def act(a: Array, b: Array) -> Array:
        halves = compute(*(np.ascontiguousarray(x).view(dtype).reshape(-1, 2) for x in (a, b)))
        if "relu" in modifiers:
            halves = np.maximum(halves, dtype.type(0))
        return np.ascontiguousarray(halves).view(np.uint32).reshape(-1)

    return Rule((register,), (register, register), act)


def _sum(modifiers: Modifiers, subtract: bool) -> Rule:
    plain: Binary = np.subtract if subtract else np.add
    if modifiers[-1] in _PAIRS:
        return _pairs(modifiers, plain)
    type, mode = last(modifiers), rounding(modifiers)
    if type.kind != "f":
        if "sat" in modifiers:
            return Rule((type,), (type, type), lambda a, b: _clip(plain(a.astype(np.int64), b.astype(np.int64)), type))
        return Rule((type,), (type, type), plain)
    if mode in ("", "rn"):
        return Rule((type,), (type, type), flushed(plain, modifiers))
    fma, one = (ar.fma32, np.float32(1)) if type.size == 4 else (ar.fma64, np.float64(1))
    return Rule(
        (type,), (type, type), flushed(lambda a, b: fma(a, one + 0 * b, -b if subtract else b, mode), modifiers)
    )


def _clip(wide: Array, type: Type) -> Array:
    limits = np.iinfo(type.dtype)
    return np.clip(wide, limits.min, limits.max).astype(type.dtype)


def _product(modifiers: Modifiers) -> Rule:
    type, mode = last(modifiers), rounding(modifiers)
    if type.kind == "f":
        if mode in ("", "rn"):
            return Rule((type,), (type, type), flushed(np.multiply, modifiers))
        if type.size != 4:
            raise UnsupportedInstruction(f"mul.{mode}.{type.name}")
        return Rule(
            (type,),
            (type, type),
            flushed(lambda a, b: ar.narrow(a.astype(np.float64) * b.astype(np.float64), mode), modifiers),
        )
    if "wide" in modifiers:
        return Rule((_wide(type),), (type, type), it.multiply_wide)
    return Rule((type,), (type, type), it.multiply_high if "hi" in modifiers else np.multiply)


def _wide(type: Type) -> Type:
    return TYPES[f"{type.kind}{16 * type.size}"]


def _fused(modifiers: Modifiers) -> Rule:
    """`fma`, and `mad` of floats."""
    type, mode = last(modifiers), rounding(modifiers) or "rn"
    fma = {4: ar.fma32, 8: ar.fma64}.get(type.size)
    if fma is None:
        raise UnsupportedInstruction(f"fma of {type.name}")
    return Rule((type,), (type,) * 3, flushed(lambda a, b, c: fma(a, b, c, mode), modifiers))


def _multiply_add(modifiers: Modifiers) -> Rule:
    type = last(modifiers)
    if type.kind == "f":
        return _fused(modifiers)
    if "cc" in modifiers:
        return carry.multiply_add(modifiers, reads=False)
    if "wide" in modifiers:
        wide = _wide(type)
        return Rule((wide,), (type, type, wide), lambda a, b, c: it.multiply_wide(a, b) + c)
    half: Binary = it.multiply_high if "hi" in modifiers else np.multiply
    if "sat" in modifiers:
        return Rule((type,), (type,) * 3, lambda a, b, c: _clip(half(a, b).astype(np.int64) + c.astype(np.int64), type))
    return Rule((type,), (type,) * 3, lambda a, b, c: half(a, b) + c)


def _divide(modifiers: Modifiers) -> Rule:
    type, mode = last(modifiers), rounding(modifiers)
    if type.kind != "f":
        return Rule((type,), (type, type), it.divide)
    if mode in ("", "rn"):
        return Rule((type,), (type, type), flushed(np.divide, modifiers))
    _only32(type, f"div.{mode}")
    return Rule((type,), (type, type), flushed(lambda a, b: ar.narrow(ar.quotient(a, b), mode), modifiers))


def _only32(type: Type, opcode: str) -> None:
    if type.size != 4:
        raise UnsupportedInstruction(f"{opcode}.{type.name}")


def _extreme(largest: bool) -> Maker:
    whole: Binary = np.maximum if largest else np.minimum

    def make(modifiers: Modifiers) -> Rule:
        if modifiers[-1] in _PAIRS:
            return _pairs(modifiers, whole)
        type = last(modifiers)
        if type.kind != "f":
            if "relu" in modifiers:
                return Rule((type,), (type, type), lambda a, b: np.maximum(whole(a, b), 0))
            return Rule((type,), (type, type), whole)
        if "xorsign" in modifiers:
            raise UnsupportedInstruction(f".{'.'.join(modifiers)}")
        keep = "NaN" in modifiers
        return Rule(
            (type,), (type, type), flushed(lambda a, b: ar.minimum(a, b, largest=largest, keep_nan=keep), modifiers)
        )

    return make


def _unary(compute: Unary) -> Maker:
    """A float function computed in float64 and rounded once (the ulps of `.approx` are not modelled)."""

    def make(modifiers: Modifiers) -> Rule:
        type = last(modifiers)
        if rounding(modifiers) not in ("", "rn"):
            raise UnsupportedInstruction(f".{'.'.join(modifiers)}")
        rounded = flushed(lambda a: compute(a.astype(np.float64)).astype(a.dtype), modifiers)
        return Rule((type,), (type,), rounded)

    return make


def _directed(compute: Unary, odd: Unary) -> Maker:
    """A float function that is also rounded up, down and toward zero; `odd` gives it in float64, rounded to odd."""

    def make(modifiers: Modifiers) -> Rule:
        type, mode = last(modifiers), rounding(modifiers)
        if mode in ("", "rn"):
            return _unary(compute)(modifiers)
        _only32(type, mode)
        return Rule((type,), (type,), flushed(lambda a: ar.narrow(odd(a), mode), modifiers))

    return make


def _sign_bit(modifiers: Modifiers, change: Unary) -> Rule:
    """abs and neg: of floats they touch the sign bit alone, NaN included."""
    type = last(modifiers)
    return Rule((type,), (type,), change)


# ---- predicates, moves
_TESTS: dict[str, Unary] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & ((np.abs(a) >= np.finfo(a.dtype).tiny) | (a == 0)),
    "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny),
}


def _test(modifiers: Modifiers) -> Rule:
    return Rule((PREDICATE,), (last(modifiers),), _TESTS[modifiers[0]])


def _compare(modifiers: Modifiers) -> Rule:
    type, join = last(modifiers), join_of(modifiers)
    holds = _flushed_comparison(modifiers, type)
    if join is None:
        return Rule((PREDICATE, PREDICATE), (type, type), lambda a, b: (holds(a, b), ~holds(a, b)))
    return Rule(
        (PREDICATE, PREDICATE), (type, type, PREDICATE), lambda a, b, p: (join(holds(a, b), p), join(~holds(a, b), p))
    )


def _flushed_comparison(modifiers: Modifiers, type: Type) -> Binary:
    holds = comparison(modifiers[0], type)
    return (lambda a, b: holds(ar.flush(a), ar.flush(b))) if "ftz" in modifiers else holds


_TRUE: dict[str, Array] = {
    "f32": np.ones(1, np.float32),
    "u32": np.full(1, 0xFFFF_FFFF, np.uint32),
    "s32": np.full(1, -1, np.int32),
}


def _set(modifiers: Modifiers) -> Rule:
    """`set`: 1.0, or all ones, where the comparison holds."""
    type, join = last(modifiers), join_of(modifiers)
    holds, one = _flushed_comparison(modifiers, type), _TRUE[modifiers[-2]]
    zero = np.zeros_like(one)
    if join is None:
        return Rule((TYPES[modifiers[-2]],), (type, type), lambda a, b: np.where(holds(a, b), one, zero))
    return Rule(
        (TYPES[modifiers[-2]],), (type, type, PREDICATE), lambda a, b, p: np.where(join(holds(a, b), p), one, zero)
    )


def _select(modifiers: Modifiers) -> Rule:
    type = last(modifiers)
    return Rule((type,), (type, type, PREDICATE), lambda a, b, p: np.where(p, a, b))


def _select_sign(modifiers: Modifiers) -> Rule:
    """`slct`: the first where the third is not negative; -0 is not, NaN is."""
    type, sign = TYPES[modifiers[-2]], last(modifiers)
    return Rule((type,), (type, type, sign), lambda a, b, c: np.where(c >= 0, a, b))


RULES: dict[str, Maker] = {
    "add": lambda m: carry.add(m, reads=False) if "cc" in m else _sum(m, subtract=False),
    "sub": lambda m: carry.subtract(m, reads=False) if "cc" in m else _sum(m, subtract=True),
    "addc": lambda m: carry.add(m, reads=True),
    "subc": lambda m: carry.subtract(m, reads=True),
    "mul": _product,
    "mad": _multiply_add,
    "madc": lambda m: carry.multiply_add(m, reads=True),
    "fma": _fused,
    "div": _divide,
    "rem": same(2, it.remainder),
    "min": _extreme(largest=False),
    "max": _extreme(largest=True),
    "abs": lambda m: _sign_bit(m, np.abs),
    "neg": lambda m: _sign_bit(m, np.negative),
    "copysign": same(2, lambda a, b: np.copysign(b, a)),
    "sqrt": _directed(np.sqrt, ar.root),
    "rsqrt": _unary(lambda a: 1 / np.sqrt(a)),
    "rcp": _directed(lambda a: 1 / a, lambda a: ar.quotient(np.ones_like(a), a)),
    "ex2": _unary(np.exp2),
    "lg2": _unary(np.log2),
    "sin": _unary(np.sin),
    "cos": _unary(np.cos),
    "tanh": _unary(np.tanh),
    "mov": same(1, lambda a: a),
    "setp": _compare,
    "selp": _select,
    "set": _set,
    "slct": _select_sign,
    "testp": _test,
    **BITS,
    **CONVERSIONS,
}
"""By stem: the part of an opcode before its first dot."""
