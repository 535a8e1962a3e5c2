"""`kernel`: what one core or one thread block does, said once for every target.

Three nested kinds of parallelism and nothing else:

| op | meaning | CPU | GPU |
|---|---|---|---|
| `kernel.grid` | independent items | a range, split over the pool | a thread block per item |
| `kernel.lanes` | cooperative elementwise | SIMD over the last index, masked tail | threads of the block, strided |
| `kernel.reduce` | lanes with one combined value | vector sums, then a fixed tree | shuffles, then shared memory |

Scalars are upstream `arith`, `math` and `scf`, and `kernel.fmod`. Integer division never traps: by zero it gives 0,
and INT_MIN / -1 wraps. Float to integer truncates and saturates, NaN gives 0. Between two sibling loops all lanes see
each other's stores. A value is uniform (the same in all lanes) or varying: that is computed by whoever needs it, never
written.

Made by `passes/lower_groups.py`, shaped by the passes after it, printed as source by `codegen/`.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from pelton.dialects.kernel.checks import MOST_VALUES, CheckOp, ReportOp, row_words
from pelton.dialects.kernel.loops import (
    INDEX,
    KINDS,
    BarrierOp,
    CallOp,
    DimOp,
    FuncOp,
    GridOp,
    LanesOp,
    Loop,
    ReduceOp,
    YieldOp,
)
from pelton.dialects.kernel.memory import LoadOp, ScratchOp, StoreOp
from pelton.dialects.kernel.scalars import FmodOp
from pelton.dialects.kernel.types import BufType

KERNEL = Dialect(
    "kernel",
    [
        *(FuncOp, DimOp, GridOp, LanesOp, ReduceOp, YieldOp, LoadOp, StoreOp, ScratchOp, BarrierOp, CallOp),
        *(CheckOp, ReportOp, FmodOp),
    ],
    [BufType],
)

__all__ = [
    "INDEX", "KERNEL", "KINDS", "MOST_VALUES", "BarrierOp", "BufType", "CallOp", "CheckOp", "DimOp", "FmodOp", "FuncOp",
    "GridOp", "LanesOp", "LoadOp", "Loop", "ReduceOp", "ReportOp", "ScratchOp", "StoreOp", "YieldOp", "row_words",
]  # fmt: skip
