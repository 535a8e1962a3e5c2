"""What `pelton-opt -t NAME` can print: a table from a target's name to the function that prints a module for it.

An entry is `"module:function"`, so that a target's code is imported only when somebody asks for it. The function takes
the module and a text stream; keyword-only parameters (str, int, float or bool, each with a default) are its options,
given as `-t 'asm{cpu=avx2}'`. It raises a PeltonError for a module it cannot print.
"""

from __future__ import annotations

import importlib
from typing import IO, Protocol, cast

from xdsl.dialects.builtin import ModuleOp

from pelton.dialects.kernel import FuncOp
from pelton.support.errors import CompileError


class PrintTarget(Protocol):
    """Prints `module` on `out`."""

    def __call__(self, module: ModuleOp, out: IO[str], **options: str | int | float | bool) -> None: ...


TARGETS: dict[str, str] = {
    "numba-cpu": "pelton.codegen.cpu.sources:print_numba_cpu",
    "asm": "pelton.codegen.cpu.assembly:print_asm",
    "numba-cuda": "pelton.codegen.cuda.sources:print_numba_cuda",
    "ptx": "pelton.codegen.cuda.sources:print_ptx",
}
"""Name → `"package.module:function"`."""


def kernels_of(module: ModuleOp) -> list[FuncOp]:
    """The kernels that a target prints. Raises CompileError for a module without any."""
    kernels = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    if not kernels:
        raise CompileError(
            "there is no kernel to print",
            expected="a module with a kernel.func",
            remedy="lower the graph first: -p cpu-avx2, or another pipeline",
        )
    return kernels


def load_target(name: str) -> PrintTarget:
    """The function that prints target `name`; KeyError when there is no such target."""
    module, _, function = TARGETS[name].partition(":")
    return cast(PrintTarget, getattr(importlib.import_module(module), function))
