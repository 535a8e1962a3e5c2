"""The CPU text of `@custom`: the user's body, and a function that shows it the arrays of one grid item.

Enters: a `kernel.func` that calls a body. Leaves: a `Source`, its parameters put in, to `codegen/cpu/user_body.py`.
"""

from __future__ import annotations

from pelton.codegen.kernels.custom_text import call_of, custom_text
from pelton.codegen.printer import kernel_name
from pelton.codegen.source import Source
from pelton.custom.raises import messages
from pelton.dialects.kernel import FuncOp
from pelton.dialects.nn.custom import body_of


def custom_source(func: FuncOp) -> Source | None:
    """The text of a kernel that runs a user's body; None for any other kernel."""
    if (call := call_of(func)) is None:
        return None
    parts, name = custom_text(func, call, body_of(call.op, call.body).cpu), kernel_name(func)
    item, arguments = parts.fresh(f"item_of_{name}"), ",\n        ".join(parts.arguments)
    head = f"def {item}({', '.join([*(b for b, _ in parts.buffers), *parts.symbols, 'item'])}):"
    text = f"{parts.text}\n\n{head}\n    {parts.body}(\n        {arguments},\n    )\n"
    said = tuple(f"custom op {call.op!r}: {message}" for message in messages(text))
    return Source(name, text, parts.buffers, parts.symbols, checks=said, user_body=True, bounds_checked=call.checked)
