"""The hand schedules that rank elements, `top_k_select` and `top_k_sort`: which take an op, at which cost, and why.

Enters: an `nn.top_k` and a target; or a `kernel.call` of one of the two. Leaves: the candidates, to
`passes/choose_kernels.py`; or the sizes, to `codegen/kernels/top_k_cpu.py` and `top_k_cuda.py`, which write the
texts. A row is a grid item of its own, so its result depends on nothing but the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import BufType, CallOp
from pelton.dialects.nn import TopKOp
from pelton.dialects.types import bytes_of
from pelton.kernels.choices import Candidate, Estimate
from pelton.support.errors import CompileError

SELECT, SORT = "top_k_select", "top_k_sort"
KERNELS = {"new": SELECT, "old": SORT}
"""The kernel that each value of `choose-kernels{top-k=…}` prefers."""
MOST = 1024
"""The largest k that is selected: the best so far, and what is to be merged with them, stay on the stack."""
CHUNK, BLOCK_THREADS = 1024, 256
"""On a GPU: how many elements stand in shared memory to be sorted, by how many threads."""


def top_k_candidates(op: TopKOp, target: str, preferred: str) -> Sequence[Candidate]:
    """What ranks on a target, in order of preference: `preferred` is a key of `KERNELS`."""
    found = [_select(op, target == "cuda"), _sort(op, target == "cuda")]
    if preferred == "old":
        found.reverse()
    return found


def _select(op: TopKOp, gpu: bool) -> Candidate:
    refusal = ""
    if not isinstance(op.count, int):
        refusal = f"k = {op.count}: it takes a number"
    elif op.count == op.tensor().shape[-1]:
        refusal = f"k = {op.count}: all of the axis, which is to be sorted"
    elif op.count > MOST:
        refusal = f"k = {op.count}: it takes at most {MOST}"
    scans = f"one scan of the row by its block, {CHUNK} at a time in shared memory" if gpu else "two scans of the row"
    reason = f"{scans}, which keep{'s' * gpu} the {op.count} best"
    return Candidate(SELECT, _cost(op, op.tensor().shape[-1]), refusal, reason)


def _sort(op: TopKOp, gpu: bool) -> Candidate:
    size = op.tensor().shape[-1]
    passes = 1 + bytes_of(op.tensor().dtype)
    how = f": chunks of {CHUNK} in shared memory, then merges" if gpu else ""
    return Candidate(SORT, _cost(op, dims.mul(passes, size)), "", f"sorts the axis, whatever k is{how}")


def _cost(op: TopKOp, comparisons: Dim) -> Estimate:
    """What it takes for each row."""
    *lead, size = op.tensor().shape
    rows = dims.product(lead)
    read = dims.mul(bytes_of(op.tensor().dtype), size)
    return Estimate(dims.mul(rows, comparisons), dims.mul(rows, dims.add(read, dims.mul(8, op.count))), rows)


@dataclass(frozen=True)
class Ranked:
    """One call: rows of `size` elements, of which the first `count` indices leave."""

    rows: Dim
    size: Dim
    count: Dim
    largest: bool
    chunk: int
    """On a GPU: how many elements are sorted at once; of those that are selected, at least as many as leave."""


def is_top_k(call: CallOp) -> bool:
    """Whether a call ranks."""
    return call.callee.string_value() in (SELECT, SORT)


def ranked_of(call: CallOp) -> Ranked:
    """What `kernel.call @top_k_select(%x, %out)` or `@top_k_sort(%x, %out, %work)` ranks.

    Raises CompileError for buffers that are not rows of both.
    """
    kernel, shapes = call.callee.string_value(), [b.type.shape for b in call.bufs if isinstance(b.type, BufType)]
    given = call.parameters.data.get("largest") if isinstance(call.parameters, DictionaryAttr) else None
    match shapes:
        case [(rows, size), (same, count), *work] if rows == same and isinstance(given, IntegerAttr):
            sorts = count == size and work == [(rows, size)]
            if isinstance(count, int) and not work if kernel == SELECT else sorts:
                return Ranked(rows, size, count, bool(given.value.data), CHUNK)
        case _:
            pass
    raise CompileError(
        f"the schedule {kernel} does not take these operands",
        op=call.name,
        expected="largest, and [rows, n], [rows, k] with a known k for top_k_select, or three [rows, n] for top_k_sort",
        got=", ".join(str(b.type) for b in call.bufs),
    )
