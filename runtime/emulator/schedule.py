"""Who goes next: the threads at the lowest block number run first, which brings diverged threads together again.

Enters: a `Machine` and its `Code`. Leaves: memory as the kernel left it. Threads at a barrier or a warp operation
wait until all that should be there are (meeting.py); a thread that asks in vain whether something is done sleeps until
nobody else can go on. When nobody can go on at all, the error names who is missing.
"""

from __future__ import annotations

import numpy as np

from pelton.runtime.emulator import bulk
from pelton.runtime.emulator.blocks import EXIT, Block, Code
from pelton.runtime.emulator.errors import (
    Deadlock,
    DidNotFinish,
    DivergentBarrier,
    EmulationError,
    UnsupportedInstruction,
)
from pelton.runtime.emulator.machine import Machine
from pelton.runtime.emulator.meeting import Meeting
from pelton.runtime.emulator.values import Array

_PATIENCE = 256


def run(machine: Machine, code: Code, limit: int) -> None:
    """Runs every thread to its end, in at most `limit` basic blocks."""
    for _ in range(limit):
        alive = machine.block < EXIT
        ready = alive & ~machine.waiting & ~machine.asleep
        if ready.any():
            number = _next(machine, machine.block[ready])
            _execute(machine, code.blocks[number], ready & (machine.block == number))
        elif machine.waiting.any() and _release(machine, code):
            continue
        elif machine.asleep.any():
            _wake(machine, code)
        elif alive.any():
            _refuse(machine, code)
        else:
            _end(machine)
            return
    raise _endless(machine, code, limit)


def _next(machine: Machine, numbers: Array) -> int:
    """The lowest number of a block; now and then another's turn, since those at the lowest may wait for memory that
    others have yet to write."""
    if machine.time % _PATIENCE:
        return int(numbers.min())
    there = np.unique(numbers)
    return int(there[machine.time // _PATIENCE % there.size])


def _end(machine: Machine) -> None:
    try:
        bulk.finish(machine)
    except EmulationError as error:
        raise machine.located(error, None) from None


def _endless(machine: Machine, code: Code, limit: int) -> EmulationError:
    """Names a thread that is still running, and what it would do next."""
    thread = int(np.argmin(machine.block))
    text = f"{code.program.name}: more than {limit} basic blocks; an endless loop?"
    steps = code.blocks[int(machine.block[thread])].steps
    return machine.located(DidNotFinish(text, got=f"{machine.name(thread)} still runs"), steps[0][0] if steps else None)


def _execute(machine: Machine, block: Block, mask: Array) -> None:
    """Runs one block under a mask; at a meeting the threads only begin to wait."""
    if block.meeting is None:
        _finish(machine, block, mask)
        return
    try:
        staying = block.meeting.come(machine, mask)
    except EmulationError as error:
        raise machine.located(error, block.meeting.instruction) from None
    machine.waiting |= staying
    if (passing := mask & ~staying).any():
        block.leave(machine, passing)


def _finish(machine: Machine, block: Block, mask: Array) -> None:
    """The steps of a block, then its way out."""
    machine.time += 1
    for instruction, step in block.steps:
        try:
            step(machine, mask)
        except EmulationError as error:
            raise machine.located(error, instruction) from None
        except (ValueError, LookupError, TypeError, ArithmeticError) as error:  # types that do not go together
            failed = UnsupportedInstruction(f"{instruction.where()}: {error}")
            raise machine.located(failed, instruction) from error
    block.leave(machine, mask)


def _release(machine: Machine, code: Code) -> bool:
    """Lets every complete group of waiting threads pass; whether there was one."""
    opened = machine.barriers.open(machine.waiting, machine.block)
    groups: list[tuple[Block, Array]] = []
    for number in sorted({int(b) for b in machine.block[machine.waiting]}):
        block, here = code.blocks[number], machine.waiting & (machine.block == number)
        meeting = _meeting(block)
        try:
            complete = here & opened if meeting.barrier else meeting.complete(machine, here)
        except EmulationError as error:
            raise machine.located(error, meeting.instruction) from None
        if complete.any():
            groups.append((block, complete))
    for block, complete in groups:
        machine.waiting &= ~complete
        machine.events += 1
        _finish(machine, block, complete)
    return bool(groups)


def _wake(machine: Machine, code: Code) -> None:
    """Lets sleepers look again; if nothing at all has happened since they last did, nothing ever will. (One that only
    pauses may look at memory that blocks of another batch write.)"""
    asleep = np.flatnonzero(machine.asleep).tolist()
    if machine.events == machine.events_at_wake and all(thread in machine.awaited for thread in asleep):
        instruction, what = machine.awaited[asleep[0]]
        text = f"{instruction.where()}: {machine.name(asleep[0])} waits for {what}; no thread is left to bring it about"
        raise machine.located(Deadlock(text), instruction)
    machine.events_at_wake = machine.events
    machine.asleep[:] = False


def _meeting(block: Block) -> Meeting:
    assert block.meeting is not None
    return block.meeting


def _refuse(machine: Machine, code: Code) -> None:
    """Names a barrier and a thread that never comes to it."""
    first = int(np.argmax(machine.waiting))
    place = machine.block[first]
    meeting = _meeting(code.blocks[int(place)])
    threads = machine.launch.threads
    width, inside = threads if meeting.barrier else meeting.width, first % threads
    start, end = first - inside % width, first - inside + threads
    group = range(start, min(start + width, end))
    missing = next((t for t in group if not (machine.waiting[t] and machine.block[t] == place)), first)
    other = "has ended"
    if missing == first:
        other = "expects others"
    elif machine.block[missing] < EXIT:
        other = f"waits at {_meeting(code.blocks[int(machine.block[missing])]).instruction.where()}"
    text = f"{meeting.instruction.where()}: {machine.name(first)} waits here, {machine.name(missing)} {other}"
    raise machine.located(DivergentBarrier(text), meeting.instruction)
