"""What the runtime asks of a GPU, whichever drives it. Enters: addresses, bytes, code. Leaves: one narrow interface.

Next: `emulator/driver.py` implements it in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Address(int):
    """A place in a device's memory. A type of its own, so that a launch tells pointers from numbers."""

    __slots__ = ()

    def at(self, offset: int) -> Address:
        """The place `offset` bytes further."""
        return Address(self + offset)


class Driver(Protocol):
    """One device: its memory, its code and the one queue of its work.

    Copies and launches run in the order they are called in; `read` waits for what stands before it. Sizes and offsets
    are bytes. Running out of memory raises MemoryError.
    """

    @property
    def architecture(self) -> str:
        """What code must be made for, such as "sm_90"."""
        ...

    @property
    def total_memory(self) -> int:
        """All memory of the device."""
        ...

    @property
    def free_memory(self) -> int:
        """What is left of it now."""
        ...

    def allocate(self, size: int) -> Address:
        """New memory, not initialised, at a multiple of 256."""
        ...

    def free(self, address: Address) -> None:
        """Gives memory back; `address` is what `allocate` returned."""
        ...

    def write(self, target: Address, source: NDArray[Any]) -> None:
        """Host to device: the elements in C order."""
        ...

    def read(self, source: Address, target: NDArray[Any]) -> None:
        """Device to host: fills a C-contiguous array."""
        ...

    def copy(self, target: Address, source: Address, size: int) -> None:
        """Device to device; the two may overlap."""
        ...

    def function(self, ptx: str, entry: str) -> object:
        """The entry of a PTX text, to be launched here."""
        ...

    def launch(
        self, function: object, grid: int, block: int, args: Sequence[Address | int | float], shared: int = 0
    ) -> None:
        """Runs a function with `grid` blocks of `block` threads and `shared` bytes of dynamic shared memory."""
        ...

    def synchronize(self) -> None:
        """Waits until all work is done."""
        ...
