"""The emulator as a device: memory that outlives launches, kernels over it, and every misuse by its message."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import pytest

from pelton.runtime.driver import COPY, Address, Driver, Node
from pelton.runtime.emulator import (
    Misaligned,
    OutOfBounds,
    PtxSyntaxError,
    Race,
    Uninitialised,
    UnsupportedInstruction,
)
from pelton.runtime.emulator.driver import EmulatedDriver
from pelton.runtime.emulator.heap import Global, Part
from pelton.support.errors import CaptureError, DeviceError
from pelton.tests.support.process import fresh

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

FOLLOW = ADD_ONE.replace("mul.wide.u32 %rd2, %r0, 4", "mul.wide.u32 %rd2, %r0, 8").replace(
    """    ld.global.u32 %r1, [%rd3];
    add.u32 %r1, %r1, 1;
""",
    """    ld.global.u64 %rd3, [%rd3];
    ld.global.u32 %r1, [%rd3];
    mul.wide.u32 %rd2, %r0, 4;
    add.u64 %rd4, %rd1, %rd2;
""",
)
"""y[t] = *x[t]"""


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


def test_memory_is_counted_and_runs_out() -> None:
    driver = EmulatedDriver((8, 0), total_memory=100)
    assert driver.architecture == "sm_80"
    x = driver.allocate(60)
    assert (driver.total_memory, driver.free_memory) == (100, 40)
    with pytest.raises(MemoryError, match="60 bytes on the emulated device: 40 are free"):
        driver.allocate(60)
    driver.free(x)
    assert driver.free_memory == 100


def test_a_launch_costs_nothing_for_memory_it_leaves_alone() -> None:
    """However much there is, and of what it touches only the part that it touches."""
    driver = EmulatedDriver()
    large = uploaded(driver, np.zeros(1 << 25, np.uint8))
    add = driver.function(ADD_ONE, "k")
    driver.launch(add, 1, 32, [large, large.at(1 << 24)])
    tracemalloc.start()
    driver.launch(add, 1, 32, [large, large.at(1 << 24)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


def test_threads_of_one_instruction_go_to_many_allocations() -> None:
    """Their addresses stand in memory themselves."""
    driver = EmulatedDriver()
    places = [uploaded(driver, np.array([k], np.uint32)) for k in range(32)]
    table, out = uploaded(driver, np.array(places[::-1], np.uint64)), driver.allocate(128)
    driver.launch(driver.function(FOLLOW, "k"), 1, 32, [table, out])
    assert downloaded(driver, out, 32) == list(range(31, -1, -1))
    driver.free(places[3])
    with pytest.raises(OutOfBounds, match=r"thread 28 of block 0: byte 0 of 4 at 0x\w+, which were freed"):
        driver.launch(driver.function(FOLLOW, "k"), 1, 32, [table, out])


VARIABLES = """.version 9.0
.target sm_90
.address_size 64
.global .align 8 .b8 counter[8] = {5};
.visible .entry count()
{
    .reg .b64 %rd<2>;
    mov.u64 %rd0, counter;
    red.global.add.u32 [%rd0], 1;
}
.visible .entry look(.param .u64 y)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd0, [y];
    ld.global.u32 %r1, [counter];
    st.volatile.global.u32 [%rd0], %r1;
}
"""


def test_variables_of_a_text_live_as_long_as_the_device() -> None:
    driver = EmulatedDriver()
    out, (count, look) = driver.allocate(4), (driver.function(VARIABLES, name) for name in ("count", "look"))
    driver.function(ADD_ONE, "k")
    for blocks, total in ((1, 37), (2, 101)):
        driver.launch(count, blocks, 32, [])
        driver.launch(look, 1, 32, [out])
        assert downloaded(driver, out, 1) == [total]
    other = driver.function(VARIABLES + "// another text", "look")
    driver.launch(other, 1, 32, [out])
    assert downloaded(driver, out, 1) == [5]


def test_finalizers_give_back_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the thread that is at work, in the middle of it, and on others, which do not wait."""
    driver = EmulatedDriver()
    x, y, z = (uploaded(driver, np.zeros(32, np.uint32)) for _ in range(3))
    add, parts, left = driver.function(ADD_ONE, "k"), Global.parts, [y, z]
    before = driver.free_memory

    def interrupted(memory: Global, *access: Any) -> list[Part]:
        found = parts(memory, *access)
        if left:
            driver.free(left.pop())
            other = Thread(target=driver.free, args=[left.pop()])
            other.start()
            other.join()
            assert driver.free_memory == before
        return found

    monkeypatch.setattr(Global, "parts", interrupted)
    driver.launch(add, 1, 32, [x, x])
    assert not left and driver.free_memory == before + 256
    for gone in (y, z):
        with pytest.raises(DeviceError, match="free: no allocation starts at"):
            driver.free(gone)
    assert downloaded(driver, x, 32) == [1] * 32


FORK = """
import os, signal, sys, threading, warnings
import numpy as np
from pelton.runtime.emulator.driver import EmulatedDriver
from pelton.runtime.emulator.heap import Global

driver = EmulatedDriver()
x = driver.allocate(128)
driver.write(x, np.zeros(32, np.uint32))
add, parts = driver.function(sys.argv[1], "k"), Global.parts
inside, on = threading.Event(), threading.Event()

def waits(memory, *access):
    inside.set()
    on.wait()
    return parts(memory, *access)

Global.parts = waits
other = threading.Thread(target=driver.launch, args=(add, 1, 32, [x, x]))
other.start()
inside.wait()
warnings.simplefilter("ignore")  # newer Pythons warn of forks beside threads
if not os.fork():
    signal.alarm(60)
    Global.parts = parts
    driver.launch(add, 1, 32, [x, x])
    out = np.zeros(32, np.uint32)
    driver.read(x, out)
    os._exit(int(out.sum() != 32))
print(os.wait()[1])
on.set()
other.join()
"""


def test_a_forked_child_does_not_wait_for_who_was_at_work() -> None:
    assert fresh(FORK, ADD_ONE) == "0\n"


# ---- what it refuses
def test_a_kernel_past_the_end_of_its_memory_is_refused() -> None:
    driver = EmulatedDriver()
    x, y = uploaded(driver, np.zeros(32, np.uint32)), driver.allocate(124)
    with pytest.raises(OutOfBounds, match=r"thread 31 of block 0: .*the memory of argument 1, which has 124 bytes"):
        driver.launch(driver.function(ADD_ONE, "k"), 1, 32, [x, y])
    assert downloaded(driver, x, 32) == [0] * 32


def test_an_access_across_an_end_or_misaligned_is_refused() -> None:
    driver = EmulatedDriver()
    x = uploaded(driver, np.zeros(32, np.uint32))
    wide = driver.function(ADD_ONE.replace("ld.global.u32 %r1", "ld.global.v2.u32 {%r1, %r2}"), "k")
    y = uploaded(driver, np.zeros(130, np.uint8))
    with pytest.raises(Misaligned, match=r"thread 1 of block 0: address 0x\w+4 is no multiple of 8"):
        driver.launch(wide, 1, 32, [x, x])
    with pytest.raises(OutOfBounds, match="thread 31 of block 0: byte 128 of the memory of argument 1, which has 130"):
        driver.launch(driver.function(ADD_ONE, "k"), 1, 32, [x, y.at(4)])


def test_memory_that_nobody_wrote_is_not_read() -> None:
    driver = EmulatedDriver()
    x, y = uploaded(driver, np.zeros(32, np.uint32)), driver.allocate(160)
    add = driver.function(ADD_ONE, "k")
    driver.launch(add, 1, 32, [x, y])
    with pytest.raises(Uninitialised, match="thread 29 of block 0: nobody wrote byte 128 of the memory of argument 0"):
        driver.launch(add, 1, 32, [y.at(12), x])
    with pytest.raises(Uninitialised, match="read: nobody wrote byte 128 of the allocation at"):
        downloaded(driver, y, 40)
    driver.copy(x.at(64), y.at(96), 64)
    assert downloaded(driver, x, 24) == [0] * 16 + [1] * 8
    with pytest.raises(Uninitialised, match="read: nobody wrote byte 96 of"):
        downloaded(driver, x, 32)
    driver.write(y.at(128), np.zeros(8, np.uint32))
    assert downloaded(driver, y, 40) == [1] * 32 + [0] * 8


def test_memory_that_nobody_wrote_is_not_zero() -> None:
    driver = EmulatedDriver(check_uninitialized=False)
    assert downloaded(driver, driver.allocate(4), 1) == [0xA5A5A5A5]


def test_races_between_blocks_are_found_on_request() -> None:
    for check in (True, False):
        driver = EmulatedDriver(check_races=check)
        x, y = uploaded(driver, np.zeros(32, np.uint32)), driver.allocate(128)
        add = driver.function(ADD_ONE, "k")
        if check:
            with pytest.raises(Race, match="thread 0 of block 0: writes what thread 0 of block 1 wrote"):
                driver.launch(add, 2, 32, [x, y])
        else:
            driver.launch(add, 2, 32, [x, y])


def test_wrong_addresses_are_refused() -> None:
    driver = EmulatedDriver()
    x = driver.allocate(8)
    for address, text in (
        (x, "12 bytes at byte 0 of an allocation of 8"),
        (x.at(300), "byte 300 of the allocation at"),
        (Address(64), "address 0x40 lies in no buffer"),
    ):
        with pytest.raises(OutOfBounds, match=re.escape(text)):
            driver.write(address, np.zeros(3, np.uint32))
    driver.free(x)
    with pytest.raises(OutOfBounds, match=r"thread 0 of block 0: byte 0 of 8 at 0x\w+, which were freed"):
        driver.launch(driver.function(ADD_ONE, "k"), 1, 32, [x, x])
    with pytest.raises(DeviceError, match="free: no allocation starts at"):
        driver.free(x)
    with pytest.raises(TypeError, match="what function"):
        driver.launch("k", 1, 32, [])


def test_a_text_is_prepared_once_and_refused_at_once() -> None:
    driver = EmulatedDriver()
    with pytest.raises(UnsupportedInstruction, match="no rule for frobnicate"):
        driver.function(ADD_ONE.replace("add.u32", "frobnicate.u32"), "k")
    with pytest.raises(PtxSyntaxError, match="no entry 'other'"):
        driver.function(ADD_ONE, "other")
    assert driver.function(ADD_ONE, "k") is driver.function(ADD_ONE, "k")


def test_shared_memory_has_limits() -> None:
    static = ADD_ONE.replace("{\n", "{\n    .shared .align 4 .b8 tile[SIZE];\n", 1)
    for cc, most in (((8, 0), 163), ((8, 6), 99), ((9, 0), 227)):
        driver = EmulatedDriver(cc)
        x, add = uploaded(driver, np.zeros(32, np.uint32)), driver.function(static.replace("SIZE", "1024"), "k")
        driver.launch(add, 1, 32, [x, x], (most - 1) << 10)
        with pytest.raises(DeviceError, match=rf"dynamic shared memory of {most << 10}\n.*0 to {(most - 1) << 10}$"):
            driver.launch(add, 1, 32, [x, x], most << 10)
        with pytest.raises(DeviceError, match=r"shared variables of 49168\n.*0 to 49152"):
            driver.function(static.replace("SIZE", "49168"), "k")


def test_arguments_are_checked() -> None:
    driver = EmulatedDriver()
    x, add = driver.allocate(4), driver.function(ADD_ONE, "k")
    driver.begin_capture()
    with pytest.raises(DeviceError, match=r"launch of k takes 2 arguments \(x, y\), got 1"):
        driver.launch(add, 1, 32, [x])
    with pytest.raises(DeviceError, match="launch of k: 18446744073709551616 does not fit y, which has 8 bytes"):
        driver.launch(add, 1, 32, [x, 2**64])
    assert driver.nodes(driver.end_capture()) == ()


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
        (-1, 32, "grid of -1\n.*0 to 2147483647"),
        (2**31, 32, "grid of 2147483648\n.*0 to 2147483647"),
        (1, 0, "block of 0\n.*1 to 1024"),
        (1, 1056, "block of 1056\n.*1 to 1024"),
    ],
)
def test_a_launch_beyond_a_limit_is_refused(grid: int, block: int, message: str) -> None:
    driver = EmulatedDriver()
    x = driver.allocate(128)
    with pytest.raises(DeviceError, match="launch of k: " + message):
        driver.launch(driver.function(ADD_ONE, "k"), grid, block, [x, x])
