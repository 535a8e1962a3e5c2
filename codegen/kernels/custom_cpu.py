"""The CPU text of `@custom`: the user's body, and a function that shows it the arrays of one grid item.

Enters: a `kernel.func` that calls a body. Leaves: a `Source`, its parameters put in, to `codegen/cpu/user_body.py`.
"""

from __future__ import annotations

import ast
import re

from pelton.codegen.printer import kernel_name
from pelton.codegen.source import Source
from pelton.codegen.spelling import storage_name
from pelton.custom.raises import messages
from pelton.custom.specialize import specialize
from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import CallOp, FuncOp
from pelton.dialects.kernel.uniformity import buffer_type
from pelton.dialects.nn.custom import body_of, parameter_values
from pelton.kernels.custom import CustomCall, custom_call, is_custom


def custom_source(func: FuncOp) -> Source | None:
    """The text of a kernel that runs a user's body; None for any other kernel."""
    calls = [op for op in func.body.block.ops if isinstance(op, CallOp) and is_custom(op)]
    if not calls:
        return None
    call = custom_call(calls[0])
    text = specialize(body_of(call.op, call.body).cpu, parameter_values(call.parameters))
    main = ast.parse(text).body[-1]
    assert isinstance(main, ast.FunctionDef)
    buffers = tuple(
        (a.name_hint or f"x{k}", storage_name(buffer_type(a).elem)) for k, a in enumerate(func.body.block.args)
    )
    symbols = tuple(map(str, func.sizes.data))
    name = kernel_name(func)
    item = _fresh(f"item_of_{name}", text)
    views = [_view(func, call, k, buffers[k]) for k in range(len(buffers))]
    arguments = ",\n        ".join([*views[call.values :], *views[: call.values]])
    head = f"def {item}({', '.join([*(b for b, _ in buffers), *symbols, 'item'])}):"
    text = f"{text}\n\n{head}\n    {main.name}(\n        {arguments},\n    )\n"
    said = tuple(f"custom op {call.op!r}: {message}" for message in messages(text))
    return Source(name, text, buffers, symbols, checks=said, user_body=True, bounds_checked=call.checked)


def _fresh(name: str, text: str) -> str:
    while re.search(rf"\b{name}\b", text):
        name += "_"
    return name


def _view(func: FuncOp, call: CustomCall, k: int, buffer: tuple[str, str]) -> str:
    """The array that the body sees of a buffer."""
    name, element = buffer
    looped, shape = call.looped[k], buffer_type(func.body.block.args[k]).shape
    own = shape[looped:]
    size = dims.product(own)
    offset = "0" if not looped else "item" if size == 1 else f"item * {_factor(size)}"
    sizes = "".join(f"{d}, " for d in own).strip()
    word = "written" if k in call.written else "read"
    return f"_{word}_{element}({name}, {offset}, ({sizes}))"


def _factor(size: Dim) -> str:
    text = str(size)
    return text if text.isalnum() else f"({text})"
