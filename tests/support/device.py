"""Running PTX on a real GPU, called as the emulator is: arrays enter and are changed in place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from pelton.codegen.cuda.compile import assemble
from pelton.runtime.cuda.driver import CudaDriver
from pelton.runtime.driver import Address

Array = np.ndarray[Any, Any]


@cache
def driver() -> CudaDriver:
    """The first GPU."""
    return CudaDriver()


@cache
def machine_code(ptx: str) -> str | bytes:
    """The code of a PTX text, assembled here so that the driver's own assembler version does not matter."""
    return assemble(ptx)


def launch(
    ptx: str,
    entry: str,
    grid: int,
    block: int,
    args: Sequence[Array | int | float],
    shared: int = 0,
    *,
    check_races: bool = True,
) -> None:
    """Runs an entry and waits for it. The options that only the emulator has are taken and ignored."""
    gpu = driver()
    function = gpu.function(machine_code(ptx), entry)
    held: list[tuple[Array, Address]] = []
    try:
        given: list[Address | int | float] = []
        for value in args:
            if isinstance(value, np.ndarray):
                held.append((value, gpu.allocate(value.nbytes)))
                gpu.write(held[-1][1], value)
                value = held[-1][1]
            given.append(value)
        gpu.launch(function, grid, block, given, shared)
        gpu.synchronize()
        for array, address in held:
            back = np.empty_like(array, order="C")
            gpu.read(address, back)
            array[...] = back
    finally:
        for _, address in held:
            gpu.free(address)
