"""DLPack for the types NumPy cannot exchange. Enters: an object with `__dlpack__`. Leaves: a NumPy array over its
memory, and the other way round. Next: `buffer.py`.

bfloat16 and float8 travel through NumPy as unsigned integers of the same width: the type code in the capsule, which is
ours alone between producer and consumer, is changed on the way.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pelton.dtype import DType

if TYPE_CHECKING:
    from numpy.typing import NDArray

HOST_DEVICES = frozenset({1, 3})  # kDLCPU, kDLCUDAHost
UNSIGNED = 1  # kDLUInt
READ_ONLY = 1
CODES: dict[DType, int] = {
    DType.bfloat16: 4,
    DType.float8_e4m3fn: 10,
    DType.float8_e4m3fnuz: 11,
    DType.float8_e5m2: 12,
    DType.float8_e5m2fnuz: 13,
    DType.float8_e8m0fnu: 14,
}
DTYPES = {code: dtype for dtype, code in CODES.items()}


class NotOnHost(BufferError):
    """The memory is another device's."""


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))


class _Capsule:
    """Hands one capsule to `numpy.from_dlpack`."""

    def __init__(self, capsule: object, device: tuple[int, int]) -> None:
        self._capsule, self._device = capsule, device

    def __dlpack__(self, **_: object) -> object:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


def import_array(source: Any) -> tuple[NDArray[np.generic], DType, bool]:
    """(array over the source's memory, type, whether it may be written).

    Raises BufferError where the memory cannot be had, whatever the source itself raised, and ValueError for a dtype
    without a `DType`. For types NumPy lacks the array holds unsigned integers; the type tells what they are.
    """
    try:
        array, foreign, writable = _imported(source)
    except BufferError:
        raise
    except Exception as error:
        raise BufferError(f"a {type(source).__name__} does not hand its memory over: {error!r}") from error
    return array, foreign or DType.from_numpy(array.dtype), writable


def _imported(source: Any) -> tuple[NDArray[np.generic], DType | None, bool]:
    """(array, type where NumPy lacks it, whether it may be written)."""
    device = source.__dlpack_device__()
    try:
        kind, number = map(int, device)
    except (TypeError, ValueError):
        raise BufferError(
            f"__dlpack_device__ of a {type(source).__name__} gave {device!r}, not the numbers of a device's type and id"
        ) from None
    if kind not in HOST_DEVICES:
        raise NotOnHost(f"the memory is on DLPack device {(kind, number)}, not on the host")
    try:
        capsule = source.__dlpack__(max_version=(1, 0))
    except TypeError:  # a producer from before DLPack 1.0
        capsule = source.__dlpack__()
    tensor, flags = _inside(capsule)
    foreign = DTYPES.get(tensor.code)
    if foreign is not None:
        tensor.code = UNSIGNED
    array = cast("NDArray[np.generic]", np.from_dlpack(cast(Any, _Capsule(capsule, device))))
    return array, foreign, not flags & READ_ONLY


def export_array(array: NDArray[np.generic], dtype: DType, **options: Any) -> object:
    """A capsule over an array's memory; options as `__dlpack__` takes them."""
    code = CODES.get(dtype)
    exported: Any = array if code is None else array.view(f"u{dtype.size_in_bytes}")
    capsule: object = exported.__dlpack__(**options)
    if code is None:
        return capsule
    _inside(capsule)[0].code = code
    return capsule


def _inside(capsule: object) -> tuple[_Tensor, int]:
    """(the tensor in a capsule, its flags)."""
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        return versioned.tensor, versioned.flags
    if _is_valid(capsule, b"dltensor"):
        return _Tensor.from_address(_pointer(capsule, b"dltensor")), 0
    raise BufferError("__dlpack__ returned no DLPack capsule, or one that was used before")
