"""An NVIDIA GPU as a device. Enters and leaves: what `Driver` (runtime/driver.py) says.

All work goes to one stream, but for that of a capture. Nothing waits for the device except `read`, `synchronize` and
`release`, so a kernel's fault shows in a later call; the calls after that raise DeviceLost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pelton.runtime.cuda import binding
from pelton.runtime.cuda.code import Function, Modules
from pelton.runtime.cuda.context import HERE, Context
from pelton.runtime.cuda.graphs import Graph, Graphs
from pelton.runtime.cuda.launches import Launch, launch_once
from pelton.runtime.cuda.memory import Memory
from pelton.runtime.cuda.staging import Staging
from pelton.runtime.cuda.timing import Event, Events
from pelton.runtime.driver import Address, Node
from pelton.support.errors import CaptureError

MOST_PIECES = 1024
"""A captured copy to an overlapping place becomes at most so many copies."""


class CudaDriver:
    """GPU `ordinal` of those that the CUDA driver counts, until `close`. Raises DeviceError where it cannot be had."""

    def __init__(self, ordinal: int = 0) -> None:
        self._context = context = Context(binding.load(), ordinal)
        try:
            major, minor = (context.attribute(f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
            self.architecture = f"sm_{major}{minor}"
            self._modules = Modules(context)
            self._graphs = Graphs(context, self._modules)
            self._events = Events(context)
            self._staging = Staging(context)
            self._memory = Memory(context)
        except BaseException:
            context.close()
            raise

    @property
    def total_memory(self) -> int:
        """All memory of the device."""
        return self._memory.total

    @property
    def free_memory(self) -> int:
        """What is left of it now, memory kept for reuse included."""
        return self._memory.free

    # ---- memory
    def allocate(self, size: int) -> Address:
        """New memory, from a pool."""
        self._context.refuse_in_capture("allocate")
        return self._memory.allocate(size)

    def free(self, address: Address) -> None:
        """Gives memory back; on a lost device there is nothing left to give."""
        self._context.refuse_in_capture("free")
        self._memory.release(address)

    def write(self, target: Address, source: NDArray[Any]) -> None:
        """Host to device, through pinned memory."""
        self._context.refuse_in_capture("write")
        self._memory.check(target, source.nbytes, "write")
        if source.nbytes:
            self._staging.write(target, np.ascontiguousarray(source).reshape(-1).view(np.uint8))

    def read(self, source: Address, target: NDArray[Any]) -> None:
        """Device to host, through pinned memory."""
        self._context.refuse_in_capture("read")
        if not target.flags.c_contiguous:
            raise ValueError("read fills a C-contiguous array")
        self._memory.check(source, target.nbytes, "read")
        if target.nbytes:
            self._staging.read(source, target.reshape(-1).view(np.uint8))

    def copy(self, target: Address, source: Address, size: int) -> None:
        """Device to device."""
        for place in (target, source):
            self._memory.check(place, size, "copy")
        if abs(target - source) >= size:
            self._copy(target, source, size)
        elif target != source:
            self._move(target, source, size)

    # ---- code
    def function(self, code: str | bytes, entry: str) -> Function:
        """The entry of a PTX text, or of a cubin (bytes)."""
        self._context.refuse_in_capture("function")
        return self._modules.function(code, entry)

    def prepare(
        self, function: object, grid: int, block: int, args: Sequence[Address | int | float], shared: int = 0
    ) -> Launch:
        """What `launch` does, ready to be run many times. Raises what `launch` raises."""
        return Launch(self._context, self._known(function), grid, block, args, shared)

    def launch(
        self, function: object, grid: int, block: int, args: Sequence[Address | int | float], shared: int = 0
    ) -> None:
        """Begins a function; nothing for a grid of 0 blocks."""
        launch_once(self._context, self._known(function), grid, block, args, shared)

    def synchronize(self) -> None:
        """Waits until all work is done, and raises what went wrong with it."""
        self._context.refuse_in_capture("synchronize")
        self._context.call("cuStreamSynchronize", self._context.stream)

    # ---- graphs
    def begin_capture(self) -> None:
        """From here on the calling thread's launches and copies are recorded."""
        self._context.refuse_in_capture("begin_capture")
        self._graphs.begin()

    def end_capture(self) -> Graph:
        """What was recorded."""
        return self._graphs.end()

    def replay(self, graph: object) -> None:
        """Begins a graph's work, by one call."""
        if type(graph) is not Graph or graph.context is not self._context:
            self._context.refuse_in_capture("replay")
            raise TypeError(f"replay takes what end_capture() of this device returned, got {type(graph).__name__}")
        graph.run()

    def release(self, graph: object) -> None:
        """Gives a graph back."""
        self._context.refuse_in_capture("release")
        self._graphs.release(self._own(graph, "release"))

    def nodes(self, graph: object) -> tuple[Node, ...]:
        """What a graph runs, as the driver tells it."""
        return self._graphs.nodes(self._own(graph, "nodes"))

    # ---- times
    def mark(self) -> Event:
        """A moment in the device's work: when all that was begun before is done. CaptureError while capturing."""
        self._context.refuse_in_capture("mark")
        return self._events.record()

    def seconds(self, first: Event, second: Event) -> float:
        """How long the device took from one moment to another; waits for it. Both moments are forgotten."""
        self._context.refuse_in_capture("seconds")
        return self._events.between(first, second)

    def close(self) -> None:
        """Gives back all that was taken of the device, whatever state it is in; nothing the second time."""
        for part in (self._graphs, self._events, self._staging, self._memory, self._modules, self._context):
            part.close()

    # ---- within
    def _known(self, function: object) -> Function:
        if not isinstance(function, Function) or function.owner is not self._modules:
            raise TypeError(f"launch takes what function() of this device returned, got {type(function).__name__}")
        return function

    def _own(self, graph: object, call: str) -> Graph:
        if not isinstance(graph, Graph) or graph.context is not self._context:
            raise TypeError(f"{call} takes what end_capture() of this device returned, got {type(graph).__name__}")
        return graph

    def _copy(self, target: int, source: int, size: int) -> None:
        """Between places that do not overlap."""
        context = self._context
        if not size:
            return
        context.enter("cuMemcpyDtoDAsync")
        context.call("cuMemcpyDtoDAsync", target, source, size, HERE.stream)

    def _move(self, target: Address, source: Address, size: int) -> None:
        """Between places that overlap: by way of other memory, or in pieces where a capture allows no allocation."""
        step = abs(target - source)
        if self._context not in HERE.captures:
            between = self._memory.allocate(size)
            try:
                self._copy(between, source, size)
                self._copy(target, between, size)
            finally:
                self._memory.release(between)
        elif size > step * MOST_PIECES:
            raise CaptureError(
                f"copy: {size} bytes to a place {step} bytes away would be captured as too many pieces",
                expected=f"at most {MOST_PIECES}",
                remedy="copy to a place that does not overlap",
            )
        else:
            starts = range(0, size, step)
            for begin in reversed(starts) if target > source else starts:
                self._copy(target + begin, source + begin, min(step, size - begin))
