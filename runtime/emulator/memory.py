"""The memory spaces: one arena of bytes each, laid out, checked and addressed by every thread at once.

Enters: buffers and variables to place, then per access the threads' addresses. Leaves: the bytes, or an error that
names the place. Shared memory has one copy per block and local memory one per thread; heap.py has global memory. All
know which bytes were written. Generic addresses carry their space as a window of the 64-bit address.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pelton.runtime.emulator.errors import EmulationError, Misaligned, OutOfBounds
from pelton.runtime.emulator.values import UNSIGNED, Array

CONSTANTS = 0x7F00_0000_0000
"""Address of the first module-level variable; the launch's buffers follow it."""
SHARED_WINDOW = 0x7E00_0000_0000
LOCAL_WINDOW = 0x7D00_0000_0000
PARAM_WINDOW = 0x7C00_0000_0000
_WINDOW = 0x0100_0000_0000
GAP = 256
"""At least so far apart lie two buffers."""

_ALL = {size: UNSIGNED[size].type(int.from_bytes(b"\1" * size, "little")) for size in UNSIGNED}
"""By size: all bytes of an element are written."""

Index = NDArray[np.int64]


def round_up(size: int, to: int) -> int:
    """The next multiple."""
    return -(-size // to) * to


@dataclass(slots=True)
class Layout:
    """Where named variables stand in a space that starts at `base`."""

    base: int = 0
    size: int = 0
    offsets: dict[str, int] = field(default_factory=dict[str, int])
    data: list[tuple[str, int, int, bytes | None]] = field(default_factory=list[tuple[str, int, int, bytes | None]])

    def align(self, to: int) -> None:
        """Rounds the size up."""
        self.size = round_up(self.size, to)

    def add(self, name: str, align: int, size: int, data: bytes | None = None) -> int:
        """Places a variable; its address."""
        if self.base:
            self.size += GAP
            align = max(align, GAP)
        self.align(align)
        self.offsets[name] = at = self.base + self.size
        self.data.append((name, at, size, data))
        self.size += size
        return at


class Marked:
    """Bytes, and which of them are written: None for all."""

    __slots__ = ("bytes", "written")

    def __init__(self, bytes: Array, written: Array | None) -> None:
        self.bytes, self.written = bytes, written

    def known(self, offset: Index, size: int) -> Array | None:
        """Whether elements of `size` bytes at aligned offsets are written; None where all are."""
        if self.written is None:
            return None
        return self.written.view(UNSIGNED[size])[offset // size] == _ALL[size]

    def mark(self, offset: Index, size: int) -> None:
        """From now on they are."""
        if self.written is not None:
            self.written.view(UNSIGNED[size])[offset // size] = _ALL[size]


class Private(Marked):
    """Shared or local memory: `copies` equal pieces, one per block or per thread."""

    __slots__ = ("name", "size", "stride")

    def __init__(self, name: str, size: int, copies: int, *, marked: bool = True) -> None:
        self.name, self.size = name, size
        self.stride = round_up(max(size, 16), 16)
        content = np.zeros(self.stride * copies, np.uint8)
        super().__init__(content, np.zeros(content.size, np.bool_) if marked else None)

    def place(self, address: Index, size: int, threads: Index, copy: Index) -> Index:
        """Arena offsets of an access; `copy` says whose piece each thread uses."""
        inside = (address >= 0) & (address <= self.size - size)
        check(
            OutOfBounds, inside, threads, lambda k: f"byte {int(address[k])} of {self.size} bytes of {self.name} memory"
        )
        return address + copy * self.stride

    def describe(self, offset: int) -> str:
        """What stands at an arena offset."""
        return f"byte {offset % self.stride} of {self.name} memory"


def check(error: type[EmulationError], good: NDArray[np.bool_], threads: Index, describe: Callable[[int], str]) -> None:
    """Raises `error` for the first thread that is not good; machine.py adds the instruction and names the thread."""
    if not good.all():
        k = int(np.argmin(good))
        raise error(int(threads[k]), describe(k))


def check_aligned(address: Index, size: int, threads: Index) -> None:
    """Refuses addresses that are no multiple of the access size."""
    check(Misaligned, address % size == 0, threads, lambda k: f"address {int(address[k]):#x} is no multiple of {size}")


def window_of(address: Index) -> Array:
    """The space of generic addresses: 0 global, 1 shared, 2 local."""
    base = address - address % _WINDOW
    return np.select([base == SHARED_WINDOW, base == LOCAL_WINDOW], [1, 2], 0)


def gather(arena: Array, offset: Index, dtype: np.dtype[Any]) -> Array:
    """Elements at aligned offsets."""
    return _elements(arena, dtype)[offset // dtype.itemsize]


def scatter(arena: Array, offset: Index, values: Array) -> None:
    """Stores elements at aligned offsets; where two threads meet the later thread wins."""
    _elements(arena, values.dtype)[offset // values.dtype.itemsize] = values


def _elements(arena: Array, dtype: np.dtype[Any]) -> Array:
    """The arena as elements; bytes at its end that are too few for one are left out."""
    return arena[: arena.size - arena.size % dtype.itemsize].view(dtype)
