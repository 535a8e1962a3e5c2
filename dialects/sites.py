"""Where a run can have something to say about an op: `SiteAttr`, which launches and other steps of a plan carry.

A line must not stand in cached code, so a site names its op by its number: see `places.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

UNKNOWN = -1


@irdl_attr_definition
class SiteAttr(ParametrizedAttribute):
    """`#plan.site<"index out of range" of "nn.gather" 3 shows [i64] row 4>`: what to tell the user, and about which op.

    3 is the op's number in the user's module; then come the dtypes of the values shown and, where the check leaves
    a row of reports, its first word. A message to be logged has a `level`.
    """

    name = "plan.site"
    message: StringAttr
    op: StringAttr
    ordinal: IntAttr
    dtypes: ArrayAttr[Attribute]
    row: IntAttr
    level: StringAttr

    @staticmethod
    def of(
        message: str,
        op: str = "",
        ordinal: int = UNKNOWN,
        dtypes: Sequence[Attribute] = (),
        row: int = UNKNOWN,
        level: str = "",
    ) -> SiteAttr:
        """A site out of plain values."""
        return SiteAttr(
            StringAttr(message), StringAttr(op), IntAttr(ordinal), ArrayAttr(dtypes), IntAttr(row), StringAttr(level)
        )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return cls.parse_bare(parser).parameters

    @classmethod
    def parse_bare(cls, parser: AttrParser) -> SiteAttr:
        """What stands between the brackets."""
        message, op, ordinal, row, level = parser.parse_str_literal(), "", UNKNOWN, UNKNOWN, ""
        dtypes = list[Attribute]()
        if parser.parse_optional_keyword("of"):
            op = parser.parse_str_literal()
            found = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
            ordinal = UNKNOWN if found is None else found
        if parser.parse_optional_keyword("shows"):
            dtypes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_type)
        if parser.parse_optional_keyword("row"):
            row = parser.parse_integer(allow_boolean=False, allow_negative=False)
        if parser.parse_optional_keyword("level"):
            level = parser.parse_str_literal()
        return cls.of(message, op, ordinal, dtypes, row, level)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.print_bare(printer)

    def print_bare(self, printer: Printer) -> None:
        """What stands between the brackets."""
        printer.print_string_literal(self.message.data)
        if self.op.data:
            printer.print_string(" of ")
            printer.print_string_literal(self.op.data)
            if self.ordinal.data >= 0:
                printer.print_string(f" {self.ordinal.data}")
        if self.dtypes.data:
            printer.print_string(" shows [")
            printer.print_list(self.dtypes.data, printer.print_attribute)
            printer.print_string("]")
        if self.row.data >= 0:
            printer.print_string(f" row {self.row.data}")
        if self.level.data:
            printer.print_string(" level ")
            printer.print_string_literal(self.level.data)
