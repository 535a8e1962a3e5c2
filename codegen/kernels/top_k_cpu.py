"""The CPU text of `@top_k_select` and `@top_k_sort`: a row per grid item, its indices straight into the result.

Enters: `kernel.call @top_k_select(%x, %out)` with x `[rows, n]` and out `[rows, k]`, or `@top_k_sort(%x, %out, %work)`
with three buffers of one shape. Leaves: lines of the kernel's text. Both compare keys: integers that order as the
elements do, with NaN on top, inverted where the smallest is the best. So there is one order, and both give the same
indices. All sorting is stable, which puts the lowest of equal elements first.

`top_k_select` passes over a row twice, and its time hardly depends on the order of the elements. First it cuts the row
into groups, element i into group i mod `groups`, and keeps the largest of each, its head. The k-th largest head is the
bar: k elements at least reach it, and only k - 1 groups have elements above it. It is found bit by bit, by counting.
Then a vector at a time is compared with the bar; what reaches it is noted, few more than k of most rows. Once k are
noted, what equals the bar is too late. Whenever enough are noted they are sorted by merging, and merged with the best
so far, whose last is the new bar.

`top_k_sort` sorts the indices of the row byte by byte of their keys, from the lowest to the highest, from `out` to
`work` and back; a byte that is the same in the whole row is skipped. Short rows it sorts by insertion.
"""

from __future__ import annotations

from pelton.codegen.cpu.printer import CpuPrinter
from pelton.codegen.spelling import FROM_HALF, register_name
from pelton.codegen.terms import MUL
from pelton.dialects.kernel import CallOp
from pelton.dialects.kernel.uniformity import buffer_type
from pelton.kernels.top_k import ranked_of

KEYS = {"f32": "i32", "f16": "i32", "bf16": "i32", "f64": "i64"}
"""The keys of floats; those of integers are themselves."""

_SELECT = """\
for row in range(lo, hi):
    start = row * {n}
    groups = where({n} >= {far}, {most}, {least})
    for g in range(0, groups, W):
        store(heads, g, lowest)
    g = 0
    for q in range(0, {n} - W + 1, W):
        store(heads, g, maximum(load(heads, g), {lanes}))
        g = (g + W) & (groups - 1)
{bar}
    need = to_i64({k})
    kept = 0
    home = 0
    q = 0
    while q < {n}:
        count = 0
        while q + W <= {n} and count < {enough}:
            hits = bits_of({lanes} >= bar)
            while hits != 0:
                j = q + first_bit(hits)
                hits = hits & (hits - 1)
                keys[count] = {item}
                places[count] = j
                count += 1
                if count >= need:
                    need = to_i64({never})
                    if bar == ~lowest:
                        q = to_i64({n})
                        hits = hits & 0
                    else:
                        bar += 1
                        hits = hits & bits_of({lanes} >= bar)
            q += W
        if q + W > {n}:
            for j in range(q, {n}):
                key = {item}
                if key >= bar:
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
        if kept == {k}:
            worst = best[home + {last}]
            if worst == ~lowest:
                q = to_i64({n})
            bar = worst + 1
    for j in range({k}):
        {out}[row * {k} + j] = spots[home + j]"""

_BAR = """\
    bar = lowest
    for bit in range({bits}):
        trial = bar ^ (one << to_{kind}({top} - bit))
        count = 0
        for g in range(0, groups, W):
            count += count_bits(bits_of(load(heads, g) >= trial))
        if count >= {k}:
            bar = trial"""
_BAR_OF_ONE = "    bar = across_max(load(heads, 0))"

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
NEVER = 1 << 62
MOST_GROUPS, FAR = 4096, 16
"""A row that is `FAR` times as long as its groups are many is long."""


def groups_of(count: int) -> tuple[int, int]:
    """In how many groups a short row is cut, and a long one: powers of 2.

    The more there are, the fewer elements can reach the bar, (k - 1) / groups of a row at most; but each costs a step
    per bit of a key.
    """
    if count == 1:
        return LANES, LANES
    least = max(LANES, 1 << (2 * count - 1).bit_length())
    return least, max(least, min(8 * least, MOST_GROUPS))


def select(printer: CpuPrinter, op: CallOp) -> None:
    """The lines of `@top_k_select`."""
    ranked, element = ranked_of(op), register_name(buffer_type(op.bufs[0]).elem)
    assert isinstance(ranked.count, int)
    enough, kind = max(ranked.count + ranked.count // 4, AHEAD), KEYS.get(element, element)
    room, (least, most) = enough + 2 * LANES, groups_of(ranked.count)
    bits = int(kind[1:])
    for name, of, count in (
        ("keys", kind, room), ("places", "i64", room), ("best", kind, ranked.count), ("spots", "i64", ranked.count)
    ):  # fmt: skip
        printer.head(f"{name} = tile_{of}({2 * count + 1})")  # a second half to merge into, and one to look beyond
    printer.head(f"heads = tile_{kind}({most})")
    printer.head(f"one = to_{kind}(1)")
    printer.head(f"lowest = one << {bits - 1}" if kind[0] == "i" else "lowest = one - one")
    named = {"k": str(ranked.count), "top": str(bits - 1), "bits": str(bits), "kind": kind}
    _lines(
        printer, op, _SELECT, **named,
        bar=_BAR_OF_ONE if ranked.count == 1 else _BAR.format(**named), never=str(NEVER),
        last=str(max(ranked.count - 1, 0)), enough=str(enough), room=str(room), least=str(least), most=str(most),
        far=str(FAR * most),
        item=_key(printer, op, "start + j"), lanes=_key(printer, op, "start + q", "load({x}, {at})"),
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
