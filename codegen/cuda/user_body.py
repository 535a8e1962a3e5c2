"""The functions of a text with a user's body, for all of numba-cuda: its types, its arrays, `cuda.shared` and the rest.

Enters: a `Source` whose text a user wrote in part; its last function is the kernel. Leaves: that function, the others
in its globals as functions of the GPU, to `compile.py`. All of it is inlined into the kernel.
"""

from __future__ import annotations

import math
import re
from types import FunctionType
from typing import Any

from pelton.codegen.cuda.seam import CUDADispatcher, CudaSupportError, arrays, cgutils, compiler, cuda, intrinsic, types
from pelton.codegen.cuda.words import STORAGE
from pelton.codegen.refused import refused
from pelton.codegen.source import Source
from pelton.codegen.user_arrays import Toolkit, array_words
from pelton.support.errors import CompileError

SHARED = re.compile(r"_cudapy_(?:s|l)mem_\d+")
INLINED = re.compile(r", function_name .*|^\s*\.section\s+\.debug_str\s*\{[^}]*\}\n", re.MULTILINE)
"""What lines say of the functions that were inlined, and the names of these."""


class _Function(CUDADispatcher):
    """A function that a kernel calls. Numba's own asks the driver which GPU it is for."""

    def __init__(self, function: FunctionType, cc: tuple[int, int], lines: bool) -> None:
        super().__init__(function, {"device": True})  # pyright: ignore[reportUnknownMemberType]
        self.cc, self.lines = cc, lines

    def compile_device(self, args: Any, return_type: Any = None) -> Any:
        if args not in self.overloads:
            done = compiler.compile_cuda(
                self.py_func, return_type, args, lineinfo=self.lines, forceinline=True, nvvm_options={"opt": 3},
                cc=self.cc,
            )  # fmt: skip
            self.overloads[args] = done
            done.target_context.insert_user_function(done.entry_point, done.fndesc, [done.library])
        return self.overloads[args]


def kernel_of(source: Source, path: str, cc: tuple[int, int], lines: bool) -> FunctionType:
    """The kernel of a text with a user's body, which stands in the file `path`."""
    namespace: dict[str, Any] = {"nan": math.nan, "inf": math.inf, "_grid": cuda, **array_words(source, KIT)}
    exec(compile(source.text, path, "exec"), namespace)  # an extension is code that the user runs
    functions = [(k, v) for k, v in namespace.items() if isinstance(v, FunctionType) and v.__code__.co_filename == path]
    for key, function in functions[:-1]:
        namespace[key] = _Function(function, cc, lines)
    kernel = functions[-1][1]
    kernel.__name__ = source.name
    return kernel


def refused_for_gpu(source: Source, error: Exception, path: str) -> CompileError:
    """Why Numba does not compile a text that stands in the file `path`."""
    cause = error.__cause__ or error
    allocates = isinstance(cause, CudaSupportError)  # it asked the driver for its allocator
    return refused(source, RuntimeError("NRT required") if allocates else cause, path, "cuda body")


def checked(source: Source, ptx: str) -> str:
    """The PTX with its own numbers for shared and local memory: Numba's go on from one kernel to the next; its lines
    are those of the text alone. Raises CompileError where it calls what is not in it.
    """
    if called := re.findall(r"\.extern \.func[^;]*?(\w+)\s*(?:\(|;)", ptx):
        reason = "NRT required" if "NRT" in "".join(called) else f"it calls {', '.join(called)}, which no GPU has"
        raise refused(source, RuntimeError(reason), body="cuda body")
    known: dict[str, str] = {}
    plain = INLINED.sub("", ptx)
    return SHARED.sub(lambda m: known.setdefault(m[0], f"{m[0].rpartition('_')[0]}_{len(known) + 1}"), plain)


def _element(kind: str) -> Any:
    return types.boolean if kind == "i1" else STORAGE[kind]


def _buffer(dtype: Any) -> Any:
    return types.CPointer(types.uint8 if dtype is types.boolean else dtype)


def _place(builder: Any, buffer: Any, element: Any, size: Any, pointer: Any) -> Any:
    return builder.bitcast(builder.gep(buffer, [element]), pointer)


KIT = Toolkit(types, cgutils, arrays, intrinsic, _element, _buffer, _place)
