"""`plan`: what the runtime does, one step after the other: memory, launches, copies.

Sizes are dims over the symbols of the function's arguments; buffers are contiguous. Made by `passes/lower_groups.py`;
memory is laid out by `passes/assign_buffers.py`; `codegen/plan.py` writes it as the table of numbers that the runtime
walks.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr, SymbolNameConstraint, SymbolRefAttr, i64
from xdsl.ir import Attribute, Block, Dialect, ParametrizedAttribute, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    MemoryAllocEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoTerminator,
    Pure,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.sites import SiteAttr
from pelton.dialects.types import HOST, DimsAttr, bytes_of


@irdl_attr_definition
class BufType(ParametrizedAttribute, TypeAttribute):
    """`!plan.buf<[batch, 128], f32>`, `!plan.buf<[n], f32, "gpu:0">`: contiguous memory of a device for so many
    elements.
    """

    name = "plan.buf"
    dims: DimsAttr
    elem: Attribute
    device: StringAttr

    def __init__(self, shape: Sequence[Dim], elem: Attribute, device: str = HOST) -> None:
        super().__init__(DimsAttr(tuple(shape)), elem, StringAttr(device))

    @property
    def shape(self) -> tuple[Dim, ...]:
        return self.dims.data

    @property
    def bytes(self) -> Dim:
        """How much memory the elements take."""
        return dims.mul(dims.product(self.shape), bytes_of(self.elem))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape = DimsAttr(DimsAttr.parse_parameter(parser))
            parser.parse_punctuation(",")
            elem = parser.parse_type()
            device = parser.parse_str_literal() if parser.parse_optional_punctuation(",") else HOST
            return shape, elem, StringAttr(device)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.dims.print_parameter(printer)
            printer.print_string(", ")
            printer.print_attribute(self.elem)
            if self.device.data != HOST:
                printer.print_string(f', "{self.device.data}"')


def buf_type(value: SSAValue) -> BufType:
    """The type of a buffer value."""
    t = value.type
    assert isinstance(t, BufType), t
    return t


@irdl_op_definition
class FuncOp(IRDLOperation):
    """`plan.func @main("x" = %x : !plan.buf<[n], f32>) {…}`: arguments by name: inputs, weights, prepared values.

    The dims of the argument types bind the symbols.
    """

    name = "plan.func"
    sym_name = prop_def(SymbolNameConstraint())
    names = prop_def(ArrayAttr[StringAttr])
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), NoTerminator())

    def __init__(self, sym_name: str, names: Sequence[str], body: Region) -> None:
        labels = ArrayAttr([StringAttr(n) for n in names])
        super().__init__(properties={"sym_name": StringAttr(sym_name), "names": labels}, regions=[body])

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        name, labels = parser.parse_symbol_name(), list[str]()

        def argument() -> Parser.Argument:
            labels.append(parser.parse_str_literal())
            parser.parse_punctuation("=")
            return parser.parse_argument()

        args = parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)
        return cls(name.data, labels, parser.parse_region(args))

    def print(self, printer: Printer) -> None:
        printer.print_string(f" @{self.sym_name.data}(")
        for k, (label, arg) in enumerate(zip(self.names, self.body.block.args, strict=True)):
            printer.print_string(", " if k else "")
            printer.print_string_literal(label.data)
            printer.print_string(" = ")
            printer.print_block_argument(arg)
        printer.print_string(") ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def verify_(self) -> None:
        if len(self.names) != len(self.body.block.args):
            raise VerifyException(f"'plan.func' has {len(self.body.block.args)} arguments and {len(self.names)} names")
        bound = {s for a in self.body.block.args for d in buf_type(a).shape for s in dims.symbols(d)}
        _check_marks(self.body.block)
        for op in self.body.walk():
            for value in (r for r in op.results if isinstance(r.type, BufType)):
                for symbol in (s for d in buf_type(value).shape for s in dims.symbols(d)):
                    if symbol not in bound:
                        raise VerifyException(f"'{op.name}' uses the size {symbol}, which no argument has")


@irdl_op_definition
class AllocOp(IRDLOperation):
    """`%t = plan.alloc : !plan.buf<…>`: memory until its last use; `assign-buffers` finds its place in the arena."""

    name = "plan.alloc"
    buf = result_def(BufType)
    traits = traits_def(MemoryAllocEffect())
    assembly_format = "attr-dict `:` type($buf)"

    def __init__(self, t: BufType) -> None:
        super().__init__(result_types=[t])


@irdl_op_definition
class OutputOp(IRDLOperation):
    """`%y = plan.output 0 : !plan.buf<…>`: the memory of the caller's result of that number."""

    name = "plan.output"
    number = prop_def(IntAttr)
    buf = result_def(BufType)
    traits = traits_def(MemoryAllocEffect())

    def __init__(self, number: int, t: BufType) -> None:
        super().__init__(properties={"number": IntAttr(number)}, result_types=[t])

    @classmethod
    def parse(cls, parser: Parser) -> OutputOp:
        number = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_punctuation(":")
        return cls(number, parser.parse_type())  # pyright: ignore[reportArgumentType]

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.number.data} : ")
        printer.print_attribute(self.buf.type)


@irdl_op_definition
class ArenaOp(IRDLOperation):
    """`%a = plan.arena : !plan.buf<[bytes], i8>`: the scratch memory of the whole function, at most one per device."""

    name = "plan.arena"
    buf = result_def(BufType)
    traits = traits_def(MemoryAllocEffect())
    assembly_format = "attr-dict `:` type($buf)"

    def __init__(self, t: BufType) -> None:
        super().__init__(result_types=[t])


@irdl_op_definition
class ViewOp(IRDLOperation):
    """`%t = plan.view %a at [offset] : !plan.buf<…>`: the same memory from a byte offset on, as another shape."""

    name = "plan.view"
    source = operand_def(BufType)
    offset = prop_def(DimsAttr)
    buf = result_def(BufType)
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, offset: Dim, t: BufType) -> None:
        super().__init__(operands=[source], properties={"offset": DimsAttr((offset,))}, result_types=[t])

    @property
    def offset_dim(self) -> Dim:
        return self.offset.data[0]

    @classmethod
    def parse(cls, parser: Parser) -> ViewOp:
        name = parser.parse_unresolved_operand()
        if name.operand_name not in parser.ssa_values:
            parser.raise_error(
                f"expected a buffer defined above, got %{name.operand_name}", name.span.start, name.span.end
            )
        source = parser.ssa_values[name.operand_name][name.index]
        parser.parse_keyword("at")
        offset = DimsAttr.parse_parameter(parser)
        if len(offset) != 1:
            parser.raise_error("expected one offset")
        parser.parse_punctuation(":")
        return cls(source, offset[0], parser.parse_type())  # pyright: ignore[reportArgumentType]

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        printer.print_string(" at ")
        self.offset.print_parameter(printer)
        printer.print_string(" : ")
        printer.print_attribute(self.buf.type)


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """`plan.launch @k(%x, %w) -> (%y) sizes [batch*seq, 384] : (T, T) -> (T)`: run all items of a kernel.

    `sizes` binds the kernel's symbols by position. `in_place` numbers the inputs whose memory an output may take over;
    `checks` says what the kernel's checks mean, the first being number 1.
    """

    name = "plan.launch"
    callee = prop_def(SymbolRefAttr)
    sizes = prop_def(DimsAttr)
    in_place = prop_def(DimsAttr)
    sites = prop_def(ArrayAttr[SiteAttr])
    inputs = var_operand_def(BufType)
    outputs = var_operand_def(BufType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        callee: str | SymbolRefAttr,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        sizes: Sequence[Dim],
        in_place: Sequence[Dim] = (),
        sites: Sequence[SiteAttr] = (),
    ) -> None:
        properties: dict[str, Attribute] = {
            "callee": SymbolRefAttr(callee) if isinstance(callee, str) else callee,
            "sizes": DimsAttr(tuple(sizes)),
            "in_place": DimsAttr(tuple(in_place)),
            "sites": ArrayAttr(sites),
        }
        super().__init__(operands=[inputs, outputs], properties=properties)

    @classmethod
    def parse(cls, parser: Parser) -> LaunchOp:
        callee = SymbolRefAttr(parser.parse_symbol_name())
        inputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_punctuation("->")
        outputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_keyword("sizes")
        sizes = DimsAttr.parse_parameter(parser)
        in_place = DimsAttr.parse_parameter(parser) if parser.parse_optional_keyword("in_place") else ()
        sites = list[SiteAttr]()
        if parser.parse_optional_keyword("checks"):
            sites = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: SiteAttr.parse_bare(parser))
        parser.parse_punctuation(":")
        t = parser.parse_function_type()
        return cls(
            callee,
            parser.resolve_operands(inputs, t.inputs.data, parser.pos),
            parser.resolve_operands(outputs, t.outputs.data, parser.pos),
            sizes,
            in_place,
            sites,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" @{self.callee.string_value()}(")
        printer.print_list(self.inputs, printer.print_operand)
        printer.print_string(") -> (")
        printer.print_list(self.outputs, printer.print_operand)
        printer.print_string(") sizes ")
        self.sizes.print_parameter(printer)
        if self.in_place.data:
            printer.print_string(" in_place ")
            self.in_place.print_parameter(printer)
        if self.sites.data:
            printer.print_string(" checks [")
            printer.print_list(self.sites.data, lambda site: site.print_bare(printer))
            printer.print_string("]")
        printer.print_string(" : ")
        printer.print_function_type([v.type for v in self.inputs], [v.type for v in self.outputs])

    def verify_(self) -> None:
        for number in self.in_place.data:
            if not isinstance(number, int) or number >= len(self.inputs):
                raise VerifyException(f"'plan.launch' has no input {number} to work in place on")


@irdl_op_definition
class CopyOp(IRDLOperation):
    """`plan.copy %x to %y : T`: all bytes of one buffer to another."""

    name = "plan.copy"
    source = operand_def(BufType)
    target = operand_def(BufType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$source `to` $target attr-dict `:` type($source) `,` type($target)"

    def __init__(self, source: SSAValue, target: SSAValue) -> None:
        super().__init__(operands=[source, target])


RELATIONS = ("eq", "le")


@irdl_op_definition
class RequireOp(IRDLOperation):
    """`plan.require eq [a, b], "…" of "nn.rebind" 3`: stop, with message and sizes, unless a = b (`eq`) or a ≤ b
    (`le`). What follows would leave its memory otherwise, so no level removes it.
    """

    name = "plan.require"
    relation = prop_def(StringAttr)
    dims = prop_def(DimsAttr)
    site = prop_def(SiteAttr)
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, relation: str, lhs: Dim, rhs: Dim, site: SiteAttr) -> None:
        super().__init__(
            properties={"relation": StringAttr(relation), "dims": DimsAttr((lhs, rhs)), "site": site},
        )

    @classmethod
    def parse(cls, parser: Parser) -> RequireOp:
        relation = parser.parse_identifier()
        pair = DimsAttr.parse_parameter(parser)
        parser.parse_punctuation(",")
        if len(pair) != 2:
            parser.raise_error("expected two dims to compare")
        return cls(relation, pair[0], pair[1], SiteAttr.parse_bare(parser))

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.relation.data} ")
        self.dims.print_parameter(printer)
        printer.print_string(", ")
        self.site.print_bare(printer)

    def verify_(self) -> None:
        if self.relation.data not in RELATIONS:
            raise VerifyException(
                f"'plan.require' expects a relation out of {', '.join(RELATIONS)}, got {self.relation.data}"
            )


EDGES = ("begin", "end")


@irdl_op_definition
class MarkOp(IRDLOperation):
    """`plan.mark begin "add"` … `plan.mark end "add"`: note when each of both is reached. Pairs nest."""

    name = "plan.mark"
    edge = prop_def(StringAttr)
    label = prop_def(StringAttr)
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, edge: str, label: str) -> None:
        super().__init__(properties={"edge": StringAttr(edge), "label": StringAttr(label)})

    @classmethod
    def parse(cls, parser: Parser) -> MarkOp:
        return cls(parser.parse_identifier(), parser.parse_str_literal())

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.edge.data} ")
        printer.print_string_literal(self.label.data)

    def verify_(self) -> None:
        if self.edge.data not in EDGES:
            raise VerifyException(f"'plan.mark' expects an edge out of {', '.join(EDGES)}, got {self.edge.data}")


def _check_marks(block: Block) -> None:
    """Every mark that ends something ends what began last."""
    begun: list[str] = []
    for op in block.ops:
        if isinstance(op, MarkOp):
            if op.edge.data == "begin":
                begun.append(op.label.data)
            elif not begun or begun.pop() != op.label.data:
                raise VerifyException(f"'plan.mark' ends {op.label.data!r}, which is not what began last")
    if begun:
        raise VerifyException(f"'plan.mark' begins {begun[-1]!r}, which never ends")


@irdl_op_definition
class ReportsOp(IRDLOperation):
    """`%r = plan.reports : !plan.buf<[words], i64>`: where kernels leave their rows (`kernel.report`), at most one per
    device.

    The caller gives it zeroed and says afterwards what stands there.
    """

    name = "plan.reports"
    buf = result_def(BufType)
    traits = traits_def(MemoryAllocEffect())
    assembly_format = "attr-dict `:` type($buf)"

    def __init__(self, words: int, device: str = HOST) -> None:
        super().__init__(result_types=[BufType([words], i64, device)])
        self.buf.name_hint = "reports"

    def resize(self, words: int) -> None:
        """Make room for so many words."""
        new = ReportsOp(words, buf_type(self.buf).device.data)
        assert self.parent is not None
        self.parent.insert_op_before(new, self)
        self.buf.replace_all_uses_with(new.buf)
        self.detach()
        self.erase()


@irdl_op_definition
class TraceOp(IRDLOperation):
    """`plan.trace "scores" of "nn.trace" 3 shows [f32] level "info" (%x) : !plan.buf<[n], f32>`: say so when the run
    comes here, with the buffers' contents.
    """

    name = "plan.trace"
    site = prop_def(SiteAttr)
    bufs = var_operand_def(BufType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, site: SiteAttr, bufs: Sequence[SSAValue]) -> None:
        super().__init__(operands=[bufs], properties={"site": site})

    @classmethod
    def parse(cls, parser: Parser) -> TraceOp:
        site = SiteAttr.parse_bare(parser)
        names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        types = list[Attribute]()
        if names:
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls(site, parser.resolve_operands(names, types, parser.pos))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        self.site.print_bare(printer)
        printer.print_string(" (")
        printer.print_list(self.bufs, printer.print_operand)
        printer.print_string(")")
        if self.bufs:
            printer.print_string(" : ")
            printer.print_list(self.bufs.types, printer.print_attribute)


PLAN = Dialect(
    "plan",
    [FuncOp, AllocOp, OutputOp, ArenaOp, ViewOp, LaunchOp, CopyOp, RequireOp, MarkOp, ReportsOp, TraceOp],
    [BufType, SiteAttr],
)
