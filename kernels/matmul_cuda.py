"""The CUDA schedule of `matmul` as numbers: which tile of the result a block makes, and so how many grid items it has.

Enters: a `kernel.call @matmul`. Leaves: its operands, sizes and tile, to `codegen/kernels/matmul_cuda.py`, which prints
the loops, and the number of items, to whoever launches the kernel.

A block has 256 threads. Each element of the result is one chain in the order of k, whatever the tile: so the choice of
a tile, which may look at the number of rows, changes no bit. Where the rows are known at run time only, a kernel has
two tiles as wide as each other, the lower one for few rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import BufType, CallOp, FuncOp
from pelton.dialects.kernel.grid import call_space, grid_items
from pelton.dialects.types import bytes_of
from pelton.kernels.matmul import given_of
from pelton.kernels.top_k import is_top_k, ranked_of
from pelton.support.errors import CompileError

BLOCK_THREADS = 256
PROCESSORS = 132
"""Multiprocessors of an H100 or H200; others have 80 to 170, which moves no choice by more than one tile."""
FEW_ROWS = 8


@dataclass(frozen=True)
class Tile:
    """`rows` × `columns` elements a block, `high` × `wide` of them a thread's; `depth` of k at a time in shared
    memory.
    """

    rows: int
    columns: int
    depth: int
    high: int
    wide: int
    why: str

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns} tiles, {self.high} x {self.wide} in a thread's registers"

    def items(self, batch: Dim, rows: Dim, columns: Dim) -> Dim:
        """Grid items: batch × row tiles × column tiles."""
        return dims.product([batch, dims.ceildiv(rows, self.rows), dims.ceildiv(columns, self.columns)])


def tile_for(batch: Dim, rows: Dim, columns: Dim, element: int) -> Tile:
    """The tile for a product with accumulators of `element` bytes.

    Few rows: as much of the right operand as possible is on its way at once, since reading it is all the work. Many
    tiles: large ones, which read shared memory least often. Else tiles small enough for all multiprocessors.
    """
    if isinstance(rows, int) and rows <= FEW_ROWS:
        why = f"at most {FEW_ROWS} rows, so it is the right operand that takes time"
        return Tile(FEW_ROWS, 32, 512 // element, 1, 1, why)
    if element > 4:
        return Tile(64, 32, 16, 4, 2, "accumulators of two registers")
    large = Tile(128, 64, 16, 8, 4, f"at least two for each of {PROCESSORS} multiprocessors")
    many = large.items(batch, rows, columns)
    if isinstance(many, int) and many >= 2 * PROCESSORS:
        return large
    return Tile(64, 64, 16, 4, 4, "larger ones might leave multiprocessors without any")


def few_tile(rows: Dim, tile: Tile) -> Tile | None:
    """The tile for runs of few rows, beside that of `tile_for`; None where the number of rows is known.

    A slab of the left operand has one element for each thread.
    """
    if isinstance(rows, int):
        return None
    wide, depth = FEW_ROWS * tile.columns // BLOCK_THREADS, BLOCK_THREADS // FEW_ROWS
    return Tile(FEW_ROWS, tile.columns, depth, 1, wide, f"in runs of at most {FEW_ROWS} rows")


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
    def sizes(self) -> tuple[Dim, Dim, Dim]:
        """Batch, rows, columns."""
        *batch, rows, columns = self.space
        return dims.product(batch), rows, columns

    @property
    def tile(self) -> Tile:
        """What a block makes."""
        return tile_for(*self.sizes, max(bytes_of(self.left.elem), 4))

    @property
    def few(self) -> Tile | None:
        """What it makes in a run of few rows, where that is another tile."""
        return few_tile(self.sizes[1], self.tile)

    @property
    def items(self) -> Dim:
        """Grid items."""
        return self.tile.items(*self.sizes)


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
