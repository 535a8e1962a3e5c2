"""The hand schedules of a matrix product, for each target: which take it, at which cost, and why.

Enters: an `nn.matmul` and a target. Leaves: the candidates, to `passes/choose_kernels.py`. How a schedule cuts its work
stands in `matmul.py` (CPU) and `matmul_cuda.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.nn import MatmulOp
from pelton.dialects.nn.matmul import PART
from pelton.dialects.types import bytes_of, dtype_name
from pelton.kernels.choices import Candidate, Estimate
from pelton.kernels.matmul import ROWS, panels_of
from pelton.kernels.matmul_cuda import few_tile, tile_for
from pelton.kernels.tiles import TILE

MATMUL = "matmul"


def product_candidates(op: MatmulOp, target: str) -> Sequence[Candidate]:
    """What computes a product on a target, in order of preference."""
    return [_tiles_cuda(op) if target == "cuda" else _tiles(op, target)]


def _tiles(op: MatmulOp, target: str) -> Candidate:
    """`matmul`: a register tile over packed panels."""
    dtype = dtype_name(op.result_type.dtype)
    rows, columns = TILE[target].get(dtype, (1, 1))
    batch, height = _rows(op)
    panels = dims.ceildiv(op.result_type.shape[-1], columns)
    panel_blocks = dims.ceildiv(panels, panels_of(op.tensor(0).shape[-1]))
    items = dims.product([batch, dims.ceildiv(height, ROWS), panel_blocks])
    refusal = "" if dtype in TILE[target] else f"{dtype}: it takes {' and '.join(TILE[target])}"
    reason = (
        f"{rows} x {columns} accumulators in registers; the right operand in panels of {columns} columns{_parts(op)}"
    )
    return Candidate(MATMUL, _cost(op, items), refusal, reason)


def _tiles_cuda(op: MatmulOp) -> Candidate:
    """`matmul` on a GPU: a tile of the result per block."""
    sizes = (*_rows(op), op.result_type.shape[-1])
    tile = tile_for(*sizes, max(bytes_of(op.result_type.dtype), 4))
    few = few_tile(sizes[1], tile)
    reason = f"{tile}; {tile.why}{f'; {few}, {few.why}' if few else ''}{_parts(op)}"
    return Candidate(MATMUL, _cost(op, tile.items(*sizes)), "", reason)


def _parts(op: MatmulOp) -> str:
    """How a K that may be longer than a part is summed."""
    depth = op.tensor(0).shape[-1]
    if isinstance(depth, int) and depth <= PART:
        return ""
    kept = f"rounded to {dtype_name(op.partial)}" if op.partial is not None else "kept as they are"
    return f"; K in parts of {PART}, partial results {kept}"


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
