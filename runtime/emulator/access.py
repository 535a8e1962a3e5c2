"""Steps of the instructions that are no pure function of their operands: memory, address spaces, barriers. (Atomics,
exchanges in a warp, matrices and asynchronous copies have files of their own.)

Enters: an instruction and the two makers of operand access (blocks.py's). Leaves: a step. `STEPS` is the table by
stem.
"""

from __future__ import annotations

import numpy as np

from pelton.runtime.emulator.errors import EmulationError
from pelton.runtime.emulator.machine import Machine
from pelton.runtime.emulator.memory import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, window_of
from pelton.runtime.emulator.program import Instruction
from pelton.runtime.emulator.step import (
    MakeReader,
    MakeStep,
    MakeWriter,
    Mask,
    Step,
    address_of,
    is_strong,
    items,
    memory_of,
    space_of,
)
from pelton.runtime.emulator.values import TYPES

U32, U64, PREDICATE = TYPES["u32"], TYPES["u64"], TYPES["pred"]


def _load(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    type, memory = TYPES[instruction.modifiers[-1]], memory_of(instruction, 1)
    space, address = space_of(instruction, memory), address_of(memory, reader)
    writes = [writer(o) for o in items(instruction.operands[0])]
    strong = is_strong(instruction)

    def act(machine: Machine, mask: Mask) -> None:
        for k, write in enumerate(writes):
            at = address(machine) + k * type.size
            total = type.size * len(writes) if k == 0 else type.size
            write(machine, machine.load(space, at, type, mask, total, strong), mask)

    return act


def _store(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    type, memory = TYPES[instruction.modifiers[-1]], memory_of(instruction, 0)
    space, address = space_of(instruction, memory), address_of(memory, reader)
    reads = [reader(o, type) for o in items(instruction.operands[1])]
    strong = is_strong(instruction)

    def act(machine: Machine, mask: Mask) -> None:
        for k, read in enumerate(reads):
            at = address(machine) + k * type.size
            total = type.size * len(reads) if k == 0 else type.size
            machine.store(space, at, read(machine), mask, total, strong)

    return act


_WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW}


def _convert_address(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`cvta`: between an address in a space and a generic one."""
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW}.get(
        instruction.modifiers[-2].split("_")[0], 0
    )
    away = "to" in instruction.modifiers
    read, write = reader(instruction.operands[1], U64), writer(instruction.operands[0])

    def act(machine: Machine, mask: Mask) -> None:
        value = read(machine)
        write(machine, value - np.uint64(window) if away else value + np.uint64(window), mask)

    return act


# ---- barriers and pauses
_NUMBERED = {"popc": np.add, "and": np.logical_and, "or": np.logical_or}


def _barrier(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`bar.sync`, `bar.red`, `bar.arrive`, `bar.warp.sync`, `barrier.cluster`."""
    modifiers = instruction.modifiers
    if "cluster" in modifiers and "arrive" in modifiers:  # the wait does it all
        return lambda machine, mask: None
    if "arrive" in modifiers:
        number, count = (reader(o, U32) for o in instruction.operands)
        return lambda machine, mask: machine.arrive(mask, number(machine), count(machine))
    if "red" in modifiers:
        return _reduce(instruction, reader, writer)
    if "warp" in modifiers:
        return lambda machine, mask: machine.meet_in_warps(mask)
    return lambda machine, mask: machine.meet(mask)


def _reduce(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`bar.red`: a barrier that also counts or joins a predicate."""
    join = next(_NUMBERED[m] for m in instruction.modifiers if m in _NUMBERED)
    write, read = writer(instruction.operands[0]), reader(instruction.operands[-1], PREDICATE)

    def act(machine: Machine, mask: Mask) -> None:
        machine.meet(mask)
        said = np.broadcast_to(read(machine), mask.shape)
        for block in np.unique(machine.cta[mask]):
            here = mask & (machine.cta == block)
            result = join.reduce(said[here], dtype=np.uint32 if join is np.add else np.bool_)
            write(machine, np.full(mask.shape, result), here)

    return act


def _sleep(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`nanosleep`: the thread lets all others go first, so that spinning on a lock makes progress."""

    def act(machine: Machine, mask: Mask) -> None:
        machine.asleep |= mask
        for thread in np.flatnonzero(mask).tolist():
            machine.awaited.pop(thread, None)

    return act


def _nothing(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """What changes speed alone."""
    return lambda machine, mask: None


def _same_address(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`mapa`: an address in another block of the cluster, which here is the block itself."""
    write, read = writer(instruction.operands[0]), reader(instruction.operands[1], U64)
    return lambda machine, mask: write(machine, read(machine), mask)


_SPACE_NUMBERS = {"global": 0, "const": 0, "shared": 1, "local": 2}


def _is_in_space(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`isspacep`: whether a generic address lies in a space."""
    space = instruction.modifiers[0].split("_")[0]
    wanted = _SPACE_NUMBERS.get(space, -1)
    write, read = writer(instruction.operands[0]), reader(instruction.operands[1], U64)
    return lambda machine, mask: write(machine, window_of(read(machine).astype(np.int64)) == wanted, mask)


def _trap(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`trap`: the kernel gives up."""

    def act(machine: Machine, mask: Mask) -> None:
        if mask.any():
            raise EmulationError(int(np.argmax(mask)), "the kernel gives up")

    return act


STEPS: dict[str, MakeStep] = {
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "cvta": _convert_address,
    "isspacep": _is_in_space,
    "trap": _trap,
    "brkpt": _nothing,
    "mapa": _same_address,
    "bar": _barrier,
    "barrier": _barrier,
    "nanosleep": _sleep,
    "setmaxnreg": _nothing,
}
