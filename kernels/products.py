"""The hand schedules of a matrix product, for each target: which take it, at which cost, and why.

Enters: an `nn.matmul` and a target. Leaves: the candidates, to `passes/choose_kernels.py`. How a schedule cuts its work
stands in `matmul.py` (CPU) and `matmul_cuda.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.nn import MatmulOp
from pelton.dialects.types import bytes_of, dtype_name
from pelton.kernels import matmul_cuda
from pelton.kernels.choices import Candidate, Estimate
from pelton.kernels.matmul import PANELS, ROWS
from pelton.kernels.tiles import TILE

PART = 1024
"""How much of K a part of a split product takes."""
SPLIT_DEPTH, SPLIT_COLUMNS = 8192, 128
"""A product is split from this K on, where it has at most so many columns: more are items enough."""


WHOLE, SPLIT = "matmul", "matmul_split"
"""A product in one piece, and one whose K is cut: `passes/choosing/split_products.py`."""


def why_whole(op: MatmulOp) -> str:
    """Why K is not cut; empty where it is. K and N alone decide, so that a row's bits do not depend on its batch."""
    depth, columns = op.tensor(1).shape[-2:]
    if op.tensor(1).rank > 2:
        return "a right operand for each of a batch: each is an item already"
    if not isinstance(depth, int) or not isinstance(columns, int):
        return f"K = {depth}, N = {columns}: it takes numbers"
    if depth < SPLIT_DEPTH:
        return f"K = {depth}: it takes {SPLIT_DEPTH} or more"
    return f"N = {columns}: more than {SPLIT_COLUMNS} are items enough" if columns > SPLIT_COLUMNS else ""


def product_candidates(op: MatmulOp, target: str) -> Sequence[Candidate]:
    """What computes a product, or a part of a split one, on a target, in order of preference."""
    taken = _tiles_cuda(op) if target == "cuda" else _tiles(op, target)
    return [taken, _uncut(op, taken) if op.split is not None else _cut(op, taken)]


def _cut(op: MatmulOp, whole: Candidate) -> Candidate:
    """`matmul_split`, where it loses: the left operand is copied, partial results are stored and read again."""
    depth, y = op.tensor(0).shape[-1], op.result_type
    parts = dims.maximum(dims.floordiv(depth, PART), 1)
    again = dims.add(dims.product(op.tensor(0).shape), dims.mul(parts, dims.product(y.shape)))
    moved = dims.add(whole.cost.bytes, dims.mul(2 * bytes_of(y.dtype), again))
    cost = Estimate(whole.cost.flops, moved, dims.mul(parts, whole.cost.items))
    return Candidate(SPLIT, cost, why_whole(op) or "cut already", "")


def _uncut(op: MatmulOp, parts: Candidate) -> Candidate:
    """`matmul`, where it loses: what it would be for these parts as one."""
    items = dims.floordiv(parts.cost.items, dims.maximum(dims.product(op.tensor(1).shape[:-2]), 1))
    cost = Estimate(parts.cost.flops, parts.cost.bytes, items)
    return Candidate(WHOLE, cost, "K is long and columns are few: too few items for threads to share", "")


def _tiles(op: MatmulOp, target: str) -> Candidate:
    """`matmul`: a register tile over packed panels."""
    dtype = dtype_name(op.result_type.dtype)
    rows, columns = TILE[target].get(dtype, (1, 1))
    batch, height = _rows(op)
    panel_blocks = dims.ceildiv(dims.ceildiv(op.result_type.shape[-1], columns), PANELS)
    items = dims.product([batch, dims.ceildiv(height, ROWS), panel_blocks])
    refusal = "" if dtype in TILE[target] else f"{dtype}: it takes {' and '.join(TILE[target])}"
    reason = (
        f"{_split(op)}{rows} x {columns} accumulators in registers; the right operand in panels of {columns} columns"
    )
    return Candidate(_name(op), _cost(op, items), refusal, reason)


def _tiles_cuda(op: MatmulOp) -> Candidate:
    """`matmul` on a GPU: a thread per element of a shared tile."""
    tile = matmul_cuda.TILE
    rows, columns = op.result_type.shape[-2:]
    batch = dims.product(op.result_type.shape[:-2])
    items = dims.product([batch, dims.ceildiv(rows, tile), dims.ceildiv(columns, tile)])
    reason = f"{_split(op)}{tile} x {tile} tiles in shared memory, a block each"
    return Candidate(_name(op), _cost(op, items), "", reason)


def _name(op: MatmulOp) -> str:
    return WHOLE if op.split is None else SPLIT


def _split(op: MatmulOp) -> str:
    """What a part of a split product says of itself."""
    if op.split is None:
        return ""
    kept = {"accum": "kept in the accumulator's type", "output": "rounded to the result's type"}[op.split.data]
    return f"split K: parts of {PART} side by side, partial results {kept}; "


def _rows(op: MatmulOp) -> tuple[Dim, Dim]:
    """Products of a batch, and rows of each: with one right operand for all, all leading sizes are rows."""
    *lead, m, _ = op.tensor(0).shape
    return (dims.product(lead), m) if op.tensor(1).rank > 2 else (1, dims.product([*lead, m]))


def _cost(op: MatmulOp, items: Dim) -> Estimate:
    a, b, y = op.tensor(0), op.tensor(1), op.result_type
    flops = dims.product([2, dims.product(y.shape), a.shape[-1]])
    elements = [dims.product(t.shape) for t in (a, b, y)]
    moved = dims.mul(bytes_of(y.dtype), dims.add(dims.add(elements[0], elements[1]), elements[2]))
    return Estimate(flops, moved, items)
