"""Arithmetic on f16 and bf16, alone and in pairs: part of the table of rules.py.

Enters: modifiers that end with f16, bf16, f16x2 or bf16x2. Leaves: rules over the bits. Numbers are computed in
float64, rounded to odd where that is not exact, and rounded once to the half type; NaN becomes the canonical 0x7fff.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pelton.runtime.emulator import arithmetic as ar
from pelton.runtime.emulator.conversions import GRIDS, decode, encode, relu
from pelton.runtime.emulator.errors import UnsupportedInstruction
from pelton.runtime.emulator.rule import PREDICATE, Binary, Compute, Maker, Modifiers, Rule, comparison, join_of
from pelton.runtime.emulator.values import TYPES, Array

_U16, _U32 = TYPES["b16"], TYPES["b32"]


class Half(NamedTuple):
    """A half type and whether a register holds two of it."""

    name: str
    packed: bool

    def split(self, register: Array) -> Array:
        """Bits, one per half: [threads] or [threads, 2], the lower half first."""
        bits = np.ascontiguousarray(register)
        return bits.view(np.uint16).reshape(-1, 2) if self.packed else bits

    def join(self, bits: Array) -> Array:
        """The register of such bits."""
        return np.ascontiguousarray(bits).view(np.uint32).reshape(-1) if self.packed else bits


def half_of(modifiers: Modifiers) -> Half | None:
    """The half type that an opcode ends with, if it does."""
    name = modifiers[-1] if modifiers else ""
    plain = name.removesuffix("x2")
    return Half(plain, plain != name) if plain in ("f16", "bf16") else None


def _given(modifiers: Modifiers) -> Half:
    half = half_of(modifiers)
    assert half is not None
    return half


def _flush(number: Array, half: Half) -> Array:
    tiny = np.abs(number) < 2.0 ** GRIDS[half.name].least
    return np.where(tiny, np.copysign(0.0, number), number)


def numeric(count: int, compute: Compute) -> Maker:
    """An instruction that computes with numbers and rounds to nearest."""
    function: Callable[..., Any] = compute

    def make(modifiers: Modifiers) -> Rule:
        half, ftz = _given(modifiers), "ftz" in modifiers
        if {"rz", "rm", "rp", "oob", "xorsign"} & set(modifiers):
            raise UnsupportedInstruction(f".{'.'.join(modifiers)}")
        register = _U32 if half.packed else _U16

        def act(*operands: Array) -> Array:
            numbers = [decode(half.split(o), half.name) for o in operands]
            if ftz:
                numbers = [_flush(n, half) for n in numbers]
            result: Array = function(*numbers)
            if "sat" in modifiers:
                result = np.where(np.isnan(result), 0.0, np.clip(result, 0.0, 1.0))
            if "relu" in modifiers:
                result = relu(result)
            return half.join(encode(_flush(result, half) if ftz else result, half.name))

        return Rule((register,), (register,) * count, act)

    return make


def _sum(a: Array, b: Array) -> Array:
    return ar.round_to_odd(*ar.two_sum(a, b))


def _extreme(largest: bool) -> Maker:
    def make(modifiers: Modifiers) -> Rule:
        keep = "NaN" in modifiers
        return numeric(2, lambda a, b: ar.minimum(a, b, largest=largest, keep_nan=keep))(modifiers)

    return make


def _on_bits(change: Callable[[Array], Array]) -> Maker:
    """abs and neg: they touch the sign bit alone."""

    def make(modifiers: Modifiers) -> Rule:
        half = _given(modifiers)
        register = _U32 if half.packed else _U16
        return Rule((register,), (register,), lambda a: half.join(change(half.split(a))))

    return make


# ---- comparisons
def _holds(modifiers: Modifiers, half: Half) -> Binary:
    """The comparison by halves: [threads] or [threads, 2]."""
    order = comparison(modifiers[0], TYPES["f64"])
    return lambda a, b: order(decode(half.split(a), half.name), decode(half.split(b), half.name))


def _compare(modifiers: Modifiers) -> Rule:
    """`setp`: with two halves the first predicate is the lower one's; with one, the second is the opposite."""
    half = _given(modifiers)
    register, holds, join = _U32 if half.packed else _U16, _holds(modifiers, half), join_of(modifiers)

    def act(a: Array, b: Array, *other: Array) -> tuple[Array, Array]:
        result = holds(a, b)
        both = (result[:, 0], result[:, 1]) if half.packed else (result, ~result)
        return (join(both[0], *other), join(both[1], *other)) if other else both

    operands = (register, register, PREDICATE) if join else (register, register)
    return Rule((PREDICATE, PREDICATE), operands, act)


_ONE: dict[str, Array] = {
    "f32": np.ones(1, np.float32),
    "f16": np.full(1, 0x3C00, np.uint16),
    "bf16": np.full(1, 0x3F80, np.uint16),
    "u16": np.full(1, 0xFFFF, np.uint16),
    "s16": np.full(1, -1, np.int16),
    "u32": np.full(1, 0xFFFF_FFFF, np.uint32),
    "s32": np.full(1, -1, np.int32),
}


def _set(modifiers: Modifiers) -> Rule:
    """`set`: 1.0, or all ones, where the comparison holds."""
    half, name = _given(modifiers), modifiers[-2]
    source, holds, join = _U32 if half.packed else _U16, _holds(modifiers, half), join_of(modifiers)
    one = _ONE.get(name.removesuffix("x2"))
    if one is None:
        raise UnsupportedInstruction(f"set.{'.'.join(modifiers)}")

    def act(a: Array, b: Array, *other: Array) -> Array:
        result = holds(a, b)
        if other:
            result = join(result, other[0].reshape(-1, *[1] * (result.ndim - 1)))
        value = np.where(result, one, np.zeros_like(one))
        return half.join(value) if half.packed else value

    return Rule((TYPES[name],), (source, source, PREDICATE) if join else (source, source), act)


HALVES: dict[str, Maker] = {
    "add": numeric(2, _sum),
    "sub": numeric(2, lambda a, b: _sum(a, -b)),
    "mul": numeric(2, np.multiply),
    "fma": numeric(3, lambda a, b, c: _sum(a * b, c)),
    "min": _extreme(largest=False),
    "max": _extreme(largest=True),
    "neg": _on_bits(lambda bits: bits ^ np.uint16(0x8000)),
    "abs": _on_bits(lambda bits: bits & np.uint16(0x7FFF)),
    "ex2": numeric(1, np.exp2),
    "tanh": numeric(1, np.tanh),
    "setp": _compare,
    "set": _set,
}
