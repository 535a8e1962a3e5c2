"""PTX → machine code for one architecture, in this process, by nvJitLink: no GPU and no driver are needed.

Enters: a PTX text. Leaves: a cubin, to `codegen/cuda/backend.py`, or nothing where nvJitLink (`nvidia-nvjitlink`) is
not installed: then the driver of the GPU translates the PTX when it is loaded.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from pelton.support.errors import CompileError

_TARGET = re.compile(r"^\.target\s+sm_(\w+)", re.MULTILINE)


def linked(ptx: str, entry: str) -> bytes | None:
    """The cubin of a PTX text; None without nvJitLink. Raises CompileError where that refuses the text."""
    try:
        api: Any = import_module("cuda.bindings.nvjitlink")
        api.version()
    except (ImportError, RuntimeError):  # the package, or the library behind it
        return None
    target = _TARGET.search(ptx)
    if target is None:
        raise CompileError("not a PTX text: it has no .target line", got=ptx[:40])
    options = [f"-arch=sm_{target[1]}", "-O3"]
    handle = api.create(len(options), options)
    try:
        data = ptx.encode()
        api.add_data(handle, api.InputType.PTX, data, len(data), entry)
        api.complete(handle)
        cubin = bytearray(api.get_linked_cubin_size(handle))
        api.get_linked_cubin(handle, cubin)
        return bytes(cubin)
    except api.nvJitLinkError as error:
        log = bytearray(api.get_error_log_size(handle))
        api.get_error_log(handle, log)
        text = bytes(log).rstrip(b"\0").decode(errors="replace").strip()
        raise CompileError("nvJitLink refuses the PTX", location=f"@{entry}", got=text or str(error)) from error
    finally:
        api.destroy(handle)
