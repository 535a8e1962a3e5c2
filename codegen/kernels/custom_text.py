"""What the texts of `@custom` have in common on all targets: the user's body, its parameters put in, and the arrays it
sees of the buffers of one grid item.

Enters: a `kernel.func` that calls a body. Leaves: the parts of a text, to `custom_cpu.py` and `custom_cuda.py`.
"""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from pelton.codegen.spelling import storage_name
from pelton.custom.specialize import specialize
from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import CallOp, FuncOp
from pelton.dialects.kernel.uniformity import buffer_type
from pelton.dialects.nn.custom import parameter_values
from pelton.kernels.custom import CustomCall, custom_call, is_custom


class CustomText(NamedTuple):
    """A body as text, and how one grid item calls it."""

    text: str
    body: str
    """The name of the body in the text."""
    buffers: tuple[tuple[str, str], ...]
    symbols: tuple[str, ...]
    arguments: tuple[str, ...]
    """The arrays that the body gets, results first; `item` is the number of the grid item."""

    def fresh(self, name: str) -> str:
        """`name`, or a like one that the text does not use."""
        while re.search(rf"\b{name}\b", self.text):
            name += "_"
        return name


def call_of(func: FuncOp) -> CustomCall | None:
    """The call of a user's body that a kernel consists of; None for any other kernel."""
    calls = [op for op in func.body.block.ops if isinstance(op, CallOp) and is_custom(op)]
    return custom_call(calls[0]) if calls else None


def custom_text(func: FuncOp, call: CustomCall, body: str) -> CustomText:
    """The parts of the text of a kernel around `body`, one of the texts of a `BodyText`."""
    text = specialize(body, parameter_values(call.parameters))
    main = ast.parse(text).body[-1]
    assert isinstance(main, ast.FunctionDef)
    buffers = tuple(
        (a.name_hint or f"x{k}", storage_name(buffer_type(a).elem)) for k, a in enumerate(func.body.block.args)
    )
    views = [_view(func, call, k, buffers[k]) for k in range(len(buffers))]
    arguments = (*views[call.values :], *views[: call.values])
    return CustomText(text, main.name, buffers, tuple(map(str, func.sizes.data)), arguments)


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
