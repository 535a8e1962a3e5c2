"""`nn.group`: what becomes one kernel. `fuse-groups` makes them; `lower-groups` makes kernels and launches of them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.effects import DeclaredEffects, Effects, HasEffects, effects_inside
from pelton.dialects.types import BufferType, TensorType


@irdl_op_definition
class YieldOp(IRDLOperation):
    """`nn.yield %v : T`: the results of the enclosing group; none where it ends in a store."""

    name = "nn.yield"
    values = var_operand_def(TensorType)
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[values])


@irdl_op_definition
class GroupOp(IRDLOperation, HasEffects):
    """`%y = nn.group "row" (%x, %b) {^bb0(%0 : T, %1 : U): … nn.yield %v : V}`: ops that one kernel computes.

    `kind` is the loop nest: `elementwise`, `row` (reductions along the last axis), `column` (reductions along another
    axis), `matmul`, `transpose` (a permutation that moves the last axis) or `check` (an assert). One that ends in a
    store or an assert has no results. Isolated, so that equal groups have equal text and are compiled once.
    """

    name = "nn.group"
    kind = prop_def(StringAttr)
    inputs = var_operand_def()
    outputs = var_result_def(TensorType)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), DeclaredEffects())

    def __init__(self, kind: str, inputs: Sequence[SSAValue], outputs: Sequence[Attribute], body: Region) -> None:
        super().__init__(
            operands=[inputs], properties={"kind": StringAttr(kind)}, result_types=[outputs], regions=[body]
        )

    def effects(self) -> Effects:
        return effects_inside(self.body.block, self.inputs)

    @property
    def yielded(self) -> YieldOp:
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last

    @property
    def root(self) -> Operation:
        """The op that the group is made for: the one it yields, or its last one, which has an effect and no result."""
        last = self.yielded
        root = last.values[0].owner if last.values else last.prev_op
        assert isinstance(root, Operation)
        return root

    @classmethod
    def parse(cls, parser: Parser) -> GroupOp:
        kind = parser.parse_str_literal()
        names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        region = parser.parse_region()
        last = region.block.last_op if region.blocks else None
        if not isinstance(last, YieldOp):
            parser.raise_error("expected 'nn.group' to end in nn.yield")
        inputs = parser.resolve_operands(names, [a.type for a in region.block.args], parser.pos)
        return cls(kind, inputs, [v.type for v in last.values], region)  # pyright: ignore[reportArgumentType]

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.kind.data}" (')
        printer.print_list(self.inputs, printer.print_operand)
        printer.print_string(") ")
        printer.print_region(self.body)

    def verify_(self) -> None:
        if [i.type for i in self.inputs] != [a.type for a in self.body.block.args]:
            raise VerifyException("'nn.group' expects block arguments of its operands' types")
        if not all(isinstance(i.type, TensorType | BufferType) for i in self.inputs):
            raise VerifyException("'nn.group' expects tensors and buffers as operands")
        last = self.body.block.last_op
        if not isinstance(last, YieldOp) or [v.type for v in last.values] != [r.type for r in self.outputs]:
            raise VerifyException("'nn.group' expects to end in an nn.yield of its results' types")
