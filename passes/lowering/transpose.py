"""The loop nest of `transpose` groups: a permutation that moves the last axis, and the elementwise ops before it.

Read along the operand's last axis, written along the result's: one of the two would touch a cache line per element.
So a grid item moves one square tile through team memory; both global accesses are contiguous, only the tile is read
across. Its rows are one element longer than the square, so that on a GPU a column's elements lie in different banks.
A tile that lies inside the result is moved without guards, since masked stores are slow on many CPUs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Block, Region, SSAValue

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import BufType, GridOp, LanesOp, LoadOp, ScratchOp, StoreOp
from pelton.dialects.nn import PermuteOp
from pelton.passes.lowering.nest import Nest

SIDE = 32


def lower_transpose(nest: Nest) -> None:
    """grid over the other axes and the tiles of the two; in the tile one loop along each."""
    transpose = Transpose(nest)
    shape = nest.result.shape
    tiles: list[Dim] = [dims.ceildiv(shape[k], SIDE) for k in transpose.moved]
    with nest.loop(GridOp, [*(shape[k] for k in transpose.others), *tiles]) as outer:
        transpose.start(outer)
        whole, part = Block(), Block()
        for block, guarded in ((whole, False), (part, True)):
            with nest.inside(block):
                transpose.move(guarded)
                nest.b.builder.insert(scf.YieldOp())
        nest.b.builder.insert(scf.IfOp(transpose.inside(SIDE, SIDE), [], Region(whole), Region(part)))


@dataclass(eq=False)
class Transpose:
    """One tile's way. `moved` are the result's axes that the operand's last axis and its own last axis run along."""

    nest: Nest
    outer: tuple[SSAValue, ...] = ()
    corner: list[SSAValue] = field(default_factory=list[SSAValue])

    def __post_init__(self) -> None:
        op = self.nest.root
        assert isinstance(op, PermuteOp)
        last = len(op.order) - 1
        self.moved = (op.order.index(last), last)
        self.others = [k for k in range(len(op.order)) if k not in self.moved]

    def start(self, outer: tuple[SSAValue, ...]) -> None:
        """Make room for the tile and find its corner."""
        b = self.nest.b
        t = BufType([SIDE, SIDE + 1], self.nest.result.dtype, space="team")
        self.tile = b.insert(ScratchOp.create(result_types=[t]))
        self.tile.name_hint = "tile"
        self.outer = outer
        self.corner = [b.mul(number, b.index(SIDE)) for number in outer[-2:]]

    def inside(self, column: SSAValue | int, row: SSAValue | int) -> SSAValue:
        """Whether a place of the tile is one of the result; of a number, whether all before it are."""
        b, checks = self.nest.b, list[SSAValue]()
        for k, corner, offset in zip(self.moved, self.corner, (column, row), strict=True):
            size = b.dim(self.nest.result.shape[k])
            end = b.add(corner, b.index(offset) if isinstance(offset, int) else offset)
            checks.append(b.compare("le" if isinstance(offset, int) else "below", end, size))
        return b.binary("and", *checks)

    def index(self, column: SSAValue, row: SSAValue) -> list[SSAValue]:
        """The result's index at a place of the tile."""
        found = dict(zip(self.others, self.outer, strict=False))
        for k, corner, offset in zip(self.moved, self.corner, (column, row), strict=True):
            found[k] = self.nest.b.add(corner, offset)
        return [found[k] for k in range(len(found))]

    def move(self, guarded: bool) -> None:
        """From the operand to the tile along the operand's last axis, from there to the result along its own."""
        nest = self.nest
        with nest.loop(LanesOp, [SIDE, SIDE]) as (row, column):
            if guarded:
                with nest.b.where(self.inside(column, row)):
                    value = nest.read(nest.root.results[0], self.index(column, row))
            else:
                value = nest.read(nest.root.results[0], self.index(column, row))
            nest.b.builder.insert(StoreOp(value, self.tile, [row, column]))
        with nest.loop(LanesOp, [SIDE, SIDE]) as (column, row):
            value = nest.b.insert(LoadOp(self.tile, [row, column]))
            guard = self.inside(column, row) if guarded else None
            nest.b.builder.insert(StoreOp(value, nest.output(nest.result.shape), self.index(column, row), guard))
