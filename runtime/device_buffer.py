"""Tensors in a GPU's memory. Enters: sizes and a device, or a buffer of the host. Leaves: a `DeviceBuffer`.

It is a `Buffer` in every way but one: the host cannot look into it. So `to_numpy` gives a copy, and whatever reads
waits for the work that the device was given before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from pelton.dtype import DType
from pelton.runtime.buffer import Buffer, required_device
from pelton.runtime.device import HOST, Accelerator, Device
from pelton.runtime.driver import Address
from pelton.runtime.layout import Index, bytes_of, checked_shape, extent

if TYPE_CHECKING:
    from numpy.typing import NDArray


class DeviceBuffer(Buffer):
    """A tensor in the memory of an `Accelerator`. `Buffer(dtype, shape, device)` and `buffer.to(device)` make them.

    Raises DeviceError (RuntimeError) wherever the device does, and MemoryError where its memory does not suffice.
    """

    __slots__ = ("_device",)
    _device: Accelerator

    def __init__(self, dtype: DType, shape: Sequence[int], device: Device | None = None) -> None:
        assert isinstance(device, Accelerator)
        self._dtype = DType(dtype)
        self._shape = checked_shape(shape)
        memory = device.pool.take(bytes_of(self._shape, self._dtype))
        self._owner, self._address, self._writable = memory, memory.address, True
        self._strides = None
        self._device = device

    def _part(
        self, address: int, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...] | None = None
    ) -> Buffer:
        new = object.__new__(DeviceBuffer)
        new._device, new._owner, new._writable = self._device, self._owner, self._writable
        new._address, new._dtype, new._shape, new._strides = address, dtype, shape, strides
        return new

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return self._device

    @property
    def is_host(self) -> bool:
        """Whether the memory is the host's."""
        return False

    def to_numpy(self) -> NDArray[Any]:
        """A copy of the elements, once the device has computed them."""
        raw, offset = self._span()
        return _seen(raw, self._dtype, self._shape, self.strides, offset).copy()

    def to(self, device: Device) -> Buffer:
        """The buffer on `device`: itself where it is there already, else a copy. Raises TypeError for no Device."""
        return self if required_device(device) == self._device else self.copy(device)

    def copy(self, device: Device | None = None) -> Buffer:
        """A contiguous copy, in C order; without a device, where the buffer is."""
        place = self._device if device is None else required_device(device)
        new = Buffer(self._dtype, self._shape, place)
        new.inplace_copy_from(self)
        return new

    def inplace_copy_from(self, src: Buffer) -> None:
        """Overwrite with the elements of a buffer of the same shape and type, wherever that is.

        Raises TypeError for what is no Buffer, ValueError for another shape or type and where this one is read-only.
        """
        self._require_like(src)
        both = self.is_contiguous and src.is_contiguous
        if both and isinstance(src, DeviceBuffer) and src.device == self._device:
            self._device.driver.copy(Address(self._address), Address(src.address), self.nbytes)
        else:
            self._write(src.to_numpy())

    def __setitem__(self, index: Index | tuple[Index, ...], value: Any) -> None:
        """Write into a view: from a buffer of the same shape and type, or from what NumPy can assign there."""
        part = self[index]
        assert isinstance(part, DeviceBuffer)
        if isinstance(value, Buffer):
            part.inplace_copy_from(value)
            return
        self._require_writable()
        host = np.empty(part.shape, part.dtype.to_numpy())
        host[...] = self._assigned(value)
        part._write(host)

    def __dlpack__(self, **options: Any) -> NoReturn:
        """Memory of a GPU is not handed out. Raises BufferError."""
        raise BufferError(f"the buffer is on {self._device}, whose memory is not handed out; call to(CPU()) first")

    def __dlpack_device__(self) -> tuple[int, int]:
        """Device type and id, as DLPack numbers them: (2, id), a CUDA device."""
        return (2, self._device.id)

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self._device, self.copy(HOST))

    def _clear(self) -> None:
        self._write(np.zeros(self._shape, self._dtype.to_numpy()))

    def _write(self, array: NDArray[Any]) -> None:
        """The elements from an array of the same shape and type; gaps between them keep what they hold."""
        if self.is_contiguous:
            self._device.driver.write(Address(self._address), np.ascontiguousarray(array))
            return
        raw, offset = self._span()
        _seen(raw, self._dtype, self._shape, self.strides, offset)[...] = array
        self._device.driver.write(Address(self.span[0]), raw)

    def _span(self) -> tuple[NDArray[np.uint8], int]:
        """The bytes from the lowest element to the highest, and where among them the first element is."""
        low, high = extent(self._shape, self.strides)
        raw = np.empty((high - low) * self.element_size, np.uint8)
        if raw.size:
            self._device.driver.read(Address(self.span[0]), raw)
        return raw, -low * self.element_size


def _seen(
    raw: NDArray[np.uint8], dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> NDArray[Any]:
    """The elements among bytes."""
    if 0 in shape:
        return np.empty(shape, dtype.to_numpy())
    steps = tuple(step * dtype.size_in_bytes for step in strides)
    return np.ndarray(shape, dtype.to_numpy(), raw.data, offset, steps)


def _restored(device: Device, buffer: Buffer) -> Buffer:
    """A pickled buffer: new memory of the device with these elements."""
    return buffer.to(device)
