"""The CUDA driver layer on a real GPU; tests/unit/test_cuda_driver*.py see it over a driver that is not there."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import pytest

from pelton.codegen.cuda.compile import assemble
from pelton.runtime.cuda.driver import CudaDriver
from pelton.runtime.driver import COPY, Node
from pelton.support.errors import DeviceCodeError, DeviceError
from pelton.tests.support.fake_cuda.shared import PTX, downloaded, in_thread, uploaded, work
from pelton.tests.support.process import fresh

pytestmark = pytest.mark.gpu
FAULT = f"""
from pelton.runtime.cuda.driver import CudaDriver
from pelton.runtime.driver import Address
from pelton.support.errors import DeviceLost

driver = CudaDriver()
held = driver.allocate(64)
add = driver.function({PTX!r}.replace("sm_90", driver.architecture), "add")
driver.launch(add, 1, 32, [Address(0), Address(0), 8, 1.0])
for _ in range(2):
    try:
        driver.synchronize()
    except DeviceLost as error:
        print(error.message)
driver.free(held)
driver.close()
"""


@pytest.fixture
def driver() -> Generator[CudaDriver]:
    found = CudaDriver()
    yield found
    found.close()


@pytest.fixture
def text(driver: CudaDriver) -> str:
    """The text of kernels for the GPU that is there."""
    return PTX.replace("sm_90", driver.architecture)


def test_the_life_of_a_driver(driver: CudaDriver, text: str) -> None:
    before = driver.free_memory
    work(driver, text)
    driver.synchronize()
    assert 0 < driver.free_memory <= driver.total_memory and before - driver.free_memory < 64 << 20


@pytest.mark.parametrize("size", [1, (4 << 20) - 1, 4 << 20, (12 << 20) + 5])
def test_bytes_go_there_and_back(driver: CudaDriver, size: int) -> None:
    array, out = np.random.default_rng(size).integers(0, 256, size, np.uint8), np.zeros(size, np.uint8)
    x, y = uploaded(driver, array), driver.allocate(size)
    driver.copy(y, x, size)
    driver.read(y, out)
    assert np.array_equal(out, array)


def test_code_that_does_not_fit_is_refused(driver: CudaDriver, text: str) -> None:
    with pytest.raises(DeviceCodeError, match="ptxas"):
        driver.function(text.replace("mad.lo.u32", "mad.low.u32"), "add")
    with pytest.raises(DeviceCodeError, match="no entry sub"):
        driver.function(text, "sub")
    cubin = assemble(text)
    other = "sm_80" if driver.architecture != "sm_80" else "sm_90"
    assert [parameter.size for parameter in driver.function(cubin, "add").parameters] == [8, 8, 4, 4]
    for code, message in (
        (cubin[: len(cubin) // 2], "damaged"),
        (assemble(PTX.replace("sm_90", other)), "failed on gpu:0"),
    ):
        with pytest.raises(DeviceCodeError, match=message):
            driver.function(code, "add")
    driver.synchronize()


def test_limits(driver: CudaDriver, text: str) -> None:
    bare = driver.function(text, "bare")
    with pytest.raises(MemoryError):
        driver.allocate(driver.total_memory)
    with pytest.raises(DeviceError, match="a grid of 2147483648"):
        driver.launch(bare, 2**31, 32, [])
    driver.launch(bare, 0, 32, [])
    driver.launch(bare, 1, 1024, [], bare.dynamic)
    driver.free(driver.allocate(driver.free_memory // 2))
    driver.synchronize()


def test_a_graph_is_read_back_as_it_was_captured(driver: CudaDriver, text: str) -> None:
    x, y = uploaded(driver, np.zeros(64, np.float32)), uploaded(driver, np.zeros(64, np.float32))
    add = driver.function(text, "add")
    driver.begin_capture()
    for number in range(12):
        driver.launch(add, 2, 32, [x, y, 64 - number, 1.0])
        driver.copy(x, y, 256)
    in_thread(lambda: (driver.launch(add, 2, 32, [x, y, 64, 0.0]), driver.free(driver.allocate(1000))))
    graph = driver.end_capture()
    nodes = [[Node("add", 2, 32, 0, (x, y, 64 - n, 1.0)), Node(COPY, 256, 1, 0, (x, y, 256))] for n in range(12)]
    assert driver.nodes(graph) == tuple(node for pair in nodes for node in pair)
    driver.replay(graph)
    assert downloaded(driver, x, 64) == [12] * 53 + list(range(11, 0, -1))
    driver.release(graph)


def test_a_fault_loses_the_device_and_the_process_goes_on() -> None:
    first, second = fresh(FAULT).splitlines()
    assert first.startswith("cuStreamSynchronize failed on gpu:0: CUDA_ERROR_ILLEGAL_ADDRESS (700)")
    assert second == "cuStreamSynchronize on gpu:0: the device is lost since an earlier fault"
