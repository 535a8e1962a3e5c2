"""How many items a kernel's grid has, as a size over the function's symbols.

Enters: a `kernel.func`. Leaves: a `Dim`, to the plan, which turns it into arithmetic over the launch's sizes. The
bounds of the grid are followed back through the function's index arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.kernel.loops import CallOp, DimOp, FuncOp, GridOp
from pelton.dialects.kernel.memory import StoreOp
from pelton.dialects.kernel.types import BufType
from pelton.support.errors import CompileError

_ARITHMETIC: Mapping[type[Operation], Callable[[Dim, Dim], Dim]] = {
    arith.AddiOp: dims.add,
    arith.SubiOp: dims.sub,
    arith.MuliOp: dims.mul,
    arith.FloorDivSIOp: dims.floordiv,
    arith.CeilDivUIOp: dims.ceildiv,
    arith.CeilDivSIOp: dims.ceildiv,
    arith.MinSIOp: dims.minimum,
    arith.MaxSIOp: dims.maximum,
}


def grid_of(func: FuncOp) -> GridOp:
    """The one grid of a kernel."""
    for op in func.body.block.ops:
        if isinstance(op, GridOp):
            return op
    raise CompileError(
        "a kernel has no grid", op=func.name, location=f"@{func.sym_name.data}", expected="a kernel.grid"
    )


def grid_items(func: FuncOp) -> Dim:
    """The product of the grid's bounds; 1 for a grid without bounds.

    Raises CompileError where a bound is not made of `kernel.dim`, constants and index arithmetic.
    """
    return dims.product([dim_of(bound) for bound in grid_of(func).bounds])


def call_space(call: CallOp) -> tuple[Dim, ...]:
    """The size of each index that a hand schedule of a product hands to its hole: batch if any, rows, columns.

    A packed operand says only how many panels of columns there are; the columns are those of the buffer that the hole
    stores into at its last index.
    """
    left = call.bufs[0].type
    assert isinstance(left, BufType)
    column = call.body.block.args[-1]
    for op in call.body.walk():
        if isinstance(op, StoreOp) and isinstance(op.buf.type, BufType) and column in op.index:
            return (*left.shape[:-1], op.buf.type.shape[tuple(op.index).index(column)])
    raise CompileError("the columns of a product are not known", op=call.name, got=call.callee.string_value(),
                       expected="a kernel.store at the last index of the epilogue")  # fmt: skip


def dim_of(value: SSAValue) -> Dim:
    """The size that a value of the function's index arithmetic stands for."""
    match value.owner:
        case DimOp(dim=name):
            return name.data
        case arith.ConstantOp(value=IntegerAttr() as number):
            return number.value.data
        case arith.IndexCastOp(input=source):
            return dim_of(source)
        case Operation() as op if type(op) in _ARITHMETIC:
            return _ARITHMETIC[type(op)](dim_of(op.operands[0]), dim_of(op.operands[1]))
        case owner:
            got = owner.name if isinstance(owner, Operation) else "a block argument"
            raise CompileError(
                "the number of grid items is not known before the kernel runs",
                op="kernel.grid",
                expected="bounds made of kernel.dim, constants and index arithmetic",
                got=got,
            )
