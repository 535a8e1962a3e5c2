"""Tensor maps: how a copy engine finds the boxes of a tensor in global memory. As a value, and as the 128 bytes that a
kernel is given.

Enters: address, sizes, strides, box and swizzle, checked as the driver's cuTensorMapEncodeTiled does. Leaves: bytes for
a `.param` or for memory, and again the value. The bytes of a real GPU's tensor maps are secret; these are our own.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pelton.runtime.emulator.errors import EmulationError
from pelton.runtime.emulator.values import Array

SIZE = 128
SWIZZLES = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
"""By name: how many bits of the number of a 16-byte piece are changed by the bits 7… of its address."""
_MAGIC = b"pelton:T"
_FORM = struct.Struct("<8sQ4B5Q4Q5H5B")


class TensorMap(NamedTuple):
    """A tensor of `rank` = len(sizes) dimensions, innermost first. `sizes`, `box`: in elements; `strides`: bytes from
    one index to the next, of all dimensions but the innermost; `steps`: only every n-th element of a box is taken;
    `nan`: elements outside the tensor are NaN, not 0."""

    address: int
    element: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: str = "none"
    steps: tuple[int, ...] = ()
    nan: bool = False

    def encode(self) -> bytes:
        """The 128 bytes. ValueError for what the driver refuses."""
        check(self)
        rank = len(self.sizes)
        steps = self.steps or (1,) * rank

        def padded(values: Sequence[int], count: int) -> tuple[int, ...]:
            return (*values, *[0] * (count - len(values)))

        flags = rank, self.element, SWIZZLES[self.swizzle], int(self.nan)
        sizes, strides = padded(self.sizes, 5), padded(self.strides, 4)
        packed = _FORM.pack(_MAGIC, self.address, *flags, *sizes, *strides, *padded(self.box, 5), *padded(steps, 5))
        return packed.ljust(SIZE, b"\0")


class Tiled(NamedTuple):
    """An argument of `emulate`: an array, given to the kernel as a tensor map of its boxes (innermost dimension
    first), by value where the parameter has 128 bytes, else by address."""

    array: Array
    box: tuple[int, ...]
    swizzle: str = "none"
    steps: tuple[int, ...] = ()
    nan: bool = False

    def map(self, address: int) -> TensorMap:
        """The tensor map of the array at an address."""
        a = self.array
        sizes, strides = a.shape[::-1], a.strides[::-1][1:]
        return TensorMap(address, a.itemsize, sizes, strides, self.box, self.swizzle, self.steps, self.nan)


def decode(data: bytes, thread: int) -> TensorMap:
    """The value of 128 bytes; `thread` uses them."""
    magic, address, rank, element, swizzle, nan, *numbers = _FORM.unpack(data[: _FORM.size])
    if magic != _MAGIC:
        raise EmulationError(thread, "here is no tensor map (the emulator has its own: TensorMap.encode)")
    sizes, strides, box, steps = numbers[:5], numbers[5:9], numbers[9:14], numbers[14:19]
    name = next(n for n, bits in SWIZZLES.items() if bits == swizzle)
    return TensorMap(
        address,
        element,
        tuple(sizes[:rank]),
        tuple(strides[: rank - 1]),
        tuple(box[:rank]),
        name,
        tuple(steps[:rank]),
        bool(nan),
    )


def check(map: TensorMap) -> None:
    """What cuTensorMapEncodeTiled asks for; ValueError where it is not so."""
    rank, inner = len(map.sizes), map.box[0] * map.element if map.box else 0
    span = 16 << SWIZZLES.get(map.swizzle, 0)
    steps = map.steps or (1,) * rank
    for good, text in (
        (1 <= rank <= 5, f"a tensor map has 1 to 5 dimensions, got {rank}"),
        (len(map.box) == len(steps) == rank == len(map.strides) + 1, "a size, a box and a step for each dimension"),
        (map.swizzle in SWIZZLES, f"a swizzle is one of {', '.join(SWIZZLES)}, got {map.swizzle!r}"),
        (map.element in (1, 2, 4, 8), f"an element has 1, 2, 4 or 8 bytes, got {map.element}"),
        (map.address % 16 == 0, f"the address is a multiple of 16, got {map.address:#x}"),
        (all(0 < s <= 1 << 32 for s in map.sizes), f"sizes are from 1 to 2**32, got {map.sizes}"),
        (all(s % 16 == 0 and 0 < s < 1 << 40 for s in map.strides), f"strides are multiples of 16, got {map.strides}"),
        (all(0 < b <= 256 for b in map.box), f"a box has 1 to 256 elements in each dimension, got {map.box}"),
        (all(0 < s <= 8 for s in steps), f"steps are from 1 to 8, got {steps}"),
        (inner % 16 == 0, f"the inner dimension of a box has a multiple of 16 bytes, got {inner}"),
        (map.swizzle == "none" or inner <= span, f"a box of {inner} bytes does not fit a swizzle of {span}"),
    ):
        if not good:
            raise ValueError(text)


def swizzled(address: Array, swizzle: str) -> Array:
    """Where in shared memory the byte lies that would be at `address` without a swizzle."""
    bits = SWIZZLES[swizzle]
    return address ^ ((address >> 7 & (1 << bits) - 1) << 4)


class Box(NamedTuple):
    """A box at coordinates: per element its address and whether it is in the tensor; in the order of shared memory."""

    address: Array
    inside: Array


def box_at(map: TensorMap, coordinates: Sequence[int]) -> Box:
    """Where the elements of a box lie."""
    address, inside = np.zeros(1, np.int64) + map.address, np.ones(1, np.bool_)
    strides = (map.element, *map.strides)
    for size, stride, count, step, first in zip(
        map.sizes, strides, map.box, map.steps or (1,) * len(map.box), coordinates, strict=True
    ):
        index = first + np.arange(0, count, step)
        address = (address[None, :] + (index * stride)[:, None]).reshape(-1)
        inside = (inside[None, :] & ((index >= 0) & (index < size))[:, None]).reshape(-1)
    return Box(address, inside)
