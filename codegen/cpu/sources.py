"""The CPU text of a kernel with all hand schedules at hand: what the compiler calls.

Enters: a `kernel.func` and the instruction set that hand schedules are shaped for. Leaves: a `Source`, to
`codegen/cpu/compile.py`.
"""

from __future__ import annotations

from pelton.codegen.cpu.printer import CpuPrinter
from pelton.codegen.source import Source
from pelton.dialects.kernel import FuncOp


def cpu_source(func: FuncOp, target: str = "avx2") -> Source:
    """The text of `func`. Raises CompileError for an op or a schedule that the CPU has no text for."""
    return CpuPrinter(func, {}).source()
