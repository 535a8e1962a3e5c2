"""Who goes next: the threads at the lowest block number run first, which brings diverged threads together again.

Enters: a `Machine` and its `Code`. Leaves: memory as the kernel left it. Threads at a barrier or a warp operation
wait until all that should be there are; when nobody can go on, the error names who is missing.
"""

from __future__ import annotations

import numpy as np

from pelton.runtime.emulator.blocks import EXIT, Block, Code
from pelton.runtime.emulator.errors import DidNotFinish, DivergentBarrier, EmulationError, UnsupportedInstruction
from pelton.runtime.emulator.link import Instruction
from pelton.runtime.emulator.machine import Machine
from pelton.runtime.emulator.values import Array


def run(machine: Machine, code: Code, limit: int) -> None:
    """Runs every thread to its end, in at most `limit` basic blocks."""
    for _ in range(limit):
        alive = machine.block < EXIT
        ready = alive & ~machine.waiting & ~machine.asleep
        if ready.any():
            number = int(machine.block[ready].min())
            _execute(machine, code.blocks[number], ready & (machine.block == number))
        elif machine.asleep.any():
            machine.asleep[:] = False
        elif alive.any():
            _release(machine, code)
        else:
            return
    raise _endless(machine, code, limit)


def _endless(machine: Machine, code: Code, limit: int) -> EmulationError:
    """Names a thread that is still running, and what it would do next."""
    thread = int(np.argmin(machine.block))
    text = f"{code.program.name}: more than {limit} basic blocks; an endless loop?"
    steps = code.blocks[int(machine.block[thread])].steps
    return machine.located(DidNotFinish(text, got=f"{machine.name(thread)} still runs"), steps[0][0] if steps else None)


def _execute(machine: Machine, block: Block, mask: Array) -> None:
    """Runs one block under a mask; at a meeting the threads only begin to wait."""
    if block.meeting is not None:
        machine.waiting |= mask
    else:
        _finish(machine, block, mask)


def _finish(machine: Machine, block: Block, mask: Array) -> None:
    """The steps of a block, then its way out."""
    for instruction, step in block.steps:
        try:
            step(machine, mask)
        except EmulationError as error:
            raise machine.located(error, instruction) from None
        except (ValueError, LookupError, TypeError, OverflowError) as error:  # types that do not go together
            failed = UnsupportedInstruction(f"{instruction.where()}: {error}")
            raise machine.located(failed, instruction) from error
    block.leave(machine, mask)


def _release(machine: Machine, code: Code) -> None:
    """Nobody can go on: lets every complete group of waiting threads pass."""
    passed = False
    for number in sorted({int(b) for b in machine.block[machine.waiting]}):
        block, here = code.blocks[number], machine.waiting & (machine.block == number)
        width = _width(_meeting(block), machine)
        complete = np.repeat(here.reshape(-1, width).all(1), width)
        if complete.any():
            passed = True
            machine.waiting &= ~complete
            _finish(machine, block, complete)
    if not passed:
        _refuse(machine, code)


def _meeting(block: Block) -> Instruction:
    assert block.meeting is not None
    return block.meeting


def _width(meeting: Instruction, machine: Machine) -> int:
    """How many threads meet: a block at a barrier, a warp at everything else."""
    whole = meeting.stem.startswith("bar") and "warp" not in meeting.modifiers
    return machine.launch.threads if whole else 32


def _refuse(machine: Machine, code: Code) -> None:
    """Names a barrier and a thread that never comes to it."""
    first = int(np.argmax(machine.waiting))
    place = machine.block[first]
    meeting = _meeting(code.blocks[int(place)])
    width = _width(meeting, machine)
    group = range(first // width * width, (first // width + 1) * width)
    missing = next(t for t in group if not (machine.waiting[t] and machine.block[t] == place))
    other = "has ended"
    if machine.block[missing] < EXIT:
        other = f"waits at {_meeting(code.blocks[int(machine.block[missing])]).where()}"
    text = f"{meeting.where()}: {machine.name(first)} waits here, {machine.name(missing)} {other}"
    raise machine.located(DivergentBarrier(text), meeting)
