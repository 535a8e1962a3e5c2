"""The emulator as a device: memory that outlives a launch, at addresses. Enters and leaves: what `Driver` says.

Copies and launches are checked against the allocations; new memory holds a pattern, so that a read of what nobody
wrote shows. Everything is done when its call returns; what is captured, when it is replayed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from threading import RLock
from time import perf_counter
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from pelton.runtime.driver import COPY, LARGEST_BLOCK, LARGEST_GRID, Address, Node
from pelton.runtime.emulator.blocks import Code
from pelton.runtime.emulator.errors import EmulationError, OutOfBounds, Uninitialised
from pelton.runtime.emulator.graphs import Graph, Open, unreleased
from pelton.runtime.emulator.heap import Allocation, Global
from pelton.runtime.emulator.launch import LIMIT, parameters, prepare, run_grid
from pelton.runtime.emulator.limits import LARGEST_VARIABLES, WARP, beyond, largest_shared
from pelton.runtime.emulator.machine import Checks
from pelton.support.errors import CaptureError, DeviceError, DeviceMemoryError

_FIRST = 0x10_0000_0000
_UNWRITTEN = 0xA5


class Function:
    """An entry of a PTX text, prepared."""

    __slots__ = ("code", "entry")

    def __init__(self, entry: str, code: Code) -> None:
        self.entry, self.code = entry, code


class EmulatedDriver:
    """A GPU in NumPy with `total_memory` bytes. Addresses are never used twice, so a freed one is always refused.

    A kernel's fault is raised by its launch, or by `replay`; the device stays usable, with what the kernel stored
    before. `check_races` and `check_uninitialized` leave out what they name where a kernel takes too long; `limit` is
    the most basic blocks that a batch of thread blocks may execute.
    """

    def __init__(
        self,
        cc: tuple[int, int] = (9, 0),
        total_memory: int = 1 << 30,
        *,
        check_races: bool = True,
        check_uninitialized: bool = True,
        limit: int = LIMIT,
    ) -> None:
        self.architecture = f"sm_{cc[0]}{cc[1]}"
        self.total_memory = self.free_memory = total_memory
        self.largest_shared = largest_shared(cc)
        self._limit = limit
        self._checks = Checks(check_races, check_uninitialized)
        self._memory = Global(_FIRST)
        self._modules: dict[str, tuple[int, dict[str, Function]]] = {}
        """By text: where its variables begin, and its entries that were asked for."""
        self._open = Open()
        self._lock, self._busy = RLock(), False
        self._leaving: dict[int, object] = {}
        """What was given back and is still there, by address."""
        _EVERY.add(self)

    def begin_anew(self) -> None:
        """In a forked child: whoever was at work is not here."""
        self._lock, self._busy = RLock(), False

    # ---- memory
    def allocate(self, size: int) -> Address:
        """New memory; DeviceMemoryError where `size` does not fit."""
        self._not_while_capturing("allocate")
        if size < 0:
            raise ValueError(f"a size is at least 0, got {size}")
        with self._at_work():
            if size > self.free_memory:
                raise DeviceMemoryError(
                    f"allocate: {size} bytes on the emulated device: {self.free_memory} are free",
                    got=f"{self.total_memory} bytes in all",
                    remedy="free buffers or models, or give the device more memory",
                )
            made = self._memory.allocate(size, marked=self._checks.uninitialized, fill=_UNWRITTEN)
            self.free_memory -= size
        return Address(made.start)

    def free(self, address: Address) -> None:
        """Gives memory back; EmulationError for what is no start of an allocation."""
        self._not_while_capturing("free")
        mine = object()
        if address not in self._memory or self._leaving.setdefault(address, mine) is not mine:
            raise EmulationError(f"free: no allocation starts at {address:#x}")
        if self._lock.acquire(blocking=False):
            try:
                self._let_go()
            finally:
                self._lock.release()

    def _let_go(self) -> None:
        """What was given back goes, unless this thread is at work on the memory right now."""
        while self._leaving and not self._busy:
            address, _ = self._leaving.popitem()
            if (found := self._memory.remove(address)) is not None:
                self.free_memory += found.size

    @contextmanager
    def _at_work(self) -> Generator[None]:
        """One thread at a time. Finalizers may run inside, on this thread or another: what they give back goes before
        and after."""
        with self._lock:
            self._let_go()
            self._busy = True
            try:
                yield
            finally:
                self._busy = False
                self._let_go()

    def write(self, target: Address, source: NDArray[Any]) -> None:
        """Host to device."""
        self._not_while_capturing("write")
        with self._at_work():
            found, first, last = self._span(target, source.nbytes, "write")
            found.bytes[first:last].view(source.dtype).reshape(source.shape)[...] = source
            _mark(found, first, last)

    def read(self, source: Address, target: NDArray[Any]) -> None:
        """Device to host; Uninitialised for what neither a kernel nor the host wrote."""
        self._not_while_capturing("read")
        if not target.flags.c_contiguous:
            raise ValueError("read fills a C-contiguous array")
        with self._at_work():
            found, first, last = self._span(source, target.nbytes, "read")
            if found.written is not None and not (known := found.written[first:last]).all():
                raise Uninitialised(f"read: nobody wrote {found.describe(first + int(np.argmin(known)))}")
            target.reshape(-1).view(np.uint8)[:] = found.bytes[first:last]

    def copy(self, target: Address, source: Address, size: int) -> None:
        """Device to device."""
        self._do(Node(COPY, size, 1, 0, (target, source, size)), lambda: self._copy(target, source, size))

    def _copy(self, target: Address, source: Address, size: int) -> None:
        """What was not written stays so."""
        (to, first, last), (of, begin, end) = (self._span(a, size, "copy") for a in (target, source))
        to.bytes[first:last] = of.bytes[begin:end].copy()
        if to.written is not None:
            to.written[first:last] = True if of.written is None else of.written[begin:end].copy()
        elif of.written is not None and not of.written[begin:end].all():
            to.written = np.ones(to.bytes.size, np.bool_)
            to.written[first:last] = of.written[begin:end]

    def _span(self, address: Address, size: int, call: str) -> tuple[Allocation, int, int]:
        found = self._memory.find(address)
        if found is None:
            raise OutOfBounds(f"{call}: {self._memory.describe(address)}")
        offset = address - found.start
        if size < 0 or offset + size > found.size:
            raise OutOfBounds(f"{call}: {size} bytes at byte {offset} of an allocation of {found.size} bytes")
        return found, offset, offset + size

    # ---- code
    def function(self, code: str | bytes, entry: str) -> Function:
        """The entry, prepared; an EmulationError where the emulator does not understand the text, or it is a cubin."""
        self._not_while_capturing("function")
        if isinstance(code, bytes):
            raise EmulationError(f"the emulator runs PTX, and {entry} is given as machine code")
        try:
            return self._entry(code, entry)
        except EmulationError as error:  # what is wrong with a text stands in one of its lines
            raise error.with_details(op=f"kernel {entry}") from None

    def _entry(self, ptx: str, entry: str) -> Function:
        with self._at_work():
            first, entries = self._modules.get(ptx, (self._memory.next, {}))
            if entry not in entries:
                code = prepare(ptx, entry, first)
                for name, layout in (("shared", code.program.shared), ("local", code.program.local)):
                    if layout.size > LARGEST_VARIABLES[name]:
                        raise beyond(entry, f"{name} variables", layout.size, LARGEST_VARIABLES[name])
                if not entries:
                    self._memory.load(code.program.constants)
                    self._modules[ptx] = first, entries
                entries[entry] = Function(entry, code)
            return entries[entry]

    def launch(
        self, function: object, grid: int, block: int, args: Sequence[Address | int | float], shared: int = 0
    ) -> None:
        """Runs a function to its end; nothing for a grid of 0 blocks."""
        if not isinstance(function, Function):
            raise TypeError(f"launch takes what function() returned, got {type(function).__name__}")
        entry, static = function.entry, function.code.program.shared.size
        for what, number, low, high in (
            ("grid", grid, 0, LARGEST_GRID),
            ("block", block, 1, LARGEST_BLOCK),
            ("dynamic shared memory", shared, 0, self.largest_shared - static),
        ):
            if not low <= number <= high:
                raise beyond(entry, what, number, high, low)
        if block % WARP:
            raise DeviceError(f"launch of {entry}: block of {block}", expected=f"a multiple of {WARP}: whole warps")
        try:
            parameters(function.code.program, args)
        except ValueError as error:
            raise DeviceError(f"launch of {error}") from None
        if grid:
            node = Node(entry, grid, block, shared, tuple(args))
            self._do(node, lambda: self._launch(function, node))

    def _launch(self, function: Function, node: Node) -> None:
        try:
            run_grid(
                function.code, self._memory, node.grid, node.block, node.args, node.shared, self._checks, self._limit
            )
        except EmulationError as error:
            raise self._named(error, node.args) from None

    def _named(self, error: EmulationError, args: Sequence[Address | int | float]) -> EmulationError:
        """The error, saying of an allocation which argument leads to it."""
        text = error.message
        for k, value in enumerate(args):
            if isinstance(value, Address) and (found := self._memory.find(value)) is not None:
                text = text.replace(found.name, f"the memory of argument {k}")
        return type(error)(text, **error.details._asdict())

    def synchronize(self) -> None:
        """There is nothing to wait for."""
        self._not_while_capturing("synchronize")

    def mark(self) -> float:
        """Now: all that was begun is done."""
        self._not_while_capturing("mark")
        return perf_counter()

    def seconds(self, first: float, second: float) -> float:
        """How long the emulator took, which says nothing of a GPU."""
        self._not_while_capturing("seconds")
        return second - first

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
        with self._at_work():
            for _, run in unreleased(graph, "replay").work:
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
        return tuple(node for node, _ in unreleased(graph, "nodes").work)

    # ---- within
    def _do(self, node: Node, run: Callable[[], None]) -> None:
        """Runs it, or records it."""
        if (graph := self._open.graph) is not None:
            graph.work.append((node, run))
        else:
            with self._at_work():
                run()

    def _not_while_capturing(self, call: str) -> None:
        if self._open.graph is not None:
            raise CaptureError(
                f"{call}: this thread has a capture open on the device, which records launches and copies alone",
                remedy=f"{call} before begin_capture or after end_capture",
            )


_EVERY: WeakSet[EmulatedDriver] = WeakSet()


def _begin_anew() -> None:
    for driver in list(_EVERY):
        driver.begin_anew()


os.register_at_fork(after_in_child=_begin_anew)


def _mark(found: Allocation, first: int, last: int) -> None:
    """The host wrote it; where that is all of it, nothing needs to be kept."""
    if found.written is not None:
        if last - first == found.size:
            found.written = None
        else:
            found.written[first:last] = True
