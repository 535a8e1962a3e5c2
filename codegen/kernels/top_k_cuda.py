"""The CUDA text of `@top_k_select` and `@top_k_sort`: a row per block, its indices straight into the result.

Enters: `kernel.call @top_k_…(%x, %out)` with x `[rows, n]` and out `[rows, k]`. Leaves: lines of the kernel's text.
Keys order as on a CPU, and an index stands behind another of an equal key: so no two elements tie, whatever order
threads come in, and the result is that of the CPU.

Both sort by compare-exchange in a network whose comparators all point the same way: the first step of a merge meets
mirrored halves (`low ^ flip`). Elements beyond the end would be the last ones and never move, so any length will do.

`top_k_select` sorts a first chunk in shared memory and keeps its k best. Of each later chunk, what beats the worst of
them is put behind them; where the next chunk might not fit, all is sorted again. `top_k_sort` sorts chunks in shared
memory, then merges them: with strides longer than a chunk in the result's memory, the rest in shared memory again.
"""

from __future__ import annotations

import re

from pelton.codegen.cuda.printer import CudaPrinter, Schedule
from pelton.codegen.spelling import FROM_HALF, register_name
from pelton.codegen.terms import MUL
from pelton.dialects.kernel import CallOp
from pelton.dialects.kernel.uniformity import buffer_type
from pelton.kernels.top_k import BLOCK_THREADS, ranked_of

KEYS = {"f32": "i32", "f16": "i32", "bf16": "i32", "f64": "i64"}
"""The keys of floats; those of integers are themselves."""

_PASS = """\
for rk_q in range(tid, (rk_stop + 2 * rk_stride - 1 & -2 * rk_stride) >> 1, T):
    rk_low = 2 * rk_q - (rk_q & rk_stride - 1)
    rk_high = rk_low ^ rk_flip
    if rk_high < rk_stop:
        {load}
        if rk_his > rk_its or (rk_his == rk_its and rk_other < rk_place):
            {swap}
cuda.syncthreads()"""
"""All comparators of one step: each index with a bit `stride` of 0 meets its partner."""

_LOAD_SHARED = """\
rk_its = rk_keys[rk_low]
rk_his = rk_keys[rk_high]
rk_place = rk_places[rk_low]
rk_other = rk_places[rk_high]"""
_SWAP_SHARED = """\
rk_keys[rk_low] = rk_his
rk_keys[rk_high] = rk_its
rk_places[rk_low] = rk_other
rk_places[rk_high] = rk_place"""
_LOAD_RESULT = """\
rk_place = {out}[rk_row + rk_low]
rk_other = {out}[rk_row + rk_high]
rk_its = {of_place}
rk_his = {of_other}"""
_SWAP_RESULT = """\
{out}[rk_row + rk_low] = rk_other
{out}[rk_row + rk_high] = rk_place"""

_SORT_SHARED = """\
rk_half = 1
while rk_half < rk_stop:
    rk_stride = rk_half
    rk_flip = 2 * rk_half - 1
    while rk_stride > 0:
        {in_shared}
        rk_stride >>= 1
        rk_flip = rk_stride
    rk_half <<= 1"""

_TILES = """\
rk_keys = tile_{key}({room})
rk_places = tile_i64({room})"""

_SELECT = """\
rk_item = lo + cuda.blockIdx.x
rk_row = rk_item * {n}
if tid == 0:
    rk_kept[0] = {k}
for rk_q in range(tid, minimum({n}, {chunk}), T):
    rk_keys[rk_q] = {of_q}
    rk_places[rk_q] = rk_q
cuda.syncthreads()
rk_stop = minimum({n}, {chunk})
{sort}
rk_bar = rk_keys[{last}]
rk_stop = {k}
for rk_base in range({chunk}, {n}, {chunk}):
    for rk_q in range(tid, minimum({n} - rk_base, {chunk}), T):
        rk_its = {of_base}
        if rk_its > rk_bar:
            rk_at = claim(rk_kept)
            rk_keys[rk_at] = rk_its
            rk_places[rk_at] = rk_base + rk_q
    cuda.syncthreads()
    rk_stop = i64(rk_kept[0])
    cuda.syncthreads()
    if rk_stop > {room} - {chunk} or (rk_stop > {k} and rk_base + {chunk} >= {n}):
        {sort}
        if tid == 0:
            rk_kept[0] = {k}
        cuda.syncthreads()
        rk_bar = rk_keys[{last}]
for rk_q in range(tid, {k}, T):
    {out}[rk_item * {k} + rk_q] = rk_places[rk_q]"""

_SORT = """\
rk_row = (lo + cuda.blockIdx.x) * {n}
for rk_base in range(0, {n}, {chunk}):
    rk_stop = minimum({n} - rk_base, {chunk})
    for rk_q in range(tid, rk_stop, T):
        rk_keys[rk_q] = {of_base}
        rk_places[rk_q] = rk_base + rk_q
    cuda.syncthreads()
    {sort}
    for rk_q in range(tid, rk_stop, T):
        {out}[rk_row + rk_base + rk_q] = rk_places[rk_q]
    cuda.syncthreads()
rk_whole = i64({chunk})
while rk_whole < {n}:
    rk_stride = rk_whole
    rk_flip = 2 * rk_whole - 1
    rk_stop = i64({n})
    while rk_stride >= {chunk}:
        {in_result}
        rk_stride >>= 1
        rk_flip = rk_stride
    for rk_base in range(0, {n}, {chunk}):
        rk_stop = minimum({n} - rk_base, {chunk})
        for rk_q in range(tid, rk_stop, T):
            rk_place = {out}[rk_row + rk_base + rk_q]
            rk_keys[rk_q] = {of_place}
            rk_places[rk_q] = rk_place
        cuda.syncthreads()
        rk_stride = {half}
        while rk_stride > 0:
            rk_flip = rk_stride
            {in_shared}
            rk_stride >>= 1
        for rk_q in range(tid, rk_stop, T):
            {out}[rk_row + rk_base + rk_q] = rk_places[rk_q]
        cuda.syncthreads()
    rk_whole <<= 1"""


def select(printer: CudaPrinter, op: CallOp) -> None:
    """The lines of `@top_k_select`."""
    count, chunk = ranked_of(op).count, ranked_of(op).chunk
    assert isinstance(count, int)
    assert count <= chunk
    printer.head("rk_kept = tile_i32(1)")
    _write(printer, op, _SELECT, room=2 * chunk, k=str(count), last=str(max(count - 1, 0)))


def sort(printer: CudaPrinter, op: CallOp) -> None:
    """The lines of `@top_k_sort`."""
    chunk = ranked_of(op).chunk
    _write(printer, op, _SORT, room=chunk, half=str(chunk // 2))


_NAMES = frozenset(re.findall(r"rk_\w+", "".join((_PASS, _LOAD_SHARED, _TILES, _SELECT, _SORT, _SORT_SHARED))))
SELECT = Schedule(BLOCK_THREADS, select, _NAMES)
SORT = Schedule(BLOCK_THREADS, sort, _NAMES)


def _write(printer: CudaPrinter, op: CallOp, text: str, room: int, **parts: str) -> None:
    """The lines of `text`, its holes filled with what both schedules are made of, and with `parts`."""
    ranked, element = ranked_of(op), register_name(buffer_type(op.bufs[0]).elem)
    key = KEYS.get(element, element)
    parts |= {"n": printer.dim(ranked.size).at(MUL), "out": str(printer.term(op.bufs[1])), "key": key,
              "room": str(room), "chunk": str(ranked.chunk)}  # fmt: skip
    for name, at in (("q", "rk_q"), ("base", "rk_base + rk_q"), ("place", "rk_place"), ("other", "rk_other")):
        parts[f"of_{name}"] = _key(printer, op, key, at)
    shared = _filled(_PASS, load=_LOAD_SHARED, swap=_SWAP_SHARED)
    result = _filled(_PASS, load=_LOAD_RESULT, swap=_SWAP_RESULT)
    parts |= {
        "in_shared": shared,
        "in_result": _filled(result, **parts),
        "sort": _filled(_SORT_SHARED, in_shared=shared),
    }
    printer.head("tid = i64(cuda.threadIdx.x)")
    for line in _filled(_TILES, **parts).splitlines():
        printer.head(line)
    for line in _filled(text, **parts).splitlines():
        printer.line(line)


def _key(printer: CudaPrinter, op: CallOp, key: str, at: str) -> str:
    """The key of the element at a place of the row."""
    element = register_name(buffer_type(op.bufs[0]).elem)
    item = f"{printer.term(op.bufs[0])}[rk_row + {at}]"
    found = f"order_key({FROM_HALF[element]}({item}))" if element in FROM_HALF else f"order_key({item})"
    return found if ranked_of(op).largest else f"{key}(~{found})"


def _filled(text: str, **parts: str) -> str:
    """The text with its holes filled; one that is a line of its own takes several lines."""
    for name, part in parts.items():
        text = re.sub(
            rf"^( *)\{{{name}\}}$", lambda m, part=part: re.sub(r"^", m[1], part, flags=re.M), text, flags=re.M
        )
        text = text.replace(f"{{{name}}}", part)
    return text
