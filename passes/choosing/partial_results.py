"""Split-K: how the parts of a long sum are kept, the part of `choose-kernels` that decides it.

Every product sums K in parts of `PART`, each one chain of its own, and adds their results in their order. A kernel does
so with the K that it finds when it runs: so neither what is known of the sizes when a model is compiled, nor rows,
columns or threads change a row's bits. That rules out the other way, parts that several threads compute, wherever a
pass would have to see that it pays: a pass sees numbers in one form of a model and symbols in another. Threads share a
long product of few rows by its panels of columns instead (`kernels/matmul.py`), which takes no memory for partial
results, no copy of an operand and no second pass.

Before: an `nn.matmul` in f32 between the casts of a half product. After: with `output`, the half type stands at the
product as `partial`: each part is rounded to it before it is added. With `accum` nothing changes.
"""

from __future__ import annotations

from xdsl.ir import Attribute

from pelton.dialects.nn import CastOp, MatmulOp
from pelton.dialects.nn.matmul import PART
from pelton.dialects.types import bytes_of

PRECISIONS = ("accum", "output")
"""`accum` keeps partial results as they are computed, `output` rounds each to the type of the user's result."""


def partial_type(op: MatmulOp, precision: str) -> Attribute | None:
    """What partial results are rounded to; None where they are kept, or there is one alone."""
    depth = op.tensor(0).shape[-1]
    if precision == "accum" or (isinstance(depth, int) and depth <= PART):
        return None
    operands = [v.owner.tensor().dtype for v in op.operands if isinstance(v.owner, CastOp)]
    users = [use.operation for use in op.results[0].uses]
    kinds = {user.result_type.dtype if isinstance(user, CastOp) else None for user in users}
    kind = kinds.pop() if len(kinds) == 1 else None
    return kind if kind is not None and kind in operands and bytes_of(kind) < 4 else None
