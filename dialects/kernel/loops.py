"""Kernel functions, their three kinds of parallelism (`grid`, `lanes`, `reduce`), and hand schedules (`call`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import IndexType, StringAttr, SymbolNameConstraint, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    IsTerminator,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoTerminator,
    Pure,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from pelton.dialects import dims
from pelton.dialects.kernel.types import BufType
from pelton.dialects.types import GPU, DimsAttr

INDEX = IndexType()
KINDS = ("add", "mul", "max", "min")


@irdl_op_definition
class FuncOp(IRDLOperation):
    """`kernel.func @f(%x : !kernel.buf<[n], f32>) sizes [n] {…}`: a kernel over buffers.

    Its parameters are the buffers, then the symbols of `sizes` in their order; a launch binds both by position.
    Schedule choices (`lanes`, `threads`) stand in the attributes; so does `device = "gpu"` where that is the kind of
    device it is for.
    """

    name = "kernel.func"
    sym_name = prop_def(SymbolNameConstraint())
    sizes = prop_def(DimsAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), NoTerminator())

    @property
    def is_for_gpu(self) -> bool:
        """Whether it is to become PTX."""
        return self.attributes.get("device") == StringAttr(GPU)

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        name = parser.parse_symbol_name()
        args = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        parser.parse_keyword("sizes")
        sizes = DimsAttr(DimsAttr.parse_parameter(parser))
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region(args)
        more = dict(attributes.data) if attributes else dict[str, Attribute]()
        return cls(properties={"sym_name": name, "sizes": sizes}, attributes=more, regions=[region])

    def print(self, printer: Printer) -> None:
        printer.print_string(f" @{self.sym_name.data}(")
        printer.print_list(self.body.block.args, printer.print_block_argument)
        printer.print_string(") sizes ")
        self.sizes.print_parameter(printer)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def verify_(self) -> None:
        known = set(self.sizes.data)
        if not all(isinstance(s, str) for s in known) or len(known) != len(self.sizes.data):
            raise VerifyException("'kernel.func' expects distinct symbols in its sizes")
        for value in (*self.body.block.args, *(r for op in self.body.walk() for r in op.results)):
            if isinstance(t := value.type, BufType):
                for symbol in (s for d in (*t.shape, *t.strides.data) for s in dims.symbols(d)):
                    if symbol not in known:
                        raise VerifyException(f"'kernel.func' uses the size {symbol} in {t}, which its sizes lack")


@irdl_op_definition
class DimOp(IRDLOperation):
    """`%n = kernel.dim n`: the value of a symbol of the enclosing function's sizes, as an index."""

    name = "kernel.dim"
    dim = prop_def(StringAttr)
    value = result_def(IndexType)
    traits = traits_def(Pure())

    def __init__(self, dim: str) -> None:
        super().__init__(properties={"dim": StringAttr(dim)}, result_types=[INDEX])
        self.value.name_hint = dim

    @classmethod
    def parse(cls, parser: Parser) -> DimOp:
        return cls(parser.parse_identifier())

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.dim.data}")

    def verify_(self) -> None:
        func = self.parent_op()
        while func is not None and not isinstance(func, FuncOp):
            func = func.parent_op()
        if func is not None and self.dim.data not in func.sizes.data:
            raise VerifyException(f"'kernel.dim' reads the size {self.dim.data}, which @{func.sym_name.data} lacks")


def _parse_space(parser: Parser) -> tuple[list[Parser.Argument], list[SSAValue]]:
    """`(%i, %j) in (%m, %n)`."""
    args = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False))
    parser.parse_keyword("in")
    bounds = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
    return [a.resolve(INDEX) for a in args], [parser.resolve_operand(b, INDEX) for b in bounds]


class Loop(IRDLOperation):
    """What `grid`, `lanes` and `reduce` share: one index per bound, each running from 0 to its bound."""

    bounds = var_operand_def(IndexType)
    body = region_def("single_block")

    def verify_(self) -> None:
        args = self.body.block.args
        if len(self.bounds) != len(args):
            raise VerifyException(f"'{self.name}' expects an index per bound, got {len(args)} for {len(self.bounds)}")
        if not self.bounds and self.name != GridOp.name:
            raise VerifyException(f"'{self.name}' expects at least one index")
        if any(a.type != INDEX for a in args):
            raise VerifyException(f"'{self.name}' expects indices of type index")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        args, bounds = _parse_space(parser)
        return cls(operands=[bounds], regions=[parser.parse_region(args)])

    def print(self, printer: Printer) -> None:
        self.print_space(printer)

    def print_space(self, printer: Printer) -> None:
        printer.print_string(" (")
        printer.print_list(self.body.block.args, lambda a: printer.print_block_argument(a, print_type=False))
        printer.print_string(") in (")
        printer.print_list(self.bounds, printer.print_operand)
        printer.print_string(f") {self.how}")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @property
    def how(self) -> str:
        """What the text says between the space and the body."""
        return ""


@irdl_op_definition
class GridOp(Loop):
    """`kernel.grid (%i) in (%m) {…}`: independent items: a range on a CPU, thread blocks on a GPU."""

    name = "kernel.grid"
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())


@irdl_op_definition
class LanesOp(Loop):
    """`kernel.lanes (%i, %j) in (%m, %n) {…}`: the team's lanes share the space; the last index is contiguous.

    `kernel.lanes (%i) in (%n) by_four {…}`: a thread of a GPU does four neighbouring lanes a turn.
    """

    name = "kernel.lanes"
    by_four = opt_prop_def(UnitAttr)
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        args, bounds = _parse_space(parser)
        by_four = UnitAttr() if parser.parse_optional_keyword("by_four") else None
        return cls(operands=[bounds], properties={"by_four": by_four}, regions=[parser.parse_region(args)])

    @property
    def how(self) -> str:
        """`by_four`, if it is."""
        return "by_four " if self.by_four else ""


@irdl_op_definition
class YieldOp(IRDLOperation):
    """`kernel.yield %v : f32`: what one lane gives to the enclosing `kernel.reduce`."""

    name = "kernel.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "$values attr-dict `:` type($values)"

    def __init__(self, *values: SSAValue) -> None:
        super().__init__(operands=[values])


@irdl_op_definition
class ReduceOp(Loop):
    """`%m, %s = kernel.reduce max, add (%j) in (%n) {… kernel.yield %v, %w : f32, f32 }`: combined over all lanes.

    Kinds: `add`, `mul`, `max`, `min`; float max and min propagate NaN. An empty space yields the kind's identity (0,
    1, -inf or the smallest integer, +inf or the largest).
    """

    name = "kernel.reduce"
    kinds = prop_def(StringAttr)
    values = var_result_def()
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self, kinds: Sequence[str], bounds: Sequence[SSAValue], types: Sequence[Attribute], body: Region
    ) -> None:
        text = StringAttr(", ".join(kinds))
        super().__init__(operands=[bounds], properties={"kinds": text}, result_types=[types], regions=[body])

    @property
    def kind_names(self) -> list[str]:
        return self.kinds.data.split(", ")

    @property
    def yielded(self) -> YieldOp:
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last

    @classmethod
    def parse(cls, parser: Parser) -> ReduceOp:
        kinds = [parser.parse_identifier()]
        while parser.parse_optional_punctuation(","):
            kinds.append(parser.parse_identifier())
        args, bounds = _parse_space(parser)
        region = parser.parse_region(args)
        last = region.block.last_op
        if not isinstance(last, YieldOp):
            parser.raise_error("expected 'kernel.reduce' to end in kernel.yield")
        return cls(kinds, bounds, [v.type for v in last.values], region)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kinds.data}")
        self.print_space(printer)

    def verify_(self) -> None:
        super().verify_()
        last = self.body.block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("'kernel.reduce' expects to end in kernel.yield")
        for kind in self.kind_names:
            if kind not in KINDS:
                raise VerifyException(f"'kernel.reduce' expects a kind out of {', '.join(KINDS)}, got {kind}")
        if [v.type for v in last.values] != [r.type for r in self.values] or len(last.values) != len(self.kind_names):
            raise VerifyException("'kernel.reduce' expects one kind, one yielded value and one result of its type each")


@irdl_op_definition
class CallOp(IRDLOperation):
    """`kernel.call @matmul(%a, %b) : (T, T) epilogue (%acc : f32, %i : index, %j : index) {…}`: a hand schedule.

    The schedule (by name, from `kernels/`) decides loops, tiles and order; for every element it finishes it runs the
    region, which stores what becomes of the accumulator `%acc` at its indices. `parameters` are the schedule's own.
    """

    name = "kernel.call"
    callee = prop_def(SymbolRefAttr)
    parameters = opt_prop_def(Attribute)
    bufs = var_operand_def(BufType)
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), MemoryReadEffect(), MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> CallOp:
        properties: dict[str, Attribute] = {"callee": SymbolRefAttr(parser.parse_symbol_name())}
        names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        if parser.parse_optional_keyword("with"):
            properties["parameters"] = parser.parse_attribute()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        bufs = parser.resolve_operands(names, types, parser.pos)
        parser.parse_keyword("epilogue")
        args = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        return cls(operands=[bufs], properties=properties, regions=[parser.parse_region(args)])

    def print(self, printer: Printer) -> None:
        printer.print_string(f" @{self.callee.string_value()}(")
        printer.print_list(self.bufs, printer.print_operand)
        printer.print_string(")")
        if self.parameters is not None:
            printer.print_string(" with ")
            printer.print_attribute(self.parameters)
        printer.print_string(" : (")
        printer.print_list(self.bufs, lambda b: printer.print_attribute(b.type))
        printer.print_string(") epilogue (")
        printer.print_list(self.body.block.args, printer.print_block_argument)
        printer.print_string(") ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """`kernel.barrier`: the lanes of a team wait for each other; `insert-barriers` puts it in, for a GPU only."""

    name = "kernel.barrier"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"
