"""Where a tensor of a graph lives, said without touching a driver: names enter, a `DeviceRef` leaves, and stands in
tensor types.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from pelton.support.errors import GraphError, GraphTypeError


class DeviceKind(Enum):
    """The kinds of devices; the value is what IR and messages call it."""

    CPU = "cpu"
    GPU = "gpu"


@dataclass(frozen=True)
class DeviceRef:
    """A device by kind and number: `DeviceRef.CPU()`, `DeviceRef.GPU(1)`, `DeviceRef.from_device(device)`.

    Making one needs no such device; a model is checked against the real ones when it is loaded.

    >>> str(DeviceRef.GPU(1))
    'gpu:1'
    """

    device_type: DeviceKind
    id: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.device_type, DeviceKind):  # pyright: ignore[reportUnnecessaryIsInstance]
            kinds = [k.value for k in DeviceKind]
            if self.device_type not in kinds:
                raise GraphError(
                    "not a kind of device", expected=" or ".join(map(repr, kinds)), got=repr(self.device_type)
                )
            object.__setattr__(self, "device_type", DeviceKind(self.device_type))
        if isinstance(self.id, bool) or not isinstance(self.id, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphTypeError("a device's id is an int", got=repr(self.id))
        if self.id < 0:
            raise GraphError("a device's id counts from 0", got=str(self.id))

    @classmethod
    def CPU(cls, id: int = 0) -> DeviceRef:  # noqa: N802  (named as the device is)
        """The host's processor."""
        return cls(DeviceKind.CPU, id)

    @classmethod
    def GPU(cls, id: int = 0) -> DeviceRef:  # noqa: N802  (named as the device is)
        """The accelerator numbered `id`."""
        return cls(DeviceKind.GPU, id)

    @classmethod
    def from_device(cls, device: Any) -> DeviceRef:
        """The reference to a driver's device (or `device` itself, if it is one). TypeError for anything else."""
        if isinstance(device, DeviceRef):
            return device
        label, number = getattr(device, "label", None), getattr(device, "id", None)
        if not isinstance(label, str) or not isinstance(number, int):
            raise GraphTypeError("not a device", expected="a DeviceRef or a device of pelton.driver", got=repr(device))
        return cls(DeviceKind(label), number)

    @classmethod
    def parse(cls, text: str) -> DeviceRef:
        """The reference that `str` writes: `cpu:0`."""
        kind, _, number = text.partition(":")
        return cls(DeviceKind(kind), int(number or 0))

    def to_device(self) -> Any:
        """The driver's device. RuntimeError where the machine has none such."""
        from pelton import driver

        return driver.CPU(self.id) if self.is_cpu() else driver.Accelerator(self.id)

    def is_cpu(self) -> bool:
        return self.device_type is DeviceKind.CPU

    def is_gpu(self) -> bool:
        return self.device_type is DeviceKind.GPU

    def __str__(self) -> str:
        return f"{self.device_type.value}:{self.id}"

    def __repr__(self) -> str:
        return f"DeviceRef.{self.device_type.name}({self.id})"
