"""`nn.floor_div` and `nn.mod`: NumPy's (and Python's) division rounded down, and what it leaves.

The remainder of floats is exact, or rounded once where y is added to it. The quotient is found in float64, as NumPy
finds it: x less its remainder is a multiple of y up to rounding, and the nearest integer to their ratio is the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from pelton.dialects.nn.elementwise import Binary
from pelton.dialects.op import Array, Sizes
from pelton.dialects.scalars import F32, F64
from pelton.dialects.types import is_float, is_unsigned

if TYPE_CHECKING:
    from pelton.dialects.scalars import Scalars

INFINITY = float("inf")
EXACT_QUOTIENT = 2.0**53


def mod(b: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """x - floor(x / y) * y."""
    if is_float(x.type):
        wide = F64 if x.type == F64 else F32
        r = _remainder(b, b.cast(x, wide), b.cast(y, wide))[1]
        return b.cast(r, x.type)
    r = b.binary("rem", x, y)
    if is_unsigned(x.type):
        return r
    return b.select(_opposite(b, r, y), b.add(r, y), r)


def floor_div(b: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """floor(x / y)."""
    return (
        b.cast(_quotient(b, b.cast(x, F64), b.cast(y, F64)), x.type) if is_float(x.type) else b.binary("floordiv", x, y)
    )


def _remainder(b: Scalars, x: SSAValue, y: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """What truncated division of floats leaves, what floored division does, and where the two differ."""
    zero = b.constant(0.0, x.type)
    left = b.binary("rem", x, y)
    crosses = _opposite(b, left, y)
    r = b.select(crosses, b.add(left, y), left)
    return left, b.select(b.compare("eq", r, zero), b.binary("copysign", zero, y), r), crosses


def _quotient(b: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """floor(x / y) of float64."""
    zero, half, one, infinite = (b.constant(c, F64) for c in (0.0, 0.5, 1.0, INFINITY))
    ratio = b.div(x, y)
    left, _, crosses = _remainder(b, x, y)
    q = b.div(b.sub(x, left), y)
    q = b.select(crosses, b.sub(q, one), q)
    below = b.unary("floor", q)
    below = b.select(b.compare("gt", b.sub(q, below), half), b.add(below, one), below)
    below = b.select(b.compare("eq", q, zero), b.binary("copysign", zero, ratio), below)
    overflow = b.binary("and", b.compare("lt", b.absolute(x), infinite), b.compare("eq", b.absolute(ratio), infinite))
    return b.select(b.binary("or", overflow, b.compare("eq", y, zero)), ratio, below)


def floor_div_value(x: Array, y: Array) -> Array:
    """NumPy's, but infinite where x / y overflows: there NumPy's depends on the machine."""
    import numpy as np

    if x.dtype.kind != "f":
        return np.floor_divide(x, y)
    where: Any = np.where
    return where(np.isfinite(x) & np.isinf(x / y), x / y, np.floor_divide(x, y))


def _opposite(b: Scalars, r: SSAValue, y: SSAValue) -> SSAValue:
    """Whether r is not 0 and its sign differs from y's."""
    zero = b.constant(0, r.type)
    differ = b.binary("xor", b.compare("lt", r, zero), b.compare("lt", y, zero))
    return b.binary("and", b.compare("ne", r, zero), differ)


class Quotient(Binary):
    """The integer. Right to the last place where it is too large for a float64 to hold every integer."""

    def tolerance(self, results: Sequence[Array], sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        from pelton.dialects.nn import reference

        x, y = inputs
        with np.errstate(all="ignore"):
            wide, by = x.astype(np.float64), y.astype(np.float64)
            beyond = (np.abs(wide / by) >= EXACT_QUOTIENT) & np.isfinite(wide) & (by != 0) & (x.dtype.kind not in "iu")
        return [np.where(beyond, reference.spacing(results[0]), 0.0)]


class Remainder(Binary):
    """The rest, exact."""

    def tolerance(self, results: Sequence[Array], sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        return [np.zeros(results[0].shape)]
