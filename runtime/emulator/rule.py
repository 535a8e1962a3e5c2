"""What a computing instruction is, as a value: a `Rule`. And the few things most rules are made with.

Enters: the modifiers of an opcode (`("rn", "f32")` of `add.rn.f32`). Leaves: types and functions for rules.py,
bit_rules.py, half_rules.py and carry.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pelton.runtime.emulator import arithmetic as ar
from pelton.runtime.emulator.conversions import ROUND_TO_INTEGER
from pelton.runtime.emulator.errors import UnsupportedInstruction
from pelton.runtime.emulator.values import TYPES, Array, Type

Modifiers: TypeAlias = tuple[str, ...]
Unary: TypeAlias = Callable[[Array], Array]
Binary: TypeAlias = Callable[[Array, Array], Array]
Result: TypeAlias = Array | tuple[Array, ...]
Compute: TypeAlias = (
    Callable[[Array], Result]
    | Callable[[Array, Array], Result]
    | Callable[[Array, Array, Array], Result]
    | Callable[[Array, Array, Array, Array], Result]
)
PREDICATE, COUNT = TYPES["pred"], TYPES["u32"]


@dataclass(frozen=True, slots=True)
class Rule:
    """Types of results and operands, and the function between. `carry_in`/`carry_out`: the condition code is one
    more."""

    results: tuple[Type, ...]
    operands: tuple[Type, ...]
    compute: Compute
    carry_in: bool = False
    carry_out: bool = False


Maker: TypeAlias = Callable[[Modifiers], Rule]


def last(modifiers: Modifiers) -> Type:
    """The type an opcode ends with."""
    found = TYPES.get(modifiers[-1]) if modifiers else None
    if found is None or modifiers[-1] in ("bf16", "bf16x2", "f16x2"):
        raise UnsupportedInstruction(f"type .{'.'.join(modifiers)}")
    return found


def rounding(modifiers: Modifiers) -> str:
    """The rounding modifier, or nothing."""
    return next((m for m in modifiers if m in ("rn", "rz", "rm", "rp", "rna", *ROUND_TO_INTEGER)), "")


def flushed(compute: Compute, modifiers: Modifiers) -> Compute:
    """With `.ftz`, subnormal operands and results are zeros; with `.sat`, results are clamped to [0, 1], NaN to 0."""
    ftz, saturate = "ftz" in modifiers, "sat" in modifiers
    if not (ftz or saturate):
        return compute
    inner: Callable[..., Any] = compute

    def shape(*operands: Array) -> Array:
        result: Array = inner(*(ar.flush(o) for o in operands)) if ftz else inner(*operands)
        if saturate:
            result = np.where(np.isnan(result), np.zeros_like(result), np.clip(result, 0, 1).astype(result.dtype))
        return ar.flush(result) if ftz else result

    return shape


def same(count: int, compute: Compute) -> Maker:
    """An instruction whose operands and result share the opcode's type."""

    def make(modifiers: Modifiers) -> Rule:
        type = last(modifiers)
        return Rule((type,), (type,) * count, flushed(compute, modifiers) if type.kind == "f" else compute)

    return make


# ---- comparisons
_ORDER: dict[str, Binary] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
_JOIN: dict[str, Binary] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def comparison(name: str, type: Type) -> Binary:
    """`lt`, `geu`, `num` and the like over a type."""

    def unordered(a: Array, b: Array) -> Array:
        return np.isnan(a) | np.isnan(b)

    if name == "nan":
        return unordered
    if name == "num":
        return lambda a, b: ~unordered(a, b)
    order = _ORDER.get(name) or _ORDER.get(name.removesuffix("u"))
    if order is None:
        raise UnsupportedInstruction(f"comparison .{name}")
    if type.kind != "f":
        return order
    if name not in _ORDER:
        return lambda a, b: order(a, b) | unordered(a, b)
    return lambda a, b: order(a, b) & ~unordered(a, b)


def join_of(modifiers: Modifiers) -> Any:
    """How a comparison joins its result with one more predicate, or None."""
    return next((_JOIN[m] for m in modifiers[1:] if m in _JOIN), None)
