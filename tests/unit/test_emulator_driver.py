"""The emulator as a device: memory that outlives launches, kernels over it, and every misuse by its message."""

from __future__ import annotations

import re
from collections.abc import Callable
from threading import Thread

import numpy as np
import pytest

from pelton.runtime.driver import COPY, Address, Driver, Node
from pelton.runtime.emulator import EmulationError, OutOfBounds
from pelton.runtime.emulator.driver import EmulatedDriver
from pelton.support.errors import CaptureError, DeviceError

ADD_ONE = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd0, [x];
    ld.param.u64 %rd1, [y];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd2, %r0, 4;
    add.u64 %rd3, %rd0, %rd2;
    add.u64 %rd4, %rd1, %rd2;
    ld.global.u32 %r1, [%rd3];
    add.u32 %r1, %r1, 1;
    st.global.u32 [%rd4], %r1;
}
"""


def uploaded(driver: Driver, array: np.ndarray) -> Address:
    address = driver.allocate(array.nbytes)
    driver.write(address, array)
    return address


def downloaded(driver: Driver, address: Address, size: int) -> list[int]:
    out = np.zeros(size, np.uint32)
    driver.read(address, out)
    return out.tolist()


def test_memory_outlives_launches() -> None:
    driver = EmulatedDriver()
    x, y = uploaded(driver, np.arange(32, dtype=np.uint32)), driver.allocate(128)
    add = driver.function(ADD_ONE, "k")
    driver.launch(add, 1, 32, [x, y])
    driver.launch(add, 1, 32, [y, y])
    driver.launch(add, 0, 32, [y, y])
    assert downloaded(driver, y, 32) == list(range(2, 34))
    assert downloaded(driver, x, 32) == list(range(32))


def test_places_in_one_allocation_are_one_memory() -> None:
    driver = EmulatedDriver()
    arena = uploaded(driver, np.arange(64, dtype=np.uint32))
    driver.launch(driver.function(ADD_ONE, "k"), 1, 32, [arena, arena.at(128)])
    assert downloaded(driver, arena, 64) == [*range(32), *range(1, 33)]


def test_copies_within_the_device() -> None:
    driver = EmulatedDriver()
    x = uploaded(driver, np.arange(4, dtype=np.uint32))
    driver.copy(x.at(4), x, 12)
    assert downloaded(driver, x, 4) == [0, 0, 1, 2]


def test_new_memory_is_not_zero() -> None:
    driver = EmulatedDriver()
    assert downloaded(driver, driver.allocate(4), 1) == [0xA5A5A5A5]


def test_memory_is_counted_and_runs_out() -> None:
    driver = EmulatedDriver((8, 0), total_memory=100)
    assert driver.architecture == "sm_80"
    x = driver.allocate(60)
    assert (driver.total_memory, driver.free_memory) == (100, 40)
    with pytest.raises(MemoryError, match="60 bytes on the emulated device: 40 are free"):
        driver.allocate(60)
    driver.free(x)
    assert driver.free_memory == 100


def test_a_kernel_past_the_end_of_its_memory_is_refused() -> None:
    driver = EmulatedDriver()
    x, y = driver.allocate(128), driver.allocate(124)
    with pytest.raises(OutOfBounds, match=r"thread 31 of block 0: .*the memory of argument 1, which has 124 bytes"):
        driver.launch(driver.function(ADD_ONE, "k"), 1, 32, [x, y])


def test_wrong_addresses_are_refused() -> None:
    driver = EmulatedDriver()
    x = driver.allocate(8)
    for address, text in ((x, "12 bytes at byte 0 of an allocation of 8"), (x.at(300), "lies in no allocation")):
        with pytest.raises(OutOfBounds, match=re.escape(text)):
            driver.write(address, np.zeros(3, np.uint32))
    driver.free(x)
    with pytest.raises(OutOfBounds, match="lies in no allocation"):
        driver.launch(driver.function(ADD_ONE, "k"), 1, 32, [x, x])
    with pytest.raises(EmulationError, match="free: no allocation starts at"):
        driver.free(x)
    with pytest.raises(TypeError, match="what function"):
        driver.launch("k", 1, 32, [])


# ---- device graphs
def test_a_graph_runs_what_was_captured_on_what_the_memory_holds_now() -> None:
    driver = EmulatedDriver()
    x, y = uploaded(driver, np.arange(32, dtype=np.uint32)), uploaded(driver, np.zeros(32, np.uint32))
    add = driver.function(ADD_ONE, "k")
    assert driver.function(ADD_ONE, "k") is add
    driver.begin_capture()
    driver.launch(add, 1, 32, [x, y])
    driver.launch(add, 0, 32, [x, y])
    driver.copy(x, y, 128)
    graph = driver.end_capture()
    assert downloaded(driver, y, 32) == [0] * 32
    assert driver.nodes(graph) == (Node("k", 1, 32, 0, (x, y)), Node(COPY, 128, 1, 0, (x, y, 128)))
    driver.replay(graph)
    driver.replay(graph)
    assert downloaded(driver, x, 32) == list(range(2, 34))
    driver.write(x, np.full(32, 7, np.uint32))
    driver.replay(graph)
    assert downloaded(driver, y, 32) == [8] * 32
    driver.release(graph)
    driver.release(graph)
    for call in (driver.replay, driver.nodes):
        with pytest.raises(CaptureError, match=f"{call.__name__}: the graph was released"):
            call(graph)
        with pytest.raises(TypeError, match=f"{call.__name__} takes what end_capture"):
            call("graph")


REFUSED: dict[str, Callable[[Driver, Address], object]] = {
    "allocate": lambda driver, x: driver.allocate(4),
    "free": lambda driver, x: driver.free(x),
    "write": lambda driver, x: driver.write(x, np.zeros(1)),
    "read": lambda driver, x: driver.read(x, np.zeros(1)),
    "function": lambda driver, x: driver.function(ADD_ONE, "k"),
    "synchronize": lambda driver, x: driver.synchronize(),
    "begin_capture": lambda driver, x: driver.begin_capture(),
    "replay": lambda driver, x: driver.replay(None),
    "release": lambda driver, x: driver.release(None),
}


@pytest.mark.parametrize("call", REFUSED)
def test_a_capture_records_and_refuses_all_else(call: str) -> None:
    driver = EmulatedDriver()
    x = uploaded(driver, np.arange(4, dtype=np.uint32))
    driver.begin_capture()
    driver.copy(x, x.at(8), 8)
    with pytest.raises(CaptureError, match=f"^{call}: this thread has a capture open"):
        REFUSED[call](driver, x)
    assert len(driver.nodes(driver.end_capture())) == 1
    assert downloaded(driver, x, 4) == [0, 1, 2, 3]
    with pytest.raises(CaptureError, match="no capture is open in this thread"):
        driver.end_capture()


def test_a_capture_is_its_threads_own() -> None:
    driver = EmulatedDriver()
    x = uploaded(driver, np.arange(4, dtype=np.uint32))
    driver.begin_capture()
    other = Thread(target=lambda: driver.copy(x, x.at(8), 8))
    other.start()
    other.join()
    assert driver.nodes(driver.end_capture()) == ()
    assert downloaded(driver, x, 4) == [2, 3, 2, 3]


@pytest.mark.parametrize(
    ("grid", "block", "message"),
    [
        (-1, 32, "a grid of -1\n.*0 to 2147483647"),
        (2**31, 32, "a grid of 2147483648\n.*0 to 2147483647"),
        (1, 0, "a block of 0\n.*1 to 1024"),
        (1, 1056, "a block of 1056\n.*1 to 1024"),
    ],
)
def test_a_launch_beyond_a_limit_is_refused(grid: int, block: int, message: str) -> None:
    driver = EmulatedDriver()
    x = driver.allocate(128)
    with pytest.raises(DeviceError, match="launch of k: " + message):
        driver.launch(driver.function(ADD_ONE, "k"), grid, block, [x, x])
