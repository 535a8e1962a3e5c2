"""`cvt` in all its forms: part of the table of rules.py.

Enters: modifiers. Leaves: rules; conversions.py computes.
"""

from __future__ import annotations

import numpy as np

from pelton.runtime.emulator import arithmetic as ar
from pelton.runtime.emulator.conversions import GRIDS, convert, decode, encode, real, relu
from pelton.runtime.emulator.errors import UnsupportedInstruction
from pelton.runtime.emulator.rule import Maker, Modifiers, Rule, rounding
from pelton.runtime.emulator.values import TYPES, Array, Type

_PACKED = {f"{name}x2": name for name in ("f16", "bf16", "e4m3", "e5m2")}
_REGISTER = {1: TYPES["b16"], 2: TYPES["b32"]}
"""What holds two numbers, by the bytes of one."""


def _convert(modifiers: Modifiers) -> Rule:
    target, source = modifiers[-2:]
    if modifiers[0] == "pack":
        return _pack(modifiers)
    if target in _PACKED:
        return _to_pair(modifiers, _PACKED[target], source)
    if target == "tf32":
        return _to_bits(modifiers, "tf32", TYPES["b32"])
    if (target in ("f16", "bf16") and source == "f32") and {"relu", "satfinite"} & set(modifiers):
        return _to_bits(modifiers, target, TYPES["b16"])
    if target not in TYPES or source not in TYPES:
        raise UnsupportedInstruction(f"cvt.{'.'.join(modifiers)}")
    mode, saturate, to, of = rounding(modifiers), "sat" in modifiers, TYPES[target], TYPES[source]

    def act(value: Array) -> Array:
        if "ftz" in modifiers and source == "f32":
            value = ar.flush(value)
        result = convert(value, of, to, mode, saturate)
        return ar.flush(result) if "ftz" in modifiers and target == "f32" else result

    return Rule((to,), (of,), act)


def _rounded(modifiers: Modifiers, number: Array, name: str) -> Array:
    """Bits of a format from float64 numbers, as the modifiers ask."""
    if "relu" in modifiers:
        number = relu(number)
    return encode(number, name, rounding(modifiers), finite="satfinite" in modifiers)


def _to_bits(modifiers: Modifiers, name: str, register: Type) -> Rule:
    single = TYPES["f32"]
    return Rule((register,), (single,), lambda a: _rounded(modifiers, real(a, single), name))


def _to_pair(modifiers: Modifiers, name: str, source: str) -> Rule:
    """Two numbers in one register: the first operand in its upper half."""
    register, single = _REGISTER[GRIDS[name].size], TYPES["f32"]
    if source == "f32":

        def pack(high: Array, low: Array) -> Array:
            both = np.stack(np.broadcast_arrays(real(low, single), real(high, single)), -1)
            return _joined(_rounded(modifiers, both, name), register)

        return Rule((register,), (single, single), pack)
    if source not in _PACKED:
        raise UnsupportedInstruction(f"cvt.{'.'.join(modifiers)}")
    inner = _PACKED[source]
    dtype, given = np.dtype(f"u{GRIDS[inner].size}"), _REGISTER[GRIDS[inner].size]

    def change(register_in: Array) -> Array:
        bits = np.ascontiguousarray(register_in).view(dtype).reshape(-1, 2)
        return _joined(_rounded(modifiers, decode(bits, inner), name), register)

    return Rule((register,), (given,), change)


def _joined(bits: Array, register: Type) -> Array:
    return np.ascontiguousarray(bits).view(register.dtype).reshape(-1)


def _pack(modifiers: Modifiers) -> Rule:
    """`cvt.pack.sat`: two saturated integers, below them what the third operand holds."""
    name, source = modifiers[2], TYPES[modifiers[3]]
    target, bits = TYPES.get(name), TYPES["b32"]
    if target is None or target.size == 4:
        raise UnsupportedInstruction(f"cvt.{'.'.join(modifiers)}")
    width, unsigned = np.uint32(8 * target.size), np.dtype(f"u{target.size}")

    def act(high: Array, low: Array, *rest: Array) -> Array:
        parts = [convert(x, source, target, "", True).view(unsigned).astype(np.uint32) for x in (high, low)]
        both = (parts[0] << width) | parts[1]
        return (rest[0] << np.uint32(2 * width)) | both if rest else both

    return Rule((bits,), (source, source, bits) if len(modifiers) == 5 else (source, source), act)


CONVERSIONS: dict[str, Maker] = {"cvt": _convert}
