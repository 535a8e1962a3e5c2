"""The CUDA driver layer over a driver that is not there: which calls it makes, what it gives back, what it refuses."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest

from pelton.runtime.cuda import binding
from pelton.runtime.cuda.driver import CudaDriver
from pelton.runtime.driver import Address, Driver
from pelton.support.errors import DeviceCodeError, DeviceError, DeviceMemoryError
from pelton.tests.support.fake_cuda.driver import FakeCuda
from pelton.tests.support.fake_cuda.shared import HALF, PTX, downloaded, uploaded


# ---- which calls
def test_it_is_a_driver(fake: FakeCuda) -> None:
    driver: Driver = CudaDriver()
    assert (driver.architecture, driver.total_memory) == ("sm_90", 64 << 20)
    assert CudaDriver(1).architecture == "sm_80"


def test_opening_takes_context_stream_and_pool_and_closing_gives_them_back(fake: FakeCuda) -> None:
    driver = CudaDriver()
    assert [name for name in fake.names() if "Attribute" not in name] == [
        "cuDeviceGet",
        "cuDevicePrimaryCtxRetain",
        "cuStreamCreate",
        "cuMemGetInfo",
        "cuMemPoolCreate",
    ]
    assert fake.live() == {"context": 1, "stream": 1, "pool": 1}
    fake.calls.clear()
    driver.close()
    driver.close()
    assert fake.names() == [
        "cuStreamSynchronize",
        "cuStreamSynchronize",
        "cuMemPoolDestroy",
        "cuStreamDestroy",
        "cuDevicePrimaryCtxRelease",
    ]
    assert not fake.live() and not fake.leaked


def test_memory_comes_from_the_pool_without_waiting(fake: FakeCuda, driver: CudaDriver) -> None:
    x = driver.allocate(1000)
    assert x % 256 == 0 and isinstance(x, Address)
    driver.free(x)
    assert fake.names() == ["cuMemAllocFromPoolAsync", "cuMemFreeAsync"]
    (pool,) = (value for kind, _, value in fake.objects.values() if kind == "pool")
    assert (pool.keeps, pool.device) == (2**64 - 1, 0)


def test_memory_of_a_device_without_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeCuda(pools=False)
    monkeypatch.setattr(binding, "load", lambda: fake)
    driver = CudaDriver()
    fake.calls.clear()
    x, y = driver.allocate(100), driver.allocate(0)
    driver.free(x)
    assert driver.free_memory == (64 << 20) - 1
    driver.write(y, np.zeros(0))
    driver.close()
    assert fake.names()[:3] == ["cuMemAlloc", "cuMemAlloc", "cuMemFree"]
    assert not fake.live() and not fake.leaked


def test_bytes_go_through_pinned_memory(fake: FakeCuda, driver: CudaDriver) -> None:
    x = uploaded(driver, np.arange(6, dtype=np.float32).reshape(2, 3).T)
    assert downloaded(driver, x, 6) == [0, 3, 1, 4, 2, 5]
    halves = ["cuEventCreate", "cuMemHostAlloc"] * 2
    write = ["cuEventSynchronize", "cuMemcpyHtoDAsync", "cuEventRecord"]
    read = ["cuEventSynchronize", "cuMemcpyDtoHAsync", "cuEventRecord", "cuEventSynchronize"]
    assert fake.names() == ["cuMemAllocFromPoolAsync", *halves, *write, *read]


@pytest.mark.parametrize("size", [HALF - 1, HALF, HALF + 1, 2 * HALF, 3 * HALF + 5, 4 * HALF])
def test_long_copies_go_in_halves(driver: CudaDriver, size: int) -> None:
    array = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    x = uploaded(driver, array)
    second = uploaded(driver, array[::-1])
    out = np.zeros(size, np.uint8)
    driver.read(x, out)
    assert np.array_equal(out, array)
    driver.read(second, out)
    assert np.array_equal(out, array[::-1])


def test_a_launch_is_one_call(fake: FakeCuda, driver: CudaDriver) -> None:
    x, y = uploaded(driver, np.arange(4, dtype=np.float32)), driver.allocate(16)
    function = driver.function(PTX, "add")
    assert driver.function(PTX, "add") is function
    loading = fake.names()[fake.names().index("cuModuleLoadData") :]
    assert loading[1:5] == ["cuModuleGetFunction", "cuFuncGetAttribute", "cuFuncGetAttribute", "cuFuncLoad"]
    assert loading[5:] == ["cuFuncSetAttribute", *["cuFuncGetParamInfo"] * 5]
    fake.calls.clear()
    driver.launch(function, 3, 64, [x, y, 4, 0.5], 100 << 10)
    assert [call.name for call in fake.calls] == ["cuLaunchKernel"]
    assert fake.calls[0].arguments[1:8] == (3, 1, 1, 64, 1, 1, 100 << 10)
    assert downloaded(driver, y, 4) == [0.5, 1.5, 2.5, 3.5]


def test_a_prepared_launch_is_run_again_with_other_arguments(fake: FakeCuda, driver: CudaDriver) -> None:
    x = uploaded(driver, np.arange(4, dtype=np.float32))
    launch = driver.prepare(driver.function(PTX, "add"), 1, 32, [x, x, 4, 1.0])
    run, held = launch.run, launch.arguments
    assert held == struct.pack("<QQIf", x, x, 4, 1.0)
    run()
    launch.set(2, 2)
    launch.set(3, -4.0)
    del launch
    run()
    assert downloaded(driver, x, 4) == [-3, -2, 3, 4]


def test_two_entries_of_a_text_are_one_module(fake: FakeCuda, driver: CudaDriver) -> None:
    driver.launch(driver.function(PTX, "bare"), 1, 1, [])
    driver.function(PTX, "add")
    assert fake.names().count("cuModuleLoadData") == 1
    driver.synchronize()


def test_copies_within_the_device(fake: FakeCuda, driver: CudaDriver) -> None:
    x = uploaded(driver, np.arange(8, dtype=np.float32))
    driver.copy(x.at(16), x, 16)
    assert downloaded(driver, x, 8) == [0, 1, 2, 3] * 2
    for target, expected in ((4, [0, 0, 1, 2, 3, 0, 1, 2]), (0, [0, 1, 2, 3, 0, 1, 2, 2])):
        driver.copy(x.at(target), x.at(4 - target), 28)
        assert downloaded(driver, x, 8) == expected


def test_nothing_is_called_for_nothing(fake: FakeCuda, driver: CudaDriver) -> None:
    x, function = driver.allocate(0), driver.function(PTX, "add")
    fake.calls.clear()
    driver.write(x, np.zeros((0, 3)))
    driver.read(x, np.zeros((3, 0)))
    driver.copy(x, x, 0)
    driver.launch(function, 0, 32, [x, x, 0, 0.0])
    assert not fake.calls


def test_moments_tell_seconds(fake: FakeCuda, driver: CudaDriver) -> None:
    function = driver.function(PTX, "bare")
    first = driver.mark()
    for _ in range(3):
        driver.launch(function, 1, 32, [])
    second = driver.mark()
    assert driver.seconds(first, second) == pytest.approx(0.003)
    with pytest.raises(ValueError, match="a moment serves for one duration"):
        driver.seconds(first, second)
    driver.seconds(driver.mark(), driver.mark())
    assert fake.live()["event"] == 2


# ---- memory runs out
def test_memory_that_the_pool_keeps_is_free_and_is_given_back_where_another_size_needs_it(
    fake: FakeCuda, driver: CudaDriver
) -> None:
    large = driver.allocate(40 << 20)
    driver.free(large)
    assert driver.free_memory == driver.total_memory
    fake.calls.clear()
    driver.allocate(44 << 20)
    taken = "cuMemAllocFromPoolAsync"
    assert [n for n in fake.names() if "Error" not in n] == [taken, "cuStreamSynchronize", "cuMemPoolTrimTo", taken]


def test_too_much_memory_is_a_memory_error(fake: FakeCuda, driver: CudaDriver) -> None:
    x = driver.allocate(40 << 20)
    with pytest.raises(MemoryError, match=r"cuMemAllocFromPoolAsync failed on gpu:0: .*OUT_OF_MEMORY \(2\)") as caught:
        driver.allocate(40 << 20)
    assert isinstance(caught.value, DeviceMemoryError)
    assert "41943040 bytes" in str(caught.value) and "smaller batches" in str(caught.value)
    with pytest.raises(MemoryError, match="the device has 67108864 in all"):
        driver.allocate(1 << 70)
    driver.free(x)
    driver.allocate(40 << 20)


# ---- what is refused
def test_wrong_addresses_are_refused(driver: CudaDriver) -> None:
    x = driver.allocate(8)
    for address, text in ((x, "12 bytes at byte 0 of an allocation of 8"), (x.at(300), "lies in no allocation")):
        for call in (
            lambda at: driver.write(at, np.zeros(3, np.uint32)),
            lambda at: driver.read(at, np.zeros(3, np.uint32)),
            lambda at: driver.copy(at, at, 12),
        ):
            with pytest.raises(DeviceError, match=re.escape(text)):
                call(address)
    with pytest.raises(ValueError, match="C-contiguous"):
        driver.read(x, np.zeros((2, 2), np.uint8)[:, 1])
    with pytest.raises(ValueError, match="at least 0"):
        driver.allocate(-1)
    driver.free(x)
    for address in (x, Address(0)):
        with pytest.raises(DeviceError, match="free on gpu:0: no allocation starts at"):
            driver.free(address)


@pytest.mark.parametrize(
    ("grid", "block", "shared", "message"),
    [
        (-1, 32, 0, "a grid of -1\n.*0 to 2147483647"),
        (2**31, 32, 0, "a grid of 2147483648\n.*0 to 2147483647"),
        (1, 0, 0, "a block of 0\n.*1 to 512"),
        (1, 544, 0, "a block of 544\n.*1 to 512"),
        (1, 32, -1, "shared memory of -1\n.*0 to 231424"),
        (1, 32, 227 << 10, "shared memory of 232448\n.*0 to 231424"),
    ],
)
def test_a_launch_beyond_a_limit_is_refused(
    fake: FakeCuda, driver: CudaDriver, grid: int, block: int, shared: int, message: str
) -> None:
    function = driver.function(PTX, "bare")
    fake.calls.clear()
    with pytest.raises(DeviceError, match="launch of bare: .*" + message):
        driver.launch(function, grid, block, [], shared)
    assert not fake.calls


def test_wrong_arguments_are_refused(fake: FakeCuda, driver: CudaDriver) -> None:
    function, x = driver.function(PTX, "add"), driver.allocate(4)
    for args, message in (
        ([x, x, 1], "wrong number of arguments"),
        ([x, x, 1 << 32, 0.0], "argument 2 does not fit"),
        ([x, x, -(1 << 31) - 1, 0.0], "argument 2 does not fit"),
        ([x, x, Address(1), 0.0], "argument 2 does not fit"),
    ):
        with pytest.raises(DeviceError, match=f"launch of add: {message}"):
            driver.launch(function, 1, 32, args)
    for other in ("add", None, CudaDriver(1).function(PTX.replace("90", "80"), "add")):
        with pytest.raises(TypeError, match="launch takes what function"):
            driver.launch(other, 1, 32, [x, x, 1, 0.0])


@pytest.mark.parametrize(
    ("text", "entry", "message"),
    [
        (PTX.replace("sm_90", "sm_100"), "add", r"cuModuleLoadData failed on gpu:0: CUDA_ERROR_INVALID_PTX \(218\)"),
        ("", "add", r"INVALID_PTX.*\n.*the PTX of add: ptxas application ptx input, line 3"),
        (PTX, "sub", r"cuModuleGetFunction failed on gpu:0: CUDA_ERROR_NOT_FOUND \(500\).*\n.*no entry sub"),
    ],
)
def test_code_that_does_not_fit_is_refused(driver: CudaDriver, text: str, entry: str, message: str) -> None:
    with pytest.raises(DeviceCodeError, match=message):
        driver.function(text, entry)
    driver.synchronize()
