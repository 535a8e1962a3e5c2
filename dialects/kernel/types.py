"""The kernel dialect's one type: a buffer with its sizes, element type, strides and memory space."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.dims import Dim, product
from pelton.dialects.types import DimsAttr

SPACES = ("global", "team")


@irdl_attr_definition
class BufType(ParametrizedAttribute, TypeAttribute):
    """`!kernel.buf<[m, n], f32>`, `!kernel.buf<[m, n], f32, strided [ldx, 1]>`, `!kernel.buf<[32, 33], f32, team>`.

    `team` is one team's own scratch: a tile in the L1 cache on a CPU, shared memory on a GPU. Without `strided` the
    elements stand row by row.
    """

    name = "kernel.buf"
    dims: DimsAttr
    elem: Attribute
    strides: DimsAttr
    space: StringAttr

    def __init__(
        self, shape: Sequence[Dim], elem: Attribute, strides: Sequence[Dim] = (), space: str = "global"
    ) -> None:
        super().__init__(DimsAttr(tuple(shape)), elem, DimsAttr(tuple(strides)), StringAttr(space))

    @property
    def shape(self) -> tuple[Dim, ...]:
        return self.dims.data

    def element_strides(self) -> tuple[Dim, ...]:
        """The distance, in elements, between neighbours along each dim."""
        if self.strides.data:
            return self.strides.data
        return tuple(product(self.dims.data[k + 1 :]) for k in range(len(self.dims.data)))

    def verify(self) -> None:
        if self.strides.data and len(self.strides.data) != len(self.dims.data):
            raise VerifyException(f"a buffer of rank {len(self.dims.data)} has {len(self.strides.data)} strides")
        if self.space.data not in SPACES:
            raise VerifyException(f"expected a memory space out of {', '.join(SPACES)}, got {self.space.data}")
        if self.space.data == "team" and not all(isinstance(d, int) for d in self.dims.data):
            raise VerifyException("a team buffer has known sizes only")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape = DimsAttr(DimsAttr.parse_parameter(parser))
            parser.parse_punctuation(",")
            elem, strides, space = parser.parse_type(), DimsAttr(()), "global"
            while parser.parse_optional_punctuation(","):
                if parser.parse_optional_keyword("strided"):
                    strides = DimsAttr(DimsAttr.parse_parameter(parser))
                else:
                    space = parser.parse_identifier()
            return shape, elem, strides, StringAttr(space)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.dims.print_parameter(printer)
            printer.print_string(", ")
            printer.print_attribute(self.elem)
            if self.strides.data:
                printer.print_string(", strided ")
                self.strides.print_parameter(printer)
            if self.space.data != "global":
                printer.print_string(f", {self.space.data}")
