"""What the compiler asks of a kind of device: the text of a kernel, and the code of that text.

Enters: a `kernel.func`. Leaves: a `Source`, then the bytes of a `KernelCode`. `cpu/backend.py` and `cuda/backend.py`
are the two there are.
"""

from __future__ import annotations

from typing import Protocol

from pelton.artifact import KernelCode
from pelton.codegen.source import Source
from pelton.dialects.kernel import FuncOp


class Backend(Protocol):
    """A kind of device, as precisely as code is made for it."""

    @property
    def name(self) -> str:
        """What people call it: `avx2`, `sm_90`."""
        ...

    @property
    def suffix(self) -> str:
        """How files of the readable form of its code end."""
        ...

    def source(self, function: FuncOp) -> Source:
        """The text of a kernel. Raises CompileError for an op or a schedule that it has no text for."""
        ...

    def key(self, source: Source) -> str:
        """The name under which the code of a text is kept."""
        ...

    def compile(self, source: Source) -> bytes:
        """The code of a text. Raises CompileError where the compiler refuses it."""
        ...

    def readable(self, source: Source) -> str:
        """The code of a text, as people read it."""
        ...

    def code(self, source: Source, data: bytes) -> KernelCode:
        """What the artifact keeps of a kernel."""
        ...

    def machine_code(self, code: KernelCode) -> bytes:
        """The machine code of a kernel whose code is none yet; empty where that cannot be made here, or is needless."""
        ...

    def printers(self, kernel: str) -> tuple[str, str]:
        """What `pelton-opt -t` calls the text and the code of a kernel."""
        ...
