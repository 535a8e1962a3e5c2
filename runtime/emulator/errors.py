"""What the emulator refuses, and how it says so.

Enters: the instruction and the thread at fault. Leaves: one exception whose message names both.

    EmulationError
      ├─ PtxSyntaxError         text the parser does not understand
      ├─ UnsupportedInstruction an instruction outside the emulated subset
      ├─ OutOfBounds            an access outside every buffer, shared or local variable
      ├─ Misaligned             an address that is no multiple of the access size
      ├─ Uninitialised          a read of shared or local memory nobody wrote
      ├─ Race                   two threads touch one byte, one of them writes, no barrier between
      ├─ DivergentBarrier       threads that should meet at a barrier or warp operation do not
      └─ DidNotFinish           more steps than the limit allows
"""

from __future__ import annotations


class EmulationError(Exception):
    """A kernel did something that a GPU would answer with a fault, a hang or a wrong result."""


class PtxSyntaxError(EmulationError):
    """Text the parser does not understand."""


class UnsupportedInstruction(EmulationError):
    """An instruction, type or rounding outside the emulated subset."""


class OutOfBounds(EmulationError):
    """An access outside every buffer, or outside shared or local memory."""


class Misaligned(EmulationError):
    """An address that is no multiple of the access size."""


class Uninitialised(EmulationError):
    """A read of shared or local memory that nobody wrote."""


class Race(EmulationError):
    """Two threads touch one byte, at least one writes, and no barrier stands between."""


class DivergentBarrier(EmulationError):
    """Threads that should meet at a barrier or a warp-wide operation do not."""


class DidNotFinish(EmulationError):
    """The launch took more steps than its limit."""
