"""The formulas behind the elementwise table: scalar code (first argument `b`, a `Scalars`) and the same in NumPy.

Scalar code sees halves as f32. NumPy code is imported lazily: the dialects load without NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from pelton.dialects.types import is_bool

if TYPE_CHECKING:
    from pelton.dialects.scalars import Scalars

Array = Any


# one-liners
def numpy(name: str) -> Callable[..., Array]:
    """The NumPy function of that name."""

    def call(*xs: Array) -> Array:
        import numpy

        return getattr(numpy, name)(*xs)

    return call


def unary(name: str) -> Callable[[Scalars, SSAValue], SSAValue]:
    """One float function of `Scalars.unary`."""
    return lambda b, x: b.unary(name, x)


def binary(name: str) -> Callable[[Scalars, SSAValue, SSAValue], SSAValue]:
    """One operation of `Scalars.binary`."""
    return lambda b, x, y: b.binary(name, x, y)


def compare(name: str) -> Callable[[Scalars, SSAValue, SSAValue], SSAValue]:
    """One comparison of `Scalars.compare`."""
    return lambda b, x, y: b.compare(name, x, y)


# extremes
def maximum_value(x: Array, y: Array) -> Array:
    """The larger; NaN where either is NaN; +0 is larger than -0."""
    import numpy as np

    if x.dtype.kind != "f":
        return np.maximum(x, y)
    where: Any = np.where
    larger = where((x > y) | ((x == y) & np.signbit(y)), x, y)
    return where(np.isnan(x) | np.isnan(y), x + y, larger)


def minimum_value(x: Array, y: Array) -> Array:
    """The smaller; NaN where either is NaN; -0 is smaller than +0."""
    import numpy as np

    return -maximum_value(-x, -y) if x.dtype.kind == "f" else np.minimum(x, y)


def relu(b: Scalars, x: SSAValue) -> SSAValue:
    return b.binary("max", x, b.constant(0, x.type))


def relu_value(x: Array) -> Array:
    import numpy as np

    return maximum_value(x, np.zeros_like(x))


# signs and bits
def negate(b: Scalars, x: SSAValue) -> SSAValue:
    return b.negate(x)


def absolute(b: Scalars, x: SSAValue) -> SSAValue:
    return b.absolute(x)


def is_nan(b: Scalars, x: SSAValue) -> SSAValue:
    return b.compare("unordered", x, x)


def is_inf(b: Scalars, x: SSAValue) -> SSAValue:
    return b.compare("eq", b.absolute(x), b.constant(float("inf"), x.type))


def invert(b: Scalars, x: SSAValue) -> SSAValue:
    """All bits of an integer, or a bool, turned over."""
    return b.logical_not(x) if is_bool(x.type) else b.binary("xor", x, b.constant(-1, x.type))


# functions that NumPy lacks
def rsqrt_value(x: Array) -> Array:
    import numpy as np

    return 1 / np.sqrt(x)


def erf_value(x: Array) -> Array:
    from pelton.dialects.nn import reference

    return reference.erf(x)


# the logistic function: exp of a negative number only, so nothing overflows and nothing cancels
def sigmoid_of(b: Scalars, z: SSAValue, times: SSAValue | None = None) -> SSAValue:
    """times / (1 + exp(-z)); 1 / (1 + exp(-z)) without `times`."""
    one = b.constant(1.0, z.type)
    e = b.unary("exp", b.negate(b.absolute(z)))
    negative = b.compare("lt", z, b.constant(0.0, z.type))
    top = b.select(negative, e, one) if times is None else b.select(negative, b.mul(times, e), times)
    return b.div(top, b.add(e, one))


def sigmoid(b: Scalars, x: SSAValue) -> SSAValue:
    return sigmoid_of(b, x)


def silu(b: Scalars, x: SSAValue) -> SSAValue:
    return sigmoid_of(b, x, x)


def sigmoid_value(x: Array) -> Array:
    import numpy as np

    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def silu_value(x: Array) -> Array:
    return x * sigmoid_value(x)
