"""What users pass to `execute`, to buffers that fit. Enters: arguments and the inputs' descriptions. Leaves: buffers.

Next: `model.py` runs the executable on them. Every error names position, name, got and expected.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from pelton.artifact import TensorInfo
from pelton.dtype import DType
from pelton.runtime.buffer import Buffer, alias_any
from pelton.runtime.device import HOST
from pelton.runtime.dlpack import NotOnHost
from pelton.runtime.layout import describe, overlaps
from pelton.runtime.plan import Shapes
from pelton.support.errors import ArgumentError, ArgumentTypeError


class Expected(NamedTuple):
    """One input of a model, and what an argument must be to need no closer look."""

    position: int
    info: TensorInfo
    real: object
    """The NumPy dtype of arrays; None where NumPy itself has none."""
    buffers: DType | None
    """The type of buffers; None where more than the type must be seen to."""
    misaligned: int
    """The bits of an address that must be 0."""

    @classmethod
    def of(cls, position: int, info: TensorInfo) -> Expected:
        """The input as `fitting` takes it."""
        plain = info.device == HOST.name and not info.mutable
        real = info.dtype.to_numpy() if plain and not info.dtype.name.startswith(FOREIGN) else None
        return cls(position, info, real, info.dtype if plain else None, info.dtype.size_in_bytes - 1)


FOREIGN = ("bfloat16", "float8", "int4", "uint4")


def fitting(argument: Any, expected: Expected) -> Buffer:
    """`as_buffer`, with short ways for a Buffer and a writable NumPy array, both in C order and of the right dtype."""
    if type(argument) is Buffer:
        if argument.is_plain(expected.buffers, expected.misaligned):
            return argument
    elif type(argument) is np.ndarray and argument.dtype is expected.real and argument.flags.carray and argument.size:
        address = ctypes.addressof(ctypes.c_char.from_buffer(cast(Any, argument)))
        return Buffer.over(argument, address, expected.info.dtype, argument.shape)
    return as_buffer(argument, expected.position, expected.info)


def place(position: int, info: TensorInfo) -> str:
    """How errors name an input."""
    return f"input {position} ({info.name!r})"


def as_buffer(argument: Any, position: int, info: TensorInfo) -> Buffer:
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
    if buffer.device.name != info.device:
        raise ArgumentTypeError(f"{place(position, info)} is on {buffer.device}", expected=info.device)
    if not buffer.is_contiguous:
        raise ArgumentError(
            f"{place(position, info)} is not C-contiguous",
            got=f"strides {buffer.strides} for shape {buffer.shape}",
            remedy="pass numpy.ascontiguousarray(array), or buffer.contiguous()",
        )
    if buffer.dtype is not info.dtype:
        raise mismatch(position, info, buffer.shape, buffer.dtype)
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


def check_overlap(infos: Sequence[TensorInfo], buffers: Sequence[Buffer]) -> None:
    """Raise ArgumentError where an input that the model writes shares memory with another input."""
    for position, (info, buffer) in enumerate(zip(infos, buffers, strict=True)):
        if not info.mutable:
            continue
        for other, (other_info, other_buffer) in enumerate(zip(infos, buffers, strict=True)):
            if other != position and overlaps(buffer.span, other_buffer.span):
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
