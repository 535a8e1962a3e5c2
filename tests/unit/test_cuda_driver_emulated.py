"""The CUDA driver layer over a driver that is not there, whose devices run PTX on the emulator: results are real."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import pytest

from pelton.runtime.cuda import binding
from pelton.runtime.cuda.driver import CudaDriver
from pelton.tests.support import cuda, device
from pelton.tests.support.fake_cuda.driver import FakeCuda
from pelton.tests.unit import test_cuda_kernels


@pytest.fixture
def emulating() -> Generator[FakeCuda]:
    """A GPU that runs what it is given, in the place of the emulator as tests of kernels call it."""
    fake = FakeCuda()
    fake.emulates, fake.threads = True, 1024
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binding, "load", lambda: fake)
        driver = CudaDriver()
        patch.setattr(device, "driver", lambda: driver)
        patch.setattr(device, "machine_code", lambda ptx: ptx)
        patch.setattr(cuda, "emulate", device.launch)
        yield fake
        driver.close()
    assert not fake.live() and not fake.leaked


def test_kernels_run_as_on_the_emulator(emulating: FakeCuda) -> None:
    test_cuda_kernels.test_softmax(3, 32)
    test_cuda_kernels.test_elementwise(5, 33)
    test_cuda_kernels.test_elementwise(0, 5)
    launched = [call for call in emulating.calls if call.name == "cuLaunchKernel"]
    assert [call.arguments[1] for call in launched] == [3, 5]


def test_a_graph_computes_from_what_memory_holds_at_its_replay(emulating: FakeCuda) -> None:
    gpu, source = device.driver(), cuda.source("softmax")
    x, y, status = (gpu.allocate(size) for size in (4 * 32 * 4, 4 * 32 * 4, 24))
    gpu.write(status, np.zeros(3, np.int64))
    launch = gpu.prepare(gpu.function(cuda.ptx("softmax"), source.name), 4, source.lanes, [x, y, 4, 32, 0, 4, status])
    gpu.begin_capture()
    launch.run()
    gpu.copy(x, y, 4 * 32 * 4)
    graph = gpu.end_capture()
    given, found = np.random.default_rng(0).standard_normal((4, 32), np.float32), np.zeros((4, 32), np.float32)
    gpu.write(x, given)
    for _ in range(2):
        gpu.replay(graph)
    gpu.read(y, found)
    for _ in range(2):
        given = np.exp(given) / np.exp(given).sum(1, keepdims=True)
    np.testing.assert_allclose(found, given, rtol=1e-5)
