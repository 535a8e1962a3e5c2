"""Python's operators by their syntax, as functions: what bodies of custom ops mean, on numbers and on tensors.

Next: `specialize.py` folds constants with them, `graph/ops/scalar_table.py` builds a graph with them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

MOST_BITS = 1024
"""What a constant integer may have: no dtype holds a number beyond."""
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


def power(x: Any, y: Any) -> Any:
    """x ** y; a square is a product, as it is to NumPy. Raises OverflowError for an integer beyond all dtypes.

    Python would compute any such number: 10**10**10 for hours.
    """
    if isinstance(x, int) and isinstance(y, int) and (abs(x).bit_length() - 1) * y > MOST_BITS:
        raise OverflowError(f"it is an integer of more than {MOST_BITS} bits")
    return bounded(x * x if type(y) is int and y == 2 else x**y)


def rounded(x: Any, *digits: Any) -> Any:
    """round(x, digits); at an integer's digits far before its first one there is 0, for which Python takes a power."""
    far = isinstance(x, int) and bool(digits) and isinstance(digits[0], int) and digits[0] < -MOST_BITS
    return 0 if far else round(x, *digits)


def bounded(value: Any) -> Any:
    """The value. Raises OverflowError for an integer beyond all dtypes: the next product could be twice as long."""
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise OverflowError(f"it is an integer of more than {MOST_BITS} bits")
    return value
