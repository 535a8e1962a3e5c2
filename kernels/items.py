"""How many grid items a kernel has, as a size over its symbols: by its grid, or by its hand schedule.

Enters: a `kernel.func`. Leaves: a `Dim`, to the plan, which turns it into arithmetic over the launch's sizes.
"""

from __future__ import annotations

from pelton.dialects.dims import Dim
from pelton.dialects.kernel import CallOp, FuncOp
from pelton.dialects.kernel.grid import grid_items
from pelton.kernels.custom import custom_call, is_custom
from pelton.kernels.matmul import blocks_of
from pelton.kernels.matmul_cuda import cuda_items
from pelton.kernels.top_k import is_top_k, ranked_of


def kernel_items(func: FuncOp) -> Dim:
    """The number of items of `func`: on a GPU, of blocks. Raises CompileError where its sizes do not tell."""
    calls = [op for op in func.body.block.ops if isinstance(op, CallOp)]
    if calls and is_custom(calls[0]):
        return custom_call(calls[0]).items
    if func.is_for_gpu:
        return cuda_items(func)
    if calls:
        return ranked_of(calls[0]).rows if is_top_k(calls[0]) else blocks_of(calls[0]).items
    return grid_items(func)
