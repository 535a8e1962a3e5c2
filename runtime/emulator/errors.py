"""What the emulator refuses, and how it says so.

Enters: the instruction and the thread at fault. Leaves: one exception whose message names both, and the kernel; where
the PTX says so, the line of the text that it was made from.

    DeviceError
    └─ EmulationError
       ├─ PtxSyntaxError         text the parser does not understand
       ├─ UnsupportedInstruction an instruction outside the emulated subset
       ├─ OutOfBounds            an access outside every buffer, shared or local variable
       ├─ Misaligned             an address that is no multiple of the access size
       ├─ Uninitialised          a use of memory or of a register that nobody wrote
       ├─ Race                   two threads touch one byte, one of them writes, no barrier between
       ├─ DivergentBarrier       threads that should meet at a barrier or warp operation do not
       ├─ InFlight               memory touched that an asynchronous copy or product still reads or writes
       ├─ Deadlock               threads wait for what nobody can bring about any more
       └─ DidNotFinish           more steps than the limit allows
"""

from __future__ import annotations

from pathlib import Path

from pelton.support.errors import DeviceError, PeltonError
from pelton.support.files import read_file


class EmulationError(DeviceError):
    """A kernel did something that a GPU would answer with a fault, a hang or a wrong result.

    Where it is found out only the number of the thread is known: `EmulationError(thread, text)`; machine.py adds what
    else there is to say.
    """

    thread: int | None = None

    def __init__(self, *found: int | str, **details: str) -> None:
        *thread, message = found
        super().__init__(str(message), **details)
        if thread:
            self.thread = int(thread[0])


class PtxSyntaxError(EmulationError):
    """Text the parser does not understand."""


class UnsupportedInstruction(EmulationError):
    """An instruction, type or rounding outside the emulated subset."""


class OutOfBounds(EmulationError):
    """An access outside every buffer, or outside shared or local memory."""


class Misaligned(EmulationError):
    """An address that is no multiple of the access size."""


class Uninitialised(EmulationError):
    """A use of memory or of a register that nobody wrote."""


class Race(EmulationError):
    """Two threads touch one byte, at least one writes, and no barrier stands between."""


class DivergentBarrier(EmulationError):
    """Threads that should meet at a barrier or a warp-wide operation do not."""


class InFlight(EmulationError):
    """Memory is touched that an asynchronous operation still reads or writes: nobody has waited for it."""


class Deadlock(EmulationError):
    """Threads wait for what nobody can bring about any more."""


class DidNotFinish(EmulationError):
    """The launch took more steps than its limit."""


def place(source: tuple[str, int] | None) -> dict[str, str]:
    """Details of an error: a line of a file, and its text where the file can be read."""
    if source is None:
        return {}
    path, number = source
    try:
        lines = read_file(Path(path)).decode(errors="replace").splitlines()
    except PeltonError:
        lines = list[str]()
    text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    return {"location": f"{path}:{number}", "source": text}
