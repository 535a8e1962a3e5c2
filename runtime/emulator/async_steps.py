"""Steps of `cp.async` and `mbarrier`, and of the fences that they need. (Bulk copies are bulk_steps.py's.)

Enters: an instruction and the two makers of operand access (blocks.py's). Leaves: a step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pelton.runtime.emulator.bulk_steps import bulk
from pelton.runtime.emulator.errors import EmulationError, UnsupportedInstruction
from pelton.runtime.emulator.machine import Machine
from pelton.runtime.emulator.mbarriers import Mbarrier
from pelton.runtime.emulator.memory import check_aligned
from pelton.runtime.emulator.program import Constant, Instruction, Register
from pelton.runtime.emulator.step import (
    MakeReader,
    MakeStep,
    MakeWriter,
    Mask,
    Reader,
    Step,
    address_of,
    items,
    memory_of,
    space_of,
)
from pelton.runtime.emulator.values import TYPES, Array

U32, U64, PREDICATE = TYPES["u32"], TYPES["u64"], TYPES["pred"]


# ---- cp.async
def _copy(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`cp.async`: 4, 8 or 16 bytes from global to shared memory; what the source lacks is zeros."""
    to, of = address_of(memory_of(instruction, 0), reader), address_of(memory_of(instruction, 1), reader)
    size, given = _number(instruction, 2), _given(instruction, reader)
    if size not in ((16,) if "cg" in instruction.modifiers else (4, 8, 16)):
        raise UnsupportedInstruction(f"`{instruction.text}` of {size} bytes")

    def act(machine: Machine, mask: Mask) -> None:
        source, wanted = np.broadcast_to(of(machine), mask.shape), np.broadcast_to(given(machine), mask.shape)
        data = np.zeros((machine.size, size), np.uint8)
        threads = np.flatnonzero(mask)
        if (over := wanted[threads] > size).any():
            k = int(np.argmax(over))
            raise EmulationError(int(threads[k]), f"{int(wanted[threads[k]])} bytes of the source for a copy of {size}")
        check_aligned(source[threads], size, threads)
        for amount in np.unique(wanted[threads]).tolist():
            _fetch(machine, data, source, mask & (wanted == amount), amount)
        for _, offset, who in machine.places("shared", to(machine), mask, size):
            machine.groups.start(who, offset, data[who], instruction)

    return act


def _given(instruction: Instruction, reader: MakeReader) -> Reader:
    """How many bytes of the source each thread copies."""
    size, operands = _number(instruction, 2), instruction.operands
    if len(operands) == 3 or (len(operands) == 4 and "L2_cache_hint" in instruction.modifiers):
        return lambda machine: np.full(1, size, np.uint32)
    last = operands[3]
    if isinstance(last, Register) and last.predicate:
        ignored = reader(last, PREDICATE)
        return lambda machine: np.where(ignored(machine), np.uint32(0), np.uint32(size))
    return reader(last, U32)


def _number(instruction: Instruction, position: int) -> int:
    operand = instruction.operands[position]
    if not isinstance(operand, Constant):
        raise UnsupportedInstruction(f"operand {position} is no number")
    return int(operand.text, 0)


def _fetch(machine: Machine, data: Array, source: Array, mask: Mask, amount: int) -> None:
    """Reads so many bytes of global memory, in the largest equal parts that are aligned."""
    part = min(amount & -amount, 8) if amount else 1
    for start in range(0, amount, part):
        for arena, offset, threads in machine.read_places("global", source + start, mask, part):
            data[threads, start : start + part] = arena.bytes[offset[:, None] + np.arange(part)]


def _async(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """The forms of `cp.async`."""
    modifiers = instruction.modifiers
    if "mbarrier" in modifiers:
        return _arrive_after_copies(instruction, reader)
    if "commit_group" in modifiers:
        return lambda machine, mask: machine.groups.commit(mask)
    if "wait_all" in modifiers:
        return lambda machine, mask: machine.groups.wait(mask, None)
    if "wait_group" in modifiers:
        newest = _number(instruction, 0)
        return lambda machine, mask: machine.groups.wait(mask, newest)
    return _copy(instruction, reader, writer)


# ---- mbarrier
Use = Callable[[Machine, Mbarrier, int], None]
"""(machine, mbarrier, thread)"""


def _each(machine: Machine, space: str, address: Array, mask: Mask, use: Use) -> None:
    """Every active thread uses the mbarrier at its address; they must know of its initialisation."""
    for _, offset, threads in machine.places(space, address, mask, 8):
        if machine.launch.checks.races:
            machine.shared_races.after_write(offset, 8, threads, machine.cta[threads])
        for place, thread in zip(offset.tolist(), threads.tolist(), strict=True):
            use(machine, machine.mbarriers.find(place, thread), thread)


def _init(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    memory = memory_of(instruction, 0)
    space, address, count = (
        space_of(instruction, memory),
        address_of(memory, reader),
        reader(instruction.operands[1], U32),
    )

    def act(machine: Machine, mask: Mask) -> None:
        counts = np.broadcast_to(count(machine), mask.shape)
        for _, offset, threads in machine.write_places(space, address(machine), mask, 8):
            for place, thread in zip(offset.tolist(), threads.tolist(), strict=True):
                machine.mbarriers.init(place, thread, int(counts[thread]))

    return act


def _invalidate(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    memory = memory_of(instruction, 0)
    space, address = space_of(instruction, memory), address_of(memory, reader)

    def act(machine: Machine, mask: Mask) -> None:
        for _, offset, threads in machine.write_places(space, address(machine), mask, 8):
            for place, thread in zip(offset.tolist(), threads.tolist(), strict=True):
                machine.mbarriers.find(place, thread)
                del machine.mbarriers.all[place]

    return act


def _arrive(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`arrive`, `arrive_drop`, both also with `expect_tx`; the state is the number of the phase."""
    modifiers, operands = instruction.modifiers, instruction.operands
    memory = memory_of(instruction, 1)
    space, address = space_of(instruction, memory), address_of(memory, reader)
    write = writer(items(operands[0])[0])
    amount = reader(operands[2] if len(operands) > 2 else Constant("1"), U32)
    expects, drops = "expect_tx" in modifiers, "arrive_drop" in modifiers

    def act(machine: Machine, mask: Mask) -> None:
        amounts, state = np.broadcast_to(amount(machine), mask.shape), np.zeros(machine.size, np.uint64)

        def use(machine: Machine, one: Mbarrier, thread: int) -> None:
            count = 1 if expects else int(amounts[thread])
            state[thread] = one.phase
            if expects:
                one.expect(thread, int(amounts[thread]))
            one.count -= count if drops else 0
            machine.arrive_at(one, thread, count)

        _each(machine, space, address(machine), mask, use)
        write(machine, state, mask)

    return act


def _transactions(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`expect_tx` and `complete_tx`: the bytes alone."""
    memory, sign = memory_of(instruction, 0), 1 if "expect_tx" in instruction.modifiers else -1
    space, address, size = (
        space_of(instruction, memory),
        address_of(memory, reader),
        reader(instruction.operands[1], U32),
    )

    def act(machine: Machine, mask: Mask) -> None:
        sizes = np.broadcast_to(size(machine), mask.shape)

        def use(machine: Machine, one: Mbarrier, thread: int) -> None:
            one.expect(thread, sign * int(sizes[thread]))
            if sign < 0:
                one.settle()

        _each(machine, space, address(machine), mask, use)
        machine.events += 1

    return act


def _wait(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """`test_wait` and `try_wait`: whether a phase is complete; a thread for which it is not lets others go first."""
    parity, memory = "parity" in instruction.modifiers, memory_of(instruction, 1)
    space, address = space_of(instruction, memory), address_of(memory, reader)
    write, phase = writer(instruction.operands[0]), reader(instruction.operands[2], U32 if parity else U64)

    def act(machine: Machine, mask: Mask) -> None:
        phases, done = np.broadcast_to(phase(machine), mask.shape), np.zeros(machine.size, np.bool_)
        answers: dict[tuple[int, int, int], bool] = {}

        def use(machine: Machine, one: Mbarrier, thread: int) -> None:
            asked = id(one), int(phases[thread]), thread // 32
            if asked not in answers:
                answers[asked] = machine.is_done(one, thread, asked[1], parity=parity)
            done[thread] = answers[asked]
            if not done[thread]:
                machine.awaited[thread] = (instruction, one.describe(one.phase))

        _each(machine, space, address(machine), mask, use)
        machine.asleep |= mask & ~done
        write(machine, done, mask)

    return act


def _pending(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    raise UnsupportedInstruction("mbarrier.pending_count: a state is opaque here")


def _arrive_after_copies(instruction: Instruction, reader: MakeReader) -> Step:
    """`cp.async.mbarrier.arrive`: the thread arrives when its copies so far are done; without `.noinc` the phase
    expects that arrival beside the others."""
    memory, more = memory_of(instruction, 0), "noinc" not in instruction.modifiers
    space, address = space_of(instruction, memory), address_of(memory, reader)

    def act(machine: Machine, mask: Mask) -> None:
        last = machine.groups.started

        def use(machine: Machine, one: Mbarrier, thread: int) -> None:
            one.pending += int(more)

            def happen(one: Mbarrier) -> None:
                machine.groups.land(lambda c: (c.threads == thread) & (c.number <= last))
                machine.arrive_at(one, thread, 1)

            one.under_way.append(happen)

        _each(machine, space, address(machine), mask, use)

    return act


def _fence(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    """Fences of threads are not modelled; those that make writes known to asynchronous copies are."""
    if "mbarrier_init" in instruction.modifiers or {"proxy", "async"} <= set(instruction.modifiers):
        return lambda machine, mask: machine.fence_copies(mask)
    return lambda machine, mask: None


_MBARRIER: dict[str, MakeStep] = {
    "init": _init,
    "inval": _invalidate,
    "arrive": _arrive,
    "arrive_drop": _arrive,
    "expect_tx": _transactions,
    "complete_tx": _transactions,
    "test_wait": _wait,
    "try_wait": _wait,
    "pending_count": _pending,
}


def _mbarrier(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    make = _MBARRIER.get(instruction.modifiers[0])
    if make is None:
        raise UnsupportedInstruction(f"mbarrier.{'.'.join(instruction.modifiers)}")
    return make(instruction, reader, writer)


def _cp(instruction: Instruction, reader: MakeReader, writer: MakeWriter) -> Step:
    if "bulk" in instruction.modifiers:
        return bulk(instruction, reader, writer)
    if instruction.modifiers[0] != "async":
        raise UnsupportedInstruction(f"cp.{'.'.join(instruction.modifiers)}")
    return _async(instruction, reader, writer)


STEPS: dict[str, MakeStep] = {"cp": _cp, "mbarrier": _mbarrier, "fence": _fence}
