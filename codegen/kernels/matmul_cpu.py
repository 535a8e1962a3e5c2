"""The CPU text of `@matmul`: blocks of rows times panels of packed columns, a register tile at a time.

Enters: `kernel.call @matmul(%a, %b)` with a `[m, k]` or `[b, m, k]`, b packed in panels `[p, k, width]` or `[b, p,
k, width]`. Leaves: lines of the kernel's text, the epilogue in a loop over the rows of a finished tile, its lanes
the panel's columns.

A panel stays in the L1 cache while all row tiles of the block pass over it; the block's rows of a stay in L2 while
its panels change. Every part of k is summed in one chain, and the sums of parts are added in their order, so the bits
of an element depend on nothing but its row, its column and k.
"""

from __future__ import annotations

from collections.abc import Sequence

from pelton.codegen.cpu.printer import CpuPrinter, Schedule
from pelton.codegen.spelling import convert, register_name
from pelton.codegen.terms import Term, call, infix, number, total
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import CallOp
from pelton.dialects.kernel.uniformity import buffer_type
from pelton.dialects.nn.matmul import PART
from pelton.kernels.matmul import Blocks, blocks_of
from pelton.kernels.tiles import TILE
from pelton.support.errors import CompileError


def matmul_schedule(target: str) -> Schedule:
    """The schedule with the register tile of a CPU target."""

    def write(printer: CpuPrinter, op: CallOp) -> None:
        element = register_name(buffer_type(op.bufs[0]).elem)
        if element not in TILE[target] or op.body.block.args[0].type != buffer_type(op.bufs[0]).elem:
            raise CompileError(
                f"the matmul schedule of {target} does not take {element}",
                op=op.name,
                location=printer.place_of(op),
                expected=f"{' or '.join(TILE[target])} operands and an accumulator of their type",
                got=f"{buffer_type(op.bufs[0])}, accumulator {op.body.block.args[0].type}",
                remedy="compute in f32, between nn.cast ops",
            )
        _Text(printer, op, TILE[target][element][0], element).write()

    return write


class _Text:
    """One product being printed."""

    def __init__(self, printer: CpuPrinter, op: CallOp, height: int, element: str) -> None:
        self.printer = printer
        self.op = op
        self.blocks: Blocks = blocks_of(op)
        self.height = height
        self.element = element
        self.depth = printer.dim(self.blocks.depth)
        self.sums: Term | None = None
        printer.lanes_per_step = self.blocks.width

    def let(self, name: str, value: Term) -> Term:
        """A line that names `value`."""
        term = Term(self.printer.names.fresh(name, name))
        self.printer.line(f"{term} = {value}")
        return term

    def loop(self, name: str, *bounds: Term) -> Term:
        """The head of a loop."""
        bounds = bounds[1:] if len(bounds) == 2 and bounds[0].text == "0" else bounds
        term = Term(self.printer.names.fresh(name, name))
        self.printer.line(f"for {term} in {call('range', *bounds)}:")
        return term

    def write(self) -> None:
        printer, blocks = self.printer, self.blocks
        tile = Term(printer.names.fresh("tile", "tile"))
        size = number(self.height * blocks.width)
        printer.head(f"{tile} = {call('tile_' + self.element, size)}")
        if blocks.in_parts:
            self.sums = Term(printer.names.fresh("sums", "sums"))
            printer.head(f"{self.sums} = {call('tile_' + self.element, size)}")
        item = self.loop("item", Term("lo"), Term("hi"))
        with printer.indented():
            matrix, row_block, panel_block = self.places(item)
            top, bottom = self.span("top", "bottom", row_block, blocks.block_rows, printer.dim(blocks.rows))
            first, last = self.span("first", "last", panel_block, blocks.block_panels, printer.dim(blocks.panels))
            panel = self.loop("panel", first, last)
            with printer.indented():
                self.panel(tile, matrix, panel, top, bottom)

    def places(self, item: Term) -> tuple[Term | None, Term, Term]:
        """Item number → matrix of the batch, row block, panel block."""
        rows, panels = self.printer.dim(self.blocks.row_blocks), self.printer.dim(self.blocks.panel_blocks)
        if self.blocks.batch is None:
            return None, *self.divided(item, panels, "row_block", "panel_block")
        rest, panel_block = self.divided(item, panels, "rest", "panel_block")
        return *self.divided(rest, rows, "matrix", "row_block"), panel_block

    def divided(self, x: Term, by: Term, quotient: str, remainder: str) -> tuple[Term, Term]:
        """Quotient and remainder, named."""
        if by.text == "1":
            return x, number(0)
        by = by if by.text.isidentifier() or by.text.isdigit() else self.let(f"{remainder}s", by)
        high = self.let(quotient, call("floordiv", x, by))
        return high, self.let(remainder, infix("-", x, infix("*", high, by)))

    def span(self, first: str, last: str, block: Term, size: int, limit: Term) -> tuple[Term, Term]:
        """The range of one block."""
        start = self.let(first, infix("*", block, number(size))) if block.text != "0" else number(0)
        if start.text == "0" and limit.text.isdigit() and int(limit.text) <= size:
            return start, limit
        return start, self.let(last, call("minimum", infix("+", start, number(size)), limit))

    def inside(self, matrix: Term | None, size: Dim, place: Term) -> Term:
        """Row or panel `place` of a matrix of the batch, counted from the start of the buffer."""
        return place if matrix is None else total([infix("*", matrix, self.printer.dim(size)), place])

    def panel(self, tile: Term, matrix: Term | None, panel: Term, top: Term, bottom: Term) -> None:
        """All row tiles of a block against one panel."""
        printer, blocks, a, b = self.printer, self.blocks, *map(self.printer.term, self.op.bufs)
        j = self.let("j", infix("*", panel, Term("W")))
        own = None if blocks.shared else matrix
        b0 = self.let("b0", infix("*", infix("*", self.inside(own, blocks.panels, panel), self.depth), Term("W")))
        row = self.loop("row", top, bottom, number(self.height))
        with printer.indented():
            left = self.let("left", infix("-", bottom, row))
            a0 = infix("*", self.inside(matrix, blocks.rows, row), self.depth)
            if self.sums is None:
                self.tiles(left, (tile, a, a0, self.depth, left, b, b0, self.depth))
            else:
                self.parts(tile, self.sums, left, (a, a0, b, b0))
                tile = self.sums
            place = (*(() if matrix is None else (matrix,)), row, j)
            columns = printer.dim(blocks.columns)
            if isinstance(blocks.columns, int) and blocks.columns % blocks.width == 0:
                return self.rows(tile, left, place, None)
            printer.line(f"if {infix('<=', infix('+', j, Term('W')), columns)}:")
            with printer.indented():
                self.rows(tile, left, place, None)
            printer.line("else:")
            with printer.indented():
                self.rows(tile, left, place, self.let("columns", call("below", infix("-", columns, j))))

    def parts(self, tile: Term, sums: Term, left: Term, operands: tuple[Term, Term, Term, Term]) -> None:
        """The products of one tile over each part of k, added in `sums`; a k of 0 has one part, of 0."""
        printer, (a, a0, b, b0) = self.printer, operands
        end = self.depth if self.depth.text.isdigit() else call("maximum", self.depth, number(1))
        part = self.loop("part", number(0), end, number(PART))
        r = Term(printer.names.index("r", "r"))
        at = infix("*", r, Term("W"))
        with printer.indented():
            depth = self.let("depth", call("minimum", infix("-", self.depth, part), number(PART)))
            start = infix("+", b0, infix("*", part, Term("W")))
            self.tiles(left, (tile, a, infix("+", a0, part), self.depth, left, b, start, depth))
            printer.line(f"for {r} in {call('range', call('minimum', left, number(self.height)))}:")
            with printer.indented():
                one = self.kept(call("load", tile, at))
                both = infix("+", call("load", sums, at), one)
                printer.line(call("store", sums, at, call("where", infix("==", part, number(0)), one, both)))
        printer.names.release(r.text, "r", "r")

    def kept(self, one: Term) -> Term:
        """The sum of a part, named, as it is added."""
        if self.blocks.partial is not None:
            half = register_name(self.blocks.partial)
            one = convert(convert(one, self.element, half), half, self.element)
        return self.let("one", one)

    def tiles(self, left: Term, args: Sequence[Term]) -> None:
        """The product of one tile. A lone row, as in decoding, has a tile of its own: the same sums, less work."""
        self.printer.line(f"if {left} == 1:")
        with self.printer.indented():
            self.printer.line(call("matmul_tile", *args, number(1), number(0)))
        self.printer.line("else:")
        with self.printer.indented():
            self.printer.line(call("matmul_tile", *args, number(self.height), number(0)))

    def rows(self, tile: Term, left: Term, place: Sequence[Term], mask: Term | None) -> None:
        """The epilogue for each row of a finished tile."""
        printer, names = self.printer, ("r", "i", "acc")
        r, i, acc = (Term(printer.names.index(name, name)) for name in names)
        *lead, row, j = place
        printer.line(f"for {r} in {call('range', call('minimum', left, number(self.height)))}:")
        with printer.indented():
            printer.line(f"{i} = {infix('+', row, r)}")
            printer.line(f"{acc} = {call('load', tile, infix('*', r, Term('W')))}")
            printer.epilogue(self.op, acc, (*lead, i, j), mask)
        for term, name in zip((r, i, acc), names, strict=True):
            printer.names.release(term.text, name, name)
