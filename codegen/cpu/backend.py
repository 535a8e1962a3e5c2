"""The CPU as a `Backend`: Numba text, then object code by LLVM. Numba is imported where something must be compiled."""

from __future__ import annotations

from dataclasses import dataclass

from pelton.artifact import KernelCode
from pelton.codegen.cpu.sources import cpu_source
from pelton.codegen.cpu.target import CpuTarget
from pelton.codegen.key import object_key
from pelton.codegen.source import Source
from pelton.dialects.kernel import FuncOp


@dataclass(frozen=True)
class CpuBackend:
    """One instruction set."""

    target: CpuTarget
    suffix: str = ".s"

    @property
    def name(self) -> str:
        return self.target.name

    def source(self, function: FuncOp) -> Source:
        return cpu_source(function, self.name)

    def key(self, source: Source) -> str:
        return object_key(source, self.target)

    def compile(self, source: Source) -> bytes:
        from pelton.codegen.cpu.compile import compile_sources

        return compile_sources([source], self.target)[source.name]

    def readable(self, source: Source) -> str:
        from pelton.codegen.cpu.compile import assembly

        return assembly(source, self.target)

    def code(self, source: Source, data: bytes) -> KernelCode:
        return KernelCode(source.name, data)

    def machine_code(self, code: KernelCode) -> bytes:
        return b""

    def printers(self, kernel: str) -> tuple[str, str]:
        options = f"{{cpu={self.name} kernel={kernel}}}"
        return f"numba-cpu{options}", f"asm{options}"
