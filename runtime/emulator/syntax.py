"""The syntax of a PTX module as values: what parser.py makes and link.py resolves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Word:
    """A register, special register, symbol, label or literal; link.py decides which."""

    text: str


@dataclass(frozen=True, slots=True)
class Address:
    """`[base+offset]`, or of a box in a tensor `[map, {x, y}]`"""

    base: str
    offset: int
    coordinates: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """`{a, b}`, `(a, b)` or `a|b`: several operands in the place of one."""

    items: tuple[Word, ...]


Operand: TypeAlias = Word | Address | Group


@dataclass(frozen=True, slots=True)
class Variable:
    """Named memory of `size` bytes; `data` when it has an initial value."""

    name: str
    space: str
    align: int
    size: int
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Registers:
    """`.reg .b32 %r<4>;` as names and a type."""

    names: tuple[str, ...]
    type: str


@dataclass(frozen=True, slots=True)
class Label:
    """`$L__BB0_2:`"""

    name: str


@dataclass(frozen=True, slots=True)
class Raw:
    """One instruction, operands still as text."""

    opcode: str
    operands: tuple[Operand, ...]
    guard: str | None
    negated: bool
    line: int
    text: str
    source: tuple[int, int] | None = None
    """What `.loc` says: the number of a file, and a line of it."""


@dataclass(frozen=True, slots=True)
class Scope:
    """`{ … }`: names declared inside end with it."""

    body: tuple[Statement, ...]


Statement: TypeAlias = Variable | Registers | Label | Raw | Scope


@dataclass(frozen=True, slots=True)
class Function:
    """A `.entry` or a `.func`."""

    name: str
    returns: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    body: tuple[Statement, ...]
    is_entry: bool


@dataclass(slots=True)
class Module:
    """Module-level variables, the functions by name, and what `.file` says: paths by number."""

    variables: list[Variable] = field(default_factory=list[Variable])
    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    files: dict[int, str] = field(default_factory=dict[int, str])
