"""What the functions for devices, streams and memory do. Enters: the fake, then arguments. Leaves: values."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from pelton.tests.support.fake_cuda.state import (
    Event,
    Node,
    Pool,
    Refused,
    Stream,
    copy_node,
)
from pelton.tests.support.fake_cuda.types import CUgraphNodeType, CUresult, Handle

if TYPE_CHECKING:
    from pelton.tests.support.fake_cuda.driver import FakeCuda


# ---- devices and contexts
def cuInit(fake: FakeCuda, flags: int) -> None:
    if flags:
        raise Refused("INVALID_VALUE")


def cuGetErrorString(fake: FakeCuda, result: CUresult) -> bytes:
    return result.name.removeprefix("CUDA_ERROR_").replace("_", " ").lower().encode()


def cuDeviceGetCount(fake: FakeCuda) -> int:
    return len(fake.devices)


def cuDeviceGet(fake: FakeCuda, ordinal: int) -> Handle:
    if not 0 <= ordinal < len(fake.devices):
        raise Refused("INVALID_DEVICE")
    return Handle(ordinal)


def cuDeviceGetAttribute(fake: FakeCuda, attribute: Any, device: Handle) -> int:
    context = fake.devices[int(device)]
    major, minor = context.cc
    return {75: major, 76: minor, 97: 227 << 10, 115: int(context.pools)}[int(attribute)]


def cuDevicePrimaryCtxRetain(fake: FakeCuda, device: Handle) -> Handle:
    fake.devices[int(device)].users += 1
    return Handle(int(device) + 1)


def cuDevicePrimaryCtxRelease(fake: FakeCuda, device: Handle) -> None:
    """With its last user all objects of a context go; those that were not given back before are noted."""
    context = fake.devices[int(device)]
    if not context.users:
        raise Refused("INVALID_CONTEXT")
    context.users -= 1
    if not context.users:
        left = [number for number, (_, owner, _) in fake.objects.items() if owner is context]
        kinds = [fake.objects.pop(number)[0] for number in left]
        fake.leaked += [] if context.sticky else [kind for kind in kinds if kind not in ("function", "node")]


def cuCtxSetCurrent(fake: FakeCuda, context: Handle) -> None:
    fake.current = fake.devices[int(context) - 1]


def cuMemGetInfo(fake: FakeCuda) -> tuple[int, int]:
    context = fake.current
    return context.total - context.used, context.total


# ---- streams and events
def cuStreamCreate(fake: FakeCuda, flags: int) -> Handle:
    if flags != 1:
        raise Refused("INVALID_VALUE")
    return fake.add("stream", Stream(fake.current))


def cuStreamDestroy(fake: FakeCuda, stream: Handle) -> None:
    fake.get("stream", stream, pop=True).drain()


def cuStreamSynchronize(fake: FakeCuda, stream: Handle) -> None:
    fake.get("stream", stream).drain()
    _raise_fault(fake)


def cuEventCreate(fake: FakeCuda, flags: int) -> Handle:
    return fake.add("event", Event(timed=flags == 0))


def cuEventDestroy(fake: FakeCuda, event: Handle) -> None:
    fake.get("event", event, pop=True)


def cuEventRecord(fake: FakeCuda, event: Handle, stream: Handle) -> None:
    found, queue = fake.get("event", event), fake.get("stream", stream)
    if fake.objects[int(event)][1] is not queue.context:
        raise Refused("INVALID_HANDLE")
    found.stream, found.begun = queue, found.begun + 1

    def passed() -> None:
        found.done, found.time = found.done + 1, queue.context.time

    queue.add(Node(CUgraphNodeType.CU_GRAPH_NODE_TYPE_EMPTY, None, passed))


def cuEventSynchronize(fake: FakeCuda, event: Handle) -> None:
    found = fake.get("event", event)
    if found.stream is not None:
        found.stream.drain(lambda: found.done == found.begun)
    _raise_fault(fake)


def cuEventElapsedTime(fake: FakeCuda, first: Handle, second: Handle) -> float:
    one, other = fake.get("event", first), fake.get("event", second)
    if not (one.timed and other.timed and one.done == one.begun > 0 and other.done == other.begun > 0):
        raise Refused("INVALID_HANDLE")
    return other.time - one.time


def _raise_fault(fake: FakeCuda) -> None:
    if (code := fake.current.sticky) is not None:
        raise Refused(code.name.removeprefix("CUDA_ERROR_"))


# ---- memory
def cuMemPoolCreate(fake: FakeCuda, props: Any) -> Handle:
    if (int(props.allocType), int(props.handleTypes), int(props.location.type)) != (1, 0, 1):
        raise Refused("INVALID_VALUE")
    return fake.add("pool", Pool(props.location.id))


def cuMemPoolDestroy(fake: FakeCuda, pool: Handle) -> None:
    fake.current.used -= fake.get("pool", pool, pop=True).reserved


def cuMemPoolSetAttribute(fake: FakeCuda, pool: Handle, attribute: Any, value: Any) -> None:
    if int(attribute) != 4:
        raise Refused("INVALID_VALUE")
    fake.get("pool", pool).keeps = int(value)


def cuMemPoolGetAttribute(fake: FakeCuda, pool: Handle, attribute: Any) -> Handle:
    found = fake.get("pool", pool)
    return Handle({5: found.reserved, 7: found.used}[int(attribute)])


def cuMemPoolTrimTo(fake: FakeCuda, pool: Handle, keep: int) -> None:
    found = fake.get("pool", pool)
    kept = max(found.used, keep)
    fake.current.used -= found.reserved - kept
    found.reserved = kept


def cuMemAllocFromPoolAsync(fake: FakeCuda, size: int, pool: Handle, stream: Handle) -> Handle:
    """A pool takes of its device what it has not kept; what it keeps in pieces of another size does not serve."""
    found, context = fake.get("pool", pool), fake.current
    fake.get("stream", stream)
    more = 0 if size in found.kept else size
    if size <= 0 or more > context.total - context.used:
        raise Refused("OUT_OF_MEMORY" if size > 0 else "INVALID_VALUE")
    if not more:
        found.kept.remove(size)
    found.reserved, found.used, context.used = found.reserved + more, found.used + size, context.used + more
    return _held(fake, size, found)


def cuMemFreeAsync(fake: FakeCuda, address: Any, stream: Handle) -> None:
    size, pool = fake.get("memory", address, pop=True)
    queue = fake.get("stream", stream)
    if pool is None:
        raise Refused("INVALID_VALUE")
    pool.used -= size
    pool.kept.append(size)
    queue.add(Node(CUgraphNodeType.CU_GRAPH_NODE_TYPE_EMPTY, None, lambda: fake.memory.drop(int(address))))


def cuMemAlloc(fake: FakeCuda, size: int) -> Handle:
    context = fake.current
    if size <= 0 or size > context.total - context.used:
        raise Refused("OUT_OF_MEMORY" if size > 0 else "INVALID_VALUE")
    context.used += size
    return _held(fake, size, None)


def cuMemFree(fake: FakeCuda, address: Any) -> None:
    size, pool = fake.get("memory", address, pop=True)
    if pool is not None:
        raise Refused("INVALID_VALUE")
    for kind, owner, stream in list(fake.objects.values()):
        if kind == "stream" and owner is fake.current:
            stream.drain()
    fake.current.used -= size
    fake.memory.drop(int(address))


def _held(fake: FakeCuda, size: int, pool: Pool | None) -> Handle:
    return fake.add("memory", (size, pool), fake.memory.take(size))


def cuMemHostAlloc(fake: FakeCuda, size: int, flags: int) -> int:
    block = ctypes.create_string_buffer(size)
    return int(fake.add("pinned", block, ctypes.addressof(block)))


def cuMemFreeHost(fake: FakeCuda, address: int) -> None:
    fake.get("pinned", address, pop=True)


def cuMemcpyHtoDAsync(fake: FakeCuda, target: Any, source: int, size: int, stream: Handle) -> None:
    to, pinned = fake.memory.host(int(target), size), fake.pinned(source, size)
    _copy(fake, stream, int(target), source, size, lambda: ctypes.memmove(to, pinned, size))


def cuMemcpyDtoHAsync(fake: FakeCuda, target: int, source: Any, size: int, stream: Handle) -> None:
    pinned, of = fake.pinned(target, size), fake.memory.host(int(source), size)
    _copy(fake, stream, target, int(source), size, lambda: ctypes.memmove(pinned, of, size))


def cuMemcpyDtoDAsync(fake: FakeCuda, target: Any, source: Any, size: int, stream: Handle) -> None:
    to, of = int(target), int(source)
    if abs(to - of) < size:
        raise Refused("INVALID_VALUE")  # CUDA leaves such copies undefined
    _copy(
        fake, stream, to, of, size, lambda: ctypes.memmove(fake.memory.host(to, size), fake.memory.host(of, size), size)
    )


def _copy(fake: FakeCuda, stream: Handle, target: int, source: int, size: int, run: Any) -> None:
    if size <= 0:
        raise Refused("INVALID_VALUE")
    fake.get("stream", stream).add(copy_node(target, source, size, run))
