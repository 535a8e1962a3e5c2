"""A device's memory. Enters: a driver and a number of bytes. Leaves: a `DeviceMemory`, which buffers and arenas hold.

Next: `device_buffer.py` and `device_plan.py`. Blocks of a real device go back to a pool when nobody holds them any
more: asking the driver costs more than most kernels, and is forbidden while it captures. One queue orders all work of
a device, so a block may be handed on while kernels that use it still wait.
"""

from __future__ import annotations

from pelton.runtime.driver import Address, Driver
from pelton.runtime.memory import rounded
from pelton.support.errors import CaptureError, DeviceError

POOL_BYTES = 1 << 30


class DeviceMemory:
    """A block of a device; goes back to its pool when nobody holds it any more."""

    __slots__ = ("_pool", "address", "size")

    def __init__(self, pool: DevicePool, address: Address, size: int) -> None:
        self._pool = pool
        self.address = address
        self.size = size

    def __del__(self) -> None:
        self._pool.give_back(self)

    def __reduce__(self) -> str | tuple[object, ...]:
        """Copies would give the block back twice."""
        raise TypeError("memory is not copied or pickled by itself; copy the buffer over it")


class DevicePool:
    """The blocks of one device. At most about `limit` bytes wait here to be used again; with 0 each is given back.

    No lock: list operations are atomic, and where threads race over `waiting` it is off by a block until `clear`.
    """

    def __init__(self, driver: Driver, limit: int = POOL_BYTES) -> None:
        self.driver = driver
        self.waiting = 0
        self._limit = limit
        self._free: dict[int, list[Address]] = {}

    def take(self, size: int) -> DeviceMemory:
        """At least `size` bytes, not initialised. Raises MemoryError where the device has no such amount."""
        size = rounded(size) if self._limit else size
        try:
            address = self._free[size].pop()
        except (KeyError, IndexError):
            address = self._fresh(size)
        else:
            self.waiting -= size
        return DeviceMemory(self, address, size)

    def _fresh(self, size: int) -> Address:
        try:
            return self.driver.allocate(size)
        except MemoryError:
            if not self.waiting:
                raise
            self.clear()
            return self.driver.allocate(size)

    def give_back(self, memory: DeviceMemory) -> None:
        """Keep the block for later, or let it go."""
        if self.waiting + memory.size > self._limit:
            try:
                self.driver.free(memory.address)
            except CaptureError:  # a finalizer ran on a thread that captures: the block waits for `clear`
                pass
            except DeviceError:  # the device is lost, and its memory with it
                return
            else:
                return
        self.waiting += memory.size
        self._free.setdefault(memory.size, []).append(memory.address)

    def clear(self) -> None:
        """Let all waiting blocks go."""
        free, self._free, self.waiting = self._free, {}, 0
        for addresses in free.values():
            for address in addresses:
                self.driver.free(address)
