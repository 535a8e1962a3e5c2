"""Host memory. Enters: a number of bytes. Leaves: a `Memory`, which buffers and arenas hold.

Blocks are 64-byte aligned and go back to a pool when the last buffer, array or capsule over them is gone: the first
write to fresh pages costs more than most kernels.
"""

from __future__ import annotations

import ctypes
from ctypes import c_char
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pelton.dtype import DType

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALIGNMENT = 64
POOL_BYTES = 256 << 20
SMALL_BYTES = 4096


class Memory:
    """A block of the pool; goes back there when nobody holds it any more."""

    __slots__ = ("_pool", "address", "raw", "size")

    def __init__(self, address: int, size: int, raw: object, pool: Pool) -> None:
        self.address = address
        self.size = size
        self.raw = raw
        self._pool = pool

    def __del__(self) -> None:
        self._pool.give_back(self)

    def __reduce__(self) -> str | tuple[object, ...]:
        """Copies would give the block back twice."""
        raise TypeError("memory is not copied or pickled by itself; copy the buffer over it")


class Pool:
    """Free blocks by size. At most about `limit` bytes wait here; beyond, all of them are let go.

    No lock: list operations are atomic, and where threads race over `waiting` it is off by a block until `clear`.
    """

    def __init__(self, limit: int = POOL_BYTES) -> None:
        self._free: dict[int, list[tuple[int, object]]] = {}
        self._limit = limit
        self.waiting = 0

    def take(self, size: int) -> Memory:
        """At least `size` bytes, not initialised. Raises MemoryError."""
        return self.take_block(rounded(size))

    def take_block(self, size: int) -> Memory:
        """A block of a size that `rounded` gave."""
        try:
            address, raw = self._free[size].pop()
        except (KeyError, IndexError):
            address, raw = _fresh(size)
        else:
            self.waiting -= size
        return Memory(address, size, raw, self)

    @staticmethod
    def small(size: int) -> type[ctypes.Array[ctypes.c_char]] | None:
        """What makes memory with an aligned block of that size in it, where that is dearer to pool than to allocate."""
        return c_char * (size + ALIGNMENT) if size <= SMALL_BYTES else None

    def give_back(self, memory: Memory) -> None:
        """Keep the block for later."""
        size = memory.size
        if self.waiting + size > self._limit:
            self.clear()
            if size > self._limit:
                return
        self.waiting += size
        try:
            self._free[size].append((memory.address, memory.raw))
        except KeyError:
            self._free[size] = [(memory.address, memory.raw)]

    def clear(self) -> None:
        """Let all waiting blocks go."""
        self._free.clear()
        self.waiting = 0


def _fresh(size: int) -> tuple[int, object]:
    """An aligned address, and the array that owns the memory there."""
    try:
        raw = np.empty(size + ALIGNMENT, np.uint8)
    except (MemoryError, ValueError) as error:
        raise MemoryError(f"cannot allocate {size:,} bytes: {error}") from None
    return -(-address_of(raw) // ALIGNMENT) * ALIGNMENT, raw


def rounded(size: int) -> int:
    """The size of the block for a request: at most an eighth more, so that similar sizes share blocks."""
    step = max(ALIGNMENT, 1 << max(size.bit_length() - 4, 0))
    return max(-(-size // step) * step, ALIGNMENT)


def address_of(array: NDArray[np.generic]) -> int:
    """Where a NumPy array's first element lies."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(cast(Any, array)))
    except (TypeError, ValueError, BufferError):  # read-only, empty, or of a dtype the buffer protocol cannot spell
        return array.__array_interface__["data"][0]


class _View:
    """Lets NumPy see memory and keeps it alive: the base of every array made by `array_over`."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: object, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def array_over(
    owner: object,
    address: int,
    dtype: DType,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    writable: bool,
) -> NDArray[Any]:
    """An array over memory that `owner` keeps alive. Strides count elements; none means C order."""
    real, size = dtype.to_numpy(), dtype.size_in_bytes
    native = real.isbuiltin == 1
    interface = {
        "version": 3,
        "shape": shape,
        "typestr": real.str if native else f"|V{size}",
        "data": (address, not writable),
        "strides": None if strides is None else tuple(step * size for step in strides),
    }
    array = np.asarray(cast(Any, _View(owner, interface)))
    return array if native else array.view(real)


pool = Pool()
