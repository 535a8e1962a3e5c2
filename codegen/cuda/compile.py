"""Kernel text → PTX → machine code, with no GPU and no driver.

Enters: a `Source` and the number of threads per block. Leaves: PTX whose entry is the kernel's name and whose
parameters are the buffers, the sizes, `lo`, `hi` (i64 each) and the status words; then, by ptxas, a cubin. The same
source gives the same text in every process. Multiply and add never contract: NVVM is told so, and libdevice asks for
its fused ones by name.

On request the PTX says which line of the text each instruction comes from, for debuggers, profilers and the emulator.
Only lines: what Numba adds about variables changes how NVVM optimises, and is taken out.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from pelton.codegen.cuda import indices, user_body, vocabulary
from pelton.codegen.cuda.seam import NUMBA_ERRORS, compiler, nvvm, types
from pelton.codegen.cuda.words import STORAGE
from pelton.codegen.source import Source
from pelton.support.errors import CompileError
from pelton.support.files import write_atomically

RESIDENT = {32: 32, 64: 16, 128: 8}
"""Threads of a small block → how many such blocks a multiprocessor shall have room for, so that a thread has up to 64
registers. Left alone, ptxas aims for more blocks and for some architectures spills to get there.
"""
_OPTIONS = {"opt": 3, "fma": False}
_NUMBA_ENVIRONMENT = re.compile(r"^\.common \.global .*NumbaEnv\S*;\n", re.MULTILINE)
_VARIABLES = re.compile(r"^ *(?:tail )?call void @\"?llvm\.dbg\..*\n", re.MULTILINE)
_NOISE = re.compile(r"^\s*//.*\n|^\s*\n", re.MULTILINE)


def compile_ptx(
    source: Source, threads: int | None = None, cc: tuple[int, int] = (9, 0), *, lines: Path | None = None
) -> str:
    """The PTX of a kernel for compute capability `cc` and blocks of `threads` threads (those it was printed for).

    With a folder `lines`, the text is kept in it, by its content, and each instruction says which line it comes from;
    the code is the same. Raises CompileError, OSError where the text cannot be kept.
    """
    (ptx,) = compile_for_each([cc], source, threads, lines=lines)
    return ptx


def compile_for_each(
    ccs: Sequence[tuple[int, int]], source: Source, threads: int | None = None, *, lines: Path | None = None
) -> list[str]:
    """`compile_ptx` for several compute capabilities: the text is read once."""
    threads = threads or source.lanes
    if threads not in (32, 64, 128, 256, 512, 1024):
        raise CompileError(
            "a block has 32, 64, 128, 256, 512 or 1024 threads",
            op="kernel.func",
            location=f"@{source.name}",
            got=str(threads),
        )
    path = f"<{source.name}>" if lines is None else str(_kept(source, lines))
    if source.user_body:
        kernel: Any = user_body.kernel_of(source, path, ccs[0], lines is not None)
    else:
        namespace = vocabulary.names(threads)
        namespace["__name__"] = __name__
        exec(compile(indices.unsigned(source.text), path, "exec"), namespace)
        kernel = namespace[source.name]
    buffers = [types.CPointer(STORAGE[element]) for _, element in source.buffers]
    parameters = [*buffers, *[types.int64] * (len(source.symbols) + 2), types.CPointer(types.int64)]
    try:
        library = _library(kernel, parameters, threads, ccs[0], lines is not None)
    except Exception as error:  # of a user's body: Numba raises of every kind
        if source.user_body:
            raise user_body.refused_for_gpu(source, error, path) from error
        raise
    texts = ("\n".join(library.get_asm_strs(cc=cc)) for cc in ccs)
    plain = [_NOISE.sub("", _NUMBA_ENVIRONMENT.sub("", ptx + "\n")) for ptx in texts]
    return [user_body.checked(source, ptx) for ptx in plain] if source.user_body else plain


def _kept(source: Source, folder: Path) -> Path:
    """A file with the text, which is there for as long as nobody clears the folder."""
    path = folder.absolute() / hashlib.blake2b(source.text.encode(), digest_size=8).hexdigest() / f"{source.name}.py"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, source.text.encode())
    return path


def _library(function: Any, parameters: list[Any], threads: int, cc: tuple[int, int], lines: bool) -> Any:
    """Numba's code library, its kernel renamed to the function's own name."""
    try:
        result = compiler.compile_cuda(
            function, types.void, parameters, lineinfo=lines, nvvm_options=dict(_OPTIONS), cc=cc
        )
    except NUMBA_ERRORS as error:
        raise CompileError(
            "Numba refuses a kernel's text", op="kernel.func", location=f"@{function.__name__}", got=str(error).strip()
        ) from error
    library, description = attrgetter("library", "fndesc")(result)
    mangled = description.llvm_func_name
    kernel = library.get_function(mangled)
    compiler.kernel_fixup(kernel, False)
    nvvm.set_launch_bounds(kernel, (threads, RESIDENT[threads]) if threads in RESIDENT else (threads,))
    texts = [text.replace(mangled, function.__name__) for text in library.llvm_strs]
    library._llvm_strs = [_VARIABLES.sub("", text) for text in texts] if lines else texts
    return library


class Usage(NamedTuple):
    """What one kernel takes of a multiprocessor."""

    registers: int
    """Of each thread."""
    shared: int
    """Bytes of each block."""
    spilled: int
    """Bytes that a thread moves to memory and back because its registers do not suffice, and what else it keeps there.
    """


def assemble(ptx: str, registers: int | None = None) -> bytes:
    """The cubin of a PTX text, for the architecture its `.target` names; at most `registers` registers per thread if
    given."""
    return _assembled(ptx, registers)[0]


def usage_of(ptx: str) -> Usage:
    """What the one kernel of a PTX text takes, as ptxas says it."""
    report = _assembled(ptx, None)[1]
    registers, shared, *spills = (
        int(found[1]) if (found := re.search(rf"(\d+) {what}", report)) else 0
        for what in ("registers", "bytes smem", "bytes stack frame", "bytes spill stores", "bytes spill loads")
    )
    return Usage(registers, shared, sum(spills))


def _assembled(ptx: str, registers: int | None) -> tuple[bytes, str]:
    """The cubin, and what ptxas reports."""
    target = re.search(r"^\.target\s+(\w+)", ptx, re.MULTILINE)
    if target is None:
        raise CompileError("not a PTX text: it has no .target line", got=ptx[:40])
    with tempfile.TemporaryDirectory(prefix="pelton-") as folder:
        text, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        text.write_text(ptx)
        limit = [f"-maxrregcount={registers}"] if registers else []
        run = [ptxas(), "-v", f"-arch={target[1]}", "-O3", *limit, str(text), "-o", str(cubin)]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CompileError("ptxas refuses the PTX", got=(done.stderr + done.stdout).replace(folder, "").strip())
        return cubin.read_bytes(), done.stderr


def find_ptxas() -> str | None:
    """ptxas from the nvidia-cuda-nvcc wheel, else from PATH; None without one."""
    spec = find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for found in sorted(Path(folder).glob("cu*/bin/ptxas"), reverse=True):
            return str(found)
    return shutil.which("ptxas")


def ptxas() -> str:
    """The path of ptxas; CompileError says how to get it."""
    if (found := find_ptxas()) is None:
        raise CompileError(
            "ptxas is not installed", expected="ptxas of CUDA 13.0", remedy="pip install 'nvidia-cuda-nvcc==13.0.*'"
        )
    return found
