"""What a computing instruction is, as a value: a `Rule`. And the few things most rules are made with.

Enters: the modifiers of an opcode (`("rn", "f32")` of `add.rn.f32`). Leaves: types and functions for rules.py and
carry.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from pelton.runtime.emulator import arithmetic as ar
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
    return next((m for m in modifiers if m in ("rn", "rz", "rm", "rp", *ar.ROUND_TO_INTEGER)), "")


def flushed(compute: Compute, modifiers: Modifiers) -> Compute:
    """With `.ftz`, subnormal operands and results are zeros."""
    if "ftz" not in modifiers:
        return compute
    inner: Callable[..., Any] = compute

    def flush(*operands: Array) -> Array:
        return ar.flush(inner(*(ar.flush(o) for o in operands)))

    return flush


def same(count: int, compute: Compute) -> Maker:
    """An instruction whose operands and result share the opcode's type."""

    def make(modifiers: Modifiers) -> Rule:
        type = last(modifiers)
        return Rule((type,), (type,) * count, flushed(compute, modifiers) if type.kind == "f" else compute)

    return make
