"""Steps of `atom` and `red`: all threads at once, and where several meet at one address one after another.

Enters: an instruction and the two makers of operand access (blocks.py's). Leaves: a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pelton.runtime.emulator.arithmetic import flush
from pelton.runtime.emulator.errors import UnsupportedInstruction
from pelton.runtime.emulator.half_rules import HALVES, half_of
from pelton.runtime.emulator.machine import Machine, Place
from pelton.runtime.emulator.memory import gather, scatter
from pelton.runtime.emulator.program import Instruction
from pelton.runtime.emulator.step import (
    MakeReader,
    MakeStep,
    MakeWriter,
    Mask,
    Step,
    address_of,
    items,
    memory_of,
    space_of,
)
from pelton.runtime.emulator.values import TYPES, Array

Change = Callable[..., Array]


def _increment(old: Array, limit: Array) -> Array:
    return np.where(old >= limit, np.zeros_like(old), old + old.dtype.type(1))


def _decrement(old: Array, limit: Array) -> Array:
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1))


def _exchange(old: Array, new: Array) -> Array:
    return new


def _compare_and_swap(old: Array, expected: Array, new: Array) -> Array:
    return np.where(old == expected, new, old)


def _flushed_sum(old: Array, new: Array) -> Array:
    return flush(flush(old) + flush(new))


_CHANGES: dict[str, Change] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": _exchange,
    "cas": _compare_and_swap,
    "inc": _increment,
    "dec": _decrement,
}


def _change(instruction: Instruction, space: str) -> Change:
    """What an instruction does to a value; f32 sums flush subnormals in global memory, as the document says."""
    modifiers = instruction.modifiers
    name = next((m for m in modifiers if m in _CHANGES), None)
    if name is None:
        raise UnsupportedInstruction(f"{instruction.stem}.{'.'.join(modifiers)}")
    if half_of(modifiers) and name in HALVES:
        halves: Callable[..., Any] = HALVES[name](("rn", modifiers[-1])).compute
        return halves
    return _flushed_sum if name == "add" and modifiers[-1] == "f32" and space != "shared" else _CHANGES[name]


def turns(offset: Array) -> Iterator[Array]:
    """Positions in groups: nobody in a group has another's offset; at each offset in the order given."""
    order = np.argsort(offset, kind="stable")
    sorted_offset = offset[order]
    first = np.flatnonzero(np.diff(sorted_offset, prepend=sorted_offset[0] - 1))
    rank = np.arange(offset.size) - np.repeat(first, np.diff(first, append=offset.size))
    by_rank = np.argsort(rank, kind="stable")
    yield from np.split(order[by_rank], np.cumsum(np.bincount(rank))[:-1])


def _atomic(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`atom` and `red`, also of vectors."""
    type, place = TYPES[instruction.modifiers[-1]], int(instruction.stem == "atom")
    memory = memory_of(instruction, place)
    space, address = space_of(instruction, memory), address_of(memory, reader)
    change = _change(instruction, space)
    reads = [[reader(part, type) for part in items(o)] for o in instruction.operands[place + 1 :]]
    writes = [writer(part) for part in items(instruction.operands[0])] if place else [writer(None)] * len(reads[0])
    total = type.size * len(writes)

    def act(machine: Machine, mask: Mask) -> None:
        for k, write in enumerate(writes):
            values = [np.broadcast_to(r[k](machine), mask.shape) for r in reads]
            at = address(machine) + k * type.size
            places = _reach(machine, space, at, mask, type.size, total if k == 0 else type.size)
            write(machine, _apply(places, np.zeros(mask.shape, type.dtype), change, values), mask)

    return act


def _reach(machine: Machine, space: str, address: Array, mask: Mask, size: int, total: int) -> list[Place]:
    """Where values are read and written, every check made."""
    machine.read_places(space, address, mask, size, total=total, strong=True)
    return machine.write_places(space, address, mask, size, strong=True)


def _apply(places: list[Place], old: Array, change: Change, values: list[Array]) -> Array:
    """Changes memory thread after thread; `old` becomes what each found there."""
    for arena, offset, threads in places:
        for turn in turns(offset):
            who, where = threads[turn], offset[turn]
            old[who] = gather(arena.bytes, where, old.dtype)
            scatter(arena.bytes, where, change(old[who], *(v[who] for v in values)).astype(old.dtype))
    return old


STEPS: dict[str, MakeStep] = {"atom": _atomic, "red": _atomic}
