"""Which dtype an operation computes in: the dtypes of its operands enter, one of them leaves. No graph and no values of
tensors here.

Two tensors meet in the dtype that holds every value of the other one exactly; where neither does, the mix is refused: a
graph never widens a dtype or rounds one behind the user's back. Python and NumPy operands are weak: they take the
tensor's dtype if they fit it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

from pelton.dtype import DType
from pelton.graph.location import place
from pelton.support.errors import GraphError, GraphTypeError

CAST = "cast one of them: ops.cast(x, dtype)"


@dataclass(frozen=True)
class Range:
    """The values of a dtype that matter here: `low … high` for integers; floats hold integers of up to `bits`
    significant bits.
    """

    low: int
    high: int
    bits: int
    is_float: bool = False

    @property
    def overflow(self) -> float:
        """The least float that rounds to infinity."""
        exponent = self.high.bit_length()
        return float(self.high + (1 << (exponent - self.bits - 1))) if exponent < 1024 else float("inf")


def _integers(dtype: DType) -> Range:
    bits = dtype.size_in_bits
    if dtype.is_signed_integral():
        return Range(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, bits - 1)
    return Range(0, 2**bits - 1, bits)


def _floats(bits: int, exponent: int) -> Range:
    """A float format with `bits` significant bits and values below `2**exponent`."""
    high = (2**bits - 1) << (exponent - bits)
    return Range(-high, high, bits, is_float=True)


RANGES: dict[DType, Range] = {
    **{d: _integers(d) for d in DType if d is DType.bool or d.is_integral()},
    DType.float16: _floats(11, 16),
    DType.bfloat16: _floats(8, 128),
    DType.float32: _floats(24, 128),
    DType.float64: _floats(53, 1024),
}
"""What each dtype can hold; float8 types mix with nothing."""


def is_safe(source: DType, target: DType) -> bool:
    """Whether every value of `source` is one of `target`."""
    if source is target:
        return True
    if source not in RANGES or target not in RANGES:
        return False
    a, b = RANGES[source], RANGES[target]
    if a.is_float and not b.is_float:
        return False
    return a.bits <= b.bits and b.low <= a.low and a.high <= b.high


def promote(op: str, x: DType, y: DType) -> DType:
    """The dtype in which tensors of dtypes `x` and `y` meet: one of the two. Raises GraphError where neither holds the
    other exactly.

    >>> promote("ops.add", DType.int8, DType.float16).name
    'float16'
    """
    if is_safe(y, x):
        return x
    if is_safe(x, y):
        return y
    raise GraphError(
        f"{op} mixes {x.name} and {y.name}, and neither holds every value of the other",
        location=place(),
        expected="one dtype, or one that holds the other exactly",
        got=f"{x.name}, {y.name}",
        remedy=CAST,
    )


def fit(op: str, value: Any, dtype: DType, explicit: bool = False) -> Any:
    """The Python number or NumPy array `value` as a constant of `dtype`. Raises GraphError where `dtype` does not hold
    it.

    Integers must be representable exactly; floats may round, but not overflow. A float becomes an integer only where
    `explicit` says that the user named `dtype` for this value, and it is whole.
    """
    limits = RANGES.get(dtype)
    if limits is None:
        raise GraphError(
            f"{op}: {dtype.name} has no constants", expected=", ".join(d.name for d in RANGES), got=dtype.name
        )
    if not isinstance(value, bool | int | float):
        return _fit_array(op, value, dtype, limits, explicit)
    if not _holds(limits, value, explicit):
        raise _unfit(op, repr(value), dtype)
    return float(value) if limits.is_float else int(value)


def _holds(limits: Range, value: float, explicit: bool) -> bool:
    if not isinstance(value, float):
        return _holds_integer(limits, int(value))
    if limits.is_float:
        return not isfinite(value) or abs(value) < limits.overflow
    return explicit and value.is_integer() and limits.low <= value <= limits.high


def _holds_integer(limits: Range, value: int) -> bool:
    if not limits.low <= value <= limits.high:
        return False
    return not limits.is_float or value == 0 or (value // (value & -value)).bit_length() <= limits.bits


def _fit_array(op: str, value: Any, dtype: DType, limits: Range, explicit: bool) -> Any:
    import numpy as np

    try:
        source = DType.from_numpy(value.dtype)
    except ValueError as error:
        raise GraphTypeError(f"{op} cannot use a NumPy array of {value.dtype}", got=str(error)) from error
    if not is_safe(source, dtype) and value.size:
        fits = _array_fits(value.astype(np.float64) if source.is_float() else value, source, limits, explicit)
        if not np.all(fits):
            raise _unfit(op, repr(value[~fits].flat[0].item() if value.ndim else value.item()), dtype)
    return np.ascontiguousarray(value.astype(dtype.to_numpy())).reshape(value.shape)


def _array_fits(value: Any, source: DType, limits: Range, explicit: bool) -> Any:
    """Per element, whether it is held."""
    import numpy as np

    if source.is_float() and limits.is_float:
        return ~np.isfinite(value) | (np.abs(value) < limits.overflow)
    if source.is_float():
        held = np.fromiter((_holds(limits, v, explicit) for v in value.ravel().tolist()), bool, value.size)
        return held.reshape(value.shape)
    if all(_holds_integer(limits, int(v)) and abs(int(v)) <= 2**limits.bits for v in (value.min(), value.max())):
        return np.ones(value.shape, bool)  # all between are held too
    held = np.fromiter((_holds_integer(limits, v) for v in value.ravel().tolist()), bool, value.size)
    return held.reshape(value.shape)


def _unfit(op: str, value: str, dtype: DType) -> GraphError:
    return GraphError(
        f"{op}: the operand {value} is not a value of {dtype.name}",
        location=place(),
        expected=f"a number that {dtype.name} holds",
        got=value,
        remedy="cast the tensor to a dtype that holds it, or the operand with ops.constant(value, dtype)",
    )
