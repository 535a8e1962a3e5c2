"""`emulate`: run one PTX entry over a grid of blocks.

Enters: PTX text, launch sizes, arrays and scalars. Leaves: the arrays as the kernel left them, or an `EmulationError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pelton.runtime.emulator.blocks import Code, decode
from pelton.runtime.emulator.link import Program, load
from pelton.runtime.emulator.machine import Launch, Machine
from pelton.runtime.emulator.memory import Global
from pelton.runtime.emulator.races import Tracker
from pelton.runtime.emulator.schedule import run
from pelton.runtime.emulator.values import TYPES, Array

_BATCH = 1 << 14
"""Threads that run together: enough to hide NumPy's cost per call, few enough to stay in the cache."""


class Place(NamedTuple):
    """A pointer into a buffer of bytes. Places in one buffer see each other's writes."""

    memory: Array
    offset: int


def emulate(
    ptx: str,
    entry: str,
    grid: int,
    block: int,
    args: Sequence[Array | Place | int | float],
    shared: int = 0,
    *,
    check_races: bool = True,
    limit: int = 1_000_000,
) -> None:
    """Runs `entry` with `grid` blocks of `block` threads; arrays in `args` are global buffers and are changed in
    place; a `Place` points into one.

    `shared` is the size of dynamic shared memory in bytes, `limit` the most basic blocks a batch may execute. Blocks
    run in batches, in order. Raises a subclass of `EmulationError` (errors.py) for anything a GPU would not forgive.
    """
    if block % 32 or not 0 < block <= 1024:
        raise ValueError(f"a block has a multiple of 32 threads, at most 1024; got {block}")
    code = _code(ptx, entry)
    program = code.program
    if len(args) != len(program.parameters):
        names = ", ".join(v.name for v, _ in program.parameters)
        raise ValueError(f"{entry} takes {len(program.parameters)} arguments ({names}), got {len(args)}")
    buffers = [(f"argument {k}", a) for k, a in enumerate(args) if isinstance(a, np.ndarray)]
    held = {id(a.memory): (f"the memory of argument {k}", a.memory) for k, a in enumerate(args) if isinstance(a, Place)}
    memory = Global(program.constants, [*buffers, *held.values()])
    places = dict(zip(held, memory.addresses[len(buffers) :], strict=True))
    given = [places[id(a.memory)] + a.offset if isinstance(a, Place) else a for a in args]
    races = Tracker(memory.bytes.size) if check_races else None
    launch = Launch(program, memory, _parameters(program, given, memory), grid, block, shared, races)
    with np.errstate(all="ignore"):
        for first in range(0, grid, batch := max(_BATCH // block, 1)):
            run(Machine(launch, first, min(batch, grid - first)), code, limit)
    memory.copy_back()


@lru_cache(maxsize=256)
def _code(ptx: str, entry: str) -> Code:
    return decode(load(ptx, entry))


def _parameters(program: Program, args: Sequence[Array | int | float], memory: Global) -> Array:
    """The parameter block: pointers and scalars at their offsets."""
    size = max((offset + v.size for v, offset in program.parameters), default=0)
    block, addresses = np.zeros(-(-size // 8) * 8 + 8, np.uint8), iter(memory.addresses)
    for (variable, offset), value in zip(program.parameters, args, strict=True):
        number = next(addresses) if isinstance(value, np.ndarray) else value
        kind = "f" if isinstance(number, float) else "s" if number < 0 else "u"
        data = np.array([number], TYPES[f"{kind}{8 * variable.size}"].dtype).view(np.uint8)
        block[offset : offset + variable.size] = data
    return block
