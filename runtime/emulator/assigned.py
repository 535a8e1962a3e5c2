"""Registers that are used before anything was written to them.

Enters: a linked program and where its basic blocks begin. Leaves: the registers for which a path leads to a use with no
write on it (`unsure`), and steps that watch them (`watched`). In most kernels there are none, and nothing is watched.

A register that was not written may still be copied and computed with, as compilers do where the value does not matter
in the end; what comes of it counts as unwritten. It is refused where it would matter: in an address, a predicate, a
store, or an exchange with other threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from pelton.runtime.emulator.errors import Uninitialised
from pelton.runtime.emulator.machine import Machine
from pelton.runtime.emulator.memory import check
from pelton.runtime.emulator.program import Instruction, Memory, Program, Register, Several, Target
from pelton.runtime.emulator.program import Operand as Linked
from pelton.runtime.emulator.values import Array

Step: TypeAlias = Callable[[Machine, Array], None]
_NO_RESULT = {"bra", "ret", "exit", "bar", "barrier", "nanosleep", "cp", "fence", "membar", "prefetch", "setmaxnreg"}
_EXCHANGES = {"st", "red", "atom", "bra", "bar", "barrier", "shfl", "vote", "match", "redux"}
_LEAVES = ("bra", "ret", "exit")


def _registers(operands: Sequence[Linked | None]) -> Iterator[Register]:
    """The registers in operands, in order; those of addresses are left out."""
    for operand in operands:
        if isinstance(operand, Register):
            yield operand
        elif isinstance(operand, Several):
            yield from _registers(operand.items)


def results(instruction: Instruction) -> list[int]:
    """The registers that an instruction writes."""
    waits = instruction.stem in ("bar", "barrier") and "red" in instruction.modifiers
    if instruction.stem in _NO_RESULT and not waits:
        return []
    return [r.index for r in _registers(instruction.operands[:1])]


def _values(instruction: Instruction) -> list[Register]:
    """The registers whose values an instruction computes with."""
    return list(_registers(instruction.operands[1:] if results(instruction) else instruction.operands))


def _places(instruction: Instruction) -> list[int]:
    """The registers of its addresses."""
    memories = [o for o in instruction.operands if isinstance(o, Memory)]
    bases = [base for o in memories for base in (o.base, *o.coordinates)]
    return [base.index for base in bases if isinstance(base, Register)]


def unsure(program: Program, starts: Sequence[int]) -> frozenset[int]:
    """Registers that may be used unwritten, and those that are computed from them."""
    found = _used_too_early(program.instructions, starts)
    size = -1
    while found and size != len(found):
        size = len(found)
        for instruction in program.instructions:
            if any(r.index in found for r in _values(instruction)):
                found |= set(results(instruction))
    return frozenset(found)


def _used_too_early(code: Sequence[Instruction], starts: Sequence[int]) -> set[int]:
    """Sets of registers are the bits of a number; before a block is known what all ways to it have written."""
    blocks = [code[first:last] for first, last in pairwise([*starts, len(code)])]
    number = {start: k for k, start in enumerate(starts)}
    before = [0, *[-1] * len(blocks)]
    work, found = [0], 0
    while work:
        k = work.pop()
        known = before[k]
        for instruction in blocks[k]:
            known |= _written(instruction)
        for after in _followers(blocks[k], k, number):
            if (joined := before[after] & known) != before[after]:
                before[after] = joined
                work += [after] if after < len(blocks) else []
    for known, block in zip(before, blocks, strict=False):
        for instruction in block:
            found |= _used(instruction) & ~known
            known |= _written(instruction)
    return {k for k in range(found.bit_length()) if found >> k & 1}


def _written(instruction: Instruction) -> int:
    """What it writes in every thread."""
    return sum(1 << r for r in set(results(instruction))) if instruction.guard is None else 0


def _used(instruction: Instruction) -> int:
    guard = [instruction.guard.index] if instruction.guard is not None else []
    return sum(1 << r for r in {*(r.index for r in _values(instruction)), *_places(instruction), *guard})


def _followers(block: Sequence[Instruction], number: int, numbers: dict[int, int]) -> list[int]:
    """The blocks that may come next."""
    last = block[-1] if block else None
    if last is None or last.stem not in _LEAVES:
        return [number + 1]
    there = [numbers[o.index] for o in last.operands if isinstance(o, Target)]
    return there if last.guard is None else [*there, number + 1]


# ---- at run time
def _state(machine: Machine, register: int) -> Array:
    """Which threads have written it."""
    return machine.assigned.setdefault(register, np.zeros(machine.size, np.bool_))


def _require(machine: Machine, registers: Sequence[int], mask: Array) -> None:
    names = machine.launch.program.names
    for register in registers:
        good = _state(machine, register) | ~mask
        check(Uninitialised, good, np.arange(machine.size), lambda _, r=register: f"nothing was written to {names[r]}")


def watched(instruction: Instruction, inner: Step, registers: frozenset[int]) -> Step:
    """The step, and what it means for the registers that are watched."""
    values = [r.index for r in _values(instruction) if r.index in registers]
    needed = [r for r in _places(instruction) if r in registers]
    made = [r for r in results(instruction) if r in registers]
    guard = instruction.guard
    guards = [guard.index] if guard is not None and guard.index in registers else []
    if instruction.stem in _EXCHANGES:
        needed, values = needed + values, []
    if not (values or needed or made or guards):
        return inner

    def act(machine: Machine, mask: Array) -> None:
        if not machine.launch.checks.uninitialized:
            return inner(machine, mask)
        _require(machine, guards, mask)
        active = mask if guard is None else mask & (machine.registers[guard.index] != instruction.negated)
        _require(machine, needed, active)
        good = _good(machine, instruction, values)
        inner(machine, mask)
        for register in made:
            _state(machine, register)[active] = good[active]

    return act


def _good(machine: Machine, instruction: Instruction, values: Sequence[int]) -> Array:
    """Which threads' results come of written registers alone. Of two that are selected from, one matters."""
    good = np.ones(machine.size, np.bool_)
    if instruction.stem == "selp":
        *sides, predicate = instruction.operands[1:]
        states = [_state(machine, o.index) if isinstance(o, Register) and o.index in values else good for o in sides]
        if isinstance(predicate, Register):
            good = np.where(machine.registers[predicate.index] != predicate.negated, *states)
            values = [predicate.index] if predicate.index in values else []
    for register in values:
        good = good & _state(machine, register)
    return good
