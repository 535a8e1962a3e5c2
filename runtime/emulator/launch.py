"""`emulate`: run one PTX entry over a grid of blocks; `run_grid`: the same for memory that outlives it.

Enters: PTX text, launch sizes, arrays and scalars. Leaves: the arrays as the kernel left them, or an `EmulationError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

import numpy as np

from pelton.runtime.emulator.blocks import Code, decode
from pelton.runtime.emulator.errors import UnsupportedInstruction
from pelton.runtime.emulator.heap import Global
from pelton.runtime.emulator.link import load
from pelton.runtime.emulator.machine import ALL_CHECKS, Checks, Launch, Machine
from pelton.runtime.emulator.memory import CONSTANTS
from pelton.runtime.emulator.program import Program
from pelton.runtime.emulator.schedule import run
from pelton.runtime.emulator.tensor_map import Tiled
from pelton.runtime.emulator.values import TYPES, Array

_BATCH = 1 << 14
"""Threads that run together: enough to hide NumPy's cost per call, few enough to stay in the cache."""
_SHARED = 1 << 22
"""Bytes of shared memory that they have together: each byte has records of who touched it."""
LIMIT = 1_000_000
"""The most basic blocks that a batch may execute."""


def emulate(
    ptx: str,
    entry: str,
    grid: int,
    block: int,
    args: Sequence[Array | Tiled | int | float],
    shared: int = 0,
    *,
    check_races: bool = True,
    check_uninitialized: bool = True,
    limit: int = LIMIT,
) -> None:
    """Runs `entry` with `grid` blocks of `block` threads; arrays in `args` are global buffers and are changed in
    place, also those of a `Tiled`, which the kernel gets as a tensor map.

    `shared` is the size of dynamic shared memory in bytes, `limit` the most basic blocks a batch may execute. Blocks
    run in batches, in order. Raises a subclass of `EmulationError` (errors.py) for anything a GPU would not forgive,
    ValueError for sizes and arguments that do not fit.
    """
    code = _code(ptx, entry)
    memory = Global(CONSTANTS)
    memory.load(code.program.constants)
    arrays: dict[int, Array] = {k: a for k, value in enumerate(args) if (a := _array_of(value)) is not None}
    held: dict[int, Array] = {id(a): np.require(a, requirements=["C", "A", "W"]) for a in arrays.values()}
    names = {id(a): f"argument {k}" for k, a in reversed(arrays.items())}
    at = {key: memory.place(a.reshape(-1).view(np.uint8), name=names[key]).start for key, a in held.items()}
    sizes = [v.size for v, _ in code.program.parameters] + [8] * len(args)
    given = [_placed(a, memory, at, size) for a, size in zip(args, sizes, strict=False)]
    run_grid(code, memory, grid, block, given, shared, Checks(check_races, check_uninitialized), limit)
    for array in arrays.values():
        if held[id(array)] is not array:  # it was copied, since kernels see one block of memory
            array[...] = held[id(array)]


def _array_of(value: object) -> Array | None:
    held = value.array if isinstance(value, Tiled) else value
    return cast("Array", held) if isinstance(held, np.ndarray) else None


def _placed(value: Array | Tiled | int | float, memory: Global, at: dict[int, int], size: int) -> int | float | bytes:
    """An argument as the kernel gets it: an array's address, a tensor map's bytes or (of 8 bytes) address."""
    if isinstance(value, np.ndarray):
        return at[id(value)]
    if not isinstance(value, Tiled):
        return value
    data = value.map(at[id(value.array)]).encode()
    return data if size > 8 else memory.place(np.frombuffer(data, np.uint8), name="a tensor map").start


def run_grid(
    code: Code,
    memory: Global,
    grid: int,
    block: int,
    args: Sequence[int | float | bytes],
    shared: int = 0,
    checks: Checks = ALL_CHECKS,
    limit: int = LIMIT,
) -> None:
    """Runs prepared code on global memory, whose addresses are numbers among `args`. Raises what `emulate` does."""
    if block % 32 or not 0 < block <= 1024:
        raise ValueError(f"a block has a multiple of 32 threads, at most 1024; got {block}")
    launch = Launch(code.program, memory, parameters(code.program, args), grid, block, shared, checks)
    with np.errstate(all="ignore"):
        batch = max(min(_BATCH // block, _SHARED // max(code.program.shared.size + shared, 1)), 1)
        for first in range(0, grid, batch):
            run(Machine(launch, first, min(batch, grid - first)), code, limit)


@lru_cache(maxsize=256)
def _code(ptx: str, entry: str) -> Code:
    return prepare(ptx, entry, CONSTANTS)


def prepare(ptx: str, entry: str, variables: int) -> Code:
    """An entry ready to run, its text's global variables beginning at an address. EmulationError for what is beyond
    the emulated subset, or no PTX."""
    try:
        return decode(load(ptx, entry, variables))
    except (ValueError, LookupError, TypeError, ArithmeticError, AssertionError, RecursionError) as error:
        raise UnsupportedInstruction(f"{entry} is not understood: {type(error).__name__}: {error}") from error


def parameters(program: Program, args: Sequence[int | float | bytes]) -> Array:
    """The parameter block: pointers and numbers at their offsets. ValueError for what is too many or does not fit."""
    if len(args) != len(program.parameters):
        names = ", ".join(v.name for v, _ in program.parameters)
        raise ValueError(f"{program.name} takes {len(program.parameters)} arguments ({names}), got {len(args)}")
    size = max((offset + v.size for v, offset in program.parameters), default=0)
    block = np.zeros(-(-size // 8) * 8 + 8, np.uint8)
    for (variable, offset), value in zip(program.parameters, args, strict=True):
        try:
            data = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else _number(value, variable.size)
            block[offset : offset + variable.size] = data
        except (KeyError, OverflowError, TypeError, ValueError):
            what = f"{variable.name}, which has {variable.size} bytes"
            raise ValueError(f"{program.name}: {value!r} does not fit {what}") from None
    return block


def _number(value: int | float, size: int) -> Array:
    kind = "f" if isinstance(value, float) else "s" if value < 0 else "u"
    return np.array([value], TYPES[f"{kind}{8 * size}"].dtype).view(np.uint8)
