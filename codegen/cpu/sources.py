"""The CPU text of a kernel with all hand schedules at hand: what the compiler and `pelton-opt -t numba-cpu` call.

Enters: a `kernel.func` and the instruction set that hand schedules are shaped for. Leaves: a `Source`, to
`codegen/cpu/compile.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from xdsl.dialects.builtin import ModuleOp

from pelton.codegen.cpu.printer import CpuPrinter
from pelton.codegen.cpu.target import target_named
from pelton.codegen.kernels import top_k_cpu
from pelton.codegen.kernels.custom_cpu import custom_source
from pelton.codegen.kernels.matmul_cpu import matmul_schedule
from pelton.codegen.source import Source
from pelton.codegen.targets import kernels_of
from pelton.dialects.kernel import FuncOp
from pelton.kernels.top_k import SELECT, SORT


def cpu_source(func: FuncOp, target: str = "avx2") -> Source:
    """The text of `func`. Raises CompileError for an op or a schedule that the CPU has no text for."""
    if (source := custom_source(func)) is not None:
        return source
    schedules = {"matmul": matmul_schedule(target), SELECT: top_k_cpu.select, SORT: top_k_cpu.sort}
    return CpuPrinter(func, schedules).source()


def cpu_sources(module: ModuleOp, target: str, kernel: str = "") -> Iterator[Source]:
    """The text of every kernel of a module, or of the one called `kernel`."""
    name = target_named(target).name
    sources = (cpu_source(op, name) for op in kernels_of(module))
    return (source for source in sources if kernel in ("", source.name))


def print_numba_cpu(module: ModuleOp, out: IO[str], *, cpu: str = "avx2", kernel: str = "") -> None:
    """Every kernel, or the one called `kernel`, as Numba text."""
    out.write("\n".join(source.text for source in cpu_sources(module, cpu, kernel)))
