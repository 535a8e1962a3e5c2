"""Devices a model can run on. Enters: an id. Leaves: a `Device`, which buffers, sessions and models carry."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from functools import total_ordering
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pelton.runtime.device_memory import DevicePool
    from pelton.runtime.driver import Driver

CUDA = "cuda"
EMULATED_MEMORY = 4 << 30
"""Bytes that an emulated GPU says it has; they are the host's, and taken only where something is in them."""
_lock = Lock()
_pools: dict[tuple[str, int, str], DevicePool] = {}


@total_ordering
class Device:
    """A place that holds memory and runs kernels: `CPU()` or `Accelerator()`.

    Devices of one label and id are equal, have one hash, and are ordered by them; only an emulated one is no other.
    They do not change.
    """

    __slots__ = ("id", "label", "name")
    label: str
    """The kind: "cpu" or "gpu"."""
    id: int
    """The number among those of its kind, from 0."""
    name: str
    """As types in the IR and the artifact spell it: "cpu:0"."""

    def __init__(self, label: str, id: int) -> None:
        for field, value in (("label", label), ("id", id), ("name", f"{label}:{id}")):
            object.__setattr__(self, field, value)

    @property
    def identity(self) -> tuple[str, int, str]:
        """What makes two devices one: label, id, and what is emulated, if it is."""
        return (self.label, self.id, "")

    @property
    def api(self) -> str:
        """The interface it is programmed through, such as "cpu"."""
        return self.label

    @property
    def architecture_name(self) -> str:
        """The machine type, such as "x86_64"."""
        return platform.machine()

    @property
    def is_host(self) -> bool:
        """Whether its memory is this process's own."""
        return self.label == "cpu"

    @property
    def stats(self) -> Mapping[str, int]:
        """Memory in bytes, now: `total_memory` and `free_memory`."""
        page = os.sysconf("SC_PAGE_SIZE")
        return {
            "total_memory": os.sysconf("SC_PHYS_PAGES") * page,
            "free_memory": os.sysconf("SC_AVPHYS_PAGES") * page,
        }

    def can_access(self, other: Device) -> bool:
        """Whether kernels here may use the other device's memory directly: today only their own device's.

        Raises TypeError for what is no Device.
        """
        if not isinstance(other, Device):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"can_access takes a Device, got {type(other).__name__}")
        return self == other

    def synchronize(self) -> None:
        """Wait for the work in flight. On the host there is none: `execute` returns when it is done."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a device does not change: cannot set {name}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.identity == other.identity

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return NotImplemented
        return self.identity < other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def __reduce__(self) -> tuple[object, ...]:
        return (Device, (self.label, self.id)) if type(self) is Device else (type(self), (self.id,))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Device(type={self.label},id={self.id})"


class CPU(Device):
    """The host. There is one, `CPU(0)`; -1 means the default.

    Raises ValueError for another id, TypeError for what is no int.
    """

    __slots__ = ()

    def __init__(self, id: int = 0) -> None:
        check_id(id)
        if id not in (0, -1):
            raise ValueError(f"there is no CPU {id}; the host is CPU(0)")
        super().__init__("cpu", 0)


class Accelerator(Device):
    """An NVIDIA GPU; -1 means the default, which is 0. `Accelerator.emulated()` needs none.

    Objects for one GPU are equal, and share its memory, its code and the one queue of its work: what is given to a GPU
    is done in that order, while the host goes on. Kernels' faults are raised by the call that learns of them.

    Raises RuntimeError that says what was looked for where there is no such GPU, or no driver or binding to reach it
    by; ValueError for an id below -1; TypeError for one that is no int.
    """

    __slots__ = ("pool",)
    pool: DevicePool
    """Its memory, shared by all objects for the one device."""

    def __init__(self, id: int = -1) -> None:
        check_id(id)
        if id < -1:
            raise ValueError(f"there is no GPU {id}; they are numbered from 0, and -1 means the default")
        self._open(max(id, 0))

    def _open(self, id: int) -> None:
        super().__init__("gpu", id)
        with _lock:
            if self.identity not in _pools:
                _pools[self.identity] = self._made()
            object.__setattr__(self, "pool", _pools[self.identity])

    def _made(self) -> DevicePool:
        from pelton.runtime.cuda.driver import CudaDriver  # where somebody asks for a GPU, for start-up
        from pelton.runtime.device_memory import DevicePool

        return DevicePool(CudaDriver(self.id))

    @staticmethod
    def emulated(cc: tuple[int, int] = (9, 0), id: int = 0) -> Accelerator:
        """A GPU of compute capability `cc`, (major, minor), that is not there: its code runs on the host, slowly and
        with every access checked. It takes the place of GPU `id` in graphs; two calls with equal arguments give one
        device. It has 4 GiB, of which the host gives what is used.

        Raises TypeError for what is no pair of ints, or an id that is no int; ValueError for a capability below (7, 5)
        or a negative id.
        """
        return EmulatedAccelerator(cc, id)

    @property
    def driver(self) -> Driver:
        """What does its work."""
        return self.pool.driver

    @property
    def api(self) -> str:
        """The interface it is programmed through."""
        return CUDA

    @property
    def architecture_name(self) -> str:
        """What code must be made for, such as "sm_90"."""
        return self.driver.architecture

    @property
    def stats(self) -> Mapping[str, int]:
        """Memory in bytes, now: `total_memory` and `free_memory`, what waits to be used again included.

        Raises DeviceError (RuntimeError) where the device is lost.
        """
        driver = self.driver
        return {"total_memory": driver.total_memory, "free_memory": driver.free_memory + self.pool.waiting}

    def synchronize(self) -> None:
        """Wait for all work that the device was given.

        Raises DeviceError (RuntimeError) for what went wrong with it, and DeviceLost, which is one, from then on.
        """
        self.driver.synchronize()


class EmulatedAccelerator(Accelerator):
    """What `Accelerator.emulated` returns."""

    __slots__ = ("cc",)
    cc: tuple[int, int]

    def __init__(self, cc: tuple[int, int] = (9, 0), id: int = 0) -> None:
        check_id(id)
        try:
            major, minor = cc
        except (TypeError, ValueError):
            raise TypeError(f"a compute capability is a pair of ints, such as (9, 0), got {cc!r}") from None
        for part in (major, minor):
            check_id(part)
        if id < 0 or (major, minor) < (7, 5) or not 0 <= minor <= 9:
            raise ValueError(f"an emulated GPU has an id from 0 and a capability from (7, 5), got {id} and {cc}")
        object.__setattr__(self, "cc", (int(major), int(minor)))
        self._open(id)

    def _made(self) -> DevicePool:
        from pelton.runtime.device_memory import DevicePool
        from pelton.runtime.emulator.driver import EmulatedDriver

        return DevicePool(EmulatedDriver(self.cc, EMULATED_MEMORY), limit=0)

    @property
    def identity(self) -> tuple[str, int, str]:
        """What makes two devices one."""
        return (self.label, self.id, f"emulated {self.cc}")

    @property
    def api(self) -> str:
        """The interface it is programmed through: none, it is emulated."""
        return "emulator"

    def __reduce__(self) -> tuple[object, ...]:
        return (EmulatedAccelerator, (self.cc, self.id))


def check_id(id: object) -> None:
    """Raise TypeError unless it is an int."""
    if isinstance(id, bool) or not isinstance(id, int):
        raise TypeError(f"a device id is an int, got {type(id).__name__}")


def accelerator_count() -> int:
    """How many GPUs `Accelerator` can be asked for; 0 without an NVIDIA driver."""
    from pelton.runtime.cuda.binding import accelerator_count as count

    return count()


def accelerator_api() -> str:
    """The API of the accelerators, or the host's, "cpu", where there are none."""
    return CUDA if accelerator_count() else HOST.api


HOST = CPU()
