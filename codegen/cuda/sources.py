"""The CUDA text and the PTX of a kernel with all hand schedules at hand: what the compiler and `pelton-opt -t` call.

Enters: a `kernel.func`, or a module of them. Leaves: a `Source`, or text on a stream. Barriers are put in before the
text is printed.
"""

from __future__ import annotations

from typing import IO

from xdsl.dialects.builtin import ModuleOp

from pelton.codegen.cuda.printer import CudaPrinter, Schedule
from pelton.codegen.kernels import top_k_cuda
from pelton.codegen.kernels.matmul_cuda import MATMUL
from pelton.codegen.source import Source
from pelton.codegen.targets import kernels_of
from pelton.dialects.kernel import FuncOp
from pelton.kernels import top_k
from pelton.support.errors import CompileError

SCHEDULES: dict[str, Schedule] = {
    "matmul": MATMUL,
    top_k.SELECT: top_k_cuda.SELECT,
    top_k.SORT: top_k_cuda.SORT,
}


def cuda_source(func: FuncOp) -> Source:
    """The text of a function whose barriers are in place; CompileError for an op or a schedule without a text."""
    return CudaPrinter(func, SCHEDULES).source()


def print_numba_cuda(module: ModuleOp, out: IO[str]) -> None:
    """The Numba CUDA source of every kernel, in order."""
    out.write("\n\n".join(cuda_source(func).text for func in kernels_of(module)))


def print_ptx(module: ModuleOp, out: IO[str], *, cc: float = 9.0) -> None:
    """The PTX of every kernel for a compute capability, in order."""
    try:
        from pelton.codegen.cuda.compile import compile_ptx
    except ModuleNotFoundError as error:
        raise CompileError(
            "PTX is compiled by numba-cuda, which is not installed",
            got=str(error),
            remedy="pip install 'pelton[cuda]' (in a clone: pip install -e '.[cuda]')",
        ) from error

    major, minor = divmod(round(cc * 10), 10)
    texts = (compile_ptx(cuda_source(func), cc=(major, minor)) for func in kernels_of(module))
    out.write("\n".join(texts))
