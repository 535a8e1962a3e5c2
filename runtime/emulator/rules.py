"""What each computing instruction does: a table from the opcode's stem to what makes its `Rule`.

Enters: an instruction's stem and modifiers. Leaves: a `Rule`; blocks.py binds it to registers. Memory, control flow and
warp-wide operations are in access.py: a rule sees only values, one per thread.
"""

from __future__ import annotations

import numpy as np

from pelton.runtime.emulator import arithmetic as ar
from pelton.runtime.emulator import carry
from pelton.runtime.emulator.errors import UnsupportedInstruction
from pelton.runtime.emulator.rule import (
    COUNT,
    PREDICATE,
    Binary,
    Maker,
    Modifiers,
    Rule,
    Unary,
    flushed,
    last,
    rounding,
    same,
)
from pelton.runtime.emulator.values import TYPES, Array, Type


def rule(stem: str, modifiers: Modifiers) -> Rule:
    """The rule of an opcode; UnsupportedInstruction for those outside the subset."""
    make = RULES.get(stem)
    if make is None:
        raise UnsupportedInstruction(f"no rule for {stem}; there are: {', '.join(sorted(RULES))}")
    return make(modifiers)


# ---- floating point or integer, by type
def _sum(modifiers: Modifiers, subtract: bool) -> Rule:
    type, mode = last(modifiers), rounding(modifiers)
    plain: Binary = np.subtract if subtract else np.add
    if type.kind != "f":
        return Rule((type,), (type, type), plain)
    if mode in ("", "rn"):
        return Rule((type,), (type, type), flushed(plain, modifiers))
    fma, one = (ar.fma32, np.float32(1)) if type.size == 4 else (ar.fma64, np.float64(1))
    return Rule(
        (type,), (type, type), flushed(lambda a, b: fma(a, one + 0 * b, -b if subtract else b, mode), modifiers)
    )


def _product(modifiers: Modifiers) -> Rule:
    type, mode = last(modifiers), rounding(modifiers)
    if type.kind == "f":
        if mode not in ("", "rn"):
            raise UnsupportedInstruction(f"mul.{mode}")
        return Rule((type,), (type, type), flushed(np.multiply, modifiers))
    if "wide" in modifiers:
        return Rule((_wide(type),), (type, type), ar.multiply_wide)
    return Rule((type,), (type, type), ar.multiply_high if "hi" in modifiers else np.multiply)


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
        return Rule((wide,), (type, type, wide), lambda a, b, c: ar.multiply_wide(a, b) + c)
    half: Binary = ar.multiply_high if "hi" in modifiers else np.multiply
    return Rule((type,), (type,) * 3, lambda a, b, c: half(a, b) + c)


def _divide(modifiers: Modifiers) -> Rule:
    type = last(modifiers)
    compute = np.divide if type.kind == "f" else ar.divide
    return Rule((type,), (type, type), flushed(compute, modifiers))


def _extreme(largest: bool) -> Maker:
    def make(modifiers: Modifiers) -> Rule:
        type = last(modifiers)
        if type.kind != "f":
            return Rule((type,), (type, type), np.maximum if largest else np.minimum)
        keep = "NaN" in modifiers
        return Rule(
            (type,), (type, type), flushed(lambda a, b: ar.minimum(a, b, largest=largest, keep_nan=keep), modifiers)
        )

    return make


def _unary(compute: Unary) -> Maker:
    """A float function computed in float64 and rounded once (the ulps of `.approx` are not modelled)."""

    def make(modifiers: Modifiers) -> Rule:
        type = last(modifiers)
        rounded = flushed(lambda a: compute(a.astype(np.float64)).astype(a.dtype), modifiers)
        return Rule((type,), (type,), rounded)

    return make


def _sign_bit(modifiers: Modifiers, change: Unary) -> Rule:
    """abs and neg: of floats they touch the sign bit alone, NaN included."""
    type = last(modifiers)
    return Rule((type,), (type,), change)


# ---- bits
def _shift(left: bool) -> Maker:
    def make(modifiers: Modifiers) -> Rule:
        type = last(modifiers)
        return Rule((type,), (type, COUNT), lambda a, n: ar.shift(a, n, left=left))

    return make


def _funnel(modifiers: Modifiers) -> Rule:
    left, wrap = "l" in modifiers, "wrap" in modifiers
    return Rule((COUNT,), (COUNT,) * 3, lambda low, high, n: ar.funnel(low, high, n, left=left, wrap=wrap))


def _bit_insert(modifiers: Modifiers) -> Rule:
    type = last(modifiers)
    return Rule((type,), (type, type, COUNT, COUNT), ar.bit_insert)


def _bit_extract(modifiers: Modifiers) -> Rule:
    type = last(modifiers)
    return Rule((type,), (type, COUNT, COUNT), ar.bit_extract)


def _count(compute: Unary) -> Maker:
    def make(modifiers: Modifiers) -> Rule:
        type = TYPES[f"u{modifiers[-1][1:]}"]
        return Rule((COUNT,), (type,), compute)

    return make


# ---- predicates, moves, conversions
_ORDER: dict[str, Binary] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
_JOIN: dict[str, Binary] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _comparison(name: str, type: Type) -> Binary:
    def unordered(a: Array, b: Array) -> Array:
        return np.isnan(a) | np.isnan(b)

    if name == "nan":
        return unordered
    if name == "num":
        return lambda a, b: ~unordered(a, b)
    order = _ORDER[name if name in _ORDER else name.removesuffix("u")]
    if type.kind != "f":
        return order
    if name not in _ORDER:
        return lambda a, b: order(a, b) | unordered(a, b)
    return lambda a, b: order(a, b) & ~unordered(a, b)


def _compare(modifiers: Modifiers) -> Rule:
    type, holds = last(modifiers), _comparison(modifiers[0], last(modifiers))
    join = next((_JOIN[m] for m in modifiers[1:] if m in _JOIN), None)
    if join is None:
        return Rule((PREDICATE, PREDICATE), (type, type), lambda a, b: (holds(a, b), ~holds(a, b)))
    return Rule(
        (PREDICATE, PREDICATE), (type, type, PREDICATE), lambda a, b, p: (join(holds(a, b), p), join(~holds(a, b), p))
    )


def _select(modifiers: Modifiers) -> Rule:
    type = last(modifiers)
    return Rule((type,), (type, type, PREDICATE), lambda a, b, p: np.where(p, a, b))


def _convert(modifiers: Modifiers) -> Rule:
    target, source = TYPES[modifiers[-2]], TYPES[modifiers[-1]]
    mode, saturate = rounding(modifiers), "sat" in modifiers
    if modifiers[-2] in ("bf16x2", "f16x2"):
        half = TYPES[modifiers[-2].removesuffix("x2")]

        def pack(high: Array, low: Array) -> Array:
            parts = [ar.convert(x, source, half, mode, saturate).view(np.uint16).astype(np.uint32) for x in (high, low)]
            return (parts[0] << np.uint32(16)) | parts[1]

        return Rule((target,), (source, source), pack)
    return Rule(
        (target,),
        (source,),
        flushed(lambda a: ar.convert(a, source, target, mode, saturate), _float_only(modifiers)),
    )


def _float_only(modifiers: Modifiers) -> Modifiers:
    return modifiers if modifiers[-1][0] == modifiers[-2][0] == "f" else ()


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
    "rem": same(2, ar.remainder),
    "min": _extreme(largest=False),
    "max": _extreme(largest=True),
    "abs": lambda m: _sign_bit(m, np.abs),
    "neg": lambda m: _sign_bit(m, np.negative),
    "copysign": same(2, lambda a, b: np.copysign(b, a)),
    "sqrt": _unary(np.sqrt),
    "rsqrt": _unary(lambda a: 1 / np.sqrt(a)),
    "rcp": _unary(lambda a: 1 / a),
    "ex2": _unary(np.exp2),
    "lg2": _unary(np.log2),
    "sin": _unary(np.sin),
    "cos": _unary(np.cos),
    "tanh": _unary(np.tanh),
    "and": same(2, np.bitwise_and),
    "or": same(2, np.bitwise_or),
    "xor": same(2, np.bitwise_xor),
    "not": same(1, np.invert),
    "shl": _shift(left=True),
    "shr": _shift(left=False),
    "shf": _funnel,
    "bfi": _bit_insert,
    "bfe": _bit_extract,
    "clz": _count(ar.leading_zeros),
    "popc": _count(lambda a: np.bitwise_count(a).astype(np.uint32)),
    "mov": same(1, lambda a: a),
    "setp": _compare,
    "selp": _select,
    "cvt": _convert,
}
"""By stem: the part of an opcode before its first dot."""
