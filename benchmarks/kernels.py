"""Single operations as small graphs, beside torch and NumPy: workloads leave, each with calls that do the same work.

A workload is a line of `WORKLOADS`: a name, shapes, the graph as a function of its inputs, the same in torch and NumPy.
Before any is timed, its results are compared with NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from pelton.benchmarks.report import Figure, Report
from pelton.benchmarks.timing import Call, measure
from pelton.driver import Buffer
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, TensorValue, Weight, ops

torch: Any = import_module("torch")
Array: TypeAlias = np.ndarray[Any, Any]
CPU = DeviceRef.CPU()


@dataclass(frozen=True)
class Workload:
    """One operation: shapes of its float32 inputs, and its three spellings. `weights` are known at load."""

    name: str
    inputs: tuple[tuple[int, ...], ...]
    pelton: Callable[..., TensorValue]
    torch: Callable[..., Any]
    numpy: Callable[..., Array]
    weights: tuple[tuple[int, ...], ...] = ()
    operations: float = 0.0
    """Floating-point operations, or bytes moved where `per_second` is a bandwidth."""
    per_second: str = "GB/s"

    def calls(self, session: InferenceSession) -> dict[str, Call]:
        """The calls by contestant. Raises AssertionError where two disagree."""
        rng = np.random.default_rng(0)
        inputs = [rng.standard_normal(shape, np.float32) for shape in self.inputs]
        weights = [rng.standard_normal(shape, np.float32) for shape in self.weights]
        model = session.load(self._graph(), weights_registry={f"w{k}": w for k, w in enumerate(weights)})
        buffers = [Buffer.from_numpy(x) for x in inputs]
        tensors = [torch.from_numpy(x) for x in (*inputs, *weights)]
        expected = self.numpy(*inputs, *weights)
        for got in (model.execute(*buffers)[0].to_numpy(), self.torch(*tensors).numpy()):
            np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)
        return {
            "pelton": lambda: model.execute(*buffers),
            "torch": lambda: self.torch(*tensors),
            "numpy": lambda: self.numpy(*inputs, *weights),
        }

    def _graph(self) -> Graph:
        types = [TensorType(DType.float32, shape, CPU) for shape in self.inputs]
        with Graph(self.name.split()[0], input_types=types) as graph:
            weights = [Weight(f"w{k}", DType.float32, shape, CPU) for k, shape in enumerate(self.weights)]
            graph.output(self.pelton(*(value.tensor for value in graph.inputs), *weights))
        return graph


def gemm(m: int, n: int, k: int) -> Workload:
    """Both factors given at run time."""
    return Workload(
        f"gemm {m}x{n}x{k}",
        ((m, k), (k, n)),
        lambda a, b: a @ b,
        lambda a, b: a @ b,
        lambda a, b: a @ b,
        operations=2 * m * n * k,
        per_second="GFLOP/s",
    )


def linear(m: int, n: int, k: int) -> Workload:
    """A layer: `x @ w.T + b`, weights known at load."""
    return Workload(
        f"linear {m}x{n}x{k}",
        ((m, k),),
        lambda x, w, b: x @ w.T + b,
        torch.nn.functional.linear,
        lambda x, w, b: x @ w.T + b,
        weights=((n, k), (n,)),
        operations=2 * m * n * k,
        per_second="GFLOP/s",
    )


def softmax(m: int, n: int) -> Workload:
    def in_numpy(x: Array) -> Array:
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    return Workload(
        f"softmax {m}x{n}", ((m, n),), ops.softmax, lambda x: torch.softmax(x, -1), in_numpy, operations=8 * m * n
    )


def layer_norm(m: int, n: int) -> Workload:
    def in_numpy(x: Array, gamma: Array, beta: Array) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + np.float32(1e-5)) * gamma + beta

    return Workload(
        f"layer_norm {m}x{n}",
        ((m, n), (n,), (n,)),
        lambda x, gamma, beta: ops.layer_norm(x, gamma, beta, 1e-5),
        lambda x, gamma, beta: torch.nn.functional.layer_norm(x, (n,), gamma, beta, 1e-5),
        in_numpy,
        operations=8 * m * n,
    )


def rms_norm(m: int, n: int) -> Workload:
    return Workload(
        f"rms_norm {m}x{n}",
        ((m, n), (n,)),
        lambda x, gamma: ops.rms_norm(x, gamma, 1e-5),
        lambda x, gamma: torch.nn.functional.rms_norm(x, (n,), gamma, 1e-5),
        lambda x, gamma: x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + np.float32(1e-5)) * gamma,
        operations=8 * m * n,
    )


def gelu(n: int, approximate: str = "none") -> Workload:
    """`gelu(x * s + b)`, `s` and `b` scalars. NumPy has no erf: both are compared with the tanh form, 5e-4 apart."""

    def in_numpy(x: Array, s: Array, b: Array) -> Array:
        y = x * s + b
        return np.float32(0.5) * y * (1 + np.tanh(np.float32((2 / np.pi) ** 0.5) * (y + np.float32(0.044715) * y**3)))

    return Workload(
        f"gelu(x*s+b) {n} {approximate}",
        ((n,), (1,), (1,)),
        lambda x, s, b: ops.gelu(x * s + b, approximate),
        lambda x, s, b: torch.nn.functional.gelu(x * s + b, approximate=approximate),
        in_numpy,
        operations=8 * n,
    )


def reduce_sum(m: int, n: int, axis: int) -> Workload:
    return Workload(
        f"sum {m}x{n} axis {axis}",
        ((m, n),),
        lambda x: ops.sum(x, axis=axis),
        lambda x: torch.sum(x, axis, keepdim=True),
        lambda x: x.sum(axis=axis, keepdims=True),
        operations=4 * m * n,
    )


def transpose(m: int, n: int) -> Workload:
    return Workload(
        f"transpose {m}x{n}",
        ((m, n),),
        lambda x: ops.transpose(x, 0, 1),
        lambda x: x.t().contiguous(),
        lambda x: np.ascontiguousarray(x.T),
        operations=8 * m * n,
    )


def top_k(m: int, n: int, k: int) -> Workload:
    """The values alone; NumPy partitions, then sorts what it kept."""
    return Workload(
        f"top_k {m}x{n} k {k}",
        ((m, n),),
        lambda x: ops.top_k(x, k)[0],
        lambda x: torch.topk(x, k).values,
        lambda x: -np.sort(-np.take_along_axis(x, np.argpartition(-x, k)[:, :k], 1)),
        operations=4 * m * n,
    )


WORKLOADS: Sequence[Workload] = (
    *(gemm(n, n, n) for n in (64, 256, 512, 1024)),
    gemm(512, 3072, 768),
    *(linear(*shape) for shape in ((128, 384, 384), (128, 1536, 384), (128, 384, 1536), (512, 3072, 768))),
    *(linear(m, 4096, 4096) for m in (1, 8)),
    gelu(2 << 20),
    gelu(2 << 20, "tanh"),
    softmax(1024, 4096),
    softmax(32, 128256),
    layer_norm(1024, 4096),
    rms_norm(1024, 4096),
    reduce_sum(1024, 4096, 1),
    reduce_sum(1024, 4096, 0),
    transpose(1024, 4096),
    top_k(32, 128256, 50),
)


def run(report: Report, match: str, seconds: float) -> None:
    """Add a figure for each workload whose name holds `match`."""
    torch.set_num_threads(1)
    session = InferenceSession()
    for workload in (w for w in WORKLOADS if match in w.name):
        with torch.inference_mode():
            times = measure(workload.calls(session), seconds)
        took = times.seconds("pelton")
        rate = f"{workload.operations / took / 1e9:.1f} {workload.per_second}" if workload.operations else ""
        ratios = {other: times.ratio("pelton", other) for other in ("torch", "numpy")}
        report.add(Figure(workload.name, took * 1e6, "CPU µs", ratios=ratios, note=rate))
