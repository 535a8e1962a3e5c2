"""The typed seam around numba-cuda and llvmlite: the rest of codegen/cuda takes these names from here, as values of
type Any."""

from __future__ import annotations

from importlib import import_module
from typing import Any

ir: Any = import_module("llvmlite.ir")
cuda: Any = import_module("numba.cuda")
types: Any = import_module("numba.cuda.types")
intrinsic: Any = import_module("numba.cuda.extending").intrinsic
TypingError: Any = import_module("numba.core.errors").TypingError
NUMBA_ERRORS: tuple[type[Exception], ...] = tuple(
    import_module(f"numba.{part}.errors").NumbaError for part in ("core", "cuda.core")
)
"""numba-cuda raises its own errors and those of Numba itself."""
compiler: Any = import_module("numba.cuda.compiler")
nvvm: Any = import_module("numba.cuda.cudadrv.nvvm")

# for the bodies of custom ops
arrays: Any = import_module("numba.cuda.np.arrayobj")
cgutils: Any = import_module("numba.cuda.cgutils")
CUDADispatcher: Any = import_module("numba.cuda.dispatcher").CUDADispatcher
CudaSupportError: type[Exception] = import_module("numba.cuda.cudadrv.error").CudaSupportError
