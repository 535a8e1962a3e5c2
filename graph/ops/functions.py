"""Functions of one tensor, element by element: a tensor enters, one of the same shape leaves.

`sqrt exp sin …` take floats and raise ValueError for other dtypes (cast first); `abs`, `negate` and `relu` take
integers too, of which unsigned ones wrap; `floor ceil round trunc` return integers as they are. A Python number or a
NumPy array is made a constant first.

>>> with Graph("g", input_types=[TensorType(DType.float32, ["n"], DeviceRef.CPU())]) as g:
...     g.output(ops.sqrt(ops.abs(g.inputs[0])))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import StringAttr

from pelton.graph.build import emit
from pelton.graph.check import wrong
from pelton.graph.operands import tensor

if TYPE_CHECKING:
    from pelton.graph.operands import TensorLike
    from pelton.graph.value import TensorValue

APPROXIMATIONS = ("none", "tanh", "quick")
"""How `gelu` may be computed."""


def _function(name: str, x: TensorLike) -> TensorValue:
    return emit(f"ops.{name}", name, tensor(f"ops.{name}", "x", x))


def _rounding(name: str, x: TensorLike) -> TensorValue:
    value = tensor(f"ops.{name}", "x", x)
    return emit(f"ops.{name}", name, value) if value.dtype.is_float() else value


def abs(x: TensorLike) -> TensorValue:
    """|x|; the smallest integer of a dtype stays."""
    return _function("abs", x)


def negate(x: TensorLike) -> TensorValue:
    """-x; the smallest integer of a dtype stays."""
    return _function("negate", x)


def relu(x: TensorLike) -> TensorValue:
    """max(x, 0); NaN stays."""
    return _function("relu", x)


def floor(x: TensorLike) -> TensorValue:
    """The largest whole number ≤ x."""
    return _rounding("floor", x)


def ceil(x: TensorLike) -> TensorValue:
    """The smallest whole number ≥ x."""
    return _rounding("ceil", x)


def round(x: TensorLike) -> TensorValue:
    """The nearest whole number; of two, the even one."""
    return _rounding("round", x)


def trunc(x: TensorLike) -> TensorValue:
    """x without its fraction."""
    return _rounding("trunc", x)


def is_nan(x: TensorLike) -> TensorValue:
    """Whether a float is NaN, as bool."""
    return _function("is_nan", x)


def is_inf(x: TensorLike) -> TensorValue:
    """Whether a float is infinite, as bool."""
    return _function("is_inf", x)


def exp(x: TensorLike) -> TensorValue:
    """e to the power x."""
    return _function("exp", x)


def log(x: TensorLike) -> TensorValue:
    """The natural logarithm."""
    return _function("log", x)


def log1p(x: TensorLike) -> TensorValue:
    """log(1 + x), accurate near 0."""
    return _function("log1p", x)


def sqrt(x: TensorLike) -> TensorValue:
    """The square root; NaN below 0."""
    return _function("sqrt", x)


def rsqrt(x: TensorLike) -> TensorValue:
    """1 / √x."""
    return _function("rsqrt", x)


def sin(x: TensorLike) -> TensorValue:
    """The sine of x in radians."""
    return _function("sin", x)


def cos(x: TensorLike) -> TensorValue:
    """The cosine of x in radians."""
    return _function("cos", x)


def tan(x: TensorLike) -> TensorValue:
    """The tangent of x in radians."""
    return _function("tan", x)


def asin(x: TensorLike) -> TensorValue:
    """The angle in [-π/2, π/2] whose sine is x."""
    return _function("asin", x)


def acos(x: TensorLike) -> TensorValue:
    """The angle in [0, π] whose cosine is x."""
    return _function("acos", x)


def atan(x: TensorLike) -> TensorValue:
    """The angle in (-π/2, π/2) whose tangent is x."""
    return _function("atan", x)


def atanh(x: TensorLike) -> TensorValue:
    """The area hyperbolic tangent."""
    return _function("atanh", x)


def tanh(x: TensorLike) -> TensorValue:
    """The hyperbolic tangent."""
    return _function("tanh", x)


def erf(x: TensorLike) -> TensorValue:
    """The error function."""
    return _function("erf", x)


def sigmoid(x: TensorLike) -> TensorValue:
    """1 / (1 + exp(-x))."""
    return _function("sigmoid", x)


def silu(x: TensorLike) -> TensorValue:
    """x · sigmoid(x)."""
    return _function("silu", x)


def gelu(x: TensorLike, approximate: str = "none") -> TensorValue:
    """x · Φ(x), the Gaussian error linear unit (Hendrycks & Gimpel 2016).

    `approximate`: "none" is exact, by erf; "tanh" is 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))); "quick" is x ·
    sigmoid(1.702 x). ValueError for another name.

    >>> Graph("g", lambda x: ops.gelu(x, approximate="tanh"), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[n, 4] on cpu:0))
    """
    if approximate not in APPROXIMATIONS:
        raise wrong("ops.gelu: approximate is unknown", " or ".join(map(repr, APPROXIMATIONS)), repr(approximate))
    return emit("ops.gelu", "gelu", tensor("ops.gelu", "x", x), approximate=StringAttr(approximate))
