"""The memory spaces: one arena of bytes each, laid out, checked and addressed by every thread at once.

Enters: buffers and variables to place, then per access the threads' addresses. Leaves: the bytes, or an error that
names the buffer. Global memory has unmapped gaps between its buffers; shared memory has one copy per block and local
memory one per thread, and both know which bytes were written. Generic addresses carry their space as a window of the
64-bit address.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pelton.runtime.emulator.errors import EmulationError, Misaligned, OutOfBounds, Uninitialised
from pelton.runtime.emulator.values import Array

CONSTANTS = 0x7F00_0000_0000
"""Address of the first module-level variable; the launch's buffers follow it."""
SHARED_WINDOW = 0x7E00_0000_0000
LOCAL_WINDOW = 0x7D00_0000_0000
_WINDOW = 0x0100_0000_0000
_GAP = 256

Index = NDArray[np.int64]


@dataclass(slots=True)
class Layout:
    """Where named variables stand in a space that starts at `base`."""

    base: int = 0
    size: int = 0
    offsets: dict[str, int] = field(default_factory=dict[str, int])
    data: list[tuple[str, int, int, bytes | None]] = field(default_factory=list[tuple[str, int, int, bytes | None]])

    def align(self, to: int) -> None:
        """Rounds the size up."""
        self.size = -(-self.size // to) * to

    def add(self, name: str, align: int, size: int, data: bytes | None = None) -> int:
        """Places a variable; its address."""
        if self.base:
            self.size += _GAP
            align = max(align, _GAP)
        self.align(align)
        self.offsets[name] = at = self.base + self.size
        self.data.append((name, at, size, data))
        self.size += size
        return at


class Global:
    """Global memory: the module's variables and the launch's buffers, with gaps that belong to nobody."""

    def __init__(self, constants: Layout, buffers: list[tuple[str, Array]]) -> None:
        layout = Layout(constants.base, constants.size, dict(constants.offsets), list(constants.data))
        self.addresses = [layout.add(name, _GAP, a.nbytes, a.tobytes()) for name, a in buffers]
        self.owners = layout.data
        self.bytes = np.zeros(-(-(layout.size + _GAP) // 8) * 8, np.uint8)
        self.mapped = np.zeros(self.bytes.size, np.bool_)
        for _, at, size, data in layout.data:
            start = at - layout.base
            self.mapped[start : start + size] = True
            if data is not None:
                self.bytes[start : start + size] = np.frombuffer(data, np.uint8)
        self.buffers = [a for _, a in buffers]

    def copy_back(self) -> None:
        """Writes what the kernel left into the caller's arrays."""
        for at, array in zip(self.addresses, self.buffers, strict=True):
            data = self.bytes[at - CONSTANTS : at - CONSTANTS + array.nbytes]
            array[...] = data.view(array.dtype).reshape(array.shape)

    def place(self, address: Index, size: int, threads: Index) -> Index:
        """Arena offsets of an access."""
        offset = address - CONSTANTS
        inside = (offset >= 0) & (offset <= self.bytes.size - size)
        safe = np.where(inside, offset, 0)
        inside &= self.mapped[safe] & self.mapped[safe + size - 1]
        _check(OutOfBounds, inside, threads, lambda k: self.describe(int(address[k])))
        return safe

    def describe(self, address: int) -> str:
        """Where an address lies, in terms of the nearest buffer below or above it."""
        below = [o for o in self.owners if o[1] <= address]
        if not below:
            return f"address {address:#x} lies in no buffer"
        name, at, size, _ = below[-1]
        if (after := [o for o in self.owners if o[1] > address]) and after[0][1] - address <= _GAP // 2:
            return f"{after[0][1] - address} bytes before the start of {after[0][0]}"
        return f"byte {address - at} of {name}, which has {size} bytes"


class Private:
    """Shared or local memory: `copies` equal pieces, one per block or per thread, each byte marked once written."""

    def __init__(self, name: str, size: int, copies: int) -> None:
        self.name, self.size = name, size
        self.stride = -(-max(size, 16) // 16) * 16
        self.bytes = np.zeros(self.stride * copies, np.uint8)
        self.written = np.zeros(self.bytes.size, np.bool_)

    def place(self, address: Index, size: int, threads: Index, copy: Index) -> Index:
        """Arena offsets of an access; `copy` says whose piece each thread uses."""
        inside = (address >= 0) & (address <= self.size - size)
        _check(
            OutOfBounds, inside, threads, lambda k: f"byte {int(address[k])} of {self.size} bytes of {self.name} memory"
        )
        return address + copy * self.stride

    def require_written(self, offset: Index, size: int, threads: Index) -> None:
        """Refuses a read of bytes nobody wrote."""
        known = self.written[offset]
        for k in range(1, size):
            known &= self.written[offset + k]
        _check(Uninitialised, known, threads, lambda k: f"byte {int(offset[k]) % self.stride} of {self.name} memory")


def _check(
    error: type[EmulationError], good: NDArray[np.bool_], threads: Index, describe: Callable[[int], str]
) -> None:
    """Raises `error` for the first thread that is not good; machine.py adds the instruction and names the thread."""
    if not good.all():
        k = int(np.argmin(good))
        raise error(int(threads[k]), describe(k))


def check_aligned(address: Index, size: int, threads: Index) -> None:
    """Refuses addresses that are no multiple of the access size."""
    _check(Misaligned, address % size == 0, threads, lambda k: f"address {int(address[k]):#x} is no multiple of {size}")


def window_of(address: Index) -> Array:
    """The space of generic addresses: 0 global, 1 shared, 2 local."""
    base = address - address % _WINDOW
    return np.select([base == SHARED_WINDOW, base == LOCAL_WINDOW], [1, 2], 0)


def gather(arena: Array, offset: Index, dtype: np.dtype[Any]) -> Array:
    """Elements at aligned offsets."""
    return arena.view(dtype)[offset // dtype.itemsize]


def scatter(arena: Array, offset: Index, values: Array) -> None:
    """Stores elements at aligned offsets; where two threads meet the later thread wins."""
    arena.view(values.dtype)[offset // values.dtype.itemsize] = values
