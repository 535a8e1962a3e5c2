"""The CPU schedule of `matmul` as numbers: in which blocks it is cut, and so how many grid items it has.

A block is some rows times some panels of columns; batches are blocks of their own. Blocks are cut by size alone, so
neither threads nor batch size change what one element is computed from. Next: `codegen/kernels/matmul_cpu.py`
prints the loops.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr
from xdsl.ir import Attribute

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import BufType, CallOp
from pelton.dialects.kernel.grid import call_space
from pelton.dialects.nn.matmul import PART
from pelton.support.errors import CompileError

ROWS = 48
PANELS, LONG = 8, 2048
"""Panels of a block: while they change, its rows of the left operand stay in the L2 cache, unless K is `LONG`."""


@dataclass(frozen=True)
class Blocks:
    """One product: its sizes, and how it is cut."""

    batch: Dim | None
    rows: Dim
    columns: Dim
    depth: Dim
    panels: Dim
    width: int
    shared: bool
    """The right operand has no batch of its own."""
    block_rows: int
    block_panels: int
    partial: Attribute | None = None
    """What the sum of each part of K is rounded to."""

    @property
    def in_parts(self) -> bool:
        """Whether K may be longer than one part."""
        return not isinstance(self.depth, int) or self.depth > PART

    @property
    def row_blocks(self) -> Dim:
        return dims.ceildiv(self.rows, self.block_rows)

    @property
    def panel_blocks(self) -> Dim:
        return dims.ceildiv(self.panels, self.block_panels)

    @property
    def items(self) -> Dim:
        """Grid items: batch × row blocks × panel blocks."""
        return dims.product([self.batch if self.batch is not None else 1, self.row_blocks, self.panel_blocks])


def panels_of(depth: Dim) -> int:
    """How many panels a block has: of a known long K one, so that threads share a product of few rows and columns."""
    return 1 if isinstance(depth, int) and depth >= LONG else PANELS


def blocks_of(call: CallOp) -> Blocks:
    """How the product of `kernel.call @matmul` is cut; `rows` and `panels` among its parameters override the defaults.

    Raises CompileError for operands that are no product of a matrix or batch of matrices with packed panels.
    """
    left, right = (b.type for b in call.bufs)
    assert isinstance(left, BufType)
    assert isinstance(right, BufType)
    *batch, rows, depth = left.shape
    width = right.shape[-1]
    known = len(batch) <= 1 and len(right.shape) - 3 in (0, len(batch)) and isinstance(width, int)
    if not known or right.shape[-2] != depth or left.strides.data or right.strides.data:
        raise CompileError(
            "the matmul schedule does not take these operands",
            op=call.name,
            expected="[m, k] or [b, m, k], and panels [p, k, width] or [b, p, k, width]",
            got=f"{left} and {right}",
            remedy="pack the right operand with nn.pack",
        )
    return Blocks(
        batch=batch[0] if batch else None,
        rows=rows,
        columns=call_space(call)[-1],
        depth=depth,
        panels=right.shape[-3],
        width=width if isinstance(width, int) else 0,
        shared=len(right.shape) == 3,
        block_rows=_parameter(call, "rows", ROWS),
        block_panels=_parameter(call, "panels", panels_of(depth)),
        partial=given_of(call, "partial"),
    )


def _parameter(call: CallOp, name: str, default: int) -> int:
    given = given_of(call, name)
    return given.value.data if isinstance(given, IntegerAttr) else default


def given_of(call: CallOp, name: str) -> Attribute | None:
    """A parameter of a call."""
    return call.parameters.data.get(name) if isinstance(call.parameters, DictionaryAttr) else None
