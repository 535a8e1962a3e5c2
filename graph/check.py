"""Checks that operations share: arguments as the user gave them enter, normal forms leave, or an error that names op
and argument.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, SupportsIndex, cast

from pelton.dialects.dims import Dim
from pelton.dtype import MOST_BYTES
from pelton.graph.location import place
from pelton.support.errors import GraphError, GraphIndexError, GraphTypeError


def integer(op: str, argument: str, value: Any) -> int:
    """An int from anything that serves as an index. TypeError for others, bools too."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise GraphTypeError(
            f"{op}: {argument} is not an int", location=place(), got=f"{value!r} ({type(value).__name__})"
        )
    return value.__index__()


def axis_of(op: str, axis: Any, rank: int, argument: str = "axis") -> int:
    """`axis` counted from the front. ValueError (an IndexError too) where a tensor of that rank has no such axis."""
    number = integer(op, argument, axis)
    if not -rank <= number < rank:
        raise GraphIndexError(
            f"{op}: {argument} {number} is out of range",
            location=place(),
            expected=f"{-rank} <= {argument} < {rank}" if rank else "a tensor of rank 1 or more",
            got=str(number),
        )
    return number % rank


def axes_of(op: str, axes: Any, rank: int, argument: str = "axis") -> list[int]:
    """Several axes counted from the front, in the order given; one int is one axis.

    ValueError where one stands twice.
    """
    if not isinstance(axes, Sequence):
        return [axis_of(op, axes, rank, argument)]
    found = [axis_of(op, a, rank, argument) for a in cast("Sequence[Any]", axes)]
    if len(set(found)) != len(found):
        raise GraphError(f"{op}: {argument} names an axis twice", location=place(), got=repr(found))
    return found


def wrong(message: str, expected: str = "", got: str = "", remedy: str = "") -> GraphError:
    """The error for an argument that does not fit; `message` starts with the op."""
    return GraphError(message, location=place(), expected=expected, got=got, remedy=remedy)


def wrong_type(message: str, expected: str = "", got: str = "", remedy: str = "") -> GraphTypeError:
    """The error for an argument of the wrong kind; `message` starts with the op."""
    return GraphTypeError(message, location=place(), expected=expected, got=got, remedy=remedy)


def check_bytes(what: str, shape: Sequence[Dim], itemsize: int) -> None:
    """Raises GraphError for known sizes that no memory holds, also beside a size of 0, as NumPy does."""
    if math.prod(d or 1 for d in shape if isinstance(d, int)) * itemsize > MOST_BYTES:
        raise GraphError(
            f"{what} is too large",
            location=place(),
            expected="at most 2**62 bytes, sizes of 0 not counted",
            got=f"[{', '.join(map(str, shape))}] elements of {itemsize} bytes",
        )
