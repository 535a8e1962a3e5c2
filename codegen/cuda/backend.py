"""A GPU as a `Backend`: Numba CUDA text, then PTX. numba-cuda is imported where something must be compiled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pelton.artifact import KernelCode
from pelton.codegen.cuda.sources import cuda_source
from pelton.codegen.key import ptx_key
from pelton.codegen.source import Source
from pelton.dialects.kernel import FuncOp
from pelton.support.errors import CompileError

ARCHITECTURE = re.compile(r"sm_(\d+)(\d)")


@dataclass(frozen=True)
class CudaBackend:
    """One compute capability; its PTX runs on later ones too."""

    cc: tuple[int, int]
    suffix: str = ".ptx"
    lines: Path | None = None
    """Where texts are kept so that what is readable can say which line of one an instruction comes from."""
    traced: Path | None = None
    """The same for what is compiled; where a text cannot be kept, its code says nothing of lines."""

    @classmethod
    def named(cls, architecture: str) -> CudaBackend:
        """The backend of `sm_90` and the like. Raises CompileError for any other word."""
        found = ARCHITECTURE.fullmatch(architecture)
        if found is None:
            raise CompileError("no such GPU architecture", expected="such as sm_90", got=repr(architecture))
        return cls((int(found[1]), int(found[2])))

    @property
    def name(self) -> str:
        return f"sm_{self.cc[0]}{self.cc[1]}"

    def source(self, function: FuncOp) -> Source:
        return cuda_source(function)

    def key(self, source: Source) -> str:
        return ptx_key(source, self.name if self.traced is None else f"{self.name} with the lines of {self.traced}")

    def compile(self, source: Source) -> bytes:
        try:
            return self._ptx(source, self.traced).encode()
        except OSError:
            return self._ptx(source, None).encode()

    def readable(self, source: Source) -> str:
        try:
            return self._ptx(source, self.lines)
        except OSError as error:
            raise CompileError(f"cannot keep a kernel's text in {self.lines}: {error}") from error

    def _ptx(self, source: Source, lines: Path | None) -> str:
        try:
            from pelton.codegen.cuda.compile import compile_ptx
        except ModuleNotFoundError as error:
            raise CompileError(
                "PTX is compiled by numba-cuda, which is not installed",
                got=str(error),
                remedy="pip install 'pelton[cuda]' (in a clone: pip install -e '.[cuda]')",
            ) from error
        return compile_ptx(source, cc=self.cc, lines=lines)

    def code(self, source: Source, data: bytes) -> KernelCode:
        return KernelCode(source.name, data, source.lanes, len(source.buffers))

    def machine_code(self, code: KernelCode) -> bytes:
        from pelton.codegen.cuda.cubin import linked

        return linked(code.code.decode(), code.name) or b""

    def printers(self, kernel: str) -> tuple[str, str]:
        return f"numba-cuda{{kernel={kernel}}}", f"ptx{{cc={self.cc[0]}.{self.cc[1]} kernel={kernel}}}"
