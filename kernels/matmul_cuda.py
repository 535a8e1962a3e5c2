"""The CUDA schedule of `matmul` as numbers: 16 × 16 tiles, a thread block each, and so how many grid items it has.

Enters: a `kernel.call @matmul`. Leaves: its operands and sizes, to `codegen/kernels/matmul_cuda.py`, which prints the
loops, and the number of items, to whoever launches the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import BufType, CallOp, FuncOp
from pelton.dialects.kernel.grid import call_space, grid_items
from pelton.kernels.matmul import given_of
from pelton.kernels.top_k import is_top_k, ranked_of
from pelton.support.errors import CompileError

TILE = 16


@dataclass(frozen=True)
class Product:
    """`[batch?, rows, depth] @ [batch?, depth, columns]`; the right operand may stand in panels of `width` columns."""

    left: BufType
    right: BufType
    space: tuple[Dim, ...]
    width: int
    """Columns of a panel; 0 where the right operand is not packed."""
    partial: Attribute | None = None
    """What the sum of each part of K is rounded to."""

    @property
    def batched(self) -> bool:
        """Whether the result has a batch."""
        return len(self.space) == 3

    @property
    def shared(self) -> bool:
        """Whether all of a batch take the same right operand."""
        return len(self.right.shape) == (3 if self.width else 2)

    @property
    def items(self) -> Dim:
        """Grid items: batch × row tiles × column tiles."""
        *batch, rows, columns = self.space
        return dims.product([*batch, dims.ceildiv(rows, TILE), dims.ceildiv(columns, TILE)])


def product_of(call: CallOp) -> Product:
    """The product of a call; CompileError for operands that are none."""
    left, right = (b.type for b in call.bufs)
    assert isinstance(left, BufType)
    assert isinstance(right, BufType)
    given = given_of(call, "width")
    width = given.value.data if isinstance(given, IntegerAttr) else 0
    found = Product(left, right, call_space(call), width, given_of(call, "partial"))
    matrix = 3 if width else 2
    fits = len(left.shape) == len(found.space) in (2, 3) and len(right.shape) in (matrix, matrix + found.batched)
    if not fits or right.shape[-2] != left.shape[-1] or (width and right.shape[-1] != width):
        raise CompileError(
            "the matmul schedule does not take these operands",
            op=call.name,
            expected="[m, k] or [b, m, k], and [k, n], [b, k, n], or panels [p, k, width] or [b, p, k, width]",
            got=f"{left} and {right}",
        )
    return found


def cuda_items(func: FuncOp) -> Dim:
    """The number of thread blocks of a kernel. Raises CompileError where its sizes do not tell."""
    for op in func.body.block.ops:
        if isinstance(op, CallOp):
            return ranked_of(op).rows if is_top_k(op) else product_of(op).items
    return grid_items(func)
