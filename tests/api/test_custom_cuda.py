"""Custom ops with a body for a GPU: on emulated GPUs against the CPU body, in artifacts, and what is refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pelton
from pelton.codegen.cuda.compile import compile_ptx
from pelton.codegen.cuda.sources import cuda_sources
from pelton.compiler import cuda_passes
from pelton.dialects.context import new_context
from pelton.driver import Accelerator, Buffer
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import BufferType, DeviceRef, Graph, TensorType, ops

F32, CPU, GPU = DType.float32, DeviceRef.CPU(), DeviceRef.GPU(0)
Array = Any
numba: Any = import_module("numba")
cuda: Any = import_module("numba.cuda")


@pytest.fixture(autouse=True)
def own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    from pelton.custom import registry

    monkeypatch.setattr(registry, "REGISTERED", kept := {})
    monkeypatch.setattr("pelton.graph.custom.REGISTERED", kept)


SLOTS = 4


def bent(x: float, by: float) -> float:
    return math.tanh(x) * by if x > 0 else x


def rows_on_gpu(out: Array, total: Array, x: Array, *, by: float = 2.0) -> None:
    """Each thread takes every so manieth element; the first one adds up."""
    parts = cuda.shared.array(1024, numba.float32)
    t = cuda.threadIdx.x
    parts[t] = 0
    for j in range(t, x.shape[0], cuda.blockDim.x):
        out[j] = bent(x[j], by)
        parts[t] += out[j]
    cuda.syncthreads()
    if t == 0:
        best = np.float32(0)
        for k in range(cuda.blockDim.x):
            best += parts[k]
        total[()] = best


@pytest.fixture
def rows() -> None:
    @pelton.register("rows", types="f32[..., n] -> f32[..., n], f32[...]", cuda=rows_on_gpu)
    def rows(out: Array, total: Array, x: Array, *, by: float = 2.0) -> None:
        best = np.float32(0)
        for j in range(x.shape[0]):
            out[j] = bent(x[j], by)
            best += out[j]
        total[()] = best


def graph_of(device: DeviceRef, name: str = "rows", shape: Any = ("b", "n"), **parameters: Any) -> Graph:
    def build(x: Any) -> Any:
        return tuple(ops.custom(name, device, [x + 1.0], None, parameters))

    return Graph("g", build, [TensorType(F32, shape, device)])


def here(array: Array, gpu: Accelerator) -> Buffer:
    return Buffer.from_numpy(array).to(gpu)


@pytest.mark.parametrize("shape", [(3, 5), (1, 300), (2, 0), (0, 4)])
@pytest.mark.parametrize("cc", [(8, 0), (9, 0)])
def test_the_body_runs_on_a_gpu(rows: None, shape: tuple[int, ...], cc: tuple[int, int]) -> None:
    gpu, x = Accelerator.emulated(cc), np.random.default_rng(1).standard_normal(shape, np.float32)
    got = InferenceSession([gpu]).load(graph_of(GPU, by=0.5)).execute(here(x, gpu))
    wanted = InferenceSession().load(graph_of(CPU, by=0.5)).execute(x)
    for a, b in zip(got, wanted, strict=True):
        assert a.device == gpu
        np.testing.assert_allclose(a.to_numpy(), b.to_numpy(), rtol=1e-5, atol=1e-5)


def push_on_gpu(found: Array, stack: Array, value: Array, flags: Array) -> None:
    for k in range(cuda.threadIdx.x, value.shape[0] * value.shape[1], cuda.blockDim.x):
        i, j = k // value.shape[1], k % value.shape[1]
        if flags[i]:
            stack[SLOTS - 1, i, j] = value[i, j]
        found[i, j] = i * SLOTS - j


def test_buffers_and_other_types() -> None:
    """A buffer that changes, booleans, integers, arrays of several dims, called once with all of them."""

    @pelton.register("push", types="f32[4, n, m], f32[n, m], bool[n] -> i16[n, m]", cuda=push_on_gpu)
    def push(found: Array, stack: Array, value: Array, flags: Array) -> None:
        for i in range(value.shape[0]):
            for j in range(value.shape[1]):
                if flags[i]:
                    stack[SLOTS - 1, i, j] = value[i, j]
                found[i, j] = i * SLOTS - j

    def results(device: DeviceRef, place: Callable[[Array], Any], session: InferenceSession) -> list[Array]:
        types = [
            BufferType(F32, [4, "n", "m"], device),
            TensorType(F32, ["n", "m"], device),
            TensorType(DType.bool, ["n"], device),
        ]
        with Graph("g", input_types=types) as graph:
            graph.output(*ops.inplace_custom("push", device, graph.inputs))
        stack = place(np.zeros((4, 3, 70), np.float32))
        value = np.arange(210, dtype=np.float32).reshape(3, 70)
        (found,) = session.load(graph).execute(stack, place(value), place(np.array([True, False, True])))
        return [found.to_numpy(), stack.to_numpy()]

    gpu = Accelerator.emulated()
    wanted = results(CPU, Buffer.from_numpy, InferenceSession())
    for a, b in zip(results(GPU, lambda a: here(a, gpu), InferenceSession([gpu])), wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    assert wanted[1][3, 2].any() and not wanted[1][3, 1].any()


def test_in_artifacts_and_graphs_of_the_device(rows: None, tmp_path: Path) -> None:
    gpu, x = Accelerator.emulated(), np.ones((2, 40), np.float32)
    InferenceSession([gpu]).compile(graph_of(GPU)).save(tmp_path / "rows.pelton")
    model, given = InferenceSession([gpu]).load(tmp_path / "rows.pelton"), here(x, gpu)
    (out, total) = model.capture(1, given)
    given.inplace_copy_from(Buffer.from_numpy(x * 2))
    model.replay(1, given)
    np.testing.assert_allclose(out.to_numpy(), math.tanh(3) * 2 * x, rtol=1e-6)
    np.testing.assert_allclose(total.to_numpy(), [math.tanh(3) * 80] * 2, rtol=1e-5)


def lowered(graph: Graph) -> Any:
    """The kernels of a graph, with their bodies."""
    context, module = new_context(), graph.module.clone()
    for each in cuda_passes():
        each.apply(context, module)
    return module


def test_the_same_text_gives_the_same_code(rows: None, tmp_path: Path) -> None:
    """Once more in this process, whose numbers of functions and shared arrays have gone on; and with lines."""
    (source,) = [s for s in cuda_sources(lowered(graph_of(GPU))) if s.user_body]
    first = compile_ptx(source)
    assert compile_ptx(source) == first
    with_lines = compile_ptx(source, lines=tmp_path)
    assert ".loc" in with_lines and "rows.py" in with_lines and ".section" not in with_lines
    assert len(re.findall(r"^\s+bar\.sync", with_lines, re.M)) == len(re.findall(r"^\s+bar\.sync", first, re.M)) == 1


# what is refused


def cpu_only(out: Array, x: Array) -> None:
    for i in range(x.shape[0]):
        out[i] = x[i]


def test_an_op_without_a_body_for_a_gpu(tmp_path: Path) -> None:
    pelton.register("plain", types="f32[n] -> f32[n]")(cpu_only)
    with pytest.raises(ValueError, match=r"'plain' has no body for gpu:0(.|\n)*cuda="):
        graph_of(GPU, "plain", ("n",))
    text = str(graph_of(CPU, "plain", ("n",)))
    (tmp_path / "plain.mlir").write_text(text.replace("f32>", 'f32, "gpu:0">'))
    with pytest.raises(RuntimeError, match=r"'plain' has no body for a GPU(.|\n)*at:(.|\n)*cuda="):
        InferenceSession([Accelerator.emulated()]).load(tmp_path / "plain.mlir")


def raising_on_gpu(out: Array, x: Array) -> None:
    if x[0] < 0:
        raise ValueError("negative")


def allocating_on_gpu(out: Array, x: Array) -> None:
    y = x.copy()
    out[0] = y[0]


def unknown_on_gpu(out: Array, x: Array) -> None:
    out[0] = x.spectrum


def printing_on_gpu(out: Array, x: Array) -> None:
    print(x[0])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (raising_on_gpu, r"cuda body of the custom op 'plain' raises(.|\n)*negative(.|\n)*assert_"),
        (allocating_on_gpu, r"cuda body of the custom op plain allocates memory(.|\n)*scratch"),
        (
            unknown_on_gpu,
            r"cuda body of the custom op plain does not compile\n(.|\n)*line \d+: out.*spectrum(.|\n)*attr",
        ),
        (printing_on_gpu, r"does not compile(.|\n)*vprintf"),
    ],
)
def test_bodies_that_no_gpu_runs(body: Callable[..., None], said: str) -> None:
    pelton.register("plain", types="f32[n] -> f32[n]", cuda=body)(cpu_only)
    with pytest.raises(RuntimeError, match=said):
        InferenceSession([Accelerator.emulated()]).compile(graph_of(GPU, "plain", ("n",)))


def racing_on_gpu(out: Array, x: Array) -> None:
    shared = cuda.shared.array(128, numba.float32)
    shared[cuda.threadIdx.x] = x[0]
    out[cuda.threadIdx.x] = shared[127 - cuda.threadIdx.x]


def straying_on_gpu(out: Array, x: Array) -> None:
    out[x.shape[0] + cuda.threadIdx.x] = x[0]


@pytest.mark.parametrize(("body", "said"), [(racing_on_gpu, "with no barrier between"), (straying_on_gpu, "byte 512")])
def test_the_emulator_sees_what_a_body_does_wrong(body: Callable[..., None], said: str) -> None:
    pelton.register("plain", types="f32[n] -> f32[n]", cuda=body)(cpu_only)
    gpu = Accelerator.emulated()
    model = InferenceSession([gpu]).load(graph_of(GPU, "plain", ("n",)))
    with pytest.raises(RuntimeError, match=said):
        model.execute(here(np.ones(128, np.float32), gpu))
