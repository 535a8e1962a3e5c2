"""The CUDA text of `@custom`: the user's `cuda=` body, and a kernel whose blocks call it, one for each grid item.

Enters: a `kernel.func` that calls a body. Leaves: a `Source`, its parameters put in, to `codegen/cuda/user_body.py`.
All threads of a block call the body with the same arrays; what each of them does is the body's own affair.
"""

from __future__ import annotations

import ast

from pelton.codegen.kernels.custom_text import call_of, custom_text
from pelton.codegen.printer import kernel_name
from pelton.codegen.source import Source
from pelton.custom.raises import raising
from pelton.dialects.check import location_text
from pelton.dialects.kernel import FuncOp
from pelton.dialects.nn.custom import cuda_body_of
from pelton.support.errors import CompileError


def custom_source(func: FuncOp, threads: int) -> Source | None:
    """The text of a kernel that runs a user's body; None for any other kernel. Raises CompileError for a body that
    raises: a GPU has no exceptions.
    """
    if (call := call_of(func)) is None:
        return None
    place, name = location_text(func), kernel_name(func)
    try:
        parts = custom_text(func, call, cuda_body_of(call.op, call.body))
    except CompileError as error:
        raise error.with_details(op=call.op, location=place) from None
    if raised := raising(parts.text):
        raise CompileError(
            f"the cuda body of the custom op {call.op!r} raises",
            op=call.op,
            location=place,
            got=ast.unparse(raised[0]),
            remedy="write what is wrong into a result, and check it with ops.assert_",
        )
    kernel, arguments = parts.fresh(name), ",\n        ".join(parts.arguments)
    head = f"def {kernel}({', '.join([*(b for b, _ in parts.buffers), *parts.symbols, 'lo', 'hi', 'ctx'])}):"
    text = f"{parts.text}\n\n{head}\n    item = lo + _grid.blockIdx.x\n    {parts.body}(\n        {arguments},\n    )\n"
    return Source(name, text, parts.buffers, parts.symbols, threads, user_body=True)
