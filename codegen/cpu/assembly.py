"""What `pelton-opt -t asm` prints: every kernel of a module as the assembly it becomes for one instruction set."""

from __future__ import annotations

from typing import IO

from xdsl.dialects.builtin import ModuleOp

from pelton.codegen.cpu.compile import assembly
from pelton.codegen.cpu.sources import cpu_sources
from pelton.codegen.cpu.target import target_named


def print_asm(module: ModuleOp, out: IO[str], *, cpu: str = "avx2", kernel: str = "") -> None:
    """Every kernel, or the one called `kernel`, as assembly of the target `cpu`.

    Raises CompileError for what the CPU has no text for.
    """
    target = target_named(cpu)
    out.write("\n".join(assembly(source, target) for source in cpu_sources(module, cpu, kernel)))
