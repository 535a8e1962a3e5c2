"""A device's memory. Enters: sizes. Leaves: addresses, counted until they are given back.

Memory comes from a pool of our own, in the order of the stream: neither taking nor giving back waits for the device,
and what was given back is kept for the next. Where a device has no pools, the driver's slower allocator serves.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from pelton.runtime.cuda.context import Context
from pelton.runtime.driver import Address
from pelton.support.errors import DeviceError, DeviceMemoryError

_KEEP_ALL = 2**64 - 1


class Memory:
    """What a driver took of its device, and the pool that it comes from.

    Safe from any thread without a lock, which a finalizer that gives memory back could find taken by its own thread.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._held: dict[int, int] = {}
        """Sizes by address."""
        self._change = object()
        """Another one whenever that changes."""
        self._sorted: tuple[object, list[int]] = self._change, []
        """The addresses in order, and the change that they were sorted after."""
        self._total = int(context.call("cuMemGetInfo")[1])
        self._pool = self._made_pool() if context.attribute("MEMORY_POOLS_SUPPORTED") else None

    @property
    def total(self) -> int:
        """All memory of the device."""
        return self._total

    @property
    def free(self) -> int:
        """What can still be taken: what the device has left, and what the pool keeps for reuse."""
        left = int(self._context.call("cuMemGetInfo")[0])
        return left + (self._pooled("RESERVED") - self._pooled("USED") if self._pool is not None else 0)

    def allocate(self, size: int) -> Address:
        """New memory, for what is launched after this. Raises DeviceMemoryError where it does not fit."""
        if size < 0:
            raise ValueError(f"a size is at least 0, got {size}")
        if size > self._total:
            raise DeviceMemoryError(
                f"{size} bytes on {self._context.name}: the device has {self._total} in all",
                remedy="run smaller batches, or a smaller model",
            )
        try:
            address = self._take(size)
        except DeviceMemoryError:
            self._trim()
            address = self._take(size)
        self._keep(address, size)
        return Address(address)

    def release(self, address: int) -> None:
        """Gives memory back once the work launched before is done. Raises DeviceError for what was not taken here.

        On a device that is lost or closed there is nothing left to give.
        """
        if self._context.is_closed:
            return
        if (size := self._held.pop(address, None)) is None:
            raise DeviceError(f"free on {self._context.name}: no allocation starts at {address:#x}")
        self._change = object()
        if self._context.is_lost:
            return
        try:
            with self._context.visited():
                self._give_back(address)
        except BaseException:
            self._keep(address, size)
            raise

    def check(self, address: int, size: int, call: str) -> None:
        """Raise DeviceError unless `size` bytes at an address lie in one allocation."""
        if 0 <= size <= self._held.get(address, -1):
            return
        change, starts = self._change, self._sorted[1]
        if self._sorted[0] is not change:
            starts = sorted(self._held)
            self._sorted = change, starts
        below = bisect_right(starts, address)
        start = starts[below - 1] if below else address + 1
        held = self._held.get(start, 0)
        if not 0 <= address - start <= held:
            raise DeviceError(f"{call} on {self._context.name}: address {address:#x} lies in no allocation")
        if size < 0 or address - start + size > held:
            place = f"byte {address - start} of an allocation of {held} bytes"
            raise DeviceError(f"{call} on {self._context.name}: {size} bytes at {place}")

    def close(self) -> None:
        """Gives everything back. Never raises."""
        for address in list(self._held):
            if self._pool is None:
                self._context.attempt("cuMemFree", address)
            else:
                self._context.attempt("cuMemFreeAsync", address, self._context.stream)
        self._held.clear()
        self._change = object()
        self._context.attempt("cuStreamSynchronize", self._context.stream)
        if self._pool is not None:
            self._context.attempt("cuMemPoolDestroy", self._pool)
            self._pool = None

    def _made_pool(self) -> Any:
        """A pool that keeps what it got until `_trim`."""
        api = self._context.api
        properties = api.CUmemPoolProps()
        properties.allocType = api.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        properties.handleTypes = api.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_NONE
        properties.location.type = api.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        properties.location.id = self._context.ordinal
        pool = self._context.call("cuMemPoolCreate", properties)
        try:
            threshold = api.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
            self._context.call("cuMemPoolSetAttribute", pool, threshold, api.cuuint64_t(_KEEP_ALL))
        except BaseException:
            self._context.attempt("cuMemPoolDestroy", pool)
            raise
        return pool

    def _take(self, size: int) -> int:
        """Memory of at least a byte: each address is another."""
        wanted = f"{size} bytes"
        if self._pool is None:
            return int(self._context.call("cuMemAlloc", max(size, 1), got=wanted))
        return int(
            self._context.call("cuMemAllocFromPoolAsync", max(size, 1), self._pool, self._context.stream, got=wanted)
        )

    def _give_back(self, address: int) -> None:
        if self._pool is None:
            self._context.call("cuMemFree", address)
        else:
            self._context.call("cuMemFreeAsync", address, self._context.stream)

    def _keep(self, address: int, size: int) -> None:
        """Notes what has to be given back."""
        self._held[address] = size
        self._change = object()

    def _trim(self) -> None:
        """Returns what the pool keeps to the device, where another size may be cut from it."""
        self._context.call("cuStreamSynchronize", self._context.stream)
        if self._pool is not None:
            self._context.call("cuMemPoolTrimTo", self._pool, 0)

    def _pooled(self, which: str) -> int:
        attribute = getattr(self._context.api.CUmemPool_attribute, f"CU_MEMPOOL_ATTR_{which}_MEM_CURRENT")
        return int(self._context.call("cuMemPoolGetAttribute", self._pool, attribute))
