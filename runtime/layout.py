"""Sizes, strides and indices of tensors, as plain arithmetic. Enters: what users wrote. Leaves: checked ints."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import accumulate
from types import EllipsisType

from pelton.dtype import MOST_BYTES, DType
from pelton.support.errors import shown

UNORDERED = (str, bytes, bytearray, Set, Mapping)
Index = int | slice | EllipsisType | None


def checked_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """The sizes as ints. Raises TypeError on anything else, bools too, ValueError on a negative one."""
    if isinstance(shape, UNORDERED):  # bytes would be taken for numbers, a set for a sequence
        raise TypeError(f"a shape is a sequence of ints, got a {type(shape).__name__}")
    try:
        given = tuple(shape)
        sizes = tuple(operator.index(size) for size in given)
        if any(isinstance(size, bool) for size in given):
            raise TypeError
    except TypeError:
        raise TypeError(f"a shape is a sequence of ints, got {shape!r}") from None
    if negative := [size for size in sizes if size < 0]:
        raise ValueError(f"sizes must not be negative, got {shown(negative[0])}")
    return sizes


def bytes_of(shape: tuple[int, ...], dtype: DType) -> int:
    """Bytes of a contiguous tensor. Raises MemoryError where no machine could hold it."""
    size = math.prod(shape) * dtype.size_in_bytes
    if size > MOST_BYTES:
        sizes = ", ".join(map(shown, shape))
        raise MemoryError(f"a tensor of shape ({sizes}) and type {dtype.name} has more than {MOST_BYTES:,} bytes")
    return size


def c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides, in elements, of C order."""
    return tuple(accumulate(reversed(shape[1:]), operator.mul, initial=1))[::-1] if shape else ()


def extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """Offsets, in elements, of the lowest element and of the one after the highest; equal when there are none."""
    if 0 in shape:
        return 0, 0
    spans = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    return sum(s for s in spans if s < 0), sum(s for s in spans if s > 0) + 1


def view(
    index: Index | tuple[Index, ...], shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """(offset, shape, strides), in elements, of a tensor seen through an index. Raises IndexError, TypeError."""
    offset, sizes, steps = 0, list[int](), list[int]()
    for part, size, stride in _places(index, shape, strides):
        if isinstance(part, slice):
            chosen = range(*part.indices(size))
            offset += chosen.start * stride if chosen else 0
            sizes.append(len(chosen))
            steps.append(stride * chosen.step if len(chosen) > 1 else stride)
        elif part is None:
            sizes.append(1)
            steps.append(0)
        else:
            offset += part * stride
    return offset, tuple(sizes), tuple(steps)


def _places(
    index: Index | tuple[Index, ...], shape: tuple[int, ...], strides: tuple[int, ...]
) -> Iterator[tuple[int | slice | None, int, int]]:
    """Pair each part of an index with (size, stride) of its axis, `...` spelled out, ints made positive."""
    parts = index if isinstance(index, tuple) else (index,)
    used = sum(part is not None and part is not ... for part in parts)
    dots = sum(part is ... for part in parts)
    if used > len(shape) or dots > 1:
        what = f"{used} indices" if used > len(shape) else "an index with two ..."
        raise IndexError(f"{what} for {len(shape)} axes: the shape is {shape}")
    rest = [slice(None)] * (len(shape) - used)
    if not dots:
        parts = (*parts, ...)
    spelled = [p for part in parts for p in (rest if part is ... else (part,))]
    axes = iter(zip(shape, strides, strict=True))
    for part in spelled:
        if part is None:
            yield None, 1, 0
            continue
        size, stride = next(axes)
        yield _on_axis(part, size), size, stride


def _on_axis(part: Index, size: int) -> int | slice:
    if isinstance(part, slice):
        return part
    try:
        if isinstance(part, bool):
            raise TypeError
        at = operator.index(part)  # pyright: ignore[reportArgumentType]
    except TypeError:
        raise TypeError(f"a buffer is indexed by ints, slices, ... and None, not by {type(part).__name__}") from None
    if not -size <= at < size:
        which = f"index {at}" if at.bit_length() <= 128 else "an index of many digits"
        raise IndexError(f"{which} is out of bounds for an axis of size {size}")
    return at % size


def overlaps(first: tuple[int, int], second: tuple[int, int]) -> bool:
    """Whether two half-open ranges share anything."""
    return max(first[0], second[0]) < min(first[1], second[1])


def describe(shape: Sequence[int | str], dtype: DType) -> str:
    """A tensor's type in errors: `[(2, 3), f32]`."""
    return f"[({', '.join(map(str, shape))}), {dtype.mlir}]"
