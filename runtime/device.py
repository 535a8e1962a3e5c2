"""Devices a model can run on. Enters: an id. Leaves: a `Device`, which buffers, sessions and models carry."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Mapping
from functools import total_ordering

CUDA_DRIVER = "libcuda.so.1"


@total_ordering
class Device:
    """A place that holds memory and runs kernels: `CPU()` or `Accelerator()`.

    Devices of one label and id are equal, have one hash, and are ordered by them. They do not change.
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
        """Whether kernels here may use the other device's memory directly. Raises TypeError for what is no Device."""
        if not isinstance(other, Device):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"can_access takes a Device, got {type(other).__name__}")
        return self == other

    def synchronize(self) -> None:
        """Wait for the work in flight. On the host there is none: `execute` returns when it is done."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a device does not change: cannot set {name}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.label, self.id) == (other.label, other.id)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return NotImplemented
        return (self.label, self.id) < (other.label, other.id)

    def __hash__(self) -> int:
        return hash((self.label, self.id))

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
    """A GPU; -1 means the default.

    Raises RuntimeError that says what was looked for where there is none, TypeError for an id that is no int.
    """

    __slots__ = ()

    def __init__(self, id: int = -1) -> None:
        check_id(id)
        try:
            ctypes.CDLL(CUDA_DRIVER)
        except OSError as error:
            looked_for = f"the NVIDIA driver library {CUDA_DRIVER} cannot be loaded ({error})"
            raise RuntimeError(f"there is no accelerator: {looked_for}; use CPU()") from None
        raise RuntimeError("there is no accelerator: this version of pelton runs models on the CPU only; use CPU()")


def check_id(id: object) -> None:
    """Raise TypeError unless it is an int."""
    if isinstance(id, bool) or not isinstance(id, int):
        raise TypeError(f"a device id is an int, got {type(id).__name__}")


def accelerator_count() -> int:
    """How many GPUs `Accelerator` can be asked for; 0 without an NVIDIA driver."""
    return 0


def accelerator_api() -> str:
    """The API of the accelerators, or the host's, "cpu", where there are none."""
    return HOST.api


HOST = CPU()
