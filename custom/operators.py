"""Python's operators by their syntax, as functions: what bodies of custom ops mean, on numbers and on tensors.

Next: `specialize.py` folds constants with them, `graph/ops/scalar_table.py` builds a graph with them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

operator: Any = import_module("operator")  # whose types say nothing of what it is used on here

ARITHMETIC: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
}
COMPARISONS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
