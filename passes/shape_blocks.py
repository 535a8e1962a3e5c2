"""`shape-blocks`: how much of a kernel a thread block does, where each lane works by itself (GPU only).

Before: an item of the grid is a row, however long it is. After: a block has `tile` elements, a few for each of its
threads. A long row is cut as `split-lanes` does it: `kernel.grid (%i, %chunk) in (%m, ceil(%n / tile))`. Short rows are
joined: `kernel.grid (%block) in (ceil(%m / rows)) { kernel.lanes (%q, %j) in (min(rows, %m - %block * rows), %n) }`.
Kernels with a reduction keep a row per block: its threads do the row together. Next: `assign-buffers`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from pelton.dialects.kernel import INDEX, CheckOp, FuncOp, GridOp, LanesOp, ReportOp
from pelton.dialects.kernel.grid import dim_of
from pelton.passes.split_lanes import only_loop, split


@dataclass(frozen=True)
class ShapeBlocks(ModulePass):
    """Blocks of `tile` elements, or of `heavy_tile` where each lane runs a loop of its own."""

    name = "shape-blocks"
    tile: int = 512
    heavy_tile: int = 128

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.is_for_gpu and (found := only_loop(func)):
                grid, loop = found
                heavy = any(isinstance(o, scf.ForOp) for o in loop.walk())
                tile, length = self.heavy_tile if heavy else self.tile, dim_of(loop.bounds[0])
                if not isinstance(length, int) or length > tile:
                    split(func, grid, loop, tile)
                elif 0 < length <= tile // 2:
                    _join(func, grid, loop, tile // length)


def _join(func: FuncOp, grid: GridOp, loop: LanesOp, rows: int) -> None:
    """Let a block do so many neighbours along the grid's last index."""
    if not grid.bounds or dim_of(grid.bounds[-1]) == 1 or any(isinstance(o, CheckOp | ReportOp) for o in _before(loop)):
        return
    total, moved = grid.bounds[-1], _before(loop)
    size = arith.ConstantOp(IntegerAttr(rows, INDEX))
    blocks = arith.CeilDivUIOp(total, size.result)
    blocks.result.name_hint = "blocks"
    func.body.block.insert_ops_before([size, blocks], grid)
    grid.operands = [*grid.bounds[:-1], blocks.result]
    index = grid.body.block.args[-1]
    start = arith.MuliOp(index, size.result)
    left = arith.SubiOp(total, start.result)
    here = arith.MinSIOp(size.result, left.result)
    start.result.name_hint, here.result.name_hint = "start", "count"
    first = loop.body.block.first_op
    place = arith.AddiOp(start.result, loop.body.block.insert_arg(INDEX, 0))
    loop.body.block.args[0].name_hint = "q"
    for op in moved:
        op.detach()
    assert first is not None
    loop.body.block.insert_ops_before([place, *moved], first)
    grid.body.block.insert_ops_before([start, left, here], loop)
    loop.operands = [here.result, *loop.bounds]
    _renamed(index, place.result, start)


def _before(loop: LanesOp) -> list[Operation]:
    """What the grid computes for the loop, per item."""
    block = loop.parent
    assert block is not None
    return [op for op in block.ops if op is not loop]


def _renamed(index: SSAValue, place: SSAValue, start: arith.MuliOp) -> None:
    """What used the row's index uses its place; the index is that of a block now."""
    place.name_hint, index.name_hint = index.name_hint, "block"
    index.replace_uses_with_if(place, lambda use: use.operation is not start)
