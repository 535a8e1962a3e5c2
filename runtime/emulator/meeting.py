"""Instructions at which threads wait for each other, and who has to be there before they go on.

Enters: an instruction and blocks.py's maker of readers. Leaves: a `Meeting`, which schedule.py asks. There are three
kinds: the lanes that a mask names; all threads of a warp or a warpgroup; and the threads of a block's numbered barrier
(barriers.py), which need not be at the same instruction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pelton.runtime.emulator.errors import DivergentBarrier
from pelton.runtime.emulator.machine import Machine
from pelton.runtime.emulator.program import Constant, Instruction, Register
from pelton.runtime.emulator.step import MakeReader, Reader
from pelton.runtime.emulator.values import TYPES, Array
from pelton.runtime.emulator.warp import bits_of

_MASK = {"shfl": -1, "vote": -1, "match": -1, "redux": -1, "elect": -1}
"""The instructions whose operand (by position) is a mask of lanes."""
_WHOLE = {"mma": 32, "ldmatrix": 32, "stmatrix": 32, "movmatrix": 32, "wgmma": 128, "setmaxnreg": 128}
"""How many threads execute these together."""
U32 = TYPES["u32"]


@dataclass(frozen=True, slots=True)
class Barrier:
    """Operands of a numbered barrier: which, how many threads (None: the block's), whether whole warps come to it."""

    number: Reader
    count: Reader | None
    aligned: bool


@dataclass(frozen=True, slots=True)
class Meeting:
    """The one instruction of a block at which threads wait."""

    instruction: Instruction
    width: int
    members: Reader | None = None
    barrier: Barrier | None = None

    def complete(self, machine: Machine, here: Array) -> Array:
        """Of the threads that wait here, those that may go on (numbered barriers are barriers.py's)."""
        if self.members is None:
            return _whole(here.reshape(-1, machine.launch.threads), self.width).reshape(-1)
        asked, present = np.broadcast_to(self.members(machine), here.shape), bits_of(here)
        if (stranger := here & (asked >> machine.lane & np.uint32(1) == 0)).any():
            raise DivergentBarrier(int(np.argmax(stranger)), "a mask that does not name the lane itself")
        return here & (asked & ~present == 0)

    def come(self, machine: Machine, mask: Array) -> Array:
        """Those of a mask who wait here: where the instruction has a guard, the others pass by."""
        guard = self.instruction.guard
        staying = mask if guard is None else mask & (machine.registers[guard.index] != self.instruction.negated)
        if self.barrier is not None:
            count = self.barrier.count
            expected = machine.launch.threads if count is None else count(machine)
            machine.barriers.enter(staying, self.barrier.number(machine), expected, aligned=self.barrier.aligned)
        return staying


def _whole(here: Array, width: int) -> Array:
    """Of flags [blocks, threads], those of whole groups of so many threads; what is left of a block is none."""
    blocks, threads = here.shape
    groups = threads // width
    out = np.zeros_like(here)
    full = here[:, : groups * width].reshape(blocks, groups, width).all(2)
    out[:, : groups * width] = np.repeat(full, width, 1)
    return out


def meeting(instruction: Instruction, reader: MakeReader) -> Meeting | None:
    """The meeting an instruction is, or None."""
    stem, modifiers, operands = instruction.stem, instruction.modifiers, instruction.operands
    if stem in _MASK:
        return Meeting(instruction, 32, reader(operands[_MASK[stem]], U32))
    if stem in _WHOLE:
        return Meeting(instruction, _WHOLE[stem])
    if stem not in ("bar", "barrier") or "arrive" in modifiers:
        return None
    if "warp" in modifiers:
        return Meeting(instruction, 32, reader(operands[0], U32))
    aligned = stem == "bar" or "aligned" in modifiers
    if "cluster" in modifiers:
        return Meeting(instruction, 0, barrier=Barrier(lambda machine: np.full(1, 16, np.uint32), None, aligned))
    first = 1 if "red" in modifiers else 0
    numbers = [o for o in operands[first : len(operands) - first] if isinstance(o, Register | Constant)]
    count = reader(numbers[1], U32) if len(numbers) > 1 else None
    return Meeting(instruction, 0, barrier=Barrier(reader(numbers[0], U32), count, aligned))
