"""Sums and products longer than a register: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`.

Enters: modifiers. Leaves: rules with the condition code among their operands or results. Subtraction keeps a borrow
in it, which only subtraction reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pelton.runtime.emulator import integers as it
from pelton.runtime.emulator.rule import PREDICATE, Modifiers, Rule, last
from pelton.runtime.emulator.values import Array

_NONE = np.zeros(1, np.bool_)


def _borrow(a: Array, b: Array, borrow: Array) -> tuple[Array, Array]:
    part = a - b
    total = part - borrow.astype(a.dtype)
    return total, (part > a) | (total > part)


def _rule(modifiers: Modifiers, count: int, total: Callable[..., tuple[Array, Array]], reads: bool) -> Rule:
    """`total(*operands, carry)` gives the result and the new carry."""
    type, writes = last(modifiers), "cc" in modifiers

    def compute(*values: Array) -> Any:
        result = total(*values) if reads else total(*values, _NONE)
        return result if writes else result[0]

    operands = (type,) * count + ((PREDICATE,) if reads else ())
    return Rule((type, PREDICATE) if writes else (type,), operands, compute, reads, writes)


def add(modifiers: Modifiers, reads: bool) -> Rule:
    """`add.cc` and `addc`."""
    return _rule(modifiers, 2, it.add_carry, reads)


def subtract(modifiers: Modifiers, reads: bool) -> Rule:
    """`sub.cc` and `subc`."""
    return _rule(modifiers, 2, _borrow, reads)


def multiply_add(modifiers: Modifiers, reads: bool) -> Rule:
    """`mad.cc` and `madc`."""
    half = it.multiply_high if "hi" in modifiers else np.multiply

    def total(a: Array, b: Array, c: Array, carry: Array) -> tuple[Array, Array]:
        return it.add_carry(half(a, b), c, carry)

    return _rule(modifiers, 3, total, reads)
