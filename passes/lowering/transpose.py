"""The loop nest of `transpose` groups: a permutation that moves the last axis, and the elementwise ops before it.

Read along the operand's last axis, written along the result's: one of the two would touch a cache line per element.
So a grid item moves one square tile through team memory; both global accesses are contiguous, only the tile is read
across. Its rows are one element longer than the square, so that on a GPU a column's elements lie in different banks.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import BufType, GridOp, LanesOp, LoadOp, ScratchOp, StoreOp
from pelton.dialects.nn import PermuteOp
from pelton.passes.lowering.nest import Nest

SIDE = 32


def lower_transpose(nest: Nest) -> None:
    """grid over the other axes and the tiles of the two; in the tile one loop along each."""
    op = nest.root
    assert isinstance(op, PermuteOp)
    shape, rank = nest.result.shape, len(op.order)
    across, along = (
        op.order.index(rank - 1),
        rank - 1,
    )  # the result's axes that the operand's and its own last axis run along
    others = [k for k in range(rank) if k not in (across, along)]
    tiles: list[Dim] = [dims.ceildiv(shape[k], SIDE) for k in (across, along)]
    with nest.loop(GridOp, [*(shape[k] for k in others), *tiles]) as outer:
        scratch = nest.b.insert(
            ScratchOp.create(result_types=[BufType([SIDE, SIDE + 1], nest.result.dtype, space="team")])
        )
        scratch.name_hint = "tile"
        corner = [nest.b.mul(t, nest.b.index(SIDE)) for t in outer[-2:]]

        def place(row: SSAValue, column: SSAValue) -> tuple[list[SSAValue], SSAValue]:
            """The result's index at a place of the tile, and whether there is one."""
            index = dict(zip(others, outer, strict=False))
            index[along], index[across] = nest.b.add(corner[1], row), nest.b.add(corner[0], column)
            inside = [nest.b.compare("below", index[k], nest.b.dim(shape[k])) for k in (across, along)]
            return [index[k] for k in range(rank)], nest.b.binary("and", *inside)

        with nest.loop(LanesOp, [SIDE, SIDE]) as (row, column):
            index, ok = place(row, column)
            with nest.b.where(ok):
                value = nest.read(op.results[0], index)
            nest.b.builder.insert(StoreOp(value, scratch, [row, column]))
        with nest.loop(LanesOp, [SIDE, SIDE]) as (column, row):
            index, ok = place(row, column)
            value = nest.b.insert(LoadOp(scratch, [row, column]))
            nest.b.builder.insert(StoreOp(value, nest.output(shape), index, ok))
