"""A PTX emulator in NumPy: what our kernels mean on a GPU, on a machine without one.

    PTX text → parser.py (syntax) → link.py (numbered registers, inlined calls) → blocks.py (basic blocks of steps)
             → schedule.py (who goes next) over machine.py (all threads of a batch of blocks) → memory, changed

`emulate` does so for arrays; driver.py is a device, whose memory (heap.py) outlives a launch. Steps come from

    rules.py (values)  access.py (memory, barriers)  atomics.py  warp.py (exchanges)  matrices.py, warpgroups.py
    async_steps.py (cp.async, mbarrier)  bulk_steps.py (bulk copies, tensor maps)

It refuses what a GPU does not forgive: accesses outside a buffer, misaligned ones, uses of memory and registers that
nobody wrote, races within a block, barriers that not all threads reach, reads of what an asynchronous copy has not
brought yet, waits in vain. Needs NumPy alone. What is modelled and what is not: docs/emulator.md.
"""

from __future__ import annotations

from pelton.runtime.emulator.errors import (
    Deadlock,
    DidNotFinish,
    DivergentBarrier,
    EmulationError,
    InFlight,
    Misaligned,
    OutOfBounds,
    PtxSyntaxError,
    Race,
    Uninitialised,
    UnsupportedInstruction,
)
from pelton.runtime.emulator.launch import emulate
from pelton.runtime.emulator.tensor_map import TensorMap, Tiled

__all__ = [
    "Deadlock",
    "DidNotFinish",
    "DivergentBarrier",
    "EmulationError",
    "InFlight",
    "Misaligned",
    "OutOfBounds",
    "PtxSyntaxError",
    "Race",
    "TensorMap",
    "Tiled",
    "Uninitialised",
    "UnsupportedInstruction",
    "emulate",
]
