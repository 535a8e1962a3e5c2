"""The CPU text of `@top_k_select` and `@top_k_sort`: a row per grid item, its indices straight into the result.

Enters: `kernel.call @top_k_select(%x, %out)` with x `[rows, n]` and out `[rows, k]`, or `@top_k_sort(%x, %out, %work)`
with three buffers of one shape. Leaves: lines of the kernel's text. Both compare keys: integers that order as the
elements do, with NaN on top, inverted where the smallest is the best. So there is one order, and both give the same
indices. All sorting is stable, which puts the lowest of equal elements first.

`top_k_select` keeps the k best seen so far, sorted, on the stack. It compares a vector at a time with the worst of them
and notes those that beat it; whenever enough are noted they are sorted by merging, and merged with the best. In a
row of n random elements about k·log2(n/k) are noted; where all are, as in a row that rises, it costs n·log2(k) steps.
`top_k_sort` sorts the indices of the row byte by byte of their keys, from the lowest to the highest, from `out` to
`work` and back; a byte that is the same in the whole row is skipped. Short rows it sorts by insertion.
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
    home = 0
    q = 0
    while q < {n}:
        count = 0
        if kept < {k}:
            count = minimum({enough}, {n} - q)
            for j in range(count):
                keys[j] = {taken}
                places[j] = q + j
            q += count
        else:
            bar = best[home + {last}]
            while q + W <= {n} and count < {enough}:
                hits = bits_of({lanes} > bar)
                while hits != 0:
                    j = q + first_bit(hits)
                    hits = hits & (hits - 1)
                    keys[count] = {item}
                    places[count] = j
                    count += 1
                q += W
            if q + W > {n}:
                for j in range(q, {n}):
                    key = {item}
                    if key > bar:
                        keys[count] = key
                        places[count] = j
                        count += 1
                q = to_i64({n})
        here = 0
        run = 1
        while run < count:
            there = {room} - here
            at = 0
            while at < count:
                middle = minimum(at + run, count)
                end = minimum(middle + run, count)
                left = here + at
                right = here + middle
                for to in range(there + at, there + end):
                    a = keys[left]
                    b = keys[right]
                    later = (right < here + end) & ((left >= here + middle) | (b > a))
                    keys[to] = where(later, b, a)
                    places[to] = places[where(later, right, left)]
                    right += to_i64(later)
                    left += 1 - to_i64(later)
                at = end
            here = there
            run = run * 2
        total = minimum(kept + count, {k})
        other = {k} - home
        left = home
        right = here
        for to in range(other, other + total):
            a = best[left]
            b = keys[right]
            later = (right < here + count) & ((left >= home + kept) | (b > a))
            best[to] = where(later, b, a)
            spots[to] = where(later, places[right], spots[left])
            right += to_i64(later)
            left += 1 - to_i64(later)
        kept = total
        home = other
    for j in range({k}):
        {out}[row * {k} + j] = spots[home + j]"""

_SORT = """\
for row in range(lo, hi):
    start = row * {n}
    if {n} <= {short}:
        for j in range({n}):
            key = {item}
            at = j
            while at > 0 and keys[at - 1] < key:
                keys[at] = keys[at - 1]
                {out}[start + at] = {out}[start + at - 1]
                at -= 1
            keys[at] = key
            {out}[start + at] = j
    else:
        for d in range({counters}):
            counts[d] = 0
        for j in range({n}):
            bits = ~to_i64({item})
{count}
            {out}[start + j] = j
        source = {out}
        target = {work}
        moved = 0
        for byte in range({bytes}):
            first = byte * 256
            shift = byte * 8
            flip = where(byte == {top}, {flip}, 0)
            most = 0
            total = 0
            for d in range(256):
                size = counts[first + (d ^ flip)]
                counts[first + (d ^ flip)] = total
                total += size
                most = maximum(most, size)
            if most < {n}:
                for j in range({n}):
                    place = source[start + j]
                    d = first + ((~to_i64({of_place}) >> shift) & 255)
                    to = counts[d]
                    counts[d] = to + 1
                    target[start + to] = place
                spare = source
                source = target
                target = spare
                moved = 1 - moved
        if moved == 1:
            for j in range({n}):
                {out}[start + j] = {work}[start + j]"""

_COUNT = """\
            d{byte} = {first} + ((bits >> {shift}) & 255)
            counts[d{byte}] = counts[d{byte}] + 1"""
AHEAD = 64
"""How many are noted, at least, before they are merged with the best."""
SHORT = 64
"""Rows up to this size are sorted by insertion: 256 counters per byte cost more."""
LANES = 32


def select(printer: CpuPrinter, op: CallOp) -> None:
    """The lines of `@top_k_select`."""
    ranked, element = ranked_of(op), register_name(buffer_type(op.bufs[0]).elem)
    assert isinstance(ranked.count, int)
    enough, kind = max(ranked.count, AHEAD), KEYS.get(element, element)
    room = enough + 2 * LANES
    for name, of, count in (
        ("keys", kind, room), ("places", "i64", room), ("best", kind, ranked.count), ("spots", "i64", ranked.count)
    ):  # fmt: skip
        printer.head(f"{name} = tile_{of}({2 * count + 1})")  # a second half to merge into, and one to look beyond
    _lines(
        printer, op, _SELECT,
        k=str(ranked.count), last=str(ranked.count - 1), enough=str(enough), room=str(room),
        taken=_key(printer, op, "start + q + j"), item=_key(printer, op, "start + j"),
        lanes=_key(printer, op, "start + q", "load({x}, {at})"),
    )  # fmt: skip


def sort(printer: CpuPrinter, op: CallOp) -> None:
    """The lines of `@top_k_sort`."""
    element = register_name(buffer_type(op.bufs[0]).elem)
    kind = KEYS.get(element, element)
    size = int(kind[1:]) // 8
    counted = [_COUNT.format(byte=b, first=256 * b, shift=8 * b) for b in range(size)]
    printer.head(f"keys = tile_{kind}({SHORT})")
    printer.head(f"counts = tile_i64({256 * size})")
    _lines(
        printer, op, _SORT,
        short=str(SHORT), counters=str(256 * size), bytes=str(size), top=str(size - 1),
        flip="128" if kind[0] == "i" else "0", count="\n".join(counted), work=str(printer.term(op.bufs[2])),
        item=_key(printer, op, "start + j"), of_place=_key(printer, op, "start + place"),
    )  # fmt: skip


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
