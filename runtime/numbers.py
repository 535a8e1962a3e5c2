"""Numbers that are written into buffers. Enters: what users gave. Leaves: a number that the type holds, or what NumPy
can assign element by element. Next: `buffer.py` writes it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pelton.dtype import DType
from pelton.support.errors import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray


def is_number(value: Any) -> bool:
    """Whether it is one number, Python's or NumPy's, of a type that tensors have."""
    return isinstance(value, bool | int | float) or (
        isinstance(value, np.generic) and _is_known(cast(Any, value).dtype)
    )


def number(value: Any) -> bool | int | float:
    """A Python or NumPy number, or one in a rank-0 array, as Python's. Raises TypeError or ValueError for others."""
    if isinstance(value, np.ndarray):
        array = cast("NDArray[Any]", value)
        value = array[()] if array.ndim == 0 else array
    if isinstance(value, np.generic):
        number = cast(Any, value)
        return float(number) if DType.from_numpy(number.dtype).is_float() else number.item()
    if isinstance(value, bool | int | float):
        return value
    raise TypeError("it is no number")


def held(value: float, dtype: DType) -> float:
    """The number, if the type holds it up to rounding. Raises ValueError."""
    if dtype.is_integral():
        if isinstance(value, float) and math.isfinite(value) and not value.is_integer():
            raise ValueError("it is no whole number")
        low, high = limits(dtype)
        if math.isfinite(value) and not low <= value <= high:
            raise ValueError(f"it is not from {low} to {high}")
        return value if isinstance(value, int) or not math.isfinite(value) else int(value)
    if dtype.is_float() and math.isfinite(value) and not np.isfinite(float(np.asarray(value).astype(dtype.to_numpy()))):
        raise ValueError("it is out of range")
    return value


def limits(dtype: DType) -> tuple[int, int]:
    """The smallest and the largest number of an integer type."""
    bits = dtype.size_in_bits
    return (0, 2**bits - 1) if dtype.is_unsigned_integral() else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def assignable(value: Any) -> Any:
    """An array of numbers, or nested lists of them, which NumPy assigns and casts as it does anywhere.

    Raises TypeError for anything else: NumPy would make numbers of None, of texts and of complex numbers.
    """
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        raise
    except Exception as error:  # an object's own __array__ may raise anything
        raise TypeError(f"a {type(value).__name__} does not hand its elements over: {error!r}") from error
    lists = type(value) in (list, tuple)
    if lists and array.dtype.kind == "O" and all(isinstance(each, int | float) for each in array.ravel()):
        return cast(object, value)  # an int of more than 64 bits is among them
    if array.dtype.kind not in "biuf" and not _is_known(array.dtype):
        raise TypeError(
            f"a buffer takes numbers, arrays of numbers and buffers, got {shown(value)} ({array.dtype.name})"
        )
    return cast(object, value) if lists else array  # of numbers in lists, NumPy refuses those that do not fit


def _is_known(dtype: np.dtype[Any]) -> bool:
    """Whether a NumPy dtype has a `DType`."""
    try:
        DType.from_numpy(dtype)
    except ValueError:
        return False
    return True
