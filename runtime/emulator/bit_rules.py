"""What integer and bit instructions do beyond adding and multiplying: part of the table of rules.py.

Enters: modifiers. Leaves: rules.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pelton.runtime.emulator import integers as it
from pelton.runtime.emulator.errors import UnsupportedInstruction
from pelton.runtime.emulator.rule import COUNT, Maker, Modifiers, Rule, Unary, last, same
from pelton.runtime.emulator.values import TYPES, Array, Type


def _shift(left: bool) -> Maker:
    def make(modifiers: Modifiers) -> Rule:
        type = last(modifiers)
        return Rule((type,), (type, COUNT), lambda a, n: it.shift(a, n, left=left))

    return make


def _funnel(modifiers: Modifiers) -> Rule:
    left, wrap = "l" in modifiers, "wrap" in modifiers
    return Rule((COUNT,), (COUNT,) * 3, lambda low, high, n: it.funnel(low, high, n, left=left, wrap=wrap))


def _bit_insert(modifiers: Modifiers) -> Rule:
    type = last(modifiers)
    return Rule((type,), (type, type, COUNT, COUNT), it.bit_insert)


def _bit_extract(modifiers: Modifiers) -> Rule:
    type = last(modifiers)
    return Rule((type,), (type, COUNT, COUNT), it.bit_extract)


def _count(compute: Unary) -> Maker:
    def make(modifiers: Modifiers) -> Rule:
        return Rule((COUNT,), (TYPES[f"u{modifiers[-1][1:]}"],), compute)

    return make


def _find(modifiers: Modifiers) -> Rule:
    distance = "shiftamt" in modifiers
    return Rule((COUNT,), (last(modifiers),), lambda a: it.find_leading(a, distance=distance))


def _extend(modifiers: Modifiers) -> Rule:
    type, clamp = last(modifiers), "clamp" in modifiers
    return Rule((type,), (type, COUNT), lambda a, n: it.extend(a, n, clamp=clamp))


def _mask(modifiers: Modifiers) -> Rule:
    clamp = "clamp" in modifiers
    return Rule((COUNT,), (COUNT, COUNT), lambda a, b: it.mask_of(a, b, clamp=clamp))


def _permute(modifiers: Modifiers) -> Rule:
    if modifiers[-1] in it.SELECTORS:
        table = np.array(it.SELECTORS[modifiers[-1]], np.uint32)
        return Rule((COUNT,), (COUNT,) * 3, lambda a, b, c: it.permute(a, b, table[c & np.uint32(3)]))
    return Rule((COUNT,), (COUNT,) * 3, it.permute)


def _logic(modifiers: Modifiers) -> Rule:
    if modifiers[0] in ("or", "and"):
        raise UnsupportedInstruction(f"lop3.{modifiers[0]} with a predicate")
    return Rule((COUNT,), (COUNT,) * 4, it.logic)


# ---- products of parts
def _parts(type: Type, count: int) -> Callable[[Array], Array]:
    """A 32-bit register as [threads, count] integers of the type's sign."""
    dtype = np.dtype(f"{'i' if type.kind == 's' else 'u'}{4 // count}")
    return lambda register: np.ascontiguousarray(register).view(dtype).reshape(-1, count)


def _dot4(modifiers: Modifiers) -> Rule:
    first, second = TYPES[modifiers[0]], TYPES[modifiers[1]]
    left, right = _parts(first, 4), _parts(second, 4)
    sum_type = TYPES["s32" if "s" in first.kind + second.kind else "u32"]
    return Rule((sum_type,), (first, second, sum_type), lambda a, b, c: it.sum_of_products(left(a), right(b), c))


def _dot2(modifiers: Modifiers) -> Rule:
    first, second = TYPES[modifiers[1]], TYPES[modifiers[2]]
    left, right, start = _parts(first, 2), _parts(second, 4), 2 * (modifiers[0] == "hi")
    sum_type = TYPES["s32" if "s" in first.kind + second.kind else "u32"]
    return Rule(
        (sum_type,),
        (first, second, sum_type),
        lambda a, b, c: it.sum_of_products(left(a), right(b)[:, start : start + 2], c),
    )


def _product24(modifiers: Modifiers) -> Rule:
    """`mul24` and, with one operand more, `mad24`: of the low 24 bits."""
    type, high = last(modifiers), "hi" in modifiers
    wide = np.dtype(np.int64 if type.kind == "s" else np.uint64)

    def product(a: Array, b: Array) -> Array:
        cut = [(x << type.dtype.type(8) >> type.dtype.type(8)).astype(wide) for x in (a, b)]
        return (cut[0] * cut[1] >> wide.type(16 if high else 0)).astype(type.dtype)

    return Rule((type,), (type, type), product)


def _product24_add(modifiers: Modifiers) -> Rule:
    inner = _product24(modifiers)
    product: Callable[..., Array] = inner.compute  # pyright: ignore[reportAssignmentType]
    return Rule(inner.results, (*inner.operands, inner.operands[0]), lambda a, b, c: product(a, b) + c)


BITS: dict[str, Maker] = {
    "and": same(2, np.bitwise_and),
    "or": same(2, np.bitwise_or),
    "xor": same(2, np.bitwise_xor),
    "not": same(1, np.invert),
    "cnot": same(1, lambda a: (a == 0).astype(a.dtype)),
    "shl": _shift(left=True),
    "shr": _shift(left=False),
    "shf": _funnel,
    "bfi": _bit_insert,
    "bfe": _bit_extract,
    "clz": _count(it.leading_zeros),
    "popc": _count(lambda a: np.bitwise_count(a).astype(np.uint32)),
    "brev": same(1, it.reverse),
    "bfind": _find,
    "szext": _extend,
    "bmsk": _mask,
    "prmt": _permute,
    "lop3": _logic,
    "dp4a": _dot4,
    "dp2a": _dot2,
    "mul24": _product24,
    "mad24": _product24_add,
    "sad": same(3, lambda a, b, c: c + np.where(a < b, b - a, a - b)),
}
