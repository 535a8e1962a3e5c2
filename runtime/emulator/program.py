"""A program as values: registers with numbers, operands, instructions. What link.py makes of syntax and blocks.py cuts
into basic blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pelton.runtime.emulator.memory import Layout
from pelton.runtime.emulator.syntax import Variable

CARRY = 0
"""The number of the condition code, a predicate register: what `add.cc` writes and `addc` reads."""


@dataclass(frozen=True, slots=True)
class Register:
    """A numbered register of `size` bytes; predicates have `predicate` set, `!%p` as an operand `negated`."""

    index: int
    size: int
    predicate: bool = False
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Special:
    """`%tid.x` and the like."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal, or the address of a symbol."""

    text: str


@dataclass(frozen=True, slots=True)
class Memory:
    """`[base + offset]`; `space` when the symbol decides it rather than the opcode. `coordinates`: of a box in the
    tensor whose map is there."""

    base: Register | Constant
    offset: int
    space: str | None = None
    coordinates: tuple[Register | Special | Constant, ...] = ()


@dataclass(frozen=True, slots=True)
class Several:
    """A vector operand."""

    items: tuple[Register | Special | Constant | None, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """The instruction a branch goes to."""

    index: int


Operand: TypeAlias = Register | Special | Constant | Memory | Several | Target


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. `stem` is the opcode up to the first dot, `modifiers` the rest."""

    stem: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | None
    negated: bool
    line: int
    text: str
    source: tuple[str, int] | None = None
    """Path and line of the text it was made from, where the PTX says so."""

    def where(self) -> str:
        """`ld.global.f32 %f1, [%rd4]; (line 57)`"""
        return f"`{self.text}` (PTX line {self.line})"


@dataclass(frozen=True, slots=True)
class Program:
    """An entry ready to run."""

    name: str
    parameters: tuple[tuple[Variable, int], ...]
    """Each with its offset in the parameter block."""
    registers: tuple[Register, ...]
    instructions: tuple[Instruction, ...]
    shared: Layout
    local: Layout
    constants: Layout
    names: tuple[str, ...] = ()
    """Of the registers."""
