"""What the functions for code, launches and graphs do. Enters: the fake, then arguments. Leaves: values."""

from __future__ import annotations

import ctypes
import threading
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pelton.tests.support.fake_cuda.state import (
    Function,
    Graph,
    Refused,
    entries,
    image_text,
    kernel_node,
)
from pelton.tests.support.fake_cuda.types import Handle

if TYPE_CHECKING:
    from pelton.tests.support.fake_cuda.driver import FakeCuda


# ---- code
def cuModuleLoadData(fake: FakeCuda, image: bytes) -> Handle:
    text, exact = image_text(image)
    return fake.add("module", (entries(text, fake.current.cc, exact), text))


def cuModuleLoadDataEx(fake: FakeCuda, image: bytes, count: int, options: list[Any], values: list[Any]) -> Handle:
    try:
        return cuModuleLoadData(fake, image)
    except Refused:
        log, size = (values[[int(option) for option in options].index(number)] for number in (5, 6))
        log[: min(size, 40)] = b"ptxas application ptx input, line 3; no\0"
        raise


def cuModuleUnload(fake: FakeCuda, module: Handle) -> None:
    fake.get("module", module, pop=True)


def cuModuleGetFunction(fake: FakeCuda, module: Handle, name: bytes) -> Handle:
    found, text = loaded = fake.get("module", module)
    if (sizes := found.get(name.decode())) is None:
        raise Refused("NOT_FOUND")
    return fake.add("function", Function(name.decode(), sizes, fake.current, loaded, text))


def cuFuncGetParamInfo(fake: FakeCuda, function: Handle, number: int) -> tuple[int, int]:
    found = _function(fake, function)
    if number >= len(found.sizes):
        raise Refused("INVALID_VALUE")
    return found.offsets[number], found.sizes[number]


def cuFuncGetAttribute(fake: FakeCuda, attribute: Any, function: Handle) -> int:
    _function(fake, function)
    return {0: fake.threads, 1: 1 << 10}[int(attribute)]


def cuFuncSetAttribute(fake: FakeCuda, function: Handle, attribute: Any, value: int) -> None:
    if int(attribute) != 8 or not 0 <= value <= 226 << 10:
        raise Refused("INVALID_VALUE")
    _function(fake, function).dynamic = value


def cuFuncLoad(fake: FakeCuda, function: Handle) -> None:
    _function(fake, function).loaded = True


def cuFuncGetName(fake: FakeCuda, function: Handle) -> bytes:
    return _function(fake, Handle(int(function) - fake.shift)).entry.encode()


def _function(fake: FakeCuda, handle: Handle) -> Function:
    """A function of a module that is still loaded."""
    found: Function = fake.get("function", handle)
    if not any(value is found.module for _, _, value in fake.objects.values()):
        raise Refused("INVALID_HANDLE")
    return found


def cuLaunchKernel(fake: FakeCuda, handle: Handle, *given: Any) -> None:
    *sizes, stream, table, extra = given
    found, queue = _function(fake, handle), fake.get("stream", stream)
    if fake.current is not found.context or queue.context is not found.context:
        raise Refused("INVALID_CONTEXT")
    grid, block, shared = sizes[0], sizes[3], sizes[6]
    if not found.loaded:
        raise Refused("FUNCTION_NOT_LOADED")
    if not (0 < grid < 1 << 31 and 0 < block <= fake.threads and shared <= found.dynamic) or extra:
        raise Refused("INVALID_VALUE")
    pointers = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))
    args = [ctypes.string_at(pointers[k] or 0, size) for k, size in enumerate(found.sizes)]

    def run() -> None:
        queue.context.time += 1
        if found.entry in fake.kernels:
            fake.kernels[found.entry](fake.memory, grid, block, args)
        elif fake.emulates:
            fake.memory.run(found.text, found.entry, grid, block, shared, args)

    queue.add(kernel_node(Handle(int(handle) + fake.shift), tuple(sizes), args, run))


# ---- graphs
def cuStreamBeginCapture(fake: FakeCuda, stream: Handle, mode: Any) -> None:
    found = fake.get("stream", stream)
    if int(mode) != 1 or found.capture is not None:
        raise Refused("INVALID_VALUE")
    found.capture, found.thread, found.invalid = Graph(), threading.get_ident(), False


def cuStreamEndCapture(fake: FakeCuda, stream: Handle) -> Handle:
    found = fake.get("stream", stream)
    graph, found.capture = found.capture, None
    if graph is None:
        raise Refused("INVALID_VALUE")
    if found.invalid:
        raise Refused("STREAM_CAPTURE_INVALIDATED")
    graph.numbers = [int(fake.add("node", node)) for node in graph.nodes]
    return fake.add("graph", graph)


def cuGraphInstantiate(fake: FakeCuda, graph: Handle, flags: int) -> Handle:
    return fake.add("executable", fake.get("graph", graph))


def cuGraphLaunch(fake: FakeCuda, executable: Handle, stream: Handle) -> None:
    graph, queue = fake.get("executable", executable), fake.get("stream", stream)
    queue.work.extend(node.run for node in graph.nodes)


def cuGraphGetNodes(fake: FakeCuda, graph: Handle, count: int) -> tuple[list[Handle], int]:
    """In no order that says anything."""
    numbers = fake.get("graph", graph).numbers
    return [Handle(number) for number in sorted(numbers, key=lambda n: (n * 7) % 0x90)[:count]], len(numbers)


def cuGraphGetEdges(fake: FakeCuda, graph: Handle, count: int) -> tuple[list[Handle], list[Handle], list[Any], int]:
    numbers = [Handle(number) for number in fake.get("graph", graph).numbers]
    pairs = list(pairwise(numbers))[::-1][:count]
    return [a for a, _ in pairs], [b for _, b in pairs], [SimpleNamespace()] * len(pairs), max(len(numbers) - 1, 0)


def cuGraphNodeGetType(fake: FakeCuda, node: Handle) -> Any:
    return fake.get("node", node).type


def cuGraphKernelNodeGetParams(fake: FakeCuda, node: Handle) -> Any:
    return fake.get("node", node).params


def cuGraphMemcpyNodeGetParams(fake: FakeCuda, node: Handle) -> Any:
    return fake.get("node", node).params


def cuGraphExecDestroy(fake: FakeCuda, executable: Handle) -> None:
    """Not while its work is under way."""
    fake.get("executable", executable, pop=True)


def cuGraphDestroy(fake: FakeCuda, graph: Handle) -> None:
    for number in fake.get("graph", graph, pop=True).numbers:
        del fake.objects[number]
