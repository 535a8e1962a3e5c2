"""What all tests share: tests marked `gpu` are skipped where no NVIDIA GPU can be used, and each test says so.

`pytest tests/test_documents.py --update` writes what commands print now into the pages that show it.
"""

from __future__ import annotations

import ctypes
import os

import pytest

# Before NumPy is imported: on few cores the threads of its BLAS mostly wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the outputs of commands into the pages of docs/")


def gpu_count() -> int:
    """GPUs the NVIDIA driver offers; 0 without a driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    ready = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
    return count.value if ready else 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and gpu_count() == 0:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU here"))
