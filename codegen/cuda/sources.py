"""The CUDA text and the PTX of a kernel with all hand schedules at hand: what the compiler and `pelton-opt -t` call.

Enters: a `kernel.func`, or a module of them. Leaves: a `Source`, or text on a stream. Barriers are put in before the
text is printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from xdsl.dialects.builtin import ModuleOp

from pelton.codegen.cuda.printer import CudaPrinter, Schedule, threads_of
from pelton.codegen.kernels import top_k_cuda
from pelton.codegen.kernels.custom_cuda import custom_source
from pelton.codegen.kernels.matmul_cuda import MATMUL
from pelton.codegen.source import Source
from pelton.codegen.targets import kernels_of
from pelton.dialects.kernel import FuncOp
from pelton.kernels import top_k
from pelton.support.knobs import cache_folder

SCHEDULES: dict[str, Schedule] = {
    "matmul": MATMUL,
    top_k.SELECT: top_k_cuda.SELECT,
    top_k.SORT: top_k_cuda.SORT,
}


def cuda_source(func: FuncOp) -> Source:
    """The text of a function whose barriers are in place; CompileError for an op or a schedule without a text."""
    return custom_source(func, threads_of(func, {})) or CudaPrinter(func, SCHEDULES).source()


def cuda_sources(module: ModuleOp, kernel: str = "") -> Iterator[Source]:
    """The text of every kernel of a module that is for a GPU or does not say, or of the one called `kernel`."""
    kernels = kernels_of(module)
    marked = [func for func in kernels if func.is_for_gpu]
    sources = (cuda_source(func) for func in marked or kernels)
    return (source for source in sources if kernel in ("", source.name))


def print_numba_cuda(module: ModuleOp, out: IO[str], *, kernel: str = "") -> None:
    """The Numba CUDA source of every kernel, or of the one called `kernel`."""
    out.write("\n\n".join(source.text for source in cuda_sources(module, kernel)))


def print_ptx(module: ModuleOp, out: IO[str], *, cc: float = 9.0, kernel: str = "", lines: bool = False) -> None:
    """The PTX of every kernel, or of the one called `kernel`, for a compute capability.

    `lines`: each instruction says which line of the CUDA text it comes from; that text is kept in the cache folder.
    """
    from pelton.codegen.cuda.backend import CudaBackend

    major, minor = divmod(round(cc * 10), 10)
    backend = CudaBackend((major, minor), lines=cache_folder() / "sources" if lines else None)
    out.write("\n".join(backend.readable(source) for source in cuda_sources(module, kernel)))
