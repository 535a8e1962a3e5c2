"""The register tile of a matrix product as one word: a block of rows and one packed panel enter, their product leaves
in a stack tile.

`matmul_tile(tile, a, a0, lda, rows, b, b0, depth, count, accumulate)`: for r < count and c < W,

    tile[r * W + c] = (tile[r * W + c] if accumulate else 0)
                      + Σ_q a[a0 + min(r, rows - 1) * lda + q] * b[b0 + q * W + c]

with q < depth in order. `count` and `accumulate` are literals; W, the lanes of the function, are the panel's columns.
All count × W sums stay in registers as phis of one loop over q. Rows from `rows` on repeat the last, so that the same
code serves the end of a matrix and nothing out of bounds is read. A sum is taken in the order of q, one fused
multiply-add per step (a product and a sum where the target has no FMA): its bits depend on nothing but the operands.
The panel's next lines are prefetched; rows of `a` are short and stay in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pelton.codegen.cpu.elements import I32, I64, Element
from pelton.codegen.cpu.emitter import STACK_ALIGNMENT, Emitter, Value, vector_type
from pelton.codegen.cpu.seam import ir

AHEAD = 1024
"""How far ahead of the load the panel is prefetched, in bytes."""
LINE = 64


def matmul_tile(
    e: Emitter,
    tile: Any,
    a: Any,
    a0: Value,
    lda: Value,
    rows: Value,
    b: Any,
    b0: Value,
    depth: Value,
    count: int,
    accumulate: bool,
    element: Element,
) -> None:
    """The module's docstring says what; pointers are LLVM values, places and sizes are i64."""
    kind = vector_type(element, e.lanes)
    alignment = min(STACK_ALIGNMENT, e.lanes * element.bits // 8)
    places = [
        e.builder.bitcast(e.offset(tile, ir.Constant(I64.llvm, r * e.lanes)), kind.as_pointer()) for r in range(count)
    ]
    zero = e.number(element, 0, e.lanes)
    starts = [zero.like(e.builder.load(p, align=alignment)) if accumulate else zero for p in places]
    sums = _loop(e, _row_addresses(e, a, a0, lda, rows, count), e.offset(b, b0.llvm), depth, starts)
    for place, total in zip(places, sums, strict=True):
        e.builder.store(total.llvm, place, align=alignment)


def _row_addresses(e: Emitter, a: Any, a0: Value, lda: Value, rows: Value, count: int) -> list[Any]:
    """Where each row of `a` starts."""
    last = rows - 1
    steps = [e.select(last < r, last, last.constant(r)) if r else last.constant(0) for r in range(count)]
    return [e.offset(a, (a0 + step * lda).llvm) for step in steps]


def _loop(e: Emitter, rows: Sequence[Any], panel: Any, depth: Value, starts: Sequence[Value]) -> list[Value]:
    """The sums after `depth` steps; the starts where that is 0."""
    b, like = e.builder, starts[0]
    before, loop, after = b.block, b.append_basic_block("k"), b.append_basic_block("k_done")
    b.cbranch((depth > 0).llvm, loop, after)
    b.position_at_end(loop)
    q, place = depth.like(b.phi(depth.llvm.type)), b.phi(panel.type)
    carried = [start.like(b.phi(start.llvm.type)) for start in starts]
    _prefetch(e, place, like.element)
    column = like.like(b.load(b.bitcast(place, like.llvm.type.as_pointer()), align=like.element.bits // 8))
    sums: list[Value] = []
    for address, total in zip(rows, carried, strict=True):
        x = Value(e, b.load(e.offset(address, q.llvm)), like.element, 0)
        sums.append(e.fma(e.splat(x, e.lanes), column, total))
    following = q + 1
    onward = e.offset(place, ir.Constant(I64.llvm, e.lanes))
    steps = [(q.llvm, depth.constant(0).llvm, following.llvm), (place, panel, onward)]
    steps += [(phi.llvm, start.llvm, new.llvm) for phi, start, new in zip(carried, starts, sums, strict=True)]
    for phi, first, later in steps:
        phi.add_incoming(first, before)
        phi.add_incoming(later, loop)
    b.cbranch((following < depth).llvm, loop, after)
    b.position_at_end(after)
    return [_merged(b, start, before, total, loop) for start, total in zip(starts, sums, strict=True)]


def _merged(b: Any, first: Value, before: Any, later: Value, loop: Any) -> Value:
    phi = b.phi(first.llvm.type)
    phi.add_incoming(first.llvm, before)
    phi.add_incoming(later.llvm, loop)
    return first.like(phi)


def _prefetch(e: Emitter, place: Any, element: Element) -> None:
    """Ask for the lines that the loop reads soon."""
    size = element.bits // 8
    for byte in range(0, e.lanes * size, LINE):
        address = e.offset(place, ir.Constant(I64.llvm, (AHEAD + byte) // size))
        e.call("llvm.prefetch.p0", ir.VoidType(), [address, *(ir.Constant(I32.llvm, n) for n in (0, 3, 1))])
