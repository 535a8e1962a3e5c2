"""Steps of the instructions that are no pure function of their operands: memory, address spaces, atomics, shuffles,
barriers.

Enters: an instruction and the two makers of operand access (blocks.py's). Leaves: a step. `STEPS` is the table by
stem.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from pelton.runtime.emulator.errors import UnsupportedInstruction
from pelton.runtime.emulator.link import Constant, Instruction, Memory, Several
from pelton.runtime.emulator.machine import Machine
from pelton.runtime.emulator.memory import LOCAL_WINDOW, SHARED_WINDOW
from pelton.runtime.emulator.values import TYPES, Array, Type

Mask: TypeAlias = Array
Step: TypeAlias = Callable[[Machine, Mask], None]
MakeReader: TypeAlias = Callable[[Any, Type], Callable[[Machine], Array]]
MakeWriter: TypeAlias = Callable[[Any], Callable[[Machine, Array, Mask], None]]
_SPACES = ("global", "shared", "local", "param", "const")
_STRONG = {"volatile", "relaxed", "acquire", "release"}
U32, U64, PREDICATE = TYPES["u32"], TYPES["u64"], TYPES["pred"]


def _space(instruction: Instruction, memory: Memory) -> str:
    named = next((m.split("_")[0] for m in instruction.modifiers if m.split("_")[0] in _SPACES), "generic")
    return {"const": "global"}.get(memory.space or named, memory.space or named)


def _address(memory: Memory, reader: MakeReader) -> Callable[[Machine], Array]:
    """Addresses as int64, one per thread."""
    offset, base = np.int64(memory.offset), memory.base
    if isinstance(base, Constant):
        fixed = np.array([int(base.text)], np.int64) + offset
        return lambda machine: fixed
    read = reader(base, U64 if base.size == 8 else U32)
    return lambda machine: read(machine).astype(np.int64) + offset


def _memory(instruction: Instruction, position: int) -> Memory:
    operand = instruction.operands[position]
    if not isinstance(operand, Memory):
        raise UnsupportedInstruction(f"operand {position} is no address")
    return operand


def _load(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    type, memory = TYPES[instruction.modifiers[-1]], _memory(instruction, 1)
    space, address = _space(instruction, memory), _address(memory, reader)
    target = instruction.operands[0]
    writes = [writer(o) for o in (target.items if isinstance(target, Several) else (target,))]
    strong = bool(_STRONG & set(instruction.modifiers))

    def act(machine: Machine, mask: Mask) -> None:
        for k, write in enumerate(writes):
            at = address(machine) + k * type.size
            total = type.size * len(writes) if k == 0 else type.size
            write(machine, machine.load(space, at, type, mask, total, strong), mask)

    return act


def _store(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    type, memory = TYPES[instruction.modifiers[-1]], _memory(instruction, 0)
    space, address = _space(instruction, memory), _address(memory, reader)
    source = instruction.operands[1]
    reads = [reader(o, type) for o in (source.items if isinstance(source, Several) else (source,))]
    strong = bool(_STRONG & set(instruction.modifiers))

    def act(machine: Machine, mask: Mask) -> None:
        for k, read in enumerate(reads):
            at = address(machine) + k * type.size
            total = type.size * len(reads) if k == 0 else type.size
            machine.store(space, at, read(machine), mask, total, strong)

    return act


def _convert_address(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`cvta`: between an address in a space and a generic one."""
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(instruction.modifiers[-2].split("_")[0], 0)
    away = "to" in instruction.modifiers
    read, write = reader(instruction.operands[1], U64), writer(instruction.operands[0])

    def act(machine: Machine, mask: Mask) -> None:
        value = read(machine)
        write(machine, value - np.uint64(window) if away else value + np.uint64(window), mask)

    return act


# ---- atomics
def _increment(old: Any, limit: Any) -> Any:
    return 0 if old >= limit else old + 1


def _decrement(old: Any, limit: Any) -> Any:
    return limit if old == 0 or old > limit else old - 1


def _exchange(old: Any, new: Any) -> Any:
    return new


def _compare_and_swap(old: Any, expected: Any, new: Any) -> Any:
    return new if old == expected else old


_ATOMIC: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "min": np.fmin,
    "max": np.fmax,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": _exchange,
    "cas": _compare_and_swap,
    "inc": _increment,
    "dec": _decrement,
}


def _atomic(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`atom` and `red`, thread after thread."""
    type, place = TYPES[instruction.modifiers[-1]], int(instruction.stem == "atom")
    memory = _memory(instruction, place)
    space, address = _space(instruction, memory), _address(memory, reader)
    change = next(_ATOMIC[m] for m in instruction.modifiers if m in _ATOMIC)
    reads = [reader(o, type) for o in instruction.operands[place + 1 :]]
    write = writer(instruction.operands[0] if place else None)

    def act(machine: Machine, mask: Mask) -> None:
        at = np.broadcast_to(address(machine), mask.shape)
        values = [np.broadcast_to(r(machine), mask.shape) for r in reads]
        old = np.zeros(mask.shape, type.dtype)
        for lane in np.flatnonzero(mask):
            one = np.zeros(mask.shape, np.bool_)
            one[lane] = True
            old[lane] = machine.load(space, at, type, one, type.size, True)[lane]
            new = type.dtype.type(change(old[lane], *(v[lane] for v in values)))
            machine.store(space, at, np.full(mask.shape, new), one, type.size, True)
        write(machine, old, mask)

    return act


# ---- threads that meet: all of them are here when the step runs
def _shuffle(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    mode, target = instruction.modifiers[1], instruction.operands[0]
    results = target.items if isinstance(target, Several) else (target, None)
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
        source = np.where(inside, source, own)
        values = np.broadcast_to(value(machine), here.shape)
        write(machine, values[machine.warp * 32 + source], mask)
        write_inside(machine, inside, mask)

    return act


def _vote(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    mode = next(m for m in instruction.modifiers if m in ("all", "any", "uni", "ballot"))
    write, read = writer(instruction.operands[0]), reader(instruction.operands[1], PREDICATE)

    def act(machine: Machine, mask: Mask) -> None:
        said = np.broadcast_to(read(machine), mask.shape)
        yes, asked = (said & mask).reshape(-1, 32), mask.reshape(-1, 32)
        if mode == "ballot":
            result = (yes.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(1).astype(np.uint32)
        elif mode == "any":
            result = yes.any(1)
        else:
            result = (yes == asked).all(1)
            if mode == "uni":
                result |= ~yes.any(1)
        write(machine, np.repeat(result, 32), mask)

    return act


def _barrier(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    if "warp" in instruction.modifiers:
        return lambda machine, mask: None
    if "sync" not in instruction.modifiers or len(instruction.operands) != 1:
        raise UnsupportedInstruction("only bar.sync of the whole block and bar.warp.sync are emulated")

    def act(machine: Machine, mask: Mask) -> None:
        machine.epoch[np.unique(machine.cta[mask])] += 1

    return act


def _sleep(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`nanosleep`: the thread lets all others go first, so that spinning on a lock makes progress."""

    def act(machine: Machine, mask: Mask) -> None:
        machine.asleep |= mask

    return act


STEPS: dict[str, Callable[[Instruction, MakeReader, MakeWriter], Step]] = {
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "cvta": _convert_address,
    "atom": _atomic,
    "red": _atomic,
    "shfl": _shuffle,
    "vote": _vote,
    "bar": _barrier,
    "barrier": _barrier,
    "nanosleep": _sleep,
}
