"""What the runtime asks of a GPU, whichever drives it. Enters: addresses, bytes, code. Leaves: one narrow interface.

Work can be captured: recorded instead of run, and then run again and again by one call. Next: `emulator/driver.py`
implements it in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Address(int):
    """A place in a device's memory. A type of its own, so that a launch tells pointers from numbers."""

    __slots__ = ()

    def at(self, offset: int) -> Address:
        """The place `offset` bytes further."""
        return Address(self + offset)


COPY = "copy"
"""How a node that copies is called: its grid counts bytes, its arguments are target, source and size."""
LARGEST_GRID = 2**31 - 1
LARGEST_BLOCK = 1024


class Node(NamedTuple):
    """One piece of work in a graph: a launch with all it was given, or a copy."""

    kernel: str
    """The function's entry, or COPY."""
    grid: int
    block: int
    shared: int
    args: tuple[Address | int | float, ...]


class Driver(Protocol):
    """One device: its memory, its code and the one queue of its work.

    Copies and launches run in the order they are called in; `read` waits for what stands before it. Sizes and offsets
    are bytes. Every method may raise DeviceError: the device is not there, or refuses the call. A kernel's fault is
    raised by the call that learns of it, which may be a later one. Safe from any thread.

    Between `begin_capture` and `end_capture` the calling thread's launches and copies within the device are recorded,
    not run; all its other calls that touch the device raise CaptureError, naming the call, and change nothing: neither
    the device nor the capture. Other threads' calls are no part of a capture.
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

    # ---- memory
    def allocate(self, size: int) -> Address:
        """New memory, not initialised, at a multiple of 256. Raises MemoryError where that much is not free.

        Memory of 0 bytes has an address of its own too. CaptureError while capturing.
        """
        ...

    def free(self, address: Address) -> None:
        """Gives memory back, once work that was begun before has ended; `address` is what `allocate` returned.

        Raises DeviceError for any other address; CaptureError while capturing.
        """
        ...

    def write(self, target: Address, source: NDArray[Any]) -> None:
        """Host to device: the elements in C order. The array may change as soon as this returns.

        Raises DeviceError where the bytes do not lie in one allocation; CaptureError while capturing.
        """
        ...

    def read(self, source: Address, target: NDArray[Any]) -> None:
        """Device to host: fills an array, after all work that was begun before.

        Raises ValueError for an array that is not C-contiguous, DeviceError where the bytes do not lie in one
        allocation; CaptureError while capturing.
        """
        ...

    def copy(self, target: Address, source: Address, size: int) -> None:
        """Device to device; the two may overlap. Recorded while capturing.

        Raises DeviceError where either does not lie in one allocation.
        """
        ...

    # ---- code
    def function(self, code: str | bytes, entry: str) -> object:
        """The entry of a PTX text, or of a cubin (bytes), to be launched here: the same object each time, made once.

        Raises DeviceError for code that this device does not take, or that has no such entry; CaptureError while
        capturing.
        """
        ...

    def launch(
        self, function: object, grid: int, block: int, args: Sequence[Address | int | float], shared: int = 0
    ) -> None:
        """Runs a function with `grid` blocks of `block` threads and `shared` bytes of dynamic shared memory.

        `args`: one per parameter, a number fits its parameter's size. A grid of 0 blocks is nothing. Recorded while
        capturing. Raises TypeError for what `function` did not return; DeviceError, naming the limit, for a grid below
        0 or beyond LARGEST_GRID, a block outside 1 … LARGEST_BLOCK, more shared memory than a block can have here, and
        another number of arguments.
        """
        ...

    def synchronize(self) -> None:
        """Waits until all work is done. CaptureError while capturing."""
        ...

    # ---- time
    def mark(self) -> object:
        """The moment when all that was begun before is done. CaptureError while capturing."""
        ...

    def seconds(self, first: Any, second: Any) -> float:
        """From one moment to another, as the device counts; waits for the second. Each serves once.

        CaptureError while capturing.
        """
        ...

    # ---- device graphs
    def begin_capture(self) -> None:
        """From here on the calling thread's launches and copies are recorded. CaptureError where they are already."""
        ...

    def end_capture(self) -> object:
        """The graph of what was recorded; no capture is open afterwards, whatever this raises.

        The graph keeps its functions alive, not its memory: that is the caller's until `release`. Raises CaptureError
        where the calling thread is not capturing.
        """
        ...

    def replay(self, graph: object) -> None:
        """Runs a graph's work, in its order, after all that was begun before, and before all that comes after.

        Raises CaptureError for a graph that was released, and while capturing; TypeError for what is no graph.
        """
        ...

    def release(self, graph: object) -> None:
        """Gives a graph back, after its work; a second time is nothing. CaptureError while capturing."""
        ...

    def nodes(self, graph: object) -> tuple[Node, ...]:
        """What a graph runs, in order. CaptureError for a graph that was released."""
        ...
