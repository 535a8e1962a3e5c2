"""Syntax → Program: registers numbered, symbols given addresses, calls inlined, labels turned into instruction
numbers.

Enters: a parsed `Module` and the name of an entry. Leaves: a `Program`, a flat list of instructions over numbered
registers, which blocks.py cuts into basic blocks. A called function is copied to each call; its parameters are local
memory there, which is what `.param` variables of a call are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from pelton.runtime.emulator import parser, special, syntax
from pelton.runtime.emulator.errors import PtxSyntaxError, UnsupportedInstruction
from pelton.runtime.emulator.memory import CONSTANTS, Layout
from pelton.runtime.emulator.syntax import Address, Function, Label, Raw, Registers, Scope, Statement, Variable, Word
from pelton.runtime.emulator.values import TYPES

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


def load(ptx: str, entry: str, variables: int = CONSTANTS) -> Program:
    """The named entry of a PTX text, whose global variables are to begin at the address `variables`."""
    module = parser.parse(ptx)
    known = _entries(module)
    if entry not in known:
        raise PtxSyntaxError(f"no entry {entry!r} in the PTX text; it has: {', '.join(known) or 'none'}")
    program = _Linker(module, 0, variables).program(module.functions[entry])
    if any(_is_dynamic(v) for v in module.variables):  # it begins where the static shared variables end
        program = _Linker(module, program.shared.size, variables).program(module.functions[entry])
    return program


def entries(ptx: str) -> list[str]:
    """The names of a text's entries."""
    return _entries(parser.parse(ptx))


def _entries(module: syntax.Module) -> list[str]:
    return [name for name, function in module.functions.items() if function.is_entry]


def _is_dynamic(variable: Variable) -> bool:
    return variable.space == "shared" and not variable.size


class _Linker:
    def __init__(self, module: syntax.Module, dynamic: int, variables: int) -> None:
        self.module = module
        self.dynamic = dynamic
        self.registers: list[Register] = []
        self.names: list[str] = []
        self.shared, self.local, self.constants, self.parameters = Layout(), Layout(), Layout(variables), Layout()
        self.code: list[tuple[Raw, tuple[Operand | str, ...], Register | None]] = []
        """Where an operand is text it is a label's full name: known only when everything is read."""
        self.labels: dict[str, int] = {}
        self.scopes: list[dict[str, Register | Memory]] = [{}]
        self.copies = 0
        self.depth = 0

    def program(self, entry: Function) -> Program:
        self.register("%cc", "pred")
        for variable in self.module.variables:
            if _is_dynamic(variable):
                self.scopes[0][variable.name] = Memory(Constant(str(self.dynamic)), 0, "shared")
            else:
                self.variable(variable)
        for variable in entry.parameters:
            at = self.parameters.add(variable.name, variable.align, variable.size)
            self.scopes[-1][variable.name] = Memory(Constant(str(at)), 0, "param")
        self.scope(entry.body, "")
        self.shared.align(max([16, *(v.align for v in self.module.variables if _is_dynamic(v))]))
        offsets = tuple((v, self.parameters.offsets[v.name]) for v in entry.parameters)
        code = tuple(self.instruction(*parts) for parts in self.code)
        layouts = (self.shared, self.local, self.constants)
        return Program(entry.name, offsets, tuple(self.registers), code, *layouts, tuple(self.names))

    # ---- names
    def register(self, name: str, type: str) -> None:
        found = Register(len(self.registers), TYPES[type].size, type == "pred")
        self.registers.append(found)
        self.names.append(name)
        self.scopes[-1][name] = found

    def variable(self, variable: Variable) -> None:
        space = {"const": "global", "param": "local"}.get(variable.space, variable.space)
        layout = {"global": self.constants, "shared": self.shared, "local": self.local}[space]
        at = layout.add(f"{variable.name}.{len(layout.offsets)}", variable.align, variable.size, variable.data)
        self.scopes[-1][variable.name] = Memory(Constant(str(at)), 0, space)

    def find(self, name: str) -> Register | Memory | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    # ---- statements
    def scope(self, body: tuple[Statement, ...], copy: str) -> None:
        self.scopes.append({})
        for statement in body:
            match statement:
                case Scope(inner):
                    self.scope(inner, copy)
                case Registers(names, type):
                    for name in names:
                        self.register(name, type)
                case Variable():
                    self.variable(statement)
                case Label(name):
                    self.labels[copy + name] = len(self.code)
                case Raw() if statement.opcode.startswith("call"):
                    self.call(statement)
                case Raw() if statement.opcode == "ret" and copy:
                    self.emit(
                        Raw("bra", (), statement.guard, statement.negated, statement.line, "ret;", statement.source),
                        (copy,),
                    )
                case Raw() if statement.opcode.split(".")[0] == "bra":
                    self.emit(statement, tuple(copy + o.text for o in statement.operands if isinstance(o, Word)))
                case Raw():
                    self.emit(statement, tuple(self.operand(o) for o in statement.operands))
        self.scopes.pop()

    def emit(self, raw: Raw, operands: tuple[Operand | str, ...]) -> None:
        guard = self.find(raw.guard) if raw.guard else None
        self.code.append((raw, operands, guard if isinstance(guard, Register) else None))

    def call(self, raw: Raw) -> None:
        """Copies the called function here: its parameter names stand for the caller's variables."""
        groups = [o for o in raw.operands if isinstance(o, syntax.Group)]
        name = next((o.text for o in raw.operands if isinstance(o, Word)), "")
        callee = self.module.functions.get(name)
        if callee is None or self.depth > 8 or raw.guard:
            raise UnsupportedInstruction(
                f"`{raw.text}` (PTX line {raw.line}): only a direct call of a function in the text is emulated"
            )
        formal = (*callee.returns, *callee.parameters)
        actual = [self.find(item.text) for group in groups for item in group.items]
        self.copies, self.depth = self.copies + 1, self.depth + 1
        copy = f"{name}#{self.copies}#"
        bound = {f.name: a for f, a in zip(formal, actual, strict=True) if a is not None}
        outer, self.scopes = self.scopes, [self.scopes[0], bound]
        self.scope(callee.body, copy)
        self.scopes = outer
        self.labels[copy] = len(self.code)
        self.depth -= 1

    # ---- operands
    def operand(self, operand: syntax.Operand) -> Operand:
        match operand:
            case Address(base, offset, coordinates):
                found, where = self.find(base), tuple(self.scalar(c) for c in coordinates)
                if isinstance(found, Memory):
                    return Memory(found.base, offset, found.space, where)
                return Memory(found or Constant(base), offset, None, where)
            case syntax.Group(items):
                return Several(tuple(None if i.text == "_" else self.scalar(i) for i in items))
            case Word("_"):
                return Several((None,))
            case Word():
                return self.scalar(operand)

    def scalar(self, word: Word) -> Register | Special | Constant:
        match self.find(word.text):
            case Register() as register:
                return register
            case Memory(Constant() as address):
                return address
            case None if word.text[0] == "!" and isinstance(inner := self.find(word.text[1:]), Register):
                return replace(inner, negated=True)
            case _ if word.text in special.NAMES:
                return Special(word.text)
            case _ if word.text.lstrip("-")[:1].isdigit():
                return Constant(word.text)
            case _:
                return Constant("@" + word.text)

    def instruction(self, raw: Raw, operands: tuple[Operand | str, ...], guard: Register | None) -> Instruction:
        stem, *modifiers = raw.opcode.split(".")
        resolved: list[Operand] = []
        for operand in operands:
            if isinstance(operand, str) and operand not in self.labels:
                raise PtxSyntaxError(f"`{raw.text}` (PTX line {raw.line}): no label {operand}")
            resolved.append(Target(self.labels[operand]) if isinstance(operand, str) else operand)
            if isinstance(operand, Constant) and operand.text.startswith("@"):
                raise PtxSyntaxError(f"`{raw.text}` (PTX line {raw.line}): unknown name {operand.text[1:]}")
        file, number = raw.source or (0, 0)
        source = (self.module.files[file], number) if file in self.module.files else None
        return Instruction(stem, tuple(modifiers), tuple(resolved), guard, raw.negated, raw.line, raw.text, source)
