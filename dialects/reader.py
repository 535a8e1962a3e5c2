"""Reading `.mlir` text: bytes enter, a module whose every op knows its line leaves, for `check.py` and the passes.

Whatever is wrong with the text becomes one `ReadError` that names file, line and column: xDSL's parser alone reports an
undefined value at the end of the file, knows no locations, and lets exceptions of attribute constructors through.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from difflib import get_close_matches
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import AttributeInvT, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.parser.core import UnresolvedOperand
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer

from pelton.dialects.check import check_module
from pelton.dialects.context import new_context
from pelton.support.errors import ReadError
from pelton.support.files import read_file
from pelton.support.texts import escaped

REWORDED = {
    "Could not parse entire input!": "expected an operation",
    "Expected an operand.": "expected an operand",
}
"""Messages of xDSL's parser that say too little."""


class LinearLexer(MLIRLexer):
    """xDSL's lexer with a pattern for strings that cannot backtrack: an unclosed one took exponential time."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')


class LocatingParser(Parser):
    """xDSL's parser, which also stamps every op with its place and remembers uses that come before a definition."""

    def __init__(self, ctx: Context, text: str, name: str, line_offset: int = 0) -> None:
        super().__init__(ctx, "", name)
        self._parser_state = ParserState(LinearLexer(Input(text, name)))
        self._file = StringAttr(name)
        self._line_offset = line_offset
        self._line_starts = [0, *(i + 1 for i, character in enumerate(text) if character == "\n")]
        self._early_uses: dict[str, Span] = {}

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of an offset into the text."""
        line = bisect_right(self._line_starts, offset)
        return line + self._line_offset, offset - self._line_starts[line - 1] + 1

    def parse_operation(self) -> Operation:
        start = self.pos
        op = super().parse_operation()
        if isinstance(op.location, UnknownLoc):
            line, column = self.position(start)
            op.location = FileLineColLoc(self._file, IntAttr(line), IntAttr(column))
        return op

    def resolve_operand(self, operand: UnresolvedOperand, type: AttributeInvT) -> SSAValue[AttributeInvT]:
        name = operand.operand_name
        if name not in self.ssa_values and name not in self.forward_ssa_references:
            self._early_uses[name] = operand.span
        return super().resolve_operand(operand, type)

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError as error:
            if error.msg.startswith("values used but not defined"):
                span = min(
                    (self._early_uses[name] for name in self.forward_ssa_references), key=lambda span: span.start
                )
                raise ParseError(span, f"use of undefined value {span.text}") from None
            raise

    def _get_op_by_name(self, name: str) -> type[Operation]:
        if op_type := self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack):
            return op_type
        start = self.lexer.input.content.rfind(name, 0, self.pos)
        self.raise_error(_unknown_op(self.ctx, name), start, start + len(name))


def _unknown_op(ctx: Context, name: str) -> str:
    """What is wrong with an op name, with the nearest right one."""
    dialects = set(ctx.registered_dialect_names) | {dialect.name for dialect in ctx.loaded_dialects}
    dialect = name.partition(".")[0]
    if "." in name and dialect not in dialects:
        return f"unknown dialect '{dialect}' (known: {', '.join(sorted(dialects))})"
    near = get_close_matches(name, [op.name for op in ctx.loaded_ops], n=1)
    return f"unknown operation '{name}'" + (f", did you mean '{near[0]}'?" if near else "")


def read_mlir(path: Path) -> ModuleOp:
    """The module in a file, checked. Raises ReadError for no file or no IR, VerifyError for IR that is wrong."""
    module = read_module(new_context(), read_file(path), str(path))
    check_module(module)  # before anything prints it
    return module


def read_module(ctx: Context, data: bytes | str, name: str, line_offset: int = 0) -> ModuleOp:
    """Parse `data`, the contents of the file called `name` from line `line_offset + 1` on.

    Raises ReadError with `file:line:column` for whatever is wrong with the text.
    """
    name = escaped(name)
    text = data if isinstance(data, str) else _decoded(data, name, line_offset)
    parser = None
    try:
        parser = LocatingParser(ctx, text, name, line_offset)
        return parser.parse_module()
    except ParseError as error:
        first = (error.msg.strip().splitlines() or ["syntax error"])[0]
        raise _located(REWORDED.get(first, error.msg.strip()), text, name, error.span.start, line_offset) from error
    except RecursionError as error:
        offset = parser.pos if parser else 0
        raise _located("regions or types nest too deeply", text, name, offset, line_offset) from error
    except Exception as error:
        offset = parser.pos if parser else 0
        raise _located(str(error).strip() or type(error).__name__, text, name, offset, line_offset) from error


def _decoded(data: bytes, name: str, line_offset: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1 + line_offset
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise ReadError(
            "not a text file",
            location=f"{name}:{line}:{column}",
            expected="UTF-8 text",
            got=f"byte 0x{data[error.start]:02x}",
        ) from error


def _located(message: str, text: str, name: str, offset: int, line_offset: int) -> ReadError:
    """The error, with the line of text it is about and a mark under the place."""
    offset = min(offset, len(text))
    start = text.rfind("\n", 0, offset) + 1
    line = text.count("\n", 0, start) + 1 + line_offset
    source = text[start:].partition("\n")[0].rstrip()
    return ReadError(
        message,
        location=f"{name}:{line}:{offset - start + 1}",
        got=_excerpt(source, offset - start) if source else "end of text",
    )


def _excerpt(source: str, column: int, width: int = 110) -> str:
    """At most `width` characters of a line around `column`, and a caret under it."""
    first = max(0, min(column - width // 2, len(source) - width))
    shown = source[first : first + width].replace("\t", " ")
    return f"{shown}\n{' ' * (column - first)}^"
