"""The CPU text of `@top_k_select` and `@top_k_sort`: a row per grid item, its indices straight into the result.

Enters: `kernel.call @top_k_…(%x, %out)` with x `[rows, n]` and out `[rows, k]`. Leaves: lines of the kernel's text.
Both compare keys: integers that order as the elements do, with NaN on top, inverted where the smallest is the best.
So there is one order, and both give the same indices.

`top_k_select` keeps the k best seen so far, sorted, on the stack. A whole vector is compared with the worst of them
at once; only where a lane beats it are the lanes looked at one by one. In rows of n random elements that happens
about k·(1 + ln(n/k)) times. `top_k_sort` sorts the indices where they are going to stay, as a heap, so it takes no
memory of its own. Its order puts an index behind another of an equal key: that makes the sort stable.
"""

from __future__ import annotations

from pelton.codegen.cpu.printer import CpuPrinter
from pelton.codegen.spelling import FROM_HALF, register_name
from pelton.codegen.terms import MUL
from pelton.codegen.uniformity import buffer_type
from pelton.dialects.kernel import CallOp
from pelton.kernels.top_k import ranked_of

KEYS = {"f32": "i32", "f16": "i32", "bf16": "i32", "f64": "i64"}
"""The keys of floats; those of integers are themselves."""

_SELECT = """\
for row in range(lo, hi):
    start = row * {n}
    kept = 0
    bar = {first}
    q = 0
    while q < {n}:
        stop = minimum(q + W, {n})
        if kept < {k} or stop - q < W or any_of({lanes} > bar):
            for j in range(q, stop):
                key = {item}
                if kept < {k} or key > bar:
                    kept = minimum(kept + 1, {k})
                    at = kept - 1
                    while at > 0 and best[at - 1] < key:
                        best[at] = best[at - 1]
                        places[at] = places[at - 1]
                        at -= 1
                    best[at] = key
                    places[at] = j
                    bar = best[kept - 1]
        q = stop
    for j in range({k}):
        {out}[row * {k} + j] = places[j]"""

_SORT = """\
for row in range(lo, hi):
    start = row * {n}
    for j in range({n}):
        {out}[start + j] = j
    first = floordiv({n}, 2)
    stop = to_i64({n})
    while stop > 1:
        if first > 0:
            first -= 1
        else:
            stop -= 1
            last = {out}[start + stop]
            {out}[start + stop] = {out}[start]
            {out}[start] = last
        at = first
        place = {out}[start + at]
        key = {of_place}
        child = 2 * at + 1
        while child < stop:
            below = {out}[start + child]
            its = {of_below}
            if child + 1 < stop:
                other = {out}[start + child + 1]
                others = {of_other}
                if others < its or (others == its and other > below):
                    child += 1
                    below = other
                    its = others
            if its < key or (its == key and below > place):
                {out}[start + at] = below
                at = child
                child = 2 * at + 1
            else:
                child = stop
        {out}[start + at] = place"""


def select(printer: CpuPrinter, op: CallOp) -> None:
    """The lines of `@top_k_select`."""
    ranked, element = ranked_of(op), register_name(buffer_type(op.bufs[0]).elem)
    printer.head(f"best = tile_{KEYS.get(element, element)}({ranked.count})")
    printer.head(f"places = tile_i64({ranked.count})")
    _lines(
        printer, op, _SELECT,
        k=str(ranked.count), first=_key(printer, op, "start"), item=_key(printer, op, "start + j"),
        lanes=_key(printer, op, "start + q", "load({x}, {at})"),
    )  # fmt: skip


def sort(printer: CpuPrinter, op: CallOp) -> None:
    """The lines of `@top_k_sort`."""
    named = {f"of_{name}": _key(printer, op, f"start + {name}") for name in ("place", "below", "other")}
    _lines(printer, op, _SORT, **named)


def _lines(printer: CpuPrinter, op: CallOp, text: str, **parts: str) -> None:
    n, out = printer.dim(ranked_of(op).size).at(MUL), printer.term(op.bufs[1])
    for line in text.format(n=n, out=out, **parts).splitlines():
        printer.line(line)


def _key(printer: CpuPrinter, op: CallOp, at: str, access: str = "{x}[{at}]") -> str:
    """The key of the element at a place."""
    element = register_name(buffer_type(op.bufs[0]).elem)
    item = access.format(x=printer.term(op.bufs[0]), at=at)
    key = f"order_key({FROM_HALF[element]}({item}))" if element in FROM_HALF else f"order_key({item})"
    return key if ranked_of(op).largest else f"~{key}"
