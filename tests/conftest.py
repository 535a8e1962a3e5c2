"""What all tests share: a folder of object code, and that tests marked `gpu` are skipped, and say so, without a GPU.

The folder is new for each run of the suite: nothing depends on what was compiled before, and no kernel is compiled
twice, whichever test, worker or child process asks for it.

`pytest tests/test_documents.py --update` writes what commands print now into the pages that show it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import tempfile

import pytest

# Before NumPy is imported: on few cores the threads of its BLAS mostly wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Compilers make millions of objects and hardly a cycle: looking for cycles each 700 objects takes a tenth of the time.
gc.set_threshold(20_000, 20, 10)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="write outputs and figures of now into docs/ and tests/golden/"
    )


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):  # of pytest-xdist, which inherits the folder
        return
    patch, folder = pytest.MonkeyPatch(), tempfile.mkdtemp(prefix="pelton-tests-")
    patch.setenv("PELTON_CACHE_DIR", folder)
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    config.add_cleanup(patch.undo)


def pytest_collection_finish() -> None:
    """What is loaded by now stays: the collector need not look at it again."""
    gc.collect()
    gc.freeze()


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
