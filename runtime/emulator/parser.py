"""PTX text → syntax: variables, functions, statements. Nothing is resolved yet; that is link.py's work.

Enters: the text of one PTX module, as Numba emits it. Leaves: a `Module` whose functions hold statements in order,
each with the line it stands on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pelton.runtime.emulator.errors import PtxSyntaxError
from pelton.runtime.emulator.syntax import (
    Address,
    Function,
    Group,
    Label,
    Module,
    Operand,
    Raw,
    Registers,
    Scope,
    Statement,
    Variable,
    Word,
)
from pelton.runtime.emulator.values import TYPES, immediate

_TOKEN = re.compile(
    r'(?P<space>\s+)|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>"[^"]*")'
    r"|(?P<word>[%$.\w](?:[\w$.%]|::)*)|(?P<mark>[-+@!,;{}\[\]<>()=|:])",
    re.DOTALL,
)
_MOST_REGISTERS = 1 << 18
_LINKAGE = {".visible", ".extern", ".weak", ".common"}
_SPACES = {".global", ".const", ".shared", ".local", ".param"}
_DROPPED = {".file", ".pragma", ".section"}


def parse(text: str) -> Module:
    """The syntax of a PTX module; PtxSyntaxError says where it ends to be understood."""
    parser = _Parser(text)
    try:
        return parser.module()
    except (ValueError, LookupError, ArithmeticError, RecursionError) as error:  # what a damaged text leads to
        raise parser.stuck(f"not understood: {error}") from error


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise PtxSyntaxError(f"line {line}: unexpected {text[at]!r}")
        if match.lastgroup not in ("space", "comment"):
            yield match.group(), line
        line += match.group().count("\n")
        at = match.end()


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = list(_tokens(text))
        self.at = 0
        self.source: tuple[int, int] | None = None
        """Where the instructions come from that are read now."""
        self.files = 0
        self.registers_left = _MOST_REGISTERS

    def stuck(self, why: str) -> PtxSyntaxError:
        """The error for the token that is read next, or was last."""
        line = self.tokens[min(self.at, len(self.tokens) - 1)][1] if self.tokens else 1
        return PtxSyntaxError(f"line {line}: {why}")

    def peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        token = self.peek()
        if not token or (expected and token != expected):
            raise self.stuck(f"expected {expected or 'more text'}, got {token or 'the end'}")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() != token:
            return False
        self.at += 1
        return True

    # ---- top level
    def module(self) -> Module:
        module = Module()
        while word := self.peek():
            if word == ".version":  # another text begins, which numbers its files anew
                self.files = max(module.files, default=0)
            if word in (".version", ".target", ".address_size"):
                self.skip_line()
            elif word in _LINKAGE:
                self.take()
            elif word in (".entry", ".func"):
                self.function(module)
            elif word == ".file":
                self.file(module)
            elif word in _DROPPED:
                self.skip_line()
            else:
                module.variables += self.variables()
        return module

    def skip_line(self) -> None:
        line = self.tokens[self.at][1]
        while self.at < len(self.tokens) and self.tokens[self.at][1] == line:
            self.at += 1

    def file(self, module: Module) -> None:
        """`.file 1 "/folder/name.py"`; a time and a size may follow."""
        self.take()
        number, name = int(self.take()), self.take()
        module.files[self.files + number] = name.strip('"')
        while self.accept(","):
            self.take()

    def location(self) -> None:
        """`.loc 1 12 0`; where the code was inlined from may follow."""
        line = self.tokens[self.at][1]
        self.take()
        file, number = int(self.take()), int(self.take())
        self.source = (self.files + file, number) if number else None
        while self.at < len(self.tokens) and self.tokens[self.at][1] == line:
            self.at += 1

    def function(self, module: Module) -> None:
        is_entry = self.take() == ".entry"
        self.source = None
        returns = self.parameters() if self.peek() == "(" else ()
        name = self.take()
        parameters = self.parameters() if self.peek() == "(" else ()
        while self.peek() not in ("{", ";"):
            self.take()
        if not self.accept(";"):
            module.functions[name] = Function(name, returns, parameters, self.scope().body, is_entry)

    def parameters(self) -> tuple[Variable, ...]:
        found: list[Variable] = []
        self.take("(")
        while not self.accept(")"):
            found.append(self.variable())
            self.accept(",")
        return tuple(found)

    # ---- declarations
    def variables(self) -> list[Variable]:
        found = [self.variable()]
        self.take(";")
        return found

    def variable(self) -> Variable:
        """`.global .align 4 .b8 table[24] = {…}` without its semicolon; only one name to a declaration, as NVVM
        writes it."""
        space, align, type = self.take().lstrip("."), 0, ""
        while self.peek().startswith("."):
            word = self.take()
            if word == ".align":
                if (align := int(self.take())) < 1 or align & (align - 1):
                    raise self.stuck(f"an alignment is a power of two, got {align}")
            elif word[1:] in TYPES:
                type = word[1:]
        if space not in {s[1:] for s in _SPACES} or not type:
            line = self.tokens[self.at - 1][1]
            raise PtxSyntaxError(f"line {line}: not a variable: .{space} .{type}")
        name, element, count = self.take(), TYPES[type], 1
        while self.accept("["):
            count *= 0 if self.peek() == "]" else int(self.take(), 0)
            self.take("]")
        data = self.initial(type).ljust(count * element.size, b"\0") if self.accept("=") else None
        return Variable(name, space, align or element.size, count * element.size, data)

    def initial(self, type: str) -> bytes:
        if not self.accept("{"):
            return immediate(self.number(), TYPES[type]).tobytes()
        data = b""
        while not self.accept("}"):
            data += immediate(self.number(), TYPES[type]).tobytes()
            self.accept(",")
        return data

    def number(self) -> str:
        return "-" + self.take() if self.accept("-") else self.take()

    def registers(self) -> Registers:
        self.take(".reg")
        type, names = self.take().lstrip("."), list[str]()
        if type not in TYPES:
            raise self.stuck(f"not a type of registers: .{type}")
        while not self.accept(";"):
            name = self.take()
            if self.accept("<"):
                count = int(self.take())
                self.registers_left -= count
                if self.registers_left < 0:
                    raise self.stuck(f"too many registers: at most {_MOST_REGISTERS} are emulated")
                names += [f"{name}{k}" for k in range(count)]
                self.take(">")
            else:
                names.append(name)
            self.accept(",")
        return Registers(tuple(names), type)

    # ---- statements
    def scope(self) -> Scope:
        self.take("{")
        body: list[Statement] = []
        while not self.accept("}"):
            word = self.peek()
            if word == "{":
                body.append(self.scope())
            elif word == ".reg":
                body.append(self.registers())
            elif word in _SPACES:
                body += self.variables()
            elif word == ".loc":
                self.location()
            elif word in _DROPPED:
                self.skip_line()
            elif self.at + 1 < len(self.tokens) and self.tokens[self.at + 1][0] == ":":
                body.append(Label(self.take()))
                self.take(":")
            elif not self.accept(";"):
                body.append(self.instruction())
        return Scope(tuple(body))

    def instruction(self) -> Raw:
        line, start = self.tokens[self.at][1], self.at
        guard, negated = None, False
        if self.accept("@"):
            negated = self.accept("!")
            guard = self.take()
        opcode, operands = self.take(), list[Operand]()
        while not self.accept(";"):
            operands.append(self.operand())
            self.accept(",")
        text = _spaced([t for t, _ in self.tokens[start : self.at]])
        return Raw(opcode.replace("::", "_"), tuple(operands), guard, negated, line, text, self.source)

    def operand(self) -> Operand:
        if self.accept("["):
            base, offset = self.take(), 0
            while (sign := self.peek()) in ("+", "-"):
                self.take()
                value = int(self.number(), 0)
                offset += value if sign == "+" else -value
            coordinates = self.operand() if self.accept(",") else Group(())
            self.take("]")
            return Address(base, offset, coordinates.items if isinstance(coordinates, Group) else ())
        if self.peek() in ("{", "("):
            close, items = {"{": "}", "(": ")"}[self.take()], list[Word]()
            while not self.accept(close):
                items.append(self.word())
                self.accept(",")
            return Group(tuple(items))
        first = self.word()
        return Group((first, self.word())) if self.accept("|") else first

    def word(self) -> Word:
        if self.accept("!"):
            return Word("!" + self.take())
        return Word(self.number())


def _spaced(tokens: list[str]) -> str:
    """An instruction as a person would write it."""
    text = ""
    for token in tokens:
        tight = not text or text[-1] in "[({@!+-|" or token in ",;])}+|"
        text += token if tight else f" {token}"
    return text
