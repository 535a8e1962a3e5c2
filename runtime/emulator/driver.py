"""The emulator as a device: memory that outlives a launch, at addresses. Enters and leaves: what `Driver` says.

Copies and launches are checked against the allocations; new memory holds a pattern, so that a read of what nobody
wrote shows. Everything is done when its call returns.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pelton.runtime.driver import Address
from pelton.runtime.emulator.errors import EmulationError, OutOfBounds
from pelton.runtime.emulator.launch import Place, emulate
from pelton.runtime.emulator.values import Array

_FIRST = 0x5000_0000_0000
_ALIGN = 256
_UNWRITTEN = 0xA5


class Function(NamedTuple):
    """An entry of a PTX text."""

    ptx: str
    entry: str


class EmulatedDriver:
    """A GPU in NumPy with `total_memory` bytes. Addresses are never used twice, so a freed one is always refused."""

    def __init__(self, cc: tuple[int, int] = (9, 0), total_memory: int = 1 << 30) -> None:
        self.architecture = f"sm_{cc[0]}{cc[1]}"
        self.total_memory = self.free_memory = total_memory
        self._starts: list[int] = []
        self._memory: dict[int, Array] = {}
        self._next = _FIRST

    def allocate(self, size: int) -> Address:
        """New memory; MemoryError where `size` does not fit."""
        if size < 0:
            raise ValueError(f"a size is at least 0, got {size}")
        if size > self.free_memory:
            raise MemoryError(f"{size} bytes on the emulated device: {self.free_memory} are free")
        start = self._next
        self._memory[start] = np.full(size, _UNWRITTEN, np.uint8)
        self._starts.append(start)
        self.free_memory -= size
        self._next += (size // _ALIGN + 2) * _ALIGN
        return Address(start)

    def free(self, address: Address) -> None:
        """Gives memory back; EmulationError for what is no start of an allocation."""
        if (memory := self._memory.pop(address, None)) is None:
            raise EmulationError(f"free: no allocation starts at {address:#x}")
        self._starts.remove(address)
        self.free_memory += memory.nbytes

    def write(self, target: Address, source: NDArray[Any]) -> None:
        """Host to device."""
        self._span(target, source.nbytes, "write")[:] = np.frombuffer(source.tobytes(), np.uint8)

    def read(self, source: Address, target: NDArray[Any]) -> None:
        """Device to host."""
        if not target.flags.c_contiguous:
            raise ValueError("read fills a C-contiguous array")
        target.reshape(-1).view(np.uint8)[:] = self._span(source, target.nbytes, "read")

    def copy(self, target: Address, source: Address, size: int) -> None:
        """Device to device."""
        self._span(target, size, "copy")[:] = self._span(source, size, "copy").copy()

    def function(self, ptx: str, entry: str) -> Function:
        """The entry; a text the emulator does not understand is refused when it is launched."""
        return Function(ptx, entry)

    def launch(
        self, function: object, grid: int, block: int, args: Sequence[Address | int | float], shared: int = 0
    ) -> None:
        """Runs a function to its end; nothing for a grid of 0 blocks."""
        if not isinstance(function, Function):
            raise TypeError(f"launch takes what function() returned, got {type(function).__name__}")
        if grid:
            given = [self._place(a, "launch") if isinstance(a, Address) else a for a in args]
            emulate(function.ptx, function.entry, grid, block, given, shared)

    def synchronize(self) -> None:
        """There is nothing to wait for."""

    def _place(self, address: Address, call: str) -> Place:
        """The allocation an address lies in (its end included), and how far in."""
        if k := bisect_right(self._starts, address):
            start = self._starts[k - 1]
            if address - start <= self._memory[start].nbytes:
                return Place(self._memory[start], address - start)
        raise OutOfBounds(f"{call}: address {address:#x} lies in no allocation")

    def _span(self, address: Address, size: int, call: str) -> Array:
        memory, offset = self._place(address, call)
        if size < 0 or offset + size > memory.nbytes:
            raise OutOfBounds(f"{call}: {size} bytes at byte {offset} of an allocation of {memory.nbytes} bytes")
        return memory[offset : offset + size]
