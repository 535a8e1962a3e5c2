"""Emulated GPUs as devices, buffers on them, and models that run there: alone, and beside the host."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest

from pelton.artifact import Artifact
from pelton.driver import CPU, Accelerator, Buffer
from pelton.dtype import DType
from pelton.engine import CompiledModel, InferenceSession
from pelton.graph import BufferType, DeviceRef, Graph, TensorType, Weight, ops
from pelton.runtime.device_walker import code_for
from pelton.support import trace
from pelton.support.errors import AssertionFailed, CaptureError, DeviceError

F32, HOST, GPU = DType.float32, DeviceRef.CPU(), DeviceRef.GPU(0)
CCS = [(8, 0), (9, 0)]


@pytest.fixture(params=CCS, ids=lambda cc: f"sm_{cc[0]}{cc[1]}")
def gpu(request: pytest.FixtureRequest) -> Accelerator:
    return Accelerator.emulated(request.param)


def values(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def here(array: Any, gpu: Accelerator) -> Buffer:
    return Buffer.from_numpy(array).to(gpu)


# ---- devices
def test_what_an_emulated_device_says(gpu: Accelerator) -> None:
    cc = getattr(gpu, "cc", None)
    assert gpu.label == "gpu" and gpu.id == 0 and str(gpu) == "gpu:0" and gpu.api == "emulator" and not gpu.is_host
    assert cc is not None and gpu.architecture_name == f"sm_{cc[0]}{cc[1]}"
    assert gpu == Accelerator.emulated(cc) and hash(gpu) == hash(Accelerator.emulated(cc))
    assert gpu != Accelerator.emulated(cc, id=1) and gpu != Accelerator.emulated((8, 9)) and gpu != CPU()
    assert pickle.loads(pickle.dumps(gpu)) == gpu and CPU() < gpu < Accelerator.emulated(cc, id=1)
    assert gpu.can_access(gpu) and not gpu.can_access(CPU())
    gpu.synchronize()


@pytest.mark.parametrize("bad", [(7, 0), (9, 10), (9, -1), (-9, 0)])
def test_capabilities_that_are_none(bad: Any) -> None:
    with pytest.raises(ValueError, match="capability"):
        Accelerator.emulated(bad)


@pytest.mark.parametrize("bad", [9, "90", (9,), (9, 0, 1), (9.0, 0), (True, 0), None])
def test_capabilities_of_another_type(bad: Any) -> None:
    with pytest.raises(TypeError):
        Accelerator.emulated(bad)


def test_memory_is_counted_and_given_back(gpu: Accelerator) -> None:
    before = gpu.stats["free_memory"]
    buffer = Buffer(F32, (1000,), gpu)
    assert gpu.stats["free_memory"] == before - 4000
    view = buffer[10:]
    del buffer
    assert gpu.stats["free_memory"] == before - 4000
    del view
    assert gpu.stats["free_memory"] == before
    with pytest.raises(MemoryError, match="free"):
        Buffer(F32, (gpu.stats["total_memory"],), gpu)


# ---- buffers
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, np.uint8, ml_dtypes.bfloat16])
def test_there_and_back(gpu: Accelerator, dtype: Any) -> None:
    array = values(3, 4).astype(dtype)
    buffer = here(array, gpu)
    assert buffer.device == gpu and not buffer.is_host and buffer.is_contiguous and isinstance(buffer, Buffer)
    assert buffer.dtype is DType.from_numpy(array.dtype) and buffer.shape == (3, 4)
    for back in (buffer.to_numpy(), buffer.to(CPU()).to_numpy(), buffer.copy(CPU()).to_numpy(), np.asarray(buffer)):
        assert back.tobytes() == array.tobytes()
    assert buffer.to(gpu) is buffer and buffer.copy().address != buffer.address
    assert pickle.loads(pickle.dumps(buffer)).to_numpy().tobytes() == array.tobytes()


def test_views_are_of_the_same_memory(gpu: Accelerator) -> None:
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    buffer = here(array, gpu)
    part = buffer[1:, ::-2]
    assert part.device == gpu and np.array_equal(part.to_numpy(), array[1:, ::-2])
    part[...] = 7
    array[1:, ::-2] = 7
    assert np.array_equal(buffer.to_numpy(), array) and buffer[1, 5].item() == 7
    buffer[0] = Buffer.from_numpy(np.ones(6, np.float32))
    buffer[3] = buffer[0]
    array[[0, 3]] = 1
    assert np.array_equal(buffer.to_numpy(), array)
    assert np.array_equal(part.contiguous().to_numpy(), array[1:, ::-2]) and part.contiguous().is_contiguous
    assert np.array_equal(buffer.view(DType.int32).to_numpy(), array.view(np.int32))


@pytest.mark.parametrize(("value", "dtype"), [(2.5, DType.int8), (300, DType.int8), (-1, DType.uint8), (1e40, F32)])
def test_numbers_that_a_type_cannot_hold(gpu: Accelerator, value: float, dtype: DType) -> None:
    """As on the host, and what was there stays."""
    for place in (CPU(), gpu):
        buffer = Buffer.zeros((2,), dtype, place)
        with pytest.raises(ValueError, match=r"cannot be a"):
            buffer[0] = value
        assert not buffer.to_numpy().any()


def test_new_buffers(gpu: Accelerator) -> None:
    assert not Buffer.zeros((2, 3), DType.int32, gpu).to_numpy().any()
    assert Buffer.scalar(2.5, F32, gpu).item() == 2.5 and Buffer.scalar(2.5, F32, gpu).device == gpu
    empty = Buffer(F32, (0, 3), gpu)
    assert empty.to_numpy().shape == (0, 3) and empty.copy().nbytes == 0


def test_what_the_host_cannot_do(gpu: Accelerator) -> None:
    buffer = Buffer.zeros((2,), F32, gpu)
    assert buffer.__dlpack_device__() == (2, 0)
    with pytest.raises(BufferError, match="CPU"):
        buffer.__dlpack__()
    with pytest.raises(ValueError, match="equal"):
        buffer.inplace_copy_from(Buffer.zeros((3,), F32))
    with pytest.raises(TypeError):
        buffer.inplace_copy_from(np.zeros(2, np.float32))  # pyright: ignore[reportArgumentType]


# ---- models
def softmaxed(weight: DeviceRef = GPU) -> Graph:
    w = Weight("w", F32, [4], weight)
    with Graph("softmaxed", input_types=[TensorType(F32, ["n", 4], GPU), TensorType(DType.int64, ["m"], GPU)]) as graph:
        x, rows = (value.tensor for value in graph.inputs)
        graph.output(ops.gather(ops.softmax(x * ops.transfer_to(w, GPU) + 1.0), rows, axis=0))
    return graph


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


WEIGHTS = {"w": np.arange(4, dtype=np.float32)}


@pytest.mark.parametrize("weight", [HOST, GPU])
def test_a_model_on_the_device(gpu: Accelerator, weight: DeviceRef) -> None:
    model = InferenceSession([gpu]).load(softmaxed(weight), weights_registry=WEIGHTS)
    for n in (3, 1, 70):
        x = values(n, 4)
        (out,) = model.execute(here(x, gpu), here(np.array([n - 1, 0, -1]), gpu))
        assert out.device == gpu
        np.testing.assert_allclose(out.to_numpy(), softmax(x * WEIGHTS["w"] + 1)[[n - 1, 0, -1]], 1e-6)


def test_a_weight_that_is_there_already(gpu: Accelerator) -> None:
    before = here(WEIGHTS["w"], gpu)
    free = gpu.stats["free_memory"]
    model = InferenceSession([gpu]).load(softmaxed(), weights_registry={"w": before})
    assert gpu.stats["free_memory"] == free, "it is the caller's memory, not a copy"
    (out,) = model.execute(here(values(3, 4), gpu), here(np.array([1]), gpu))
    np.testing.assert_allclose(out.to_numpy(), softmax(values(3, 4) * WEIGHTS["w"] + 1)[[1]], 1e-6)


def test_two_devices_in_one_graph(gpu: Accelerator) -> None:
    """The host multiplies, the GPU adds up and goes on with what the host makes of it."""
    with Graph("mixed", input_types=[TensorType(F32, ["n", 40], HOST)]) as graph:
        x = graph.inputs[0].tensor
        there = (x * 2.0).to(GPU)
        total = ops.sum(there, axis=1)
        again = ops.exp(total.to(HOST) * 0.125).to(GPU) + total
        graph.output(total.to(HOST), again)
    model = InferenceSession([gpu]).load(graph)
    x = values(5, 40)
    total, again = model.execute(x)
    assert total.is_host and again.device == gpu
    np.testing.assert_allclose(total.to_numpy(), 2 * x.sum(1, keepdims=True), 1e-5, 1e-5)
    wanted = total.to_numpy()
    np.testing.assert_allclose(again.to_numpy(), np.exp(wanted / 8) + wanted, 1e-5)


def test_checks_fail_as_on_the_host(gpu: Accelerator) -> None:
    model = InferenceSession([gpu]).load(softmaxed(), weights_registry=WEIGHTS)
    x = here(values(3, 4), gpu)
    with pytest.raises(AssertionFailed, match=r"index out of range(.|\n)*nn\.gather(.|\n)*5 at element 1"):
        model.execute(x, here(np.array([2, 5]), gpu))
    model.execute(x, here(np.array([2, 1]), gpu))


def test_reports_and_messages(gpu: Accelerator, caplog: pytest.LogCaptureFixture) -> None:
    session = InferenceSession([gpu])
    session.set_assert_level("WARN")
    session.set_log_level("INFO")
    with Graph("talking", input_types=[TensorType(F32, ["n"], GPU)]) as graph:
        x = graph.inputs[0].tensor
        ops.assert_(ops.greater(x, 0.0), "positive", x)
        ops.trace("info", "doubled", x + x)
        graph.output(x + 1.0)
    model = session.load(graph)
    with caplog.at_level("INFO", "pelton"):
        (out,) = model.execute(here(np.array([1, -2, -3], np.float32), gpu))
    assert out.to_numpy().tolist() == [2, -1, -2]
    texts = [record.getMessage() for record in caplog.records]
    assert any("positive" in text and "-2.0 at element 1" in text for text in texts), texts
    assert any("doubled" in text and "-4" in text for text in texts), texts


def test_buffers_are_written_there(gpu: Accelerator) -> None:
    with Graph("cache", input_types=[BufferType(F32, [4, 2], GPU), TensorType(F32, [1, 2], GPU)]) as graph:
        state, row = graph.inputs
        state.buffer[1:2] = row.tensor
        graph.output(ops.sum(ops.buffer_load(state.buffer), axis=0))
    model = InferenceSession([gpu]).load(graph)
    state = Buffer.zeros((4, 2), F32, gpu)
    (out,) = model.execute(state, here(np.array([[3, 4]], np.float32), gpu))
    assert out.to_numpy().tolist() == [[3, 4]] and state.to_numpy().tolist() == [[0, 0], [3, 4], [0, 0], [0, 0]]


def test_arguments_elsewhere(gpu: Accelerator) -> None:
    model = InferenceSession([gpu]).load(softmaxed(), weights_registry=WEIGHTS)
    x, rows = values(3, 4), np.array([0])
    other = Accelerator.emulated((8, 6))
    for wrong in (x, Buffer.from_numpy(x), here(x, other)):
        with pytest.raises(TypeError, match=r"input 0(.|\n)*emulator(.|\n)*\.to\(device\)"):
            model.execute(wrong, here(rows, gpu))
    host = InferenceSession().load(Graph("g", lambda x: x + 1, [TensorType(F32, ["n"], HOST)]))
    with pytest.raises(TypeError, match="cpu:0"):
        host.execute(here(values(3), gpu))


def test_sessions_without_the_device(gpu: Accelerator, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match=r"gpu:0(.|\n)*Accelerator"):
        InferenceSession().load(softmaxed(), weights_registry=WEIGHTS)
    monkeypatch.setenv("PELTON_TARGET", gpu.architecture_name)
    compiled = InferenceSession().compile(softmaxed())
    with pytest.raises(DeviceError, match="gpu:0"):
        InferenceSession().init(compiled, weights_registry=WEIGHTS)
    model = InferenceSession([gpu]).init(compiled, weights_registry=WEIGHTS)
    (out,) = model.execute(here(values(3, 4), gpu), here(np.array([2]), gpu))
    np.testing.assert_allclose(out.to_numpy(), softmax(values(3, 4) * WEIGHTS["w"] + 1)[[2]], 1e-6)


def test_artifacts_carry_ptx(gpu: Accelerator, tmp_path: Any) -> None:
    compiled = InferenceSession([gpu]).compile(softmaxed())
    artifact = compiled.artifact
    assert artifact.architecture == gpu.architecture_name and artifact.walker is None and not artifact.cpu_features
    assert all(kernel.is_ptx and kernel.code.startswith(b".version") for kernel in artifact.kernels)
    compiled.save(tmp_path / "model.pelton")
    model = InferenceSession([gpu]).load(tmp_path / "model.pelton", weights_registry=WEIGHTS)
    (out,) = model.execute(here(values(2, 4), gpu), here(np.array([1]), gpu))
    np.testing.assert_allclose(out.to_numpy(), softmax(values(2, 4) * WEIGHTS["w"] + 1)[[1]], 1e-6)
    with pytest.raises(RuntimeError, match=r"later GPU(.|\n)*PELTON_TARGET=sm_75"):
        InferenceSession([Accelerator.emulated((7, 5))]).init(CompiledModel(artifact), weights_registry=WEIGHTS)


# ---- capture
def test_capture_and_replay(gpu: Accelerator) -> None:
    model = InferenceSession([gpu]).load(softmaxed(), weights_registry=WEIGHTS)
    x, rows = here(values(3, 4), gpu), here(np.array([2, 0]), gpu)
    before = gpu.stats["free_memory"]
    (out,) = model.capture(1, x, rows)
    for seed in range(3):
        new = values(3, 4, seed=seed)
        x.inplace_copy_from(Buffer.from_numpy(new))
        model.replay(1, x, rows)
        assert np.array_equal(out.to_numpy(), model.execute(x, rows)[0].to_numpy())
    model.debug_verify_replay(1, x, rows)
    kernels = [record.kernel for record in model.launches(x, rows)]
    assert len(kernels) == 3 and kernels[0] == "copy" and kernels[-1].endswith("gather")
    rows.inplace_copy_from(Buffer.from_numpy(np.array([2, 7])))
    with pytest.raises(AssertionFailed, match="7 at element 1"):
        model.replay(1, x, rows)
    rows.inplace_copy_from(Buffer.from_numpy(np.array([1, 1])))
    model.replay(1, x, rows)
    assert np.array_equal(out.to_numpy(), model.execute(x, rows)[0].to_numpy())
    with pytest.raises(CaptureError, match="another"):
        model.replay(1, here(values(3, 4), gpu), rows)
    with pytest.raises(CaptureError, match="captured already"):
        model.capture(1, x, rows)
    model.release_captured_graph(1)
    del out
    left = before - gpu.stats["free_memory"]
    assert left <= 8192, "what a run needs stays for the next; a capture's memory does not"


def test_a_planted_difference_is_found(gpu: Accelerator, monkeypatch: pytest.MonkeyPatch) -> None:
    model = InferenceSession([gpu]).load(softmaxed(), weights_registry=WEIGHTS)
    x, rows = here(values(3, 4), gpu), here(np.array([2, 0]), gpu)
    model.capture(1, x, rows)
    real = gpu.driver.launch
    monkeypatch.setattr(gpu.driver, "launch", lambda f, grid, *rest: real(f, grid + 1, *rest))
    with pytest.raises((CaptureError, DeviceError)):
        model.debug_verify_replay(1, x, rows)
    monkeypatch.undo()
    model.debug_verify_replay(1, x, rows)


def test_a_capture_that_the_host_is_part_of(gpu: Accelerator) -> None:
    """No graph of one device: the replay walks the plan again."""
    with Graph("mixed", input_types=[TensorType(F32, [4], HOST)]) as graph:
        graph.output((graph.inputs[0].tensor.to(GPU) * 2.0).to(HOST))
    model = InferenceSession([gpu]).load(graph)
    x = Buffer.from_numpy(np.ones(4, np.float32))
    (out,) = model.capture(5, x)
    launches = model.launches(x)
    assert [launch.kernel for launch in launches] == ["copy", "mul", "copy"]
    assert launches[1].block[0] > 1 and [argument.kind for argument in launches[0].arguments][1] == "input"
    x.to_numpy()[:] = 3
    model.replay(5, x)
    assert out.to_numpy().tolist() == [6] * 4
    model.debug_verify_replay(5, x)


def test_artifacts_carry_machine_code(tmp_path: Any) -> None:
    """A cubin beside each PTX, where nvJitLink is installed; a device of that capability gets it, others the PTX."""
    pytest.importorskip("cuda.bindings.nvjitlink")
    compiled = InferenceSession([Accelerator.emulated((8, 0))]).compile(softmaxed())
    compiled.save(tmp_path / "model.pelton")
    kernels = Artifact.load(tmp_path / "model.pelton").kernels
    assert kernels == compiled.artifact.kernels and all(kernel.cubin[:4] == b"\x7fELF" for kernel in kernels)
    for architecture, api, machine_code in (
        ("sm_80", "cuda", True),
        ("sm_86", "cuda", True),
        ("sm_90", "cuda", False),
        ("sm_80", "emulator", False),
    ):
        device = SimpleNamespace(architecture_name=architecture, api=api)
        given = code_for(cast("Accelerator", device), kernels[0])
        assert given == (kernels[0].cubin if machine_code else kernels[0].code.decode()), architecture


# ---- profiling
def test_marks_have_the_devices_times(gpu: Accelerator, monkeypatch: pytest.MonkeyPatch) -> None:
    """A span per launch, as long as the device says, none beginning before the one before it ends."""
    session = InferenceSession([gpu])
    session.gpu_profiling("detailed")
    model = session.load(softmaxed(), weights_registry=WEIGHTS)
    monkeypatch.setattr(gpu.driver, "seconds", lambda first, second: 2.5)
    with trace.recording() as record:
        model.execute(here(values(3, 4), gpu), here(np.array([2]), gpu))
    launches = [span for span in record.spans if span.kind == "launch"]
    assert [span.end_ns - span.begin_ns for span in launches] == [2_500_000_000] * 2
    assert launches[1].begin_ns == launches[0].end_ns and launches[1].name.endswith("gather")
    assert [span.name for span in record.spans if span.kind == "call"] == ["execute softmaxed"]


def test_kernels_are_told_with_their_times(
    gpu: Accelerator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PELTON_DEBUG", "2")
    model = InferenceSession([gpu]).load(softmaxed(), weights_registry=WEIGHTS)
    x, rows = here(values(3, 4), gpu), here(np.array([2]), gpu)
    model.capture(1, x, rows)
    capsys.readouterr()
    model.replay(1, x, rows)
    said = capsys.readouterr().err
    assert "main of softmaxed" in said and "gather" in said and "all kernels" in said
