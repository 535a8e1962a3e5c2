"""What a scalar body may say, as tables: Python's operators and functions enter, functions over tensors and numbers
leave.

Each takes tensors, numbers or both: where all are numbers it computes, else it adds an op to the graph.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from pelton.custom.operators import ARITHMETIC, COMPARISONS, operator, power, rounded
from pelton.graph.build import Value
from pelton.graph.ops import elementwise, functions, joining, reduction

Function = Callable[..., Any]


def either(on_tensors: Function, on_numbers: Function) -> Function:
    """One function for tensors, another where there is none among the arguments."""
    return lambda *x: (on_tensors if any(isinstance(v, Value) for v in x) else on_numbers)(*x)


def both(x: Any, y: Any) -> Any:
    """x and y."""
    return x and y


def one(x: Any, y: Any) -> Any:
    """x or y."""
    return x or y


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y."""
    return x if condition else y


def smallest(*x: Any) -> Any:
    """Elementwise; NaN where one is NaN."""
    return reduce(reduction.min, x)


def largest(*x: Any) -> Any:
    """Elementwise; NaN where one is NaN."""
    return reduce(reduction.max, x)


OPERATORS: Mapping[type[ast.AST], Function] = {
    **ARITHMETIC,
    **COMPARISONS,
    ast.Pow: power,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Invert: operator.invert,
    ast.Not: either(elementwise.logical_not, operator.not_),
    ast.And: either(elementwise.logical_and, both),
    ast.Or: either(elementwise.logical_or, one),
}
"""Python's operators, of one operand and of two."""

_SAME = ("exp", "log", "log1p", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atanh", "tanh", "erf", "floor",
         "ceil", "trunc")  # fmt: skip

MATH: Mapping[str, Function] = {
    **{name: either(getattr(functions, name), getattr(math, name)) for name in _SAME},
    "pow": either(power, math.pow),
    "fabs": either(functions.abs, math.fabs),
    "isnan": either(functions.is_nan, math.isnan),
    "isinf": either(functions.is_inf, math.isinf),
}
BUILTINS: Mapping[str, Function] = {
    "abs": abs,
    "round": either(functions.round, rounded),
    "pow": power,
    "min": either(smallest, min),
    "max": either(largest, max),
}
NUMPY: Mapping[str, Function] = {
    **{name: MATH[name] for name in MATH if name not in ("asin", "acos", "atan", "atanh", "erf", "pow")},
    **{f"arc{name}": MATH[f"a{name}"] for name in ("sin", "cos", "tan", "tanh")},
    "abs": abs,
    "absolute": abs,
    "rint": BUILTINS["round"],
    "power": power,
    "minimum": BUILTINS["min"],
    "maximum": BUILTINS["max"],
    "where": either(joining.where, chosen),
}
FUNCTIONS: Mapping[str, Mapping[str, Function]] = {"math": MATH, "numpy": NUMPY, "": BUILTINS}
"""What a scalar body may call, by module."""
