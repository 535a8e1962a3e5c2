"""`split-lanes`: long lanes are cut in chunks, so that one long row feeds many grid items.

Before: `kernel.grid () in () { kernel.lanes (%j) in (%n) {f(%j)} }`, one item for one core. After: `kernel.grid
(%chunk) in (ceil(%n / tile)) { kernel.lanes (%q) in (min(tile, %n - %chunk * tile)) {f(%chunk * tile + %q)} }`. Only
loops whose lanes are independent: a reduction would change its tree. Kernels of a GPU, whose blocks are wide, stay.
Next: printers and the pool, which splits the grid.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from pelton.dialects import dims
from pelton.dialects.kernel import INDEX, CallOp, FuncOp, GridOp, LanesOp, ReduceOp, StoreOp
from pelton.dialects.kernel.grid import dim_of

LANES = 32


@dataclass(frozen=True)
class SplitLanes(ModulePass):
    """Chunks of `tile` lanes, or `heavy_tile` where each lane runs a loop of its own.

    A loop over a known number of lanes is cut where it is longer than a chunk; over an unknown number where the grid is
    known to have at most `small_grid` items.
    """

    name = "split-lanes"
    tile: int = 4096
    heavy_tile: int = 256
    small_grid: int = 8

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and not func.is_for_gpu and (found := only_loop(func)):
                grid, loop = found
                heavy = any(isinstance(o, scf.ForOp) for o in loop.walk())
                lanes = func.attributes.get("lanes")
                width = lanes.value.data if isinstance(lanes, IntegerAttr) else LANES
                tile = -(-(self.heavy_tile if heavy else self.tile) // width) * width
                if self._worth_it(grid, loop, tile):
                    split(func, grid, loop, tile)

    def _worth_it(self, grid: GridOp, loop: LanesOp, tile: int) -> bool:
        length = dim_of(loop.bounds[0])
        if isinstance(length, int):
            return length > tile
        items = dims.product([dim_of(b) for b in grid.bounds])
        return isinstance(items, int) and items <= self.small_grid


def only_loop(func: FuncOp) -> tuple[GridOp, LanesOp] | None:
    """The grid and its one loop over lanes, if that is all the kernel does."""
    grids = [o for o in func.body.block.ops if isinstance(o, GridOp | CallOp)]
    if len(grids) != 1 or not isinstance(grid := grids[0], GridOp):
        return None
    loops = [o for o in grid.body.block.ops if isinstance(o, LanesOp | ReduceOp | StoreOp | scf.ForOp | scf.IfOp)]
    if len(loops) != 1 or not isinstance(loop := loops[0], LanesOp) or len(loop.bounds) != 1:
        return None
    outside = loop.bounds[0].owner
    return (grid, loop) if isinstance(outside, Operation) and outside.parent is func.body.block else None


def split(func: FuncOp, grid: GridOp, loop: LanesOp, tile: int) -> None:
    """Cut the lanes of `loop` in chunks of `tile`; the chunk becomes the grid's last index."""
    total = loop.bounds[0]
    size = arith.ConstantOp(IntegerAttr(tile, INDEX))
    length = dim_of(total)
    if isinstance(length, int):
        chunks = arith.ConstantOp(IntegerAttr(-(-length // tile), INDEX))
    else:
        chunks = arith.CeilDivUIOp(total, size.result)
    chunks.result.name_hint = "chunks"
    func.body.block.insert_ops_before([size, chunks], grid)
    grid.operands = [*grid.bounds, chunks.result]
    chunk = grid.body.block.insert_arg(INDEX, len(grid.body.block.args))
    chunk.name_hint = "chunk"
    start = arith.MuliOp(chunk, size.result)
    left = arith.SubiOp(total, start.result)
    here = arith.MinSIOp(size.result, left.result)
    start.result.name_hint, here.result.name_hint = "start", "count"
    grid.body.block.insert_ops_before([start, left, here], loop)
    loop.operands = [here.result]
    _shift(loop, start.result)


def _shift(loop: LanesOp, start: SSAValue) -> None:
    """The loop's index counts from the start of its chunk."""
    index = loop.body.block.args[0]
    place = arith.AddiOp(start, start)
    index.replace_all_uses_with(place.result)
    place.operands = [start, index]
    place.result.name_hint, index.name_hint = index.name_hint, "q"
    first = loop.body.block.first_op
    if first is None:
        loop.body.block.add_op(place)
    else:
        loop.body.block.insert_op_before(place, first)
