"""Running kernels of `kernels.mlir` (or any text) on the emulator: text → barriers → CUDA source → PTX → arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.parser import Parser

from pelton.codegen.cuda.compile import compile_ptx
from pelton.codegen.cuda.sources import cuda_source
from pelton.codegen.source import Source
from pelton.dialects.kernel import KERNEL, FuncOp
from pelton.passes.insert_barriers import InsertBarriers
from pelton.runtime.emulator import emulate

KERNELS = Path(__file__).parent / "kernels.mlir"


def functions(text: str, *, barriers: bool = True) -> dict[str, FuncOp]:
    """The kernel functions of a text by name, verified, with their barriers."""
    context = Context()
    for name, factory in get_all_dialects().items():
        context.register_dialect(name, factory)
    context.register_dialect("kernel", lambda: KERNEL)
    module = Parser(context, text).parse_module()
    module.verify()
    if barriers:
        InsertBarriers().apply(context, module)
        module.verify()
    return {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}


@cache
def source(name: str) -> Source:
    """The CUDA source of a kernel of kernels.mlir."""
    return cuda_source(functions(KERNELS.read_text())[name])


@cache
def ptx(name: str) -> str:
    """Its PTX."""
    return compile_ptx(source(name))


def launch(kernel: Source, text: str, items: int, buffers: Sequence[np.ndarray], sizes: Sequence[int]) -> list[int]:
    """Runs a kernel over its grid; buffers change in place. The status words: site, index, value (site 0: no check
    failed)."""
    status = np.zeros(3, np.int64)
    words = [b if b.dtype.kind in "biuf" else b.view(np.uint16) for b in buffers]
    words = [w.view(np.uint8) if w.dtype == np.bool_ else w for w in words]
    args: list[np.ndarray | int | float] = [*words, *sizes, 0, items, status]
    emulate(text, kernel.name, items, kernel.lanes, args)
    return status.tolist()


def run(name: str, items: int, buffers: Sequence[np.ndarray], *sizes: int) -> list[int]:
    """`launch` of a kernel of kernels.mlir."""
    return launch(source(name), ptx(name), items, buffers, sizes)
