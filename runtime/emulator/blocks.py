"""Program → basic blocks of steps. A step is a closure over its operands that acts on all threads under a mask.

Enters: a linked `Program`. Leaves: `Code`, which machine.py schedules: a block runs from its first instruction to a
branch, a label or an operation at which threads meet (a barrier, a shuffle), which stands alone in its block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pelton.runtime.emulator import access, assigned, async_steps, atomics, matrices, warp, warpgroups
from pelton.runtime.emulator.assigned import watched
from pelton.runtime.emulator.errors import UnsupportedInstruction
from pelton.runtime.emulator.machine import Machine
from pelton.runtime.emulator.meeting import Meeting, meeting
from pelton.runtime.emulator.modifiers import unknown
from pelton.runtime.emulator.program import CARRY, Constant, Instruction, Program, Register, Several, Special, Target
from pelton.runtime.emulator.program import Operand as Linked
from pelton.runtime.emulator.rule import Rule
from pelton.runtime.emulator.rules import rule
from pelton.runtime.emulator.special import CLOCKS, clock
from pelton.runtime.emulator.step import MakeStep, Mask, Reader, Step, Writer
from pelton.runtime.emulator.values import TYPES, Array, Type, as_bits, as_type, immediate

EXIT = 1 << 30
"""The block number of a thread that has returned."""
_LEAVES = ("bra", "ret", "exit")
_IGNORED = {"membar", "griddepcontrol", "prefetch", "prefetchu", "applypriority", "discard", "createpolicy"}


@dataclass(frozen=True, slots=True)
class Block:
    """`meeting`: the one instruction at which threads wait for each other, else None."""

    steps: tuple[tuple[Instruction, Step], ...]
    leave: Callable[[Machine, Mask], None]
    meeting: Meeting | None


@dataclass(frozen=True, slots=True)
class Code:
    """Blocks in the order of the text; execution starts at 0."""

    program: Program
    blocks: tuple[Block, ...]


def decode(program: Program) -> Code:
    """The blocks of a program."""
    code, starts = program.instructions, block_starts(program)
    numbers = {start: k for k, start in enumerate(starts)}
    unsure = assigned.unsure(program, starts)
    blocks = [_block(code[a:b], k, numbers, unsure) for k, (a, b) in enumerate(pairwise(starts))]
    end = Block((), _go(EXIT), None)
    return Code(program, (*blocks, end))


def block_starts(program: Program) -> list[int]:
    """The numbers of the instructions with which blocks begin, and the end."""
    code = program.instructions
    first = {0, len(code)} | {o.index for i in code for o in i.operands if isinstance(o, Target)}
    for number, instruction in enumerate(code):
        if instruction.stem in _LEAVES or may_sleep(instruction):  # a sleeping thread goes on in the next block
            first.add(number + 1)
        if meeting(instruction, reader):
            first |= {number, number + 1}
    return sorted(n for n in first if n <= len(code))


def _block(code: tuple[Instruction, ...], number: int, numbers: dict[int, int], unsure: frozenset[int]) -> Block:
    meets = meeting(code[0], reader) if code else None
    steps: list[tuple[Instruction, Step]] = []
    leave = _go(number + 1)
    for instruction in code:
        if instruction.stem == "bra":
            target = instruction.operands[0]
            assert isinstance(target, Target)
            leave = _branch(instruction, numbers[target.index], number + 1)
        elif instruction.stem in ("ret", "exit"):
            leave = _branch(instruction, EXIT, number + 1)
        elif instruction.stem not in _IGNORED:
            steps.append((instruction, watched(instruction, _guarded(instruction, step(instruction)), unsure)))
        if instruction.guard is not None and instruction.guard.index in unsure and instruction.stem in _LEAVES:
            steps.append((instruction, watched(instruction, _nothing, unsure)))
    return Block(tuple(steps), leave, meets)


def _nothing(machine: Machine, mask: Mask) -> None:
    """The step of a branch: where threads go is decided when the block ends."""


def _go(target: int) -> Callable[[Machine, Mask], None]:
    def leave(machine: Machine, mask: Mask) -> None:
        machine.block[mask] = target

    return leave


def _branch(instruction: Instruction, taken: int, other: int) -> Callable[[Machine, Mask], None]:
    guard, negated = instruction.guard, instruction.negated
    if guard is None:
        return _go(taken)

    def leave(machine: Machine, mask: Mask) -> None:
        choose = machine.registers[guard.index] != negated
        machine.block[mask & choose] = taken
        machine.block[mask & ~choose] = other

    return leave


def _guarded(instruction: Instruction, inner: Step) -> Step:
    guard, negated = instruction.guard, instruction.negated
    if guard is None:
        return inner

    def act(machine: Machine, mask: Mask) -> None:
        inner(machine, mask & (machine.registers[guard.index] != negated))

    return act


# ---- operands
def reader(operand: Linked | None, type: Type) -> Reader:
    """A function that gives the operand's value: one per thread, or one for all."""
    match operand:
        case Register(index, negated=True):
            return lambda machine: ~machine.registers[index]
        case Register(index):
            return lambda machine: as_type(machine.registers[index], type)
        case Special(name) if name in CLOCKS:
            return lambda machine: as_type(clock(name, machine.time), type)
        case Special(name):
            return lambda machine: as_type(machine.special[name], type)
        case Constant(text):
            value = immediate(text, type)
            return lambda machine: value
        case _:
            raise UnsupportedInstruction(f"operand {operand} as {type.name}")


def writer(operand: Linked | None) -> Writer:
    """A function that stores a value into a register; None and `_` drop it."""
    if operand is None:
        return lambda machine, value, mask: None
    if not isinstance(operand, Register):
        raise UnsupportedInstruction(f"result operand {operand}")
    index, size = operand.index, operand.size

    def write(machine: Machine, value: Array, mask: Mask) -> None:
        bits, register = as_bits(value, size), machine.registers[index]
        register[mask] = bits[mask] if bits.shape == register.shape else bits[0]

    return write


# ---- steps
_STEPS: dict[str, MakeStep] = {
    **access.STEPS,
    **async_steps.STEPS,
    **atomics.STEPS,
    **warp.STEPS,
    **matrices.STEPS,
    **warpgroups.STEPS,
}


def may_sleep(instruction: Instruction) -> bool:
    """Whether a thread may sleep behind this instruction: nothing else may follow it in its block."""
    return instruction.stem == "nanosleep" or bool({"try_wait", "test_wait"} & set(instruction.modifiers))


def step(instruction: Instruction) -> Step:
    """What one instruction does."""
    try:
        if word := unknown(instruction.stem, instruction.modifiers):
            raise UnsupportedInstruction(f".{word} is not understood here")
        if make := _STEPS.get(instruction.stem):
            return make(instruction, reader, writer)
        if instruction.stem == "mov" and any(isinstance(o, Several) for o in instruction.operands):
            return _pack_or_unpack(instruction)
        return _compute(instruction, rule(instruction.stem, instruction.modifiers))
    except UnsupportedInstruction as error:
        raise UnsupportedInstruction(f"{instruction.where()}: {error.message}") from None
    except (
        ValueError,
        LookupError,
        TypeError,
        ArithmeticError,
        AssertionError,
        StopIteration,
    ) as error:  # operands that no form has
        raise UnsupportedInstruction(f"{instruction.where()}: not understood: {error}") from error


def _compute(instruction: Instruction, rule: Rule) -> Step:
    first, *rest = instruction.operands
    results: list[Linked | None] = [*first.items] if isinstance(first, Several) else [first]
    carry = Register(CARRY, 1, True)
    if rule.carry_out:
        results.append(carry)
    operands: list[Linked] = [*rest, carry] if rule.carry_in else rest
    if len(operands) != len(rule.operands) or len(results) > len(rule.results):
        raise UnsupportedInstruction(f"{len(operands)} operands, the rule takes {len(rule.operands)}")
    reads = [reader(o, t) for o, t in zip(operands, rule.operands, strict=True)]
    writes = [writer(o) for o in results]
    compute: Callable[..., Array | tuple[Array, ...]] = rule.compute

    def act(machine: Machine, mask: Mask) -> None:
        value = compute(*(read(machine) for read in reads))
        for write, one in zip(writes, value if isinstance(value, tuple) else (value,), strict=False):
            write(machine, one, mask)

    return act


def _pack_or_unpack(instruction: Instruction) -> Step:
    """`mov.b64 {lo, hi}, x` and `mov.b64 x, {lo, hi}`."""
    whole = TYPES[instruction.modifiers[-1]]
    target, source = instruction.operands
    group = target if isinstance(target, Several) else source
    assert isinstance(group, Several)
    part = TYPES[f"b{8 * whole.size // len(group.items)}"]
    if isinstance(target, Several):
        read, writes = reader(source, whole), [writer(o) for o in group.items]

        def unpack(machine: Machine, mask: Mask) -> None:
            bits = read(machine)
            for k, write in enumerate(writes):
                write(machine, (bits >> whole.dtype.type(8 * part.size * k)).astype(part.dtype), mask)

        return unpack
    reads, write = [reader(o, part) for o in group.items], writer(target)

    def pack(machine: Machine, mask: Mask) -> None:
        bits = np.zeros(1, whole.dtype)
        for k, read in enumerate(reads):
            bits = bits | read(machine).astype(whole.dtype) << whole.dtype.type(8 * part.size * k)
        write(machine, bits, mask)

    return pack
