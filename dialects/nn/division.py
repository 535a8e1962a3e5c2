"""`nn.floor_div` and `nn.mod`: NumPy's (and Python's) division rounded down, and what it leaves.

Floats are divided in float64: q = floor(x / y), and r = x - q*y from the exact product, in two parts (Dekker 1971). The
rounded quotient can only reach an integer that the true one just misses; then r has the wrong sign, and one step back
mends both. So the results are NumPy's, bit for bit, while |x / y| < 2**53; beyond that q is right to its last place and
r means nothing to anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from pelton.dialects.nn.elementwise import Binary
from pelton.dialects.op import Array, Sizes
from pelton.dialects.scalars import F64
from pelton.dialects.types import is_float, is_unsigned

if TYPE_CHECKING:
    from pelton.dialects.scalars import Scalars

INFINITY = float("inf")
SPLITTER = 2.0**27 + 1
HUGE, SHRINK = 2.0**900, 2.0**-64
"""Above the one, float64 operands are scaled by the other, lest the splitting overflow."""
EXACT_QUOTIENT = 2.0**53


def mod(b: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """x - floor(x / y) * y."""
    if is_float(x.type):
        return b.cast(_divide(b, x, y)[1], x.type)
    r = b.binary("rem", x, y)
    if is_unsigned(x.type):
        return r
    return b.select(_opposite(b, r, y), b.add(r, y), r)


def floor_div(b: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """floor(x / y)."""
    return b.cast(_divide(b, x, y)[0], x.type) if is_float(x.type) else b.binary("floordiv", x, y)


def _divide(b: Scalars, x: SSAValue, y: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Quotient and remainder of floats, in float64."""
    single = x.type != F64
    x, y = b.cast(x, F64), b.cast(y, F64)
    zero, one, infinite = (b.constant(c, F64) for c in (0.0, 1.0, INFINITY))
    true_quotient = b.div(x, y)
    q = b.unary("floor", true_quotient)
    if single:
        r = _minus_product(b, x, q, y)
    else:
        scale = _scale(b, x, y)
        r = b.div(_minus_product(b, b.mul(x, scale), _clamped(b, q), b.mul(y, scale)), scale)
    below = b.compare("lt", b.absolute(x), b.absolute(y))
    q, r = b.select(below, b.mul(zero, true_quotient), q), b.select(below, x, r)
    wrong = _opposite(b, r, y)
    q, r = b.select(wrong, b.sub(q, one), q), b.select(wrong, b.add(r, y), r)
    finite = b.compare("lt", b.absolute(x), infinite)
    too_large = b.compare("gt", b.absolute(r), b.absolute(y))
    overflow = b.binary("and", finite, b.compare("eq", b.absolute(true_quotient), infinite))
    by_zero = b.compare("eq", y, zero)
    meaningless = b.binary("or", b.binary("and", too_large, finite), b.binary("and", overflow, b.logical_not(by_zero)))
    r = b.select(meaningless, zero, r)
    r = b.select(b.compare("eq", r, zero), b.binary("copysign", zero, y), r)
    q = b.select(b.binary("or", overflow, by_zero), true_quotient, b.select(b.compare("unordered", r, r), r, q))
    return q, r


def floor_div_value(x: Array, y: Array) -> Array:
    """NumPy's, but infinite where x / y overflows: there NumPy's depends on the machine."""
    import numpy as np

    if x.dtype.kind != "f":
        return np.floor_divide(x, y)
    where: Any = np.where
    return where(np.isfinite(x) & np.isinf(x / y), x / y, np.floor_divide(x, y))


def _scale(b: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    """What to multiply float64 operands by: 1 but for huge ones."""
    largest = b.binary("max", b.absolute(x), b.absolute(y))
    return b.select(b.compare("gt", largest, b.constant(HUGE, F64)), b.constant(SHRINK, F64), b.constant(1.0, F64))


def _clamped(b: Scalars, q: SSAValue) -> SSAValue:
    """q, but no finite number that is too large to split."""
    size = b.absolute(q)
    huge = b.compare("gt", size, b.constant(HUGE, F64))
    finite = b.compare("lt", size, b.constant(INFINITY, F64))
    return b.select(b.binary("and", huge, finite), b.constant(HUGE, F64), q)


def _minus_product(b: Scalars, x: SSAValue, q: SSAValue, y: SSAValue) -> SSAValue:
    """x - q*y, where q*y is not rounded."""
    product = b.mul(q, y)
    (q1, q2), (y1, y2) = _split(b, q), _split(b, y)
    rest = b.sub(b.mul(q1, y1), product)
    for u, v in ((q1, y2), (q2, y1), (q2, y2)):
        rest = b.add(rest, b.mul(u, v))
    return b.sub(b.sub(x, product), rest)


def _split(b: Scalars, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """x as the sum of two numbers of 26 bits, whose products are exact (Veltkamp)."""
    large = b.mul(x, b.constant(SPLITTER, F64))
    high = b.sub(large, b.sub(large, x))
    return high, b.sub(x, high)


def _opposite(b: Scalars, r: SSAValue, y: SSAValue) -> SSAValue:
    """Whether r is not 0 and its sign differs from y's."""
    zero = b.constant(0, r.type)
    differ = b.binary("xor", b.compare("lt", r, zero), b.compare("lt", y, zero))
    return b.binary("and", b.compare("ne", r, zero), differ)


class Division(Binary):
    """Exact while the quotient is below 2**53 in magnitude."""

    def beyond(self, x: Array, y: Array) -> Array:
        """Where the quotient is larger than that."""
        import numpy as np

        with np.errstate(all="ignore"):
            wide, by = x.astype(np.float64), y.astype(np.float64)
            return (np.abs(wide / by) >= EXACT_QUOTIENT) & np.isfinite(wide) & (by != 0) & (x.dtype.kind not in "iu")


class Quotient(Division):
    """The integer."""

    def tolerance(self, results: Sequence[Array], sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        from pelton.dialects.nn import reference

        return [np.where(self.beyond(*inputs), reference.spacing(results[0]), 0.0)]


class Remainder(Division):
    """The rest."""

    def tolerance(self, results: Sequence[Array], sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        return [np.where(self.beyond(*inputs), np.abs(inputs[1].astype(np.float64)), 0.0)]
