"""What a launch has to do, as sizes: the least number of bytes it moves, and the operations of a product.

Enters: a `plan.launch` and the kernel it launches. Leaves: two dims over the plan's symbols, to `codegen/plan.py`, so
that the runtime can tell rates. Every buffer counts once and whole, but one that is only read at places that the data
give (a table of embeddings) counts as much as it gives.
"""

from __future__ import annotations

from collections.abc import Container

from xdsl.ir import BlockArgument, Operation, SSAValue

from pelton.dialects import dims, plan
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import BufType, CallOp, FuncOp, LoadOp
from pelton.dialects.kernel.grid import call_space
from pelton.dialects.types import bytes_of
from pelton.kernels.custom import is_custom
from pelton.kernels.top_k import is_top_k


def launch_bytes(launch: plan.LaunchOp, gathered: Container[int]) -> Dim:
    """Bytes read and written at least; `gathered` are the kernel's parameters that are only read where data say."""
    given = dims.product(plan.buf_type(launch.outputs[0]).shape) if launch.outputs else 0
    total: Dim = 0
    for k, buffer in enumerate((*launch.inputs, *launch.outputs)):
        t = plan.buf_type(buffer)
        total = dims.add(total, dims.mul(given, bytes_of(t.elem)) if k in gathered else t.bytes)
    return total


def call_flops(function: FuncOp) -> Dim:
    """Multiplications and additions of a product, over the function's symbols; 0 for any other kernel."""
    for op in function.body.block.ops:
        if isinstance(op, CallOp) and not is_custom(op) and not is_top_k(op):
            left = op.bufs[0].type
            assert isinstance(left, BufType)
            return dims.product([2, *call_space(op), left.shape[-1]])
    return 0


def gathered_buffers(function: FuncOp) -> set[int]:
    """The parameters that are read, and only where data say."""
    known: dict[SSAValue, bool] = {}
    places: dict[int, bool] = {}
    for op in function.walk():
        if isinstance(op, LoadOp) and isinstance(op.buf, BlockArgument):
            of_data = any(_of_data(i, known) for i in op.index)
            places[op.buf.index] = places.get(op.buf.index, True) and of_data
    return {k for k, of_data in places.items() if of_data}


def _of_data(value: SSAValue, known: dict[SSAValue, bool]) -> bool:
    """Whether a value is computed from what a buffer holds."""
    if value not in known:
        owner = value.owner
        known[value] = False
        known[value] = isinstance(owner, Operation) and (
            isinstance(owner, LoadOp) or any(_of_data(v, known) for v in owner.operands)
        )
    return known[value]
