"""Syntax → Program: registers numbered, symbols given addresses, calls inlined, labels turned into instruction
numbers.

Enters: a parsed `Module` and the name of an entry. Leaves: a `Program`, a flat list of instructions over numbered
registers, which blocks.py cuts into basic blocks. A called function is copied to each call; its parameters are local
memory there, which is what `.param` variables of a call are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from pelton.runtime.emulator import parser, special, syntax
from pelton.runtime.emulator.errors import PtxSyntaxError, UnsupportedInstruction
from pelton.runtime.emulator.memory import CONSTANTS, Layout
from pelton.runtime.emulator.program import (
    Constant,
    Instruction,
    Memory,
    Operand,
    Program,
    Register,
    Several,
    Special,
    Target,
)
from pelton.runtime.emulator.syntax import Address, Function, Label, Raw, Registers, Scope, Statement, Variable, Word
from pelton.runtime.emulator.values import TYPES

Names: TypeAlias = tuple[str, ...]
"""What a label may be called in full, by the scopes around its use: the innermost first."""


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
        self.code: list[tuple[Raw, tuple[Operand | Names, ...], Register | None]] = []
        """Where an operand is names it is a label's, known only when everything is read."""
        self.labels: dict[str, int] = {}
        self.paths: list[str] = []
        """The scopes we are in, as what precedes the names of their labels."""
        self.nested = 0
        self.tables: dict[str, tuple[Names, ...]] = {}
        """Labels that `brx.idx` chooses from."""
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
        self.paths.append(f"{copy}{self.nested or ''}/" if self.paths else copy)
        self.nested += 1
        label = ""
        for statement in body:
            match statement:
                case Scope(inner):
                    self.scope(inner, copy)
                case Registers(names, type):
                    for name in names:
                        self.register(name, type)
                case Variable():
                    self.variable(statement)
                case Label(label):
                    self.labels[self.paths[-1] + label] = len(self.code)
                case Raw(".branchtargets", operands):
                    self.tables[self.paths[-1] + label] = self.targets(operands)
                case Raw():
                    self.raw(statement, copy)
        self.paths.pop()
        self.scopes.pop()

    def targets(self, operands: tuple[syntax.Operand, ...]) -> tuple[Names, ...]:
        """What labels may be called in full."""
        return tuple(tuple(path + o.text for path in reversed(self.paths)) for o in operands if isinstance(o, Word))

    def raw(self, raw: Raw, copy: str) -> None:
        match raw.opcode.split(".")[0]:
            case "call":
                self.call(raw)
            case "ret" if copy:
                self.emit(Raw("bra", (), raw.guard, raw.negated, raw.line, "ret;", raw.source), ((copy,),))
            case "bra":
                self.emit(raw, self.targets(raw.operands))
            case "brx":
                self.choose(raw)
            case _:
                self.emit(raw, tuple(self.operand(o) for o in raw.operands))

    def choose(self, raw: Raw) -> None:
        """`brx.idx`: a comparison and a branch for each label of its table."""
        index, table = raw.operands
        found = next((self.tables[n] for n in self.targets((table,))[0] if n in self.tables), None)
        if found is None or raw.guard:
            raise UnsupportedInstruction(
                f"`{raw.text}` (PTX line {raw.line}): no table of labels before it, or a guard"
            )
        self.register("%brx", "pred")
        holds = self.operand(Word("%brx"))
        for k, names in enumerate(found):
            compare = replace(raw, opcode="setp.eq.u32")
            self.emit(compare, (holds, self.operand(index), Constant(str(k))))
            self.emit(replace(raw, opcode="bra", guard="%brx"), (names,))

    def emit(self, raw: Raw, operands: tuple[Operand | Names, ...]) -> None:
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
        outer, self.scopes = (self.scopes, self.paths), [self.scopes[0], bound]
        self.paths = []
        self.scope(callee.body, copy)
        self.scopes, self.paths = outer
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

    def instruction(self, raw: Raw, operands: tuple[Operand | Names, ...], guard: Register | None) -> Instruction:
        stem, *modifiers = raw.opcode.split(".")
        resolved: list[Operand] = []
        for operand in operands:
            if isinstance(operand, tuple):
                found = next((self.labels[name] for name in operand if name in self.labels), None)
                if found is None:
                    raise PtxSyntaxError(f"`{raw.text}` (PTX line {raw.line}): no label {operand[-1]}")
                operand = Target(found)
            resolved.append(operand)
            if isinstance(operand, Constant) and operand.text.startswith("@"):
                raise PtxSyntaxError(f"`{raw.text}` (PTX line {raw.line}): unknown name {operand.text[1:]}")
        file, number = raw.source or (0, 0)
        source = (self.module.files[file], number) if file in self.module.files else None
        return Instruction(stem, tuple(modifiers), tuple(resolved), guard, raw.negated, raw.line, raw.text, source)
