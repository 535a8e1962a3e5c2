"""The emulator as a device: memory that outlives a launch, at addresses. Enters and leaves: what `Driver` says.

Copies and launches are checked against the allocations; new memory holds a pattern, so that a read of what nobody
wrote shows. Everything is done when its call returns; what is captured, when it is replayed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from threading import RLock, local
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pelton.runtime.driver import COPY, LARGEST_BLOCK, LARGEST_GRID, Address, Node
from pelton.runtime.emulator.errors import EmulationError, OutOfBounds
from pelton.runtime.emulator.launch import Place, emulate
from pelton.runtime.emulator.values import Array
from pelton.support.errors import CaptureError, DeviceError, DeviceMemoryError

_FIRST = 0x5000_0000_0000
_ALIGN = 256
_UNWRITTEN = 0xA5


class Function(NamedTuple):
    """An entry of a PTX text."""

    ptx: str
    entry: str


class Graph:
    """Recorded work, to be run again."""

    __slots__ = ("released", "work")

    def __init__(self) -> None:
        self.work: list[tuple[Node, Callable[[], None]]] = []
        self.released = False


class _Open(local):
    """The graph that the calling thread is recording."""

    graph: Graph | None = None


class EmulatedDriver:
    """A GPU in NumPy with `total_memory` bytes. Addresses are never used twice, so a freed one is always refused."""

    def __init__(self, cc: tuple[int, int] = (9, 0), total_memory: int = 1 << 30) -> None:
        self.architecture = f"sm_{cc[0]}{cc[1]}"
        self.total_memory = self.free_memory = total_memory
        self._starts: list[int] = []
        self._memory: dict[int, Array] = {}
        self._next = _FIRST
        self._functions: dict[Function, Function] = {}
        self._open = _Open()
        self._lock = RLock()

    # ---- memory
    def allocate(self, size: int) -> Address:
        """New memory; MemoryError where `size` does not fit."""
        self._not_while_capturing("allocate")
        if size < 0:
            raise ValueError(f"a size is at least 0, got {size}")
        with self._lock:
            if size > self.free_memory:
                raise DeviceMemoryError(f"{size} bytes on the emulated device: {self.free_memory} are free")
            start = self._next
            self._memory[start] = np.full(size, _UNWRITTEN, np.uint8)
            self._starts.append(start)
            self.free_memory -= size
            self._next += (size // _ALIGN + 2) * _ALIGN
        return Address(start)

    def free(self, address: Address) -> None:
        """Gives memory back; EmulationError for what is no start of an allocation."""
        self._not_while_capturing("free")
        with self._lock:
            if (memory := self._memory.pop(address, None)) is None:
                raise EmulationError(f"free: no allocation starts at {address:#x}")
            self._starts.remove(address)
            self.free_memory += memory.nbytes

    def write(self, target: Address, source: NDArray[Any]) -> None:
        """Host to device."""
        self._not_while_capturing("write")
        with self._lock:
            self._span(target, source.nbytes, "write")[:] = np.frombuffer(source.tobytes(), np.uint8)

    def read(self, source: Address, target: NDArray[Any]) -> None:
        """Device to host."""
        self._not_while_capturing("read")
        if not target.flags.c_contiguous:
            raise ValueError("read fills a C-contiguous array")
        with self._lock:
            target.reshape(-1).view(np.uint8)[:] = self._span(source, target.nbytes, "read")

    def copy(self, target: Address, source: Address, size: int) -> None:
        """Device to device."""
        self._do(Node(COPY, size, 1, 0, (target, source, size)), lambda: self._copy(target, source, size))

    def _copy(self, target: Address, source: Address, size: int) -> None:
        self._span(target, size, "copy")[:] = self._span(source, size, "copy").copy()

    # ---- code
    def function(self, ptx: str, entry: str) -> Function:
        """The entry; a text the emulator does not understand is refused when it is launched."""
        self._not_while_capturing("function")
        function = Function(ptx, entry)
        return self._functions.setdefault(function, function)

    def launch(
        self, function: object, grid: int, block: int, args: Sequence[Address | int | float], shared: int = 0
    ) -> None:
        """Runs a function to its end; nothing for a grid of 0 blocks."""
        if not isinstance(function, Function):
            raise TypeError(f"launch takes what function() returned, got {type(function).__name__}")
        for what, number, low, high in (("grid", grid, 0, LARGEST_GRID), ("block", block, 1, LARGEST_BLOCK)):
            if not low <= number <= high:
                raise DeviceError(f"launch of {function.entry}: a {what} of {number}", expected=f"{low} to {high}")
        if grid:
            node = Node(function.entry, grid, block, shared, tuple(args))
            self._do(node, lambda: self._launch(function, node))

    def _launch(self, function: Function, node: Node) -> None:
        given = [self._place(a, "launch") if isinstance(a, Address) else a for a in node.args]
        emulate(function.ptx, function.entry, node.grid, node.block, given, node.shared)

    def synchronize(self) -> None:
        """There is nothing to wait for."""
        self._not_while_capturing("synchronize")

    # ---- graphs
    def begin_capture(self) -> None:
        """From here on the calling thread's launches and copies are recorded."""
        self._not_while_capturing("begin_capture")
        self._open.graph = Graph()

    def end_capture(self) -> Graph:
        """What was recorded."""
        graph, self._open.graph = self._open.graph, None
        if graph is None:
            raise CaptureError("end_capture: no capture is open in this thread", remedy="call begin_capture first")
        return graph

    def replay(self, graph: object) -> None:
        """Runs a graph's work."""
        self._not_while_capturing("replay")
        with self._lock:
            for _, run in _unreleased(graph, "replay").work:
                run()

    def release(self, graph: object) -> None:
        """Gives a graph back."""
        self._not_while_capturing("release")
        if not isinstance(graph, Graph):
            raise TypeError(f"release takes what end_capture() returned, got {type(graph).__name__}")
        graph.released = True
        graph.work.clear()

    def nodes(self, graph: object) -> tuple[Node, ...]:
        """What a graph runs."""
        return tuple(node for node, _ in _unreleased(graph, "nodes").work)

    # ---- within
    def _do(self, node: Node, run: Callable[[], None]) -> None:
        """Runs it, or records it."""
        if (graph := self._open.graph) is not None:
            graph.work.append((node, run))
        else:
            with self._lock:
                run()

    def _not_while_capturing(self, call: str) -> None:
        if self._open.graph is not None:
            raise CaptureError(
                f"{call}: this thread has a capture open on the device, which records launches and copies alone",
                remedy=f"{call} before begin_capture or after end_capture",
            )

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


def _unreleased(graph: object, call: str) -> Graph:
    if not isinstance(graph, Graph):
        raise TypeError(f"{call} takes what end_capture() returned, got {type(graph).__name__}")
    if graph.released:
        raise CaptureError(f"{call}: the graph was released")
    return graph
