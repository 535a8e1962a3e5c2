"""The CUDA driver layer over a driver that is not there: device graphs, threads, several devices."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Barrier, Thread

import numpy as np
import pytest

from pelton.runtime.cuda.driver import CudaDriver
from pelton.runtime.driver import COPY, Address, Node
from pelton.support.errors import CaptureError, DeviceError
from pelton.tests.support.fake_cuda.driver import FakeCuda
from pelton.tests.support.fake_cuda.shared import HALF, PTX, downloaded, in_thread, uploaded


# ---- device graphs
def test_a_graph_runs_what_was_captured_by_one_call(fake: FakeCuda, driver: CudaDriver) -> None:
    x, y = uploaded(driver, np.arange(4, dtype=np.float32)), uploaded(driver, np.zeros(4, np.float32))
    function = driver.function(PTX, "add")
    launch = driver.prepare(function, 2, 64, [x, y, 4, 0.5], 256)
    driver.synchronize()
    fake.calls.clear()
    driver.begin_capture()
    launch.run()
    driver.launch(function, 0, 64, [x, y, 4, 0.5])
    driver.copy(x, y, 16)
    graph = driver.end_capture()
    assert fake.names() == [
        "cuStreamCreate",
        "cuStreamBeginCapture",
        "cuLaunchKernel",
        "cuMemcpyDtoDAsync",
        "cuStreamEndCapture",
        "cuStreamDestroy",
        "cuGraphInstantiate",
    ]
    assert downloaded(driver, y, 4) == [0] * 4
    launch.set(3, 100.0)
    expected = Node("add", 2, 64, 256, (x, y, 4, 0.5)), Node(COPY, 16, 1, 0, (x, y, 16))
    assert driver.nodes(graph) == expected
    driver.replay(graph)
    fake.calls.clear()
    driver.replay(graph)
    assert [call.name for call in fake.calls] == ["cuGraphLaunch"]
    assert downloaded(driver, x, 4) == [1, 2, 3, 4]
    fake.calls.clear()
    driver.release(graph)
    driver.release(graph)
    assert fake.names() == ["cuStreamSynchronize", "cuGraphExecDestroy", "cuGraphDestroy"]
    for call in (driver.replay, driver.nodes):
        with pytest.raises(CaptureError, match=f"{call.__name__}: the graph was released"):
            call(graph)
        with pytest.raises(TypeError, match=f"{call.__name__} takes what end_capture"):
            call("graph")


def test_nodes_come_in_the_order_of_the_work(driver: CudaDriver) -> None:
    x, function = driver.allocate(400), driver.function(PTX, "add")
    driver.begin_capture()
    for number in range(12):
        driver.launch(function, 1, 32, [x, x, number, 0.0])
    graph = driver.end_capture()
    assert [node.args[2] for node in driver.nodes(graph)] == list(range(12))


def test_nodes_are_known_by_name_where_the_driver_has_other_handles(fake: FakeCuda, driver: CudaDriver) -> None:
    function = driver.function(PTX, "bare")
    fake.shift = 1 << 20
    driver.begin_capture()
    driver.launch(function, 2, 32, [])
    graph = driver.end_capture()
    assert driver.nodes(graph) == (Node("bare", 2, 32, 0, ()),)
    driver.function(PTX.replace("bare()", "bare(.param .u32 n)"), "bare")
    with pytest.raises(DeviceError, match="nodes on gpu:0: 2 functions may be what a node calls bare"):
        driver.nodes(graph)


REFUSED: dict[str, Callable[[CudaDriver, Address], object]] = {
    "allocate": lambda driver, x: driver.allocate(4),
    "free": lambda driver, x: driver.free(x),
    "write": lambda driver, x: driver.write(x, np.zeros(1)),
    "read": lambda driver, x: driver.read(x, np.zeros(1)),
    "function": lambda driver, x: driver.function(PTX, "add"),
    "synchronize": lambda driver, x: driver.synchronize(),
    "begin_capture": lambda driver, x: driver.begin_capture(),
    "replay": lambda driver, x: driver.replay(None),
    "release": lambda driver, x: driver.release(None),
    "mark": lambda driver, x: driver.mark(),
}


@pytest.mark.parametrize("call", REFUSED)
def test_a_capture_records_and_refuses_all_else(fake: FakeCuda, driver: CudaDriver, call: str) -> None:
    x = uploaded(driver, np.arange(4, dtype=np.float32))
    driver.begin_capture()
    driver.copy(x, x.at(8), 8)
    with pytest.raises(CaptureError, match=f"^{call}: this thread has a capture open"):
        REFUSED[call](driver, x)
    assert len(driver.nodes(driver.end_capture())) == 1
    assert downloaded(driver, x, 4) == [0, 1, 2, 3]
    with pytest.raises(CaptureError, match="no capture is open in this thread"):
        driver.end_capture()


def test_a_graph_is_not_replayed_into_a_capture(driver: CudaDriver) -> None:
    driver.begin_capture()
    graph = driver.end_capture()
    driver.begin_capture()
    with pytest.raises(CaptureError, match=r"^replay: this thread has a capture open"):
        driver.replay(graph)
    assert driver.nodes(driver.end_capture()) == ()
    driver.replay(graph)


def test_a_captured_copy_to_an_overlapping_place_goes_in_pieces(driver: CudaDriver) -> None:
    x = uploaded(driver, np.arange(8, dtype=np.float32))
    for target, expected in ((8, [0, 1, 0, 1, 2, 3, 4, 7]), (0, [0, 1, 2, 3, 4, 3, 4, 7])):
        driver.begin_capture()
        driver.copy(x.at(target), x.at(8 - target), 20)
        graph = driver.end_capture()
        driver.replay(graph)
        assert downloaded(driver, x, 8) == expected
    driver.begin_capture()
    far = driver.end_capture()
    assert driver.nodes(far) == ()


def test_a_captured_copy_in_too_many_pieces_is_refused(driver: CudaDriver) -> None:
    x = driver.allocate(10000)
    driver.begin_capture()
    with pytest.raises(CaptureError, match="9000 bytes to a place 1 bytes away"):
        driver.copy(x.at(1), x, 9000)
    assert driver.nodes(driver.end_capture()) == ()


def test_closing_gives_back_graphs_and_open_captures(fake: FakeCuda, driver: CudaDriver) -> None:
    uploaded(driver, np.zeros(4, np.float32))
    driver.mark()
    driver.launch(driver.function(PTX, "bare"), 1, 32, [])
    driver.begin_capture()
    graph = driver.end_capture()
    in_thread(driver.begin_capture)
    driver.close()
    assert not fake.live() and not fake.leaked
    calls = len(fake.calls)
    for call in (
        lambda: driver.allocate(4),
        driver.synchronize,
        driver.begin_capture,
        lambda: driver.function(PTX, "add"),
    ):
        with pytest.raises(DeviceError, match="on gpu:0: its driver is closed"):
            call()
    with pytest.raises(CaptureError, match="the graph was released"):
        driver.replay(graph)
    assert len(fake.calls) == calls


def test_a_launch_after_closing_never_reaches_the_driver(fake: FakeCuda, driver: CudaDriver) -> None:
    launch = driver.prepare(driver.function(PTX, "bare"), 1, 32, [])
    launch.run()
    driver.close()
    calls = len(fake.calls)
    with pytest.raises(DeviceError, match="cuLaunchKernel on gpu:0: its driver is closed"):
        launch.run()
    assert len(fake.calls) == calls


# ---- threads and devices
def test_a_capture_is_its_threads_own(driver: CudaDriver) -> None:
    x = uploaded(driver, np.arange(4, dtype=np.float32))
    launch = driver.prepare(driver.function(PTX, "add"), 1, 32, [x, x, 4, 1.0])
    driver.begin_capture()
    in_thread(lambda: (launch.run(), driver.copy(x, x.at(8), 8), driver.free(driver.allocate(8))))
    launch.run()
    assert len(driver.nodes(driver.end_capture())) == 1
    assert downloaded(driver, x, 4) == [3, 4, 3, 4]


def test_each_call_is_made_in_its_devices_context(fake: FakeCuda, driver: CudaDriver) -> None:
    other = CudaDriver(1)
    launches = [
        (device, device.prepare(device.function(text, "add"), 1, 32, [x, x, 4, 1.0]), x)
        for device, text in ((driver, PTX), (other, PTX.replace("90", "80")))
        for x in [uploaded(device, np.zeros(4, np.float32))]
    ]
    for _ in range(3):
        for _, launch, _ in launches:
            launch.run()
    in_thread(lambda: [launch.run() for _, launch, _ in launches])
    driver.begin_capture()
    for _, launch, _ in launches:
        launch.run()
    graph = driver.end_capture()
    assert downloaded(other, launches[1][2], 4) == [5] * 4
    driver.replay(graph)
    assert downloaded(driver, launches[0][2], 4) == [5] * 4
    for call in (other.replay, other.nodes, other.release):
        with pytest.raises(TypeError, match="of this device"):
            call(graph)
    driver.close()
    other.close()
    assert not fake.live() and not fake.leaked


@pytest.mark.parametrize(
    "name", ["cuCtxSetCurrent", "cuEventCreate", "cuMemHostAlloc", "cuMemcpyHtoDAsync", "cuLaunchKernel"]
)
def test_a_finalizer_may_give_back_another_devices_memory_between_any_two_steps(
    fake: FakeCuda, driver: CudaDriver, name: str
) -> None:
    """Whatever call is under way, a collection of garbage may run just before it."""
    other = CudaDriver(1)
    other.begin_capture()
    graph, garbage = other.end_capture(), [other.allocate(4) for _ in range(20)]
    x = driver.allocate(16)
    launch = driver.prepare(driver.function(PTX, "add"), 1, 32, [x, x, 4, 1.0])
    launch.run()

    def collect(number: int, called: str) -> None:
        if called == name and garbage:
            other.free(garbage.pop())
            other.release(graph)

    fake.fails = collect
    driver.write(x, np.zeros(4, np.float32))
    launch.run()
    fake.fails = lambda number, called: None
    assert len(garbage) < 20
    assert downloaded(driver, x, 4) == [1] * 4
    driver.close()
    other.close()
    assert not fake.live() and not fake.leaked


def test_another_librarys_context_is_no_obstacle(fake: FakeCuda, driver: CudaDriver) -> None:
    CudaDriver(1).allocate(4)
    launch = driver.prepare(driver.function(PTX, "bare"), 1, 32, [])
    driver.begin_capture()
    graph = driver.end_capture()
    for run in (launch.run, lambda: driver.replay(graph)):
        run()
        fake.current = fake.devices[1]
        run()
        fake.forget_current()
        run()
    driver.synchronize()
    assert fake.devices[0].time == 3


def test_launches_of_two_threads_do_not_mix_their_arguments(fake: FakeCuda, driver: CudaDriver) -> None:
    x, function = uploaded(driver, np.zeros(4, np.float32)), driver.function(PTX, "add")
    other = Thread(target=driver.launch, args=(function, 1, 32, [x.at(8), x.at(8), 2, 5.0]))

    def begin_other(number: int, name: str) -> None:
        if name == "cuLaunchKernel" and other.ident is None:
            other.start()
            time.sleep(0.05)  # until it waits for the driver, its arguments in place

    fake.fails = begin_other
    driver.launch(function, 1, 32, [x, x, 4, 1.0])
    other.join()
    assert downloaded(driver, x, 4) == [1, 1, 6, 6]


def test_threads_copy_side_by_side(fake: FakeCuda, driver: CudaDriver) -> None:
    together, wrong = Barrier(6), list[int]()

    def work(number: int) -> None:
        array = np.full(HALF, number, np.float32)
        together.wait()
        for _ in range(3):
            x = uploaded(driver, array)
            out = np.zeros_like(array)
            driver.read(x, out)
            driver.free(x)
            if not np.array_equal(out, array):
                wrong.append(number)

    threads = [Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    driver.close()
    assert not fake.live() and not fake.leaked
