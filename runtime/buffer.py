"""Tensors in memory, as users hold them. Enters: sizes, NumPy arrays, anything with DLPack. Leaves: `Buffer`.

Next: `model.py` takes buffers as arguments and returns them as results.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pelton.dtype import DType
from pelton.runtime.device import HOST, Device
from pelton.runtime.dlpack import export_array, import_array
from pelton.runtime.layout import Index, bytes_of, c_strides, checked_shape, describe, extent, view
from pelton.runtime.memory import address_of, array_over, pool

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Buffer:
    """A tensor in a device's memory: `Buffer(dtype, shape, device)` is not initialised. Strides count elements."""

    __slots__ = ("_address", "_dtype", "_owner", "_shape", "_strides", "_writable")
    _address: int
    _dtype: DType
    _owner: object
    _writable: bool
    _shape: tuple[int, ...]
    _strides: tuple[int, ...] | None

    def __init__(self, dtype: DType, shape: Sequence[int], device: Device | None = None) -> None:
        require_host(device)
        self._dtype = DType(dtype)
        self._shape = checked_shape(shape)
        memory = pool.take(bytes_of(self._shape, self._dtype))
        self._owner, self._address, self._writable = memory, memory.address, True
        self._strides = None

    @staticmethod
    def over(
        owner: object,
        address: int,
        dtype: DType,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None = None,
        writable: bool = True,
    ) -> Buffer:
        """A buffer over existing memory that `owner` keeps alive, without checks; no strides means C order."""
        self = object.__new__(Buffer)
        self._owner = owner
        self._address = address
        self._dtype = dtype
        self._shape = shape
        self._strides = strides
        self._writable = writable
        return self

    @staticmethod
    def zeros(shape: Sequence[int], dtype: DType, device: Device | None = None) -> Buffer:
        """A buffer of zeros: all bits are 0."""
        buffer = Buffer(dtype, shape, device)
        ctypes.memset(buffer.address, 0, buffer.nbytes)
        return buffer

    @staticmethod
    def scalar(value: Any, dtype: DType, device: Device | None = None) -> Buffer:
        """A rank-0 buffer. Raises ValueError where the type cannot hold the value."""
        buffer = Buffer(dtype, (), device)
        try:
            with np.errstate(all="ignore"):
                buffer.to_numpy()[()] = value
        except (OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"{value!r} cannot be a {buffer.dtype.name}: {error}") from None
        return buffer

    @staticmethod
    def from_numpy(array: NDArray[Any]) -> Buffer:
        """The array's own memory when it is C-contiguous and writable, else a copy."""
        if not isinstance(array, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"from_numpy takes a numpy.ndarray, got {type(array).__name__}")
        alias = alias_array(array)
        return alias if alias.is_contiguous and array.flags.writeable else alias.copy()

    @staticmethod
    def from_dlpack(array: Any, *, copy: bool | None = None) -> Buffer:
        """The object's own memory when it is C-contiguous and writable, else a copy.

        `copy=True` always copies; `copy=False` raises BufferError rather than copy.
        """
        alias = alias_any(array)
        if alias is None:
            raise TypeError(f"from_dlpack takes an object with __dlpack__, got {type(array).__name__}")
        fits = alias.is_contiguous and alias.writable
        if copy is False and not fits:
            raise BufferError("the memory is read-only or not C-contiguous, and copy=False forbids a copy")
        return alias if fits and not copy else alias.copy()

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return self._shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Steps along each axis, in elements."""
        return c_strides(self._shape) if self._strides is None else self._strides

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def num_elements(self) -> int:
        """The product of the sizes."""
        return math.prod(self._shape)

    @property
    def element_size(self) -> int:
        """Bytes of one element."""
        return self._dtype.size_in_bytes

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.num_elements * self.element_size

    @property
    def type(self) -> str:
        """Shape and element type, as errors show them: `[(2, 3), f32]`."""
        return describe(self._shape, self._dtype)

    @property
    def address(self) -> int:
        """Where the first element lies."""
        return self._address

    @property
    def writable(self) -> bool:
        """Whether the memory may be written."""
        return self._writable

    @property
    def span(self) -> tuple[int, int]:
        """The addresses of the first byte and of the one after the last."""
        low, high = extent(self._shape, self.strides)
        return self._address + low * self.element_size, self._address + high * self.element_size

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie in C order without gaps."""
        if self._strides is None or 0 in self._shape:
            return True
        wanted = c_strides(self._shape)
        return all(
            size == 1 or have == want for size, have, want in zip(self._shape, self._strides, wanted, strict=True)
        )

    def is_plain(self, dtype: DType | None, misaligned: int) -> bool:
        """Whether it is of that type, made in C order, and has none of those bits in its address: a quick look."""
        return self._dtype is dtype and self._strides is None and not self._address & misaligned

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return HOST

    @property
    def is_host(self) -> bool:
        """Whether the memory is the host's."""
        return True

    @property
    def pinned(self) -> bool:
        """Whether it is page-locked host memory for transfers to a GPU."""
        return False

    def to_numpy(self) -> NDArray[Any]:
        """An array over the same memory."""
        return array_over(self._owner, self._address, self._dtype, self._shape, self._strides, self._writable)

    def item(self) -> Any:
        """The only element, as a Python number. Raises ValueError where there are more, or none."""
        if self.num_elements != 1:
            raise ValueError(f"item() takes one element; the shape is {self._shape}")
        value = self.to_numpy().reshape(-1)[0]
        return float(value) if self._dtype.is_float() else bool(value) if self._dtype is DType.bool else int(value)

    def to(self, device: Device) -> Buffer:
        """Itself: there is only the host."""
        require_host(device)
        return self

    def copy(self, device: Device | None = None) -> Buffer:
        """A contiguous copy."""
        new = Buffer(self._dtype, self._shape, device)
        new.to_numpy()[...] = self.to_numpy()
        return new

    def contiguous(self) -> Buffer:
        """Itself when contiguous, else a contiguous copy."""
        return self if self.is_contiguous else self.copy()

    def view(self, dtype: DType, shape: Sequence[int] | None = None) -> Buffer:
        """The same bytes as another type; without a shape the last axis takes the difference in size."""
        dtype = DType(dtype)
        if not self.is_contiguous:
            raise ValueError("only a contiguous buffer can be viewed as another type; call contiguous() first")
        if shape is None:
            last = (self._shape[-1] if self._shape else 1) * self.element_size
            if last % dtype.size_in_bytes or (not self._shape and last != dtype.size_in_bytes):
                raise ValueError(f"{last} bytes along the last axis are no whole number of {dtype.name}")
            shape = (*self._shape[:-1], last // dtype.size_in_bytes) if self._shape else ()
        sizes = checked_shape(shape)
        if math.prod(sizes) * dtype.size_in_bytes != self.nbytes:
            raise ValueError(f"{self.type} has {self.nbytes} bytes, shape {sizes} of {dtype.name} has another number")
        return Buffer.over(self._owner, self._address, dtype, sizes, writable=self._writable)

    def inplace_copy_from(self, src: Buffer) -> None:
        """Overwrite with the elements of a buffer of the same shape and type."""
        if (self._dtype, self._shape) != (src.dtype, src.shape):
            raise ValueError(f"cannot copy {src.type} into {self.type}: types and shapes must be equal")
        self._require_writable()
        self.to_numpy()[...] = src.to_numpy()

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Buffer:
        """A view: ints, slices (any step), `...` and None, as in NumPy."""
        offset, shape, strides = view(index, self._shape, self.strides)
        address = self._address + offset * self.element_size
        return Buffer.over(self._owner, address, self._dtype, shape, strides, self._writable)

    def __setitem__(self, index: Index | tuple[Index, ...], value: Any) -> None:
        """Write into a view: from a buffer of the same shape and type, or from what NumPy can broadcast there."""
        part = self[index]
        if isinstance(value, Buffer):
            part.inplace_copy_from(value)
        else:
            self._require_writable()
            part.to_numpy()[...] = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.to_numpy(), dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> object:
        """A DLPack capsule over the memory."""
        return export_array(self.to_numpy(), self._dtype, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __repr__(self) -> str:
        return f"Buffer({self._dtype!r}, {self._shape}, {self.device!r})"

    def _require_writable(self) -> None:
        if not self._writable:
            raise ValueError(f"{self.type} is read-only")


def require_host(device: Device | None) -> None:
    """Raise ValueError unless the device is the host (None means the host)."""
    if device is not None and device != HOST:
        raise ValueError(f"{device!r} has no memory this process can use")


def alias_array(array: NDArray[Any]) -> Buffer:
    """A buffer over an array's memory, of whatever strides, writable or not. Raises ValueError on a foreign dtype."""
    return _alias(array, DType.from_numpy(array.dtype), array.flags.writeable)


def alias_any(source: Any) -> Buffer | None:
    """A buffer over the memory of a Buffer, a NumPy array or an object with `__dlpack__`; None for anything else.

    Raises ValueError on a foreign dtype, BufferError (`NotOnHost`) on memory out of reach, and what the object raises.
    """
    if isinstance(source, Buffer):
        return source
    if isinstance(source, np.ndarray):
        return alias_array(cast("NDArray[Any]", source))
    return _alias(*import_array(source)) if hasattr(source, "__dlpack__") else None


def _alias(array: NDArray[Any], dtype: DType, writable: bool) -> Buffer:
    address, size = address_of(array), array.itemsize
    strides = None
    if not array.flags.c_contiguous:
        if any(step % size for step in array.strides):
            raise ValueError(f"strides of {array.strides} bytes are no multiples of the element's {size}")
        strides = tuple(step // size for step in array.strides)
    return Buffer.over(array, address, dtype, array.shape, strides, writable)
