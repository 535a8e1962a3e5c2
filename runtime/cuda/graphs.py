"""Captured work. Enters: launches and copies that a thread makes between two calls. Leaves: a `Graph`, run by one call.

Each capture has a stream of its own, on which only the thread that began it launches: work of other threads stays on
the main stream and outside. What a graph holds is read back from the driver, not remembered. Next: `driver.py`.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from pelton.runtime.cuda.code import Modules
from pelton.runtime.cuda.context import HERE, Context
from pelton.runtime.cuda.launches import FORMATS
from pelton.runtime.driver import COPY, Address, Node
from pelton.support.errors import CaptureError, DeviceError, PeltonError


class Graph:
    """Recorded work. `run` begins it once, in its device's queue."""

    __slots__ = ("context", "executable", "recorded", "run")
    run: Callable[[], None]

    def __init__(self, context: Context, recorded: Any, executable: Any) -> None:
        self.context = context
        self.recorded: Any = recorded
        """The driver's graph; None once released."""
        self.executable = executable
        self.run = self._runner()

    def _runner(self) -> Callable[[], None]:
        here, context, executable = HERE, self.context, self.executable
        launch, stream = context.api.cuGraphLaunch, context.stream

        def run() -> None:
            if here.current is not context.mark:
                context.enter("cuGraphLaunch")
            if here.stream is not stream:
                context.refuse_in_capture("replay")
            (status,) = launch(executable, stream)
            if status:
                context.again("cuGraphLaunch", status, lambda: launch(executable, stream))

        return run


class Graphs:
    """The captures of a device, and the graphs that came of them. Safe from any thread."""

    def __init__(self, context: Context, modules: Modules) -> None:
        self._context = context
        self._modules = modules
        self._streams: dict[int, Any] = {}
        """Of open captures, those of threads that are gone included."""
        self._graphs: dict[int, Graph] = {}

    def begin(self) -> None:
        """From here on the calling thread's launches and copies are recorded."""
        context = self._context
        stream = context.new_stream()
        try:
            mode = context.api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
            context.call("cuStreamBeginCapture", stream, mode)
        except BaseException:
            context.attempt("cuStreamDestroy", stream)
            raise
        self._streams[int(stream)] = stream
        HERE.captures[context] = HERE.stream = stream

    def end(self) -> Graph:
        """What was recorded. CaptureError where the calling thread does not capture."""
        context = self._context
        if (stream := HERE.captures.pop(context, None)) is None:
            raise CaptureError("end_capture: no capture is open in this thread", remedy="call begin_capture first")
        HERE.stream = context.stream
        try:
            recorded = context.call("cuStreamEndCapture", stream)
        except BaseException:
            self._drop(stream)
            raise
        context.attempt("cuStreamDestroy", stream)
        self._streams.pop(int(stream), None)
        try:
            executable = context.call("cuGraphInstantiate", recorded, 0)
        except BaseException:
            context.attempt("cuGraphDestroy", recorded)
            raise
        graph = Graph(context, recorded, executable)
        self._graphs[id(graph)] = graph
        return graph

    def release(self, graph: Graph) -> None:
        """Gives a graph back, after its work; nothing the second time."""
        graph.run = _released
        if id(graph) not in self._graphs:
            return
        with self._context.visited():
            if not self._context.is_lost:
                self._context.call("cuStreamSynchronize", self._context.stream)
            if self._graphs.pop(id(graph), None) is not None:  # no other thread was faster
                recorded, graph.recorded = graph.recorded, None
                self._context.attempt("cuGraphExecDestroy", graph.executable)
                self._context.attempt("cuGraphDestroy", recorded)

    def nodes(self, graph: Graph) -> tuple[Node, ...]:
        """What a graph runs, in order. CaptureError for a graph that was released."""
        if graph.recorded is None:
            raise CaptureError("nodes: the graph was released")
        return tuple(self._node(node) for node in self._ordered(graph.recorded))

    def close(self) -> None:
        """Gives everything back, after its work. Never raises."""
        HERE.captures.pop(self._context, None)
        for stream in list(self._streams.values()):
            self._drop(stream)
        self._context.attempt("cuStreamSynchronize", self._context.stream)
        for graph in list(self._graphs.values()):
            self._context.attempt("cuGraphExecDestroy", graph.executable)
            self._context.attempt("cuGraphDestroy", graph.recorded)
            graph.recorded, graph.run = None, _released
        self._graphs.clear()

    def _drop(self, stream: Any) -> None:
        """Ends a capture of which nothing is wanted; one of another thread ends with its stream. Never raises."""
        with suppress(PeltonError):
            self._context.attempt("cuGraphDestroy", self._context.call("cuStreamEndCapture", stream))
        self._context.attempt("cuStreamDestroy", stream)
        self._streams.pop(int(stream), None)

    def _ordered(self, recorded: Any) -> list[Any]:
        """The nodes, each after what it waits for: the driver promises no order."""
        call = self._context.call
        count = int(call("cuGraphGetNodes", recorded, 0)[1])
        nodes: Sequence[Any] = call("cuGraphGetNodes", recorded, count)[0] if count else ()
        edges = int(call("cuGraphGetEdges", recorded, 0)[-1])
        before, after, *_ = call("cuGraphGetEdges", recorded, edges) if edges else ((), ())
        waiting: dict[int, set[int]] = {int(node): set() for node in nodes}
        for first, second in zip(before, after, strict=False):
            waiting[int(second)].add(int(first))
        handles, order = {int(node): node for node in nodes}, list[Any]()
        while waiting:
            ready = next(node for node, awaited in waiting.items() if not awaited)
            del waiting[ready]
            order.append(handles[ready])
            for awaited in waiting.values():
                awaited.discard(ready)
        return order

    def _node(self, node: Any) -> Node:
        types, kind = self._context.api.CUgraphNodeType, self._context.call("cuGraphNodeGetType", node)
        if kind == types.CU_GRAPH_NODE_TYPE_KERNEL:
            return self._kernel_node(self._context.call("cuGraphKernelNodeGetParams", node))
        if kind == types.CU_GRAPH_NODE_TYPE_MEMCPY:
            copied = self._context.call("cuGraphMemcpyNodeGetParams", node)
            target, source = (Address(int(place)) for place in (copied.dstDevice, copied.srcDevice))
            size = int(copied.WidthInBytes) * int(copied.Height) * int(copied.Depth)
            return Node(COPY, size, 1, 0, (target, source, size))
        raise DeviceError(f"nodes on {self._context.name}: a node of a kind that no capture makes", got=str(kind))

    def _kernel_node(self, launched: Any) -> Node:
        function = self._modules.by_handle(launched.func)
        table = ctypes.cast(int(launched.kernelParams), ctypes.POINTER(ctypes.c_void_p))
        args = tuple(
            _value(kind, ctypes.string_at(table[position] or 0, parameter.size))
            for position, (kind, parameter) in enumerate(zip(function.kinds, function.parameters, strict=True))
        )
        sizes = int(launched.gridDimX), int(launched.blockDimX), int(launched.sharedMemBytes)
        return Node(function.entry, *sizes, args)


def _value(kind: type, held: bytes) -> Address | int | float:
    """An argument as it was given, out of the bytes that the driver holds."""
    return kind(*struct.unpack("<" + FORMATS[kind][len(held)], held))


def _released() -> None:
    raise CaptureError("replay: the graph was released")
