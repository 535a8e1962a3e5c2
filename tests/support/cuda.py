"""Running kernels of `kernels.mlir` (or any text) on the emulator: text → barriers → CUDA source → PTX → arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.context import Context

from pelton.codegen.cuda.compile import compile_ptx
from pelton.codegen.cuda.sources import cuda_source
from pelton.codegen.source import Source
from pelton.dialects.kernel import FuncOp
from pelton.passes.insert_barriers import InsertBarriers
from pelton.runtime.emulator import emulate
from pelton.tests.support.kernels import functions_of, kernel_module

Array = np.ndarray[Any, Any]
KERNELS = Path(__file__).parent / "kernels.mlir"


def functions(text: str) -> dict[str, FuncOp]:
    """The kernel functions of a text by name, verified, with their barriers."""
    module = kernel_module(text)
    InsertBarriers().apply(Context(), module)
    module.verify()
    return functions_of(module)


@cache
def source(name: str) -> Source:
    """The CUDA source of a kernel of kernels.mlir."""
    return cuda_source(functions(KERNELS.read_text())[name])


@cache
def ptx(name: str) -> str:
    """Its PTX."""
    return compile_ptx(source(name))


def launch(
    kernel: Source, text: str, items: int, buffers: Sequence[Array], sizes: Sequence[int], *, check_races: bool = True
) -> list[int]:
    """Runs a kernel over its grid; buffers change in place. The status words: site, index, value (site 0: no check
    failed)."""
    status = np.zeros(3, np.int64)
    words = [b if b.dtype.kind in "biuf" else b.view(np.uint16) for b in buffers]
    words = [w.view(np.uint8) if w.dtype == np.bool_ else w for w in words]
    args: list[Array | int | float] = [*words, *sizes, 0, items, status]
    emulate(text, kernel.name, items, kernel.lanes, args, check_races=check_races)
    return status.tolist()


def run(name: str, items: int, buffers: Sequence[Array], *sizes: int) -> list[int]:
    """`launch` of a kernel of kernels.mlir."""
    return launch(source(name), ptx(name), items, buffers, sizes)
