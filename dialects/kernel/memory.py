"""Loads, stores and scratch of the kernel dialect. Who makes one sees to it that an unguarded index is in bounds."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, i1
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryAllocEffect, MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.kernel.loops import INDEX
from pelton.dialects.kernel.types import BufType


@irdl_op_definition
class LoadOp(IRDLOperation):
    """`%v = kernel.load %x[%i, %j] if %ok else %fill : !kernel.buf<…>`: one element, or `%fill`."""

    name = "kernel.load"
    buf = operand_def(BufType)
    index = var_operand_def(IndexType)
    guard = opt_operand_def(i1)
    fill = opt_operand_def()
    value = result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect())

    def __init__(
        self, buf: SSAValue, index: Sequence[SSAValue], guard: SSAValue | None = None, fill: SSAValue | None = None
    ) -> None:
        assert isinstance(buf.type, BufType)
        super().__init__(
            operands=[buf, index, [guard] if guard else [], [fill] if fill else []], result_types=[buf.type.elem]
        )

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        name, index, guard, fill = parser.parse_unresolved_operand(), _parse_index(parser), None, None
        if parser.parse_optional_keyword("if"):
            guard = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
            parser.parse_keyword("else")
            fill = parser.parse_unresolved_operand()
        t = _parse_buf_type(parser)
        return cls(
            parser.resolve_operand(name, t), index, guard, parser.resolve_operand(fill, t.elem) if fill else None
        )

    def print(self, printer: Printer) -> None:
        _print_access(printer, self)
        if self.fill is not None:
            printer.print_string(" else ")
            printer.print_operand(self.fill)
        _print_buf_type(printer, self.buf)

    def verify_(self) -> None:
        _verify_access(self)
        if (self.guard is None) != (self.fill is None):
            raise VerifyException("'kernel.load' expects a fill value exactly where it has a guard")


@irdl_op_definition
class StoreOp(IRDLOperation):
    """`kernel.store %v, %y[%i, %j] if %ok : !kernel.buf<…>`: one element, nothing where `%ok` is false."""

    name = "kernel.store"
    value = operand_def()
    buf = operand_def(BufType)
    index = var_operand_def(IndexType)
    guard = opt_operand_def(i1)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryWriteEffect())

    def __init__(
        self, value: SSAValue, buf: SSAValue, index: Sequence[SSAValue], guard: SSAValue | None = None
    ) -> None:
        super().__init__(operands=[value, buf, index, [guard] if guard else []])

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        name, index, guard = parser.parse_unresolved_operand(), _parse_index(parser), None
        if parser.parse_optional_keyword("if"):
            guard = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
        t = _parse_buf_type(parser)
        return cls(parser.resolve_operand(value, t.elem), parser.resolve_operand(name, t), index, guard)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(",")
        _print_access(printer, self)
        _print_buf_type(printer, self.buf)

    def verify_(self) -> None:
        _verify_access(self)


@irdl_op_definition
class ScratchOp(IRDLOperation):
    """`%t = kernel.scratch : !kernel.buf<[32, 33], f32, team>`: a team's own small buffer, its contents undefined."""

    name = "kernel.scratch"
    buf = result_def(BufType)
    traits = traits_def(MemoryAllocEffect())
    assembly_format = "attr-dict `:` type($buf)"

    def verify_(self) -> None:
        assert isinstance(self.buf.type, BufType)
        if self.buf.type.space.data != "team":
            raise VerifyException(f"'kernel.scratch' expects a team buffer, got {self.buf.type}")


def _parse_index(parser: Parser) -> list[SSAValue]:
    names = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
    return [parser.resolve_operand(n, INDEX) for n in names]


def _parse_buf_type(parser: Parser) -> BufType:
    parser.parse_punctuation(":")
    if not isinstance(t := parser.parse_type(), BufType):
        parser.raise_error(f"expected a !kernel.buf type, got {t}")
    return t


def _print_access(printer: Printer, op: LoadOp | StoreOp) -> None:
    printer.print_string(" ")
    printer.print_operand(op.buf)
    printer.print_string("[")
    printer.print_list(op.index, printer.print_operand)
    printer.print_string("]")
    if op.guard is not None:
        printer.print_string(" if ")
        printer.print_operand(op.guard)


def _print_buf_type(printer: Printer, buf: SSAValue) -> None:
    printer.print_string(" : ")
    printer.print_attribute(buf.type)


def _verify_access(op: LoadOp | StoreOp) -> None:
    t = op.buf.type
    assert isinstance(t, BufType)
    if len(op.index) != len(t.shape):
        raise VerifyException(f"'{op.name}' expects {len(t.shape)} indices into {t}, got {len(op.index)}")
    if op.value.type != t.elem:
        raise VerifyException(
            f"'{op.name}' expects a value of {t.elem} for {t}, got {op.value.type}; "
            "convert with arith.extf or arith.truncf"
        )
