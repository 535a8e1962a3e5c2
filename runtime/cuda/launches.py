"""Launches: what is the same each time is prepared once. Enters: a function, sizes, arguments. Leaves: a `Launch`.

The driver takes a table of pointers, one per argument, and copies what they point to during the call. Here the table
and the block of arguments are made beforehand, so that a launch hands over numbers it has.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pelton.runtime.cuda.code import Function
from pelton.runtime.cuda.context import HERE, Context
from pelton.runtime.driver import LARGEST_GRID, Address
from pelton.support.errors import DeviceError, shortened

FORMATS: dict[type, dict[int, str]] = {
    int: {1: "b", 2: "h", 4: "i", 8: "q"},
    float: {2: "e", 4: "f", 8: "d"},
    Address: {8: "Q"},
}
"""How a value is kept, by what is given and the size of its parameter: as `struct` calls it."""
Value = Address | int | float


class Block:
    """The arguments of a function, each at its offset, and behind them their addresses."""

    __slots__ = ("_function", "_words", "table")

    def __init__(self, function: Function) -> None:
        self._function = function
        size = -(-function.size // 8)
        self._words = (ctypes.c_int64 * (size + len(function.parameters)))()
        start = ctypes.addressof(self._words)
        self._words[size:] = [start + parameter.offset for parameter in function.parameters]
        self.table = start + 8 * size if function.parameters else 0
        """Where the addresses stand, which a launch is given."""

    def fill(self, args: Sequence[Value]) -> None:
        """Puts all arguments in place. Raises DeviceError for another number of them, and for what does not fit."""
        kinds = tuple(map(type, args))
        pack = self._function.packers.get(kinds)
        try:
            if pack is None:
                pack = self._function.packers[kinds] = packer(self._function, args)
            pack(self._words, 0, *args)
        except (struct.error, OverflowError):  # no signed number of that size: an unsigned one, or none
            for position, value in enumerate(args):
                self.put(position, value)

    def put(self, position: int, value: Value) -> None:
        """Puts one in place. Raises DeviceError for what its parameter cannot hold."""
        offset, size = self._function.parameters[position]
        name = f"launch of {self._function.entry}: argument {position}"
        ctypes.memmove(ctypes.addressof(self._words) + offset, packed(value, size, name), size)

    @property
    def data(self) -> bytes:
        """The arguments as they are now."""
        return ctypes.string_at(self._words, self._function.size)

    def __str__(self) -> str:
        return shortened(", ".join(map(str, self._words[: -(-self._function.size // 8)])), 200)


class Launch:
    """A function with its sizes and arguments. Not to be run by one thread while another changes it."""

    __slots__ = ("_block", "run")
    run: Callable[[], None]
    """Starts it once, in its device's queue; does nothing for a grid of 0 blocks."""

    def __init__(
        self, context: Context, function: Function, grid: int, block: int, args: Sequence[Value], shared: int = 0
    ) -> None:
        check_sizes(function, grid, block, shared)
        self._block = Block(function)
        self._block.fill(args)
        self.run = _runner(context, function, grid, block, shared, self._block) if grid else _nothing

    def set(self, position: int, value: Value) -> None:
        """Changes an argument for later runs. Raises DeviceError for what its parameter cannot hold."""
        self._block.put(position, value)

    @property
    def arguments(self) -> bytes:
        """The block of arguments as it is now."""
        return self._block.data


def launch_once(
    context: Context, function: Function, grid: int, block: int, args: Sequence[Value], shared: int = 0
) -> None:
    """What a `Launch` does, with a block of arguments that each thread keeps for the function."""
    check_sizes(function, grid, block, shared)
    thread = threading.get_ident()
    if (held := function.blocks.get(thread)) is None:
        held = function.blocks[thread] = Block(function)
    held.fill(args)
    if not grid:
        return
    if HERE.current is not context.mark:
        context.enter("cuLaunchKernel")
    (status,) = context.launch(function.handle, grid, 1, 1, block, 1, 1, shared, HERE.stream, held.table, 0)
    if status:
        _failed(status, context, function, grid, block, shared, held)


def _runner(
    context: Context, function: Function, grid: int, block: int, shared: int, args: Block
) -> Callable[[], None]:
    here, launch, handle, table = HERE, context.launch, function.handle, args.table

    def run() -> None:
        if here.current is not context.mark:
            context.enter("cuLaunchKernel")
        (status,) = launch(handle, grid, 1, 1, block, 1, 1, shared, here.stream, table, 0)
        if status:
            _failed(status, context, function, grid, block, shared, args)

    return run


def _failed(status: Any, context: Context, function: Function, grid: int, block: int, shared: int, args: Block) -> None:
    """Launches once more where another library's context was current; else raises what the status says."""

    def make() -> tuple[Any, ...]:
        return context.launch(function.handle, grid, 1, 1, block, 1, 1, shared, HERE.stream, args.table, 0)

    shown = f"{function.entry}[{grid}]({args}), {block} threads, {shared} bytes of shared memory"
    context.again("cuLaunchKernel", status, make, shown)


def _nothing() -> None:
    """A launch of no blocks."""


def check_sizes(function: Function, grid: int, block: int, shared: int) -> None:
    """Raise DeviceError for a launch that no device, or not this one, can make."""
    if 0 <= grid <= LARGEST_GRID and 0 < block <= function.threads and 0 <= shared <= function.dynamic:
        return
    for name, value, least, most in (
        ("a grid", grid, 0, LARGEST_GRID),
        ("a block", block, 1, function.threads),
        ("dynamic shared memory", shared, 0, function.dynamic),
    ):
        if not least <= value <= most:
            raise DeviceError(f"launch of {function.entry}: {name} of {value}", expected=f"{least} to {most}")


def packer(function: Function, args: Sequence[Value]) -> Callable[..., None]:
    """What puts arguments of these types in place. Raises DeviceError where they cannot be the function's."""
    if len(args) != len(function.parameters):
        expected, got = str(len(function.parameters)), str(len(args))
        raise DeviceError(f"launch of {function.entry}: wrong number of arguments", expected=expected, got=got)
    text, end = "<", 0
    for position, (value, (offset, size)) in enumerate(zip(args, function.parameters, strict=True)):
        if (code := FORMATS[kind_of(value)].get(size)) is None:
            packed(value, size, f"launch of {function.entry}: argument {position}")
            raise struct.error
        text, end = f"{text}{offset - end}x{code}", offset + size
    function.kinds = tuple(kind_of(value) for value in args)
    return struct.Struct(text).pack_into


def packed(value: Value, size: int, name: str) -> bytes:
    """A value as a parameter of `size` bytes holds it. Raises DeviceError where it does not fit."""
    if (kind := kind_of(value)) is float:
        if size in FORMATS[float]:
            return struct.pack("<" + FORMATS[float][size], value)
        raise DeviceError(f"{name} is a float", expected=f"an integer of {size} bytes")
    number, bits = int(value), 8 * size
    if not -(1 << bits - 1) <= number < 1 << bits or (kind is Address and size != 8):
        raise DeviceError(f"{name} does not fit", expected=f"{size} bytes", got=str(value))
    return (number & (1 << bits) - 1).to_bytes(size, "little")


def kind_of(value: Value) -> type:
    """Address, int or float."""
    return Address if isinstance(value, Address) else float if isinstance(value, float | np.floating) else int
