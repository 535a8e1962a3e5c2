"""Launches: what is the same each time is prepared once. Enters: a function, sizes, arguments. Leaves: a `Launch`.

The driver takes a table of pointers, one per argument, and copies what they point to during the call. Here the table
and the block of arguments are made beforehand, so that a launch hands over numbers it has.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pelton.runtime.cuda.code import Function
from pelton.runtime.cuda.context import HERE, Context
from pelton.runtime.driver import LARGEST_BLOCK, LARGEST_GRID, Address
from pelton.support.errors import DeviceError, shortened

FLOATS = {2: "<e", 4: "<f", 8: "<d"}
"""Formats of floats by size."""


class Launch:
    """A function with its sizes and arguments. Not to be run by one thread while another changes it."""

    __slots__ = ("_function", "_words", "run")
    run: Callable[[], None]
    """Starts it once, in its device's queue; does nothing for a grid of 0 blocks."""

    def __init__(
        self,
        context: Context,
        function: Function,
        grid: int,
        block: int,
        args: Sequence[Address | int | float],
        shared: int = 0,
    ) -> None:
        check_sizes(function, grid, block, shared)
        if len(args) != len(function.parameters):
            expected, got = str(len(function.parameters)), str(len(args))
            raise DeviceError(f"launch of {function.entry}: wrong number of arguments", expected=expected, got=got)
        self._function = function
        size = -(-function.size // 8)
        self._words = (ctypes.c_int64 * (size + len(args)))()
        """The arguments, each at its offset, then their addresses."""
        start = ctypes.addressof(self._words)
        self._words[size:] = [start + parameter.offset for parameter in function.parameters]
        for position, value in enumerate(args):
            self.set(position, value)
        function.kinds = tuple(_kind(value) for value in args)
        self.run = self._runner(context, grid, block, shared, start + 8 * size if args else 0) if grid else _nothing

    def set(self, position: int, value: Address | int | float) -> None:
        """Changes an argument for later runs. Raises DeviceError for what its parameter cannot hold."""
        offset, size = self._function.parameters[position]
        name = f"launch of {self._function.entry}: argument {position}"
        ctypes.memmove(ctypes.addressof(self._words) + offset, packed(value, size, name), size)

    @property
    def arguments(self) -> bytes:
        """The block of arguments as it is now."""
        return ctypes.string_at(self._words, self._function.size)

    def _runner(self, context: Context, grid: int, block: int, shared: int, table: int) -> Callable[[], None]:
        here, launch, function, words = HERE, context.api.cuLaunchKernel, self._function, self._words
        handle = function.handle

        def run() -> None:
            if here.current is not context.mark:
                context.enter("cuLaunchKernel")
            (status,) = launch(handle, grid, 1, 1, block, 1, 1, shared, here.stream, table, 0)
            if status:
                failed(status)

        def failed(status: Any) -> None:
            given = shortened(", ".join(map(str, words[: -(-function.size // 8)])), 200)
            shown = f"{function.entry}[{grid}]({given}), {block} threads, {shared} bytes of shared memory"
            context.again("cuLaunchKernel", status, make, shown)

        def make() -> tuple[Any, ...]:
            return launch(handle, grid, 1, 1, block, 1, 1, shared, here.stream, table, 0)

        return run


def _nothing() -> None:
    """A launch of no blocks."""


def check_sizes(function: Function, grid: int, block: int, shared: int) -> None:
    """Raise DeviceError for a launch that no device, or not this one, can make."""
    for name, value, least, most in (
        ("a grid", grid, 0, LARGEST_GRID),
        ("a block", block, 1, min(function.threads, LARGEST_BLOCK)),
        ("dynamic shared memory", shared, 0, function.dynamic),
    ):
        if not least <= value <= most:
            raise DeviceError(f"launch of {function.entry}: {name} of {value}", expected=f"{least} to {most}")


def packed(value: Address | int | float, size: int, name: str) -> bytes:
    """A value as a parameter of `size` bytes holds it. Raises DeviceError where it does not fit."""
    if _kind(value) is float:
        if size in FLOATS:
            return struct.pack(FLOATS[size], value)
        raise DeviceError(f"{name} is a float", expected=f"an integer of {size} bytes")
    number, bits = int(value), 8 * size
    if not -(1 << bits - 1) <= number < 1 << bits or (isinstance(value, Address) and size != 8):
        raise DeviceError(f"{name} does not fit", expected=f"{size} bytes", got=str(value))
    return (number & (1 << bits) - 1).to_bytes(size, "little")


def _kind(value: Address | int | float) -> type:
    return Address if isinstance(value, Address) else float if isinstance(value, float | np.floating) else int
