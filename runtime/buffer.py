"""Tensors in memory, as users hold them. Enters: sizes, NumPy arrays, anything with DLPack. Leaves: `Buffer`.

Next: `model.py` takes buffers as arguments and returns them as results.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from pelton.dtype import DType
from pelton.runtime.device import HOST, Accelerator, Device
from pelton.runtime.dlpack import export_array, import_array
from pelton.runtime.layout import Index, bytes_of, c_strides, checked_shape, describe, extent, view
from pelton.runtime.memory import address_of, array_over, pool
from pelton.runtime.numbers import assignable, held, is_number, number
from pelton.support.errors import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Buffer:
    """A tensor in a device's memory.

    `Buffer(dtype, shape, device)` is new memory, not initialised, in C order; without a device, of the host. What
    models return are buffers too. Views share the memory of what they are views of; memory lives for as long as any
    buffer, array or DLPack capsule over it. `copy.deepcopy` and pickling copy the elements, to the same device.

    A buffer on a GPU has the same methods, but the host cannot look into it: what reads gives a copy, once the work
    that the GPU was given before is done. Each method that touches its memory raises DeviceError (RuntimeError) where
    the device does.

    Raises ValueError for no element type, a negative size, or a device whose memory this process cannot use; TypeError
    for a shape that is no sequence of ints, or a device that is no Device; MemoryError where memory does not suffice.
    """

    __slots__ = ("_address", "_dtype", "_owner", "_shape", "_strides", "_writable")
    _address: int
    _dtype: DType
    _owner: object
    _writable: bool
    _shape: tuple[int, ...]
    _strides: tuple[int, ...] | None

    def __new__(cls, dtype: DType, shape: Sequence[int], device: Device | None = None) -> Self:
        if device is None or required_device(device).is_host:
            return object.__new__(cls)
        if not isinstance(device, Accelerator):
            raise ValueError(f"{device!r} has no memory this process can use")
        from pelton.runtime.device_buffer import DeviceBuffer  # where there is a device other than the host

        return cast("Self", object.__new__(DeviceBuffer))

    def __init__(self, dtype: DType, shape: Sequence[int], device: Device | None = None) -> None:
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
        """A new buffer in which all bits are 0. Raises as `Buffer` does."""
        buffer = Buffer(dtype, shape, device)
        buffer._clear()
        return buffer

    @staticmethod
    def scalar(value: Any, dtype: DType, device: Device | None = None) -> Buffer:
        """A new rank-0 buffer of a Python or NumPy number: the nearest value of a float type, that very value of an
        integer type (2.0 is 2, 2.5 is none), and for bool whether it is not 0.

        Raises ValueError where the type cannot hold the value (a finite one would become infinite, too) and for what is
        no number; else as `Buffer` does.
        """
        buffer = Buffer(dtype, ())
        try:
            with np.errstate(all="ignore"):
                buffer.to_numpy()[()] = held(number(value), buffer.dtype)
        except (OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"{shown(value)} cannot be a {buffer.dtype.name}: {error}") from None
        return buffer if device is None else buffer.to(device)

    @staticmethod
    def from_numpy(array: NDArray[Any]) -> Buffer:
        """The array's own memory when it is C-contiguous and writable, else a copy.

        Of a read-only array too: what is written into the buffer is not seen there, nor a later change of its memory
        here. `execute` needs no copy of it: it takes read-only arrays for inputs that the model does not write.

        Raises TypeError for what is no array, ValueError for an array of a dtype without a `DType`.
        """
        if not isinstance(array, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"from_numpy takes a numpy.ndarray, got {type(array).__name__}")
        alias = alias_array(array)
        return alias if alias.is_contiguous and array.flags.writeable else alias.copy()

    @staticmethod
    def from_dlpack(array: Any, *, copy: bool | None = None) -> Buffer:
        """The object's own memory when it is C-contiguous and writable, else a copy.

        So read-only memory is copied. `copy=True` always copies; `copy=False` raises BufferError rather than copy.
        Raises BufferError too where the memory is on another device or the object does not hand it over (its own
        exception is the cause), TypeError for an object without `__dlpack__`, ValueError for a dtype without a `DType`.
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
        """The type of the elements."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes, one per axis; `()` for rank 0."""
        return self._shape

    @property
    def strides(self) -> tuple[int, ...]:
        """The steps along each axis, in elements (not bytes); negative where a view runs backwards."""
        return c_strides(self._shape) if self._strides is None else self._strides

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def num_elements(self) -> int:
        """The product of the sizes; 1 for rank 0."""
        return math.prod(self._shape)

    @property
    def element_size(self) -> int:
        """The bytes of one element."""
        return self._dtype.size_in_bytes

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.num_elements * self.element_size

    @property
    def type(self) -> str:
        """Shape and element type, as errors show them: `[(2, 3), f32]`."""
        return describe(self._shape, self._dtype)

    @property
    def address(self) -> int:
        """Where the first element lies, as a number of bytes; on a GPU that is a place in its memory."""
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
        """An array over the same memory, read-only where the buffer is; of a buffer on a GPU a copy of its elements.

        bfloat16, float8 and the 4-bit integers are arrays of the dtypes of ml_dtypes.
        """
        return array_over(self._owner, self._address, self._dtype, self._shape, self._strides, self._writable)

    def item(self) -> Any:
        """The only element, as a Python number. Raises ValueError where there are more, or none."""
        if self.num_elements != 1:
            raise ValueError(f"item() takes one element; the shape is {self._shape}")
        value = self.to_numpy().reshape(-1)[0]
        return float(value) if self._dtype.is_float() else bool(value) if self._dtype is DType.bool else int(value)

    def to(self, device: Device) -> Buffer:
        """The buffer on `device`: itself where it is there already, else a contiguous copy of the same shape and type.

        Raises TypeError for what is no Device; else as `Buffer` does.
        """
        return self if required_device(device).is_host else self.copy(device)

    def copy(self, device: Device | None = None) -> Buffer:
        """A contiguous copy, in C order, on `device`; without one, where the buffer is. Raises as `Buffer` does."""
        new = Buffer(self._dtype, self._shape, device)
        new.inplace_copy_from(self)
        return new

    def contiguous(self) -> Buffer:
        """Itself when contiguous, else a contiguous copy."""
        return self if self.is_contiguous else self.copy()

    def view(self, dtype: DType, shape: Sequence[int] | None = None) -> Buffer:
        """The same bytes as another type; without a shape the last axis takes the difference in size.

        Raises ValueError where the buffer is not contiguous, the bytes do not divide, or the shape has another number
        of them; TypeError for a shape that is no sequence of ints.
        """
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
        return self._part(self._address, dtype, sizes)

    def inplace_copy_from(self, src: Buffer) -> None:
        """Overwrite with the elements of a buffer of the same shape and type, on any device; the two may overlap.

        Raises TypeError for what is no Buffer, ValueError for another shape or type and where this one is read-only.
        """
        self._require_like(src)
        self.to_numpy()[...] = src.to_numpy()

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Buffer:
        """A view: ints, slices (any step but 0), `...` and None, as in NumPy.

        Raises IndexError for an index out of range and for more indices than axes, TypeError for an index of another
        kind (there is no indexing by arrays), ValueError for a step of 0.
        """
        offset, shape, strides = view(index, self._shape, self.strides)
        address = self._address + offset * self.element_size
        return self._part(address, self._dtype, shape, strides)

    def __setitem__(self, index: Index | tuple[Index, ...], value: Any) -> None:
        """Write into a view: from a buffer of the same shape and type, or from what NumPy can assign there.

        A number becomes one of this type as for `scalar`; arrays are cast as NumPy casts. Raises as `__getitem__` does;
        ValueError where the buffer is read-only or the value does not fit; TypeError for what holds no numbers (None, a
        text, complex numbers, dates, objects); OverflowError for an int in a list that this type lacks.
        """
        part = self[index]
        if isinstance(value, Buffer):
            part.inplace_copy_from(value)
        else:
            self._require_writable()
            part.to_numpy()[...] = self._assigned(value)

    def _assigned(self, value: Any) -> Any:
        """What NumPy can assign to elements of this buffer; a number has their type already."""
        if is_number(value):
            return Buffer.scalar(value, self._dtype).to_numpy()
        return assignable(value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """What `numpy.asarray(buffer)` calls: an array over the memory, a copy where `dtype` or `copy` ask for one.

        Raises TypeError for what is no dtype, ValueError where `copy=False` forbids a copy that is needed.
        """
        return np.array(self.to_numpy(), dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> object:
        """A DLPack capsule over the memory; options as the array API standard has them.

        Raises BufferError for what DLPack cannot carry: read-only memory to a consumer from before DLPack 1.0, 4-bit
        integers, a view with a negative stride, another device; TypeError or ValueError for options of another kind.
        """
        strides = self.strides
        if any(size > 1 and stride < 0 for size, stride in zip(self._shape, strides, strict=True)):
            raise BufferError(
                f"a view with the strides {strides} cannot be handed over: consumers of DLPack refuse negative"
                " ones, or end the process; hand over its copy: buffer.contiguous()"
            )
        if self._dtype in (DType.int4, DType.uint4):
            raise BufferError(f"DLPack has no {self._dtype.name}; hand over the bytes: buffer.view(DType.uint8)")
        if any(stride < 0 for stride in strides):  # of axes with one element, or of none at all
            part = self._part(self._address, self._dtype, self._shape, tuple(map(abs, strides)))
            return export_array(part.to_numpy(), self._dtype, **options)
        return export_array(self.to_numpy(), self._dtype, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Device type and id, as DLPack numbers them: (1, 0), the host, or (2, id), a GPU."""
        return (1, 0)

    def __deepcopy__(self, memo: object) -> Buffer:
        return self.copy()

    def __reduce__(self) -> tuple[object, ...]:
        return _from_bytes, (self._dtype, self._shape, self.contiguous().to_numpy().tobytes())

    def __copy__(self) -> Buffer:
        return self[...]

    def __repr__(self) -> str:
        return f"Buffer({self._dtype!r}, {self._shape}, {self.device!r})"

    def _part(
        self, address: int, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...] | None = None
    ) -> Buffer:
        """A buffer over some of the same memory."""
        return Buffer.over(self._owner, address, dtype, shape, strides, self._writable)

    def _clear(self) -> None:
        ctypes.memset(self._address, 0, self.nbytes)

    def _require_like(self, src: Buffer) -> None:
        """Raise TypeError or ValueError unless the elements of `src` can be written here."""
        if not isinstance(src, Buffer):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"inplace_copy_from takes a Buffer, got {type(src).__name__}")
        if (self._dtype, self._shape) != (src.dtype, src.shape):
            raise ValueError(f"cannot copy {src.type} into {self.type}: types and shapes must be equal")
        self._require_writable()

    def _require_writable(self) -> None:
        if not self._writable:
            raise ValueError(f"{self.type} is read-only")


def required_device(device: object) -> Device:
    """The device. Raises TypeError where it is none."""
    if not isinstance(device, Device):
        raise TypeError(f"expected a Device, got {type(device).__name__}")
    return device


def _from_bytes(dtype: DType, shape: tuple[int, ...], data: bytes) -> Buffer:
    """A pickled buffer: new memory with these bytes."""
    buffer = Buffer(dtype, shape)
    if len(data) != buffer.nbytes:
        raise ValueError(f"{buffer.type} has {buffer.nbytes} bytes, got {len(data)}")
    ctypes.memmove(buffer.address, data, len(data))
    return buffer


def alias_array(array: NDArray[Any]) -> Buffer:
    """A buffer over an array's memory, of whatever strides, writable or not. Raises ValueError on a foreign dtype."""
    return _alias(array, DType.from_numpy(array.dtype), array.flags.writeable)


def alias_any(source: Any) -> Buffer | None:
    """A buffer over the memory of a Buffer, a NumPy array or an object with `__dlpack__`; None for anything else.

    Raises ValueError on a foreign dtype, BufferError where the memory cannot be had (`NotOnHost`: out of reach).
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
