"""What goes wrong on a device, told of by a model: too little memory, code that is damaged or for another device,
launches beyond a limit, a kernel's fault. Each is an error that names the device or the kernel; whatever else there is
goes on.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import pelton
from pelton.artifact import KernelCode
from pelton.driver import Accelerator, Buffer
from pelton.dtype import DType
from pelton.engine import CompiledModel, InferenceSession, Model
from pelton.graph import DeviceRef, Graph, TensorType, ops
from pelton.runtime import device
from pelton.support.errors import DeviceError, DeviceLost
from pelton.tests.api import test_accelerator_cuda
from pelton.tests.api.test_accelerator import here, values
from pelton.tests.support.fake_cuda.driver import FakeCuda
from pelton.tests.support.fake_cuda.types import CUresult

F32, HOST = DType.float32, DeviceRef.CPU()
cuda: Any = import_module("numba.cuda")
fake = test_accelerator_cuda.fake


@pytest.fixture(params=["cuda", "emulator"])
def gpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[Accelerator]:
    """A device of 64 MiB that is driven by each driver; what a test took of its memory is there again."""
    if request.param == "cuda":
        request.getfixturevalue("fake")
    else:
        monkeypatch.setattr(device, "_pools", {})
        monkeypatch.setattr(device, "EMULATED_MEMORY", 64 << 20)
    found = Accelerator() if request.param == "cuda" else Accelerator.emulated()
    gc.collect()
    free = found.stats["free_memory"]
    yield found
    gc.collect()
    assert found.stats["free_memory"] == free


def scaled(device: DeviceRef) -> Graph:
    return Graph("scaled", lambda x: ops.tanh(x) * 2.0, [TensorType(F32, ["n"], device)])


def works(model: Model, gpu: Accelerator, n: int = 8) -> None:
    """The model runs."""
    (out,) = model.execute(here(values(n), gpu))
    np.testing.assert_allclose(out.to_numpy(), np.tanh(values(n)) * 2, rtol=1e-6)


def test_too_little_memory_for_a_run(gpu: Accelerator) -> None:
    """The results do not fit; once somebody gives memory back they do."""
    model, x = InferenceSession([gpu]).load(scaled(DeviceRef.GPU(0))), here(values(1 << 16), gpu)
    held = list[Buffer]()
    for size in (1 << k for k in range(32, 16, -1)):
        while gpu.stats["free_memory"] - size >= 1 << 17:
            held.append(Buffer(DType.uint8, (size,), gpu))
    for _ in range(3):
        with pytest.raises(MemoryError, match=r"gpu:0|emulated device"):
            model.execute(x)
        works(model, gpu)
    held.clear()
    assert model.execute(x)[0].shape == x.shape


def test_damaged_code(gpu: Accelerator) -> None:
    session = InferenceSession([gpu])
    compiled = session.compile(scaled(DeviceRef.GPU(0)))

    def damaged(kernel: KernelCode, size: int, cubin: bytes) -> CompiledModel:
        cut = kernel._replace(code=kernel.code[:size], cubin=cubin)
        return CompiledModel(compiled.artifact._replace(kernels=(cut,)))

    (kernel,) = compiled.artifact.kernels
    sizes = [kernel.code.index(b".target"), 9]
    if gpu.api == "emulator":  # it reads all of a text
        sizes += [len(kernel.code) // 2, len(kernel.code) - 3]
    for size in sizes:
        with pytest.raises(RuntimeError, match=r"on gpu:0: CUDA_ERROR_|kernel tanh_mul") as caught:
            session.init(damaged(kernel, size, b""))
        assert not isinstance(caught.value, DeviceLost)
    if gpu.api == "cuda" and kernel.cubin:
        with pytest.raises(RuntimeError, match="the cubin of tanh_mul is damaged"):
            session.init(damaged(kernel, len(kernel.code), kernel.cubin[:200]))
    works(session.init(compiled), gpu)


def test_code_for_a_later_device(gpu: Accelerator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELTON_TARGET", "sm_100")
    compiled = InferenceSession().compile(scaled(DeviceRef.GPU(0)))
    with pytest.raises(RuntimeError, match=r"for a later GPU than gpu:0(.|\n)*sm_100 or later(.|\n)*sm_90"):
        InferenceSession([gpu]).init(compiled)


def test_a_grid_beyond_the_limit(gpu: Accelerator, monkeypatch: pytest.MonkeyPatch) -> None:
    model = InferenceSession([gpu]).load(scaled(DeviceRef.GPU(0)))
    (limited,) = {type(gpu.driver).__module__} & {"pelton.runtime.emulator.driver"} or {"pelton.runtime.cuda.launches"}
    works(model, gpu)
    monkeypatch.setattr(import_module(limited), "LARGEST_GRID", 2)
    for _ in range(2):
        with pytest.raises(DeviceError, match=r"launch of tanh_mul: (a )?grid of \d+(.|\n)*0 to 2"):
            model.execute(here(values(1 << 14), gpu))
        works(model, gpu)


def test_nothing_is_launched_for_nothing(gpu: Accelerator, monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = InferenceSession([gpu]).load(scaled(DeviceRef.GPU(0))), here(values(0), gpu)
    assert model.execute(x)[0].to_numpy().shape == (0,)
    (out,) = model.capture(1, x)
    model.replay(1, x)
    model.debug_verify_replay(1, x)
    assert out.to_numpy().shape == (0,)
    works(model, gpu)


def test_a_fault_loses_one_device_and_no_session(fake: FakeCuda) -> None:
    """It is told by the call that waits, then by every call for that device; graphs of its work go with it."""
    first, second = Accelerator(0), Accelerator(1)
    session = InferenceSession([first, second])
    model, other, host = (session.load(scaled(d)) for d in (DeviceRef.GPU(0), DeviceRef.GPU(1), HOST))
    x = here(values(8), first)
    model.capture(1, x)
    fake.fails = lambda number, name: CUresult.CUDA_ERROR_ILLEGAL_ADDRESS if name == "cuStreamSynchronize" else None
    with pytest.raises(DeviceLost, match=r"cuStreamSynchronize failed on gpu:0: CUDA_ERROR_ILLEGAL_ADDRESS \(700\)"):
        first.synchronize()
    fake.fails = lambda number, name: None
    for call in (lambda: model.replay(1, x), lambda: model.execute(x), x.to_numpy, lambda: here(values(8), first)):
        with pytest.raises(DeviceLost, match=r"on gpu:0: the device is lost since an earlier fault"):
            call()
    model.release_captured_graph(1)
    works(other, second)
    assert host.execute(values(8))[0].to_numpy().shape == (8,)
    works(InferenceSession([second]).load(scaled(DeviceRef.GPU(1))), second)


def stray_on_gpu(out: Any, x: Any) -> None:
    out[x.shape[0] * 1024 + cuda.threadIdx.x] = x[0]


def test_an_emulated_device_outlives_a_fault() -> None:
    @pelton.register("stray", types="f32[n] -> f32[n]", cuda=stray_on_gpu)
    def stray(out: Any, x: Any) -> None:
        out[0] = x[0]

    gpu, there = Accelerator.emulated(), DeviceRef.GPU(0)
    session = InferenceSession([gpu], custom_extensions=stray)
    with Graph("g", input_types=[TensorType(F32, ["n"], there)], custom_extensions=[stray]) as graph:
        graph.output(*ops.custom("stray", there, graph.inputs, None))
    model, other = session.load(graph), session.load(scaled(there))
    free = gpu.stats["free_memory"]
    for _ in range(3):
        with pytest.raises(RuntimeError, match=r"thread 0 of block 0(.|\n)*stray\.py:\d+") as caught:
            model.execute(here(values(8), gpu))
        assert "out[x.shape[0] * 1024 + cuda.threadIdx.x] = x[0]" in str(caught.value), "the line of the text"
        works(other, gpu)
    assert gpu.stats["free_memory"] <= free
