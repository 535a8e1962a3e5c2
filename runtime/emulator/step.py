"""What steps are: the types that the files of instructions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from pelton.runtime.emulator.errors import UnsupportedInstruction
from pelton.runtime.emulator.machine import Machine
from pelton.runtime.emulator.program import Constant, Instruction, Memory, Several
from pelton.runtime.emulator.values import TYPES, Array, Type

Mask: TypeAlias = Array
Step: TypeAlias = Callable[[Machine, Mask], None]
Reader: TypeAlias = Callable[[Machine], Array]
Writer: TypeAlias = Callable[[Machine, Array, Mask], None]
MakeReader: TypeAlias = Callable[[Any, Type], Reader]
MakeWriter: TypeAlias = Callable[[Any], Writer]
MakeStep: TypeAlias = Callable[[Instruction, MakeReader, MakeWriter], Step]
_SPACES = ("global", "shared", "local", "param", "const")
_STRONG = {"volatile", "relaxed", "acquire", "release", "mmio"}


def items(operand: Any) -> tuple[Any, ...]:
    """The parts of a vector operand, or the one operand."""
    return operand.items if isinstance(operand, Several) else (operand,)


def space_of(instruction: Instruction, memory: Memory) -> str:
    """The space an access names, else generic."""
    named = next((m.split("_")[0] for m in instruction.modifiers if m.split("_")[0] in _SPACES), "generic")
    return {"const": "global"}.get(memory.space or named, memory.space or named)


def address_of(memory: Memory, reader: MakeReader) -> Reader:
    """Addresses as int64, one per thread."""
    offset, base = np.int64(memory.offset), memory.base
    if isinstance(base, Constant):
        fixed = np.array([int(base.text)], np.int64) + offset
        return lambda machine: fixed
    read = reader(base, TYPES["u64"] if base.size == 8 else TYPES["u32"])
    return lambda machine: read(machine).astype(np.int64) + offset


def memory_of(instruction: Instruction, position: int) -> Memory:
    """The operand that is an address."""
    operand = instruction.operands[position]
    if not isinstance(operand, Memory):
        raise UnsupportedInstruction(f"operand {position} is no address")
    return operand


def is_strong(instruction: Instruction) -> bool:
    """Whether an access is one that other threads may make at the same time."""
    return bool(_STRONG & set(instruction.modifiers))
