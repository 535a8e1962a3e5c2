"""Where the CUDA driver's functions come from. Enters: nothing. Leaves: `cuda.bindings.driver`, initialised.

Nothing here is loaded before it is called. Next: `context.py` makes the calls. Tests put another object with the same
functions in the place of `load`.
"""

from __future__ import annotations

import ctypes
from importlib import import_module
from typing import Any

from pelton.support.errors import DeviceError

LIBRARY = "libcuda.so.1"
API = "cuda"


def load() -> Any:
    """The module `cuda.bindings.driver`, after `cuInit`. Raises DeviceError that says what was looked for."""
    try:
        ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise _none(f"the NVIDIA driver library {LIBRARY} cannot be loaded ({error})") from None
    try:
        api: Any = import_module("cuda.bindings.driver")
    except ImportError as error:
        raise _none(f"the package cuda-bindings cannot be imported ({error})", "pip install 'pelton[cuda]'") from None
    try:
        (status,) = api.cuInit(0)
    except Exception as error:  # of the binding, where the library is not what its name says
        raise _none(f"{LIBRARY} cannot be used ({error})", "reinstall the NVIDIA driver") from None
    if status:
        raise _none(f"cuInit of {LIBRARY} fails: {described(api, status)}", "nvidia-smi tells what is wrong")
    return api


def accelerator_count() -> int:
    """How many GPUs there are; 0 where the driver, or what Python needs to call it, is missing or fails."""
    try:
        status, count = load().cuDeviceGetCount()
    except Exception:  # whatever a damaged installation raises, there is no accelerator to be had
        return 0
    return 0 if status else int(count)


def described(api: Any, status: Any) -> str:
    """A result code as name, number and sentence, as far as the driver knows them."""
    _, text = api.cuGetErrorString(status)
    sentence = f": {text.decode(errors='replace')}" if text else ""
    return f"{getattr(status, 'name', 'CUDA_ERROR')} ({int(status)}){sentence}"


def _none(reason: str, remedy: str = "") -> DeviceError:
    return DeviceError(f"there is no accelerator: {reason}; use CPU()", remedy=remedy)
