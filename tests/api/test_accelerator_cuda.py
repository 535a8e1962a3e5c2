"""`Accelerator()` over a CUDA driver that is not there: the tests of emulated GPUs once more, by way of its calls."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import pytest

from pelton.artifact import KernelCode
from pelton.codegen.cuda.cubin import linked
from pelton.driver import CPU, Accelerator, Buffer, accelerator_api, accelerator_count
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, ops
from pelton.runtime import device, device_walker
from pelton.runtime.cuda import binding
from pelton.runtime.cuda.driver import CudaDriver
from pelton.runtime.device_memory import DevicePool
from pelton.support.errors import CaptureError, DeviceError, DeviceLost
from pelton.tests.api import test_accelerator
from pelton.tests.api.test_accelerator import here, values
from pelton.tests.support.fake_cuda.driver import FakeCuda
from pelton.tests.support.fake_cuda.shared import PTX
from pelton.tests.support.fake_cuda.types import CUresult

CHOSEN = device_walker.code_for
AGAIN = """test_there_and_back test_views_are_of_the_same_memory test_new_buffers test_what_the_host_cannot_do
test_a_model_on_the_device test_checks_fail_as_on_the_host test_reports_and_messages test_buffers_are_written_there
test_capture_and_replay test_a_capture_that_the_host_is_part_of"""
globals().update({name: getattr(test_accelerator, name) for name in AGAIN.split()})


def readable(gpu: Accelerator, kernel: KernelCode) -> str | bytes:
    """The code of a kernel as a device gets it: behind a cubin stands its text, which alone the fake driver can run."""
    code = CHOSEN(gpu, kernel)
    return code + kernel.code if isinstance(code, bytes) else code


@pytest.fixture
def fake() -> Generator[FakeCuda]:
    """A machine with two GPUs that run what they are given; in the end nothing of them is held."""
    found = FakeCuda((9, 0), (8, 0))
    found.emulates, found.threads = True, 1024
    pools: dict[tuple[str, int, str], DevicePool] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binding, "load", lambda: found)
        patch.setattr(device, "_pools", pools)
        patch.setattr(device_walker, "code_for", readable)
        yield found
    for pool in pools.values():
        if isinstance(pool.driver, CudaDriver):
            pool.driver.close()
    assert not found.live() and not found.leaked


@pytest.fixture
def gpu(fake: FakeCuda) -> Accelerator:
    return Accelerator()


def test_what_a_device_says(fake: FakeCuda, gpu: Accelerator) -> None:
    assert (accelerator_count(), accelerator_api()) == (2, "cuda")
    assert gpu == Accelerator(0) and gpu.api == "cuda" and gpu.architecture_name == "sm_90" and str(gpu) == "gpu:0"
    assert Accelerator(1).architecture_name == "sm_80" and gpu.can_access(gpu) and not gpu.can_access(CPU())
    assert gpu != Accelerator.emulated((9, 0))
    assert gpu.stats == {"total_memory": 64 << 20, "free_memory": 64 << 20}
    buffer = Buffer(DType.uint8, (1 << 20,), gpu)
    assert gpu.stats["free_memory"] == 63 << 20
    del buffer
    assert gpu.stats["free_memory"] == 64 << 20
    gpu.synchronize()
    with pytest.raises(DeviceError, match=r"gpu:2: CUDA_ERROR_INVALID_DEVICE(.|\n)*accelerator_count"):
        Accelerator(2)


@pytest.mark.parametrize(
    ("bad", "error", "said"), [(-2, ValueError, "no GPU -2"), (True, TypeError, "an int, got bool")]
)
def test_ids_that_no_device_has(bad: int, error: type[Exception], said: str) -> None:
    """Whether there are GPUs or not."""
    with pytest.raises(error, match=said):
        Accelerator(bad)


def test_too_much_memory(gpu: Accelerator) -> None:
    with pytest.raises(MemoryError, match="gpu:0"):
        Buffer(DType.uint8, (65 << 20,), gpu)
    held = Buffer(DType.uint8, (40 << 20,), gpu)
    del held
    Buffer(DType.uint8, (60 << 20,), gpu)


def scaled() -> Graph:
    return Graph("scaled", lambda x: ops.tanh(x) * 2.0, [TensorType(DType.float32, ["n"], DeviceRef.GPU(0))])


@pytest.mark.parametrize(("target", "is_own"), [("sm_90", True), ("sm_80", False)])
def test_a_device_gets_machine_code_where_it_is_its_own(
    fake: FakeCuda, gpu: Accelerator, monkeypatch: pytest.MonkeyPatch, target: str, is_own: bool
) -> None:
    monkeypatch.setenv("PELTON_TARGET", target)
    compiled = InferenceSession().compile(scaled())
    (out,) = InferenceSession([gpu]).init(compiled).execute(here(values(8), gpu))
    np.testing.assert_allclose(out.to_numpy(), np.tanh(values(8)) * 2, rtol=1e-6)
    images = [call.arguments[0] for call in fake.calls if call.name == "cuModuleLoadData"]
    is_cubin = is_own and linked(PTX, "add") is not None
    assert images and all(image.startswith(b"\x7fELF") == is_cubin for image in images)


def test_a_replay_is_one_call(fake: FakeCuda, gpu: Accelerator) -> None:
    model, x = InferenceSession([gpu]).load(scaled()), here(values(8), gpu)
    (out,) = model.capture(1, x)
    fake.calls.clear()
    model.replay(1, x)
    model.replay(1, x)
    assert [call.name for call in fake.calls] == ["cuGraphLaunch"] * 2
    assert [launch.kernel for launch in model.launches(x)] == ["tanh_mul"], "there is no check to begin anew"
    np.testing.assert_allclose(out.to_numpy(), np.tanh(values(8)) * 2, rtol=1e-6)


def test_a_planted_difference_is_found(gpu: Accelerator) -> None:
    model, x = InferenceSession([gpu]).load(scaled()), here(values(8), gpu)
    model.capture(1, x)
    real = gpu.driver.launch
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu.driver, "launch", lambda function, grid, block, args: real(function, grid, block, args, 16))
        with pytest.raises(CaptureError, match=r"shared memory[\s\S]*expected: 0, as captured[\s\S]*got: +16"):
            model.debug_verify_replay(1, x)
    model.debug_verify_replay(1, x)


def test_a_kernels_fault_loses_its_device_and_no_other(fake: FakeCuda, gpu: Accelerator) -> None:
    model, x = InferenceSession([gpu]).load(scaled()), here(values(8), gpu)
    fake.fails = lambda number, name: CUresult.CUDA_ERROR_ILLEGAL_ADDRESS if name == "cuLaunchKernel" else None
    with pytest.raises(DeviceLost, match=r"cuLaunchKernel failed on gpu:0: CUDA_ERROR_ILLEGAL_ADDRESS \(700\)"):
        model.execute(x)
    fake.fails = lambda number, name: None
    for call in (lambda: model.execute(x), x.to_numpy, gpu.synchronize, lambda: here(values(8), gpu)):
        with pytest.raises(DeviceLost, match="on gpu:0: the device is lost since an earlier fault"):
            call()
    assert np.array_equal(here(values(3), Accelerator(1)).to_numpy(), values(3))
