"""Running PTX on a real GPU through the driver, called as the emulator is: arrays enter and are changed in place."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from pelton.codegen.cuda.compile import assemble

Array = np.ndarray[Any, Any]


@cache
def driver() -> Any:
    """The NVIDIA driver, with the first device's own context current."""
    found: Any = ctypes.CDLL("libcuda.so.1")
    _call(found, "cuInit", 0)
    device, context = ctypes.c_int(), ctypes.c_void_p()
    _call(found, "cuDeviceGet", ctypes.byref(device), 0)
    _call(found, "cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    _call(found, "cuCtxSetCurrent", context)
    return found


def _call(library: Any, name: str, *arguments: Any) -> None:
    """One call of the driver; RuntimeError with its own name for the error."""
    if code := getattr(library, name)(*arguments):
        text = ctypes.c_char_p()
        library.cuGetErrorName(code, ctypes.byref(text))
        raise RuntimeError(f"{name}: {(text.value or b'').decode() or code}")


@cache
def _module(ptx: str) -> Any:
    """The module of a PTX text, assembled here so that the driver's own assembler version does not matter."""
    module = ctypes.c_void_p()
    _call(driver(), "cuModuleLoadData", ctypes.byref(module), assemble(ptx))
    return module


def launch(
    ptx: str,
    entry: str,
    grid: int,
    block: int,
    args: Sequence[Array | int | float],
    shared: int = 0,
    *,
    check_races: bool = True,
) -> None:
    """Runs an entry and waits for it. The options that only the emulator has are taken and ignored."""
    function, memory = ctypes.c_void_p(), list[tuple[Array, ctypes.c_uint64]]()
    _call(driver(), "cuModuleGetFunction", ctypes.byref(function), _module(ptx), entry.encode())
    words = [_upload(a, memory) if isinstance(a, np.ndarray) else ctypes.c_int64(int(a)) for a in args]
    packed = (ctypes.c_void_p * len(words))(*(ctypes.addressof(w) for w in words))
    try:
        if grid:
            _call(driver(), "cuLaunchKernel", function, grid, 1, 1, block, 1, 1, shared, None, packed, None)
            _call(driver(), "cuCtxSynchronize")
        for array, address in memory:
            back = np.empty_like(array, order="C")
            if array.nbytes:
                _call(
                    driver(),
                    "cuMemcpyDtoH_v2",
                    ctypes.c_void_p(back.ctypes.data),
                    address,
                    ctypes.c_size_t(array.nbytes),
                )
            array[...] = back
    finally:
        for _, address in memory:
            _call(driver(), "cuMemFree_v2", address)


def _upload(array: Array, memory: list[tuple[Array, ctypes.c_uint64]]) -> ctypes.c_uint64:
    """Device memory with the array's contents."""
    address, held = ctypes.c_uint64(), np.ascontiguousarray(array)
    _call(driver(), "cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(array.nbytes, 1)))
    memory.append((array, address))
    if array.nbytes:
        _call(driver(), "cuMemcpyHtoD_v2", address, ctypes.c_void_p(held.ctypes.data), ctypes.c_size_t(array.nbytes))
    return address
