"""What users pass to `execute`, to memory that fits.

Enters: arguments and the inputs' descriptions. Leaves: addresses and shapes. Next: `model.py` runs the
executable on them. Every error names position, name, got and expected.
"""

# pyright: reportPrivateUsage=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from ctypes import addressof, c_char
from typing import Any, cast

import numpy as np
from numpy import ndarray

from pelton.artifact import TensorInfo
from pelton.dtype import DType
from pelton.runtime.buffer import Buffer, alias_any
from pelton.runtime.device import HOST, Device
from pelton.runtime.dlpack import NotOnHost
from pelton.runtime.layout import bytes_of, describe, overlaps
from pelton.runtime.plan import Shapes
from pelton.support.errors import ArgumentError, ArgumentTypeError

Expected = tuple[int, TensorInfo, DType | None, object, int, bool, Device]
"""One input of a model, and what an argument must be to need no closer look: position, description, the type of buffers
(None where more than the type must be seen to), the NumPy dtype of arrays (None where NumPy itself has none), the bits
of an address that must be 0, whether read-only memory will do, the device. A plain tuple, which Python takes apart
faster.
"""


def expected_of(position: int, info: TensorInfo, device: Device) -> Expected:
    """The input as `locate` takes it."""
    here = device is HOST
    real = info.dtype.to_numpy() if here and not info.dtype.name.startswith(FOREIGN) else None
    return position, info, info.dtype if here else None, real, info.dtype.size_in_bytes - 1, not info.mutable, device


byte_at: Any = c_char.from_buffer
FOREIGN = ("bfloat16", "float8", "int4", "uint4")


def locate(arguments: Sequence[Any], expected: Sequence[Expected], kept: list[Buffer]) -> tuple[list[int], Shapes]:
    """The addresses and the shapes of the arguments. Buffers that had to be made for that go to `kept`.

    Most of what `execute` costs a small model is spent here. So there are short ways for a Buffer and for a writable
    NumPy array, both in C order and of the right type, and a buffer's slots are read without its properties.
    """
    addresses: list[int] = []
    shapes: list[tuple[int, ...]] = []
    for position, info, dtype, real, misaligned, read_only, device in expected:
        argument = arguments[position]
        kind = type(argument)
        if kind is Buffer:
            address = argument._address
            fits = argument._dtype is dtype and argument._strides is None and not address & misaligned
            if fits and (read_only or argument._writable):
                addresses.append(address)
                shapes.append(argument._shape)
                continue
        elif kind is ndarray and argument.dtype is real:
            try:
                address = addressof(byte_at(argument))
            except (TypeError, ValueError):  # it is read-only, not in C order, or empty
                pass
            else:
                if not address & misaligned:
                    addresses.append(address)
                    shapes.append(argument.shape)
                    continue
        buffer = as_buffer(argument, position, info, device)
        kept.append(buffer)
        addresses.append(buffer.address)
        shapes.append(buffer.shape)
    return addresses, tuple(shapes)


def place(position: int, info: TensorInfo) -> str:
    """How errors name an input."""
    return f"input {position} ({info.name!r})"


def as_buffer(argument: Any, position: int, info: TensorInfo, device: Device = HOST) -> Buffer:
    """The argument's memory as a buffer of the right type and device; a Python or NumPy scalar is converted."""
    try:
        buffer = _alias(argument, info.dtype)
    except NotOnHost as error:
        raise ArgumentTypeError(
            f"{place(position, info)} is on another device: {error}", expected=info.device
        ) from error
    except Exception as error:  # an object's own __dlpack__ may raise anything
        raise ArgumentError(f"{place(position, info)} cannot be used: {error}", expected=str(info)) from error
    if buffer is None:
        raise ArgumentError(
            f"{place(position, info)} is a {type(argument).__name__}",
            expected=f"{info}, as a Buffer, a NumPy array, an object with __dlpack__, or a scalar",
        )
    if buffer.device != device:
        if not isinstance(argument, np.generic | bool | int | float):
            raise ArgumentTypeError(
                f"{place(position, info)} is on {buffer.device}",
                expected=f"{device} ({device.api})",
                got=f"{buffer.device} ({buffer.device.api})",
                remedy="pass buffer.to(device), or Buffer.from_numpy(array).to(device)",
            )
        buffer = buffer.to(device)
    if not buffer.is_contiguous:
        raise ArgumentError(
            f"{place(position, info)} is not C-contiguous",
            got=f"strides {buffer.strides} for shape {buffer.shape}",
            remedy="pass numpy.ascontiguousarray(array), or buffer.contiguous()",
        )
    if buffer.dtype is not info.dtype:
        raise mismatch(position, info, buffer.shape, buffer.dtype)
    if info.mutable and isinstance(argument, np.generic | bool | int | float):
        raise ArgumentError(f"{place(position, info)} is written by the model, and a number has no memory to write to")
    if info.mutable and not buffer.writable:
        raise ArgumentError(f"{place(position, info)} is written by the model, and what was passed is read-only")
    return buffer if buffer.address % buffer.element_size == 0 else _aligned(buffer, position, info)


def mismatch(position: int, info: TensorInfo, shape: tuple[int, ...], dtype: DType) -> ArgumentError:
    """The error for a wrong shape, rank or type."""
    return ArgumentError(
        f"{place(position, info)} has the wrong {'type' if dtype is not info.dtype else 'shape'}",
        expected=str(info),
        got=describe(shape, dtype),
    )


def check_shapes(infos: Sequence[TensorInfo], shapes: Shapes) -> None:
    """Raise ArgumentError unless the shapes fit, each symbol meaning one size throughout."""
    sizes: dict[str, tuple[int, str]] = {}
    for position, (info, shape) in enumerate(zip(infos, shapes, strict=True)):
        fixed = [(dim, size) for dim, size in zip(info.shape, shape, strict=False) if isinstance(dim, int)]
        if len(shape) != len(info.shape) or any(dim != size for dim, size in fixed):
            raise mismatch(position, info, shape, info.dtype)
        for dim, size in zip(info.shape, shape, strict=True):
            if isinstance(dim, int):
                continue
            known, where = sizes.setdefault(dim, (size, place(position, info)))
            if known != size:
                raise ArgumentError(
                    f"{place(position, info)} gives the dim {dim!r} another size than {where}",
                    expected=f"{info} with {dim} = {known}",
                    got=f"{describe(shape, info.dtype)}, so {dim} = {size}",
                )


def check_overlap(infos: Sequence[TensorInfo], addresses: Sequence[int], shapes: Shapes) -> None:
    """Raise ArgumentError where an input that the model writes shares memory with another input."""
    spans = [
        (address, address + bytes_of(shape, info.dtype))
        for info, address, shape in zip(infos, addresses, shapes, strict=True)
    ]
    for position, info in enumerate(infos):
        if not info.mutable:
            continue
        for other, other_info in enumerate(infos):
            if other != position and overlaps(spans[position], spans[other]):
                first, second = place(position, info), place(other, other_info)
                raise ArgumentError(f"{first} is written by the model and shares memory with {second}")


def _alias(argument: Any, dtype: DType) -> Buffer | None:
    """The argument as a buffer of its own type; None where it is nothing that could be one."""
    if isinstance(argument, np.generic):
        value = cast(Any, argument)
        argument = float(value) if DType.from_numpy(value.dtype).is_float() else value.item()
    if isinstance(argument, bool | int | float):
        return Buffer.scalar(argument, dtype)
    return alias_any(argument)


def _aligned(buffer: Buffer, position: int, info: TensorInfo) -> Buffer:
    """A copy at an address that kernels may use."""
    if info.mutable:
        raise ArgumentError(
            f"{place(position, info)} is written by the model, and its address is no multiple of its element's size",
            got=f"address {buffer.address:#x}, elements of {buffer.element_size} bytes",
        )
    return buffer.copy()
