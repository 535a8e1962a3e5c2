"""`specialize-dims`: known sizes become constants in kernel functions.

Before: `!kernel.buf<[m, n], f32>` and `kernel.dim n`. After `specialize-dims{names=n values=384}`: `!kernel.buf<[m,
384], f32>` and `arith.constant 384 : index`. The symbols stay parameters, so launches need no change; the kernel is
then right for that size only. Next: printers write loops without a tail where the size is a multiple of the lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import INDEX, BufType, DimOp, FuncOp
from pelton.support.errors import CompileError


@dataclass(frozen=True)
class SpecializeDims(ModulePass):
    """`values` of the symbols `names`, in every kernel that has them."""

    name = "specialize-dims"
    names: tuple[str, ...] = ()
    values: tuple[int, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if len(self.names) != len(self.values):
            raise CompileError("specialize-dims takes a value per name", stage=self.name,
                               expected=f"{len(self.names)} values", got=str(len(self.values)))  # fmt: skip
        sizes = dict(zip(self.names, self.values, strict=True))
        for func in op.body.block.ops:
            if isinstance(func, FuncOp):
                specialize(func, sizes)


def specialize(func: FuncOp, sizes: Mapping[str, int]) -> None:
    """Put the numbers in place of the symbols, in types and ops."""
    known: dict[str, Dim] = dict(sizes)
    for value in list(_values(func)):
        if isinstance(t := value.type, BufType):
            new = BufType(_substituted(t.shape, known), t.elem, _substituted(t.strides.data, known), t.space.data)
            if new != t:
                Rewriter.replace_value_with_new_type(value, new)
    for op in list(func.body.walk()):
        if isinstance(op, DimOp) and op.dim.data in sizes:
            constant = arith.ConstantOp(IntegerAttr(sizes[op.dim.data], INDEX))
            Rewriter.replace_op(op, constant)


def _values(func: FuncOp) -> Iterator[SSAValue]:
    yield from func.body.block.args
    for op in func.body.walk():
        yield from op.results


def _substituted(shape: tuple[Dim, ...], known: Mapping[str, Dim]) -> tuple[Dim, ...]:
    return tuple(dims.substitute(d, known) for d in shape)
