"""What a lane says about itself and goes on: `check`, which fails the run, and `report`, which leaves a row behind.

A number tells which op of the group a check belongs to; who that is, and what to tell the user, stands at the launch
(`plan.launch`), so that kernels of equal code are one whatever their messages say.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, IntAttr, i1
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, traits_def, var_operand_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.kernel.types import BufType

INDEX = IndexType()
ROW = 2
"""Words of a row before its values: whether a lane failed, and the index of the lowest one."""
MOST_VALUES = 8


@irdl_op_definition
class CheckOp(IRDLOperation):
    """`kernel.check 1 %ok at %index, %value : f32`: a lane without `%ok` records itself as failing check 1 and goes on.

    Of all failing lanes of a launch the one with the lowest `%index` (a linear element index) is reported, with its
    `%value`, and the run stops after the launch.
    """

    name = "kernel.check"
    site = prop_def(IntAttr)
    ok = operand_def(i1)
    index = operand_def(IndexType)
    value = operand_def()
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, site: int, ok: SSAValue, index: SSAValue, value: SSAValue) -> None:
        super().__init__(operands=[ok, index, value], properties={"site": IntAttr(site)})

    @classmethod
    def parse(cls, parser: Parser) -> CheckOp:
        site = parser.parse_integer(allow_boolean=False, allow_negative=False)
        ok, index = _parse_place(parser)
        parser.parse_punctuation(",")
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        return cls(site, ok, index, parser.resolve_operand(value, parser.parse_type()))

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.site.data} ")
        _print_place(printer, self.ok, self.index)
        printer.print_string(", ")
        printer.print_operand(self.value)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)

    def verify_(self) -> None:
        if self.site.data < 1:
            raise VerifyException(f"'kernel.check' counts from 1, got {self.site.data}")


@irdl_op_definition
class ReportOp(IRDLOperation):
    """`kernel.report %ok at %index, %v, %w to %rows[4] : f32, i64 to !kernel.buf<[8], i64>`: stops nothing.

    The row begins at that word: 1 once there was a lane without `%ok`, the lowest `%index` of such, that lane's values.
    """

    name = "kernel.report"
    row = prop_def(IntAttr)
    ok = operand_def(i1)
    index = operand_def(IndexType)
    values = var_operand_def()
    rows = operand_def(BufType)
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, ok: SSAValue, index: SSAValue, values: Sequence[SSAValue], rows: SSAValue, row: int) -> None:
        super().__init__(operands=[ok, index, values, rows], properties={"row": IntAttr(row)})

    @classmethod
    def parse(cls, parser: Parser) -> ReportOp:
        ok, index = _parse_place(parser)
        names = list[UnresolvedOperand]()
        while parser.parse_optional_punctuation(","):
            names.append(parser.parse_unresolved_operand())
        parser.parse_keyword("to")
        rows = parser.parse_unresolved_operand()
        parser.parse_punctuation("[")
        row = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_punctuation("]")
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_keyword("to")
        values = parser.resolve_operands(names, types, parser.pos)
        return cls(ok, index, values, parser.resolve_operand(rows, parser.parse_type()), row)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        _print_place(printer, self.ok, self.index)
        for value in self.values:
            printer.print_string(", ")
            printer.print_operand(value)
        printer.print_string(" to ")
        printer.print_operand(self.rows)
        printer.print_string(f"[{self.row.data}] : ")
        printer.print_list([v.type for v in self.values], printer.print_attribute)
        printer.print_string(" to ")
        printer.print_attribute(self.rows.type)

    def verify_(self) -> None:
        if not 1 <= len(self.values) <= MOST_VALUES:
            raise VerifyException(f"'kernel.report' expects 1 to {MOST_VALUES} values, got {len(self.values)}")
        assert isinstance(self.rows.type, BufType)
        size, end = self.rows.type.shape, self.row.data + ROW + len(self.values)
        if len(size) != 1 or (isinstance(size[0], int) and end > size[0]):
            raise VerifyException(f"'kernel.report' expects rows of at least {end} words, got {self.rows.type}")


def _parse_place(parser: Parser) -> tuple[SSAValue, SSAValue]:
    ok = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
    parser.parse_keyword("at")
    return ok, parser.resolve_operand(parser.parse_unresolved_operand(), INDEX)


def _print_place(printer: Printer, ok: SSAValue, index: SSAValue) -> None:
    printer.print_operand(ok)
    printer.print_string(" at ")
    printer.print_operand(index)


def row_words(values: int) -> int:
    """The words of a row with so many values."""
    return ROW + values
