"""What it takes to read pelton's IR: a context that knows our dialects and what we use of xDSL's."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import get_all_dialects

from pelton.dialects import all_dialects

UPSTREAM = ("arith", "builtin", "func", "math", "scf")


def new_context() -> Context:
    """A fresh context; each dialect is loaded when a text first uses it."""
    context = Context()
    upstream = get_all_dialects()
    for name, factory in ({name: upstream[name] for name in UPSTREAM} | all_dialects()).items():
        context.register_dialect(name, factory)
    return context
