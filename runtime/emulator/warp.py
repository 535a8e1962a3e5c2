"""Steps of the instructions by which lanes of a warp exchange values: `shfl`, `vote`, `match`, `redux`, `elect`,
`activemask`.

Enters: an instruction and the two makers of operand access (blocks.py's). Leaves: a step. When it runs, all lanes that
the instruction's mask names are there (meeting.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pelton.runtime.emulator.errors import DivergentBarrier, UnsupportedInstruction
from pelton.runtime.emulator.machine import Machine
from pelton.runtime.emulator.program import Instruction, Several
from pelton.runtime.emulator.step import MakeReader, MakeWriter, Mask, Step
from pelton.runtime.emulator.values import TYPES, Array

_LANES = np.arange(32, dtype=np.uint32)
U32, PREDICATE = TYPES["u32"], TYPES["pred"]


def bits_of(flags: Array) -> Array:
    """Flags, one per thread, as 32 bits per warp, given to each of its threads."""
    words = (flags.reshape(-1, 32).astype(np.uint64) << _LANES.astype(np.uint64)).sum(1).astype(np.uint32)
    return np.repeat(words, 32)


def _pair(instruction: Instruction) -> tuple[Any, Any]:
    """The result and the predicate beside it, where one is asked for."""
    target = instruction.operands[0]
    return target.items if isinstance(target, Several) else (target, None)  # pyright: ignore[reportReturnType]


def _shuffle(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    mode = instruction.modifiers[1]
    results = _pair(instruction)
    write, write_inside = writer(results[0]), writer(results[1])
    value, lane, clamp = (reader(o, U32) for o in instruction.operands[1:4])

    def act(machine: Machine, mask: Mask) -> None:
        here = machine.lane
        b, c = np.broadcast_to(lane(machine) & np.uint32(31), here.shape), np.broadcast_to(clamp(machine), here.shape)
        segment, limit = (c >> np.uint32(8)) & np.uint32(31), c & np.uint32(31)
        last = (here & segment) | (limit & ~segment)
        first, b, own = (here & segment).astype(np.int64), b.astype(np.int64), here.astype(np.int64)
        source = {"up": own - b, "down": own + b, "bfly": own ^ b, "idx": first | (b & ~segment.astype(np.int64))}[mode]
        inside = source >= last if mode == "up" else source <= last
        source = machine.warp * 32 + np.where(inside, source, own)
        if (absent := mask & ~mask[source]).any():
            thread = int(np.argmax(absent))
            raise DivergentBarrier(thread, f"takes the value of lane {int(source[thread]) % 32}, which is not here")
        write(machine, np.broadcast_to(value(machine), here.shape)[source], mask)
        write_inside(machine, inside, mask)

    return act


def _vote(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    mode = next(m for m in instruction.modifiers if m in ("all", "any", "uni", "ballot"))
    write, read = writer(instruction.operands[0]), reader(instruction.operands[1], PREDICATE)
    members = reader(instruction.operands[2], U32)

    def act(machine: Machine, mask: Mask) -> None:
        asked = members(machine)
        yes = bits_of(np.broadcast_to(read(machine), mask.shape) & mask) & asked
        every, none = yes == (bits_of(mask) & asked), yes == 0
        write(machine, {"ballot": yes, "any": ~none, "all": every, "uni": every | none}[mode], mask)

    return act


def _match(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`match.any`: the lanes with my value; `match.all`: all lanes and true if they have one value, else 0."""
    results = _pair(instruction)
    write, write_all = writer(results[0]), writer(results[1])
    value, members = (
        reader(instruction.operands[1], TYPES[instruction.modifiers[-1]]),
        reader(instruction.operands[2], U32),
    )
    every = instruction.modifiers[0] == "all"

    def act(machine: Machine, mask: Mask) -> None:
        values = np.broadcast_to(value(machine), mask.shape).reshape(-1, 32)
        equal = (values[:, :, None] == values[:, None, :]) << _LANES
        asked = np.broadcast_to(members(machine), mask.shape) & bits_of(mask)
        same = equal.sum(2).astype(np.uint32).reshape(-1) & asked
        agree = same == asked
        write(machine, np.where(agree, asked, np.uint32(0)) if every else same, mask)
        write_all(machine, agree, mask)

    return act


_REDUCE: dict[str, tuple[np.ufunc, Callable[[Any], int]]] = {
    "add": (np.add, lambda limits: 0),
    "min": (np.minimum, lambda limits: limits.max),
    "max": (np.maximum, lambda limits: limits.min),
    "and": (np.bitwise_and, lambda limits: limits.max),
    "or": (np.bitwise_or, lambda limits: 0),
    "xor": (np.bitwise_xor, lambda limits: 0),
}
"""By operation: the function, and the value that changes nothing."""


def _reduce(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    type = TYPES[instruction.modifiers[-1]]
    if type.kind == "f":
        raise UnsupportedInstruction("redux.sync of floats")
    join, neutral = _REDUCE[instruction.modifiers[1]]
    start = type.dtype.type(neutral(np.iinfo(type.dtype)))
    write, value = writer(instruction.operands[0]), reader(instruction.operands[1], type)
    members = reader(instruction.operands[2], U32)

    def act(machine: Machine, mask: Mask) -> None:
        asked = np.broadcast_to(members(machine), mask.shape) & bits_of(mask)
        taken = (asked.reshape(-1, 32)[:, :, None] >> _LANES & np.uint32(1)).astype(np.bool_)
        values = np.broadcast_to(value(machine), mask.shape).reshape(-1, 1, 32)
        write(machine, join.reduce(np.where(taken, values, start), 2, dtype=type.dtype).reshape(-1), mask)

    return act


def _elect(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`elect.sync`: the lowest lane of the mask is the leader."""
    results = _pair(instruction)
    write, write_leads = writer(results[0]), writer(results[1])
    members = reader(instruction.operands[1], U32)

    def act(machine: Machine, mask: Mask) -> None:
        asked = np.broadcast_to(members(machine), mask.shape) & bits_of(mask)
        lowest = np.bitwise_count((asked & (~asked + np.uint32(1))) - np.uint32(1)).astype(np.uint32)
        write(machine, lowest, mask)
        write_leads(machine, lowest == machine.lane, mask)

    return act


def _active(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`activemask`: the lanes that run together now."""
    write = writer(instruction.operands[0])
    return lambda machine, mask: write(machine, bits_of(mask), mask)


STEPS: dict[str, Callable[[Instruction, MakeReader, MakeWriter], Step]] = {
    "shfl": _shuffle,
    "vote": _vote,
    "match": _match,
    "redux": _reduce,
    "elect": _elect,
    "activemask": _active,
}
