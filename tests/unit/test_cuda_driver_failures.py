"""The CUDA driver layer where calls fail: each in turn, with each kind of failure; and faults that stay."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pelton.runtime.cuda.driver import CudaDriver
from pelton.runtime.driver import Address
from pelton.support.errors import CaptureError, DeviceError, DeviceLost, DeviceMemoryError
from pelton.tests.support.fake_cuda.driver import FakeCuda
from pelton.tests.support.fake_cuda.shared import PTX, downloaded, uploaded, work
from pelton.tests.support.fake_cuda.state import Memory, Refused
from pelton.tests.support.fake_cuda.types import CUresult

GIVING_BACK = re.compile("Destroy|Unload|Free|Release")
FAULT = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS


class Life:
    """A driver from its opening to its end, and what came of it."""

    def __init__(self, fake: FakeCuda) -> None:
        self.raised: BaseException | None = None
        self.closing = -1
        self.fake = fake
        driver: CudaDriver | None = None
        try:
            driver = CudaDriver()
            work(driver)
        except (DeviceError, CaptureError) as error:
            self.raised = error
        self.closing = len(fake.calls)
        if driver is not None:
            driver.close()


def test_the_life_of_a_driver(fake: FakeCuda) -> None:
    life = Life(fake)
    assert life.raised is None and not fake.live() and not fake.leaked
    assert all(call.result == 0 or call.name == "cuFuncGetParamInfo" for call in fake.calls)


@pytest.mark.parametrize("code", [CUresult.CUDA_ERROR_UNKNOWN, CUresult.CUDA_ERROR_OUT_OF_MEMORY, FAULT])
def test_each_call_fails_in_turn_and_nothing_is_lost(fake: FakeCuda, code: CUresult) -> None:
    Life(fake)
    names = [call.name for call in fake.calls]
    for number, name in enumerate(names):
        fake.calls.clear()
        fake.leaked.clear()
        fake.fails = lambda made, _, number=number: code if made == number else None
        life = Life(fake)
        place = f"call {number}, {name}, fails: {life.raised}"
        assert fake.calls[number][::2] == (name, code), place
        purpose = names[number + (name == "cuCtxSetCurrent")]
        gives_back = bool(GIVING_BACK.search(purpose))
        retried = code is CUresult.CUDA_ERROR_OUT_OF_MEMORY and purpose == "cuMemAllocFromPoolAsync"
        if life.raised is not None:
            assert f"{name} failed on gpu:0: {code.name} ({int(code)})" in str(life.raised), place
        else:
            assert gives_back or retried or number >= life.closing, place
        left = len(fake.leaked) + sum(fake.live().values())
        assert left <= gives_back or code is FAULT, f"{place}; left: {fake.live()} {fake.leaked}"
        fake.devices[0].users, fake.devices[0].sticky = 0, None
        fake.objects.clear()


def test_a_kernels_fault_is_told_by_the_call_that_learns_of_it_and_by_all_later_ones(
    fake: FakeCuda, driver: CudaDriver
) -> None:
    def stray(memory: Memory, grid: int, block: int, args: object) -> None:
        raise Refused("ILLEGAL_ADDRESS")

    fake.kernels["bare"] = stray
    other, x = CudaDriver(1), driver.allocate(32)
    launch = driver.prepare(driver.function(PTX, "bare"), 1, 32, [])
    driver.begin_capture()
    graph = driver.end_capture()
    launch.run()
    with pytest.raises(DeviceLost, match=r"cuStreamSynchronize failed on gpu:0: .*ILLEGAL_ADDRESS \(700\)") as caught:
        driver.synchronize()
    assert "restart the process" in str(caught.value) and "Accelerator.emulated()" in str(caught.value)
    calls = len(fake.calls)
    for call in (
        lambda: driver.allocate(4),
        lambda: driver.write(x, np.zeros(4)),
        lambda: driver.read(x, np.zeros(4)),
        lambda: driver.copy(x, x.at(16), 16),
        lambda: driver.function(PTX, "add"),
        launch.run,
        lambda: driver.replay(graph),
        driver.begin_capture,
        driver.synchronize,
        driver.mark,
        lambda: driver.free_memory,
    ):
        with pytest.raises(DeviceLost, match="on gpu:0: the device is lost since an earlier fault") as caught:
            call()
        assert "cuStreamSynchronize failed" in str(caught.value) and "restart the process" in str(caught.value)
    driver.free(x)
    driver.release(graph)
    driver.close()
    assert {call.name for call in fake.calls[calls:]} == {"cuDevicePrimaryCtxRelease"}
    y = uploaded(other, np.arange(8, dtype=np.float32))
    assert downloaded(other, y, 8) == list(range(8))
    other.close()
    assert not fake.live() and not fake.leaked


def test_a_fault_during_a_capture_ends_it(fake: FakeCuda, driver: CudaDriver) -> None:
    x = driver.allocate(32)
    driver.begin_capture()
    fake.fails = lambda number, name: FAULT if name == "cuMemcpyDtoDAsync" else None
    with pytest.raises(DeviceLost):
        driver.copy(x, x.at(16), 16)
    with pytest.raises(DeviceLost):
        driver.end_capture()
    with pytest.raises(CaptureError, match="no capture is open"):
        driver.end_capture()
    driver.close()
    assert not fake.live()


def test_a_refused_launch_tells_what_was_launched(fake: FakeCuda, driver: CudaDriver) -> None:
    launch = driver.prepare(driver.function(PTX, "add"), 3, 64, [Address(256), Address(512), 7, 0.0], 100)
    fake.fails = lambda number, name: CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES if name == "cuLaunchKernel" else None
    with pytest.raises(DeviceError, match=r"add\[3\]\(256, 512, 7\), 64 threads, 100 bytes") as caught:
        launch.run()
    assert "fewer threads per block" in str(caught.value) and not isinstance(caught.value, DeviceMemoryError)


def test_a_capture_that_went_wrong_is_a_capture_error_and_the_next_works(fake: FakeCuda, driver: CudaDriver) -> None:
    x = driver.allocate(32)
    driver.begin_capture()
    fake.cuMemGetInfo()
    with pytest.raises(CaptureError, match=r"cuMemcpyDtoDAsync failed on gpu:0: .*CAPTURE_INVALIDATED \(901\)"):
        driver.copy(x, x.at(16), 16)
    with pytest.raises(CaptureError, match=r"cuStreamEndCapture failed on gpu:0: .*CAPTURE_INVALIDATED \(901\)"):
        driver.end_capture()
    driver.begin_capture()
    driver.copy(x, x.at(16), 16)
    assert len(driver.nodes(driver.end_capture())) == 1
    driver.close()
    assert not fake.live() and not fake.leaked


def test_what_the_binding_cannot_say_is_a_device_error(fake: FakeCuda, driver: CudaDriver) -> None:
    def old(function: object, number: int) -> None:
        raise RuntimeError('Function "cuFuncGetParamInfo" not found')

    setattr(fake, "cuFuncGetParamInfo", old)  # noqa: B010  (an attribute that is made when it is asked for)
    with pytest.raises(DeviceError, match=r"on gpu:0: Function .cuFuncGetParamInfo. not found") as caught:
        driver.function(PTX, "add")
    assert "a driver of CUDA 13.0 or later" in str(caught.value)


def test_a_device_that_is_not_there(fake: FakeCuda) -> None:
    with pytest.raises(DeviceError, match=r"cuDeviceGet failed on gpu:2: CUDA_ERROR_INVALID_DEVICE \(101\)") as caught:
        CudaDriver(2)
    assert "accelerator_count()" in str(caught.value)
    assert not fake.live()
