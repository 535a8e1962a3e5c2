"""Invariant bits: what a row gives depends on that row, on nothing that runs beside it and on no way it is compiled.

Each subject is a small graph with a batch dim `b`. Its results are compared bit for bit: one item alone and in batches
of different sizes, ops fused and each in a kernel of its own, symbolic and known sizes, AVX2 and AVX-512 code, before
and after saving, kernels run in pieces of any size and order, by several threads, and over memory full of rubbish.
Baseline code may differ from the others: it has no fused multiply-add.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton.codegen.cpu.target import AVX2, AVX512
from pelton.dtype import DType
from pelton.engine import CompiledModel, InferenceSession, Model
from pelton.graph import DeviceRef, Graph, TensorType, ops
from pelton.runtime import executable
from pelton.runtime.executable import NativeExecutable
from pelton.runtime.loader import host_features
from pelton.runtime.memory import pool
from pelton.runtime.walker import Kernel, native_kernel
from pelton.tests.support.compiled import artifact_of, compiled, difference, results

CPU = DeviceRef.CPU()
Shape = tuple[int | str, ...]
LARGEST = 33
BATCHES = (1, 2, 3, 8, 31)
SIZES: Sequence[Mapping[str, int]] = ({"s": 7, "n": 100}, {"s": 3, "n": 5}, {"s": 1, "n": 1})


@dataclass(frozen=True)
class Subject:
    """A graph of inputs like `shapes`. The batch is where "b" stands in them, and `axis` of every result."""

    function: Callable[..., Any]
    shapes: Sequence[Shape]
    dtype: str = "float32"
    axis: int = 0
    integers: Sequence[int] = ()
    """Which inputs are indices below 3."""

    def graph(self, known: Mapping[str, int]) -> Graph:
        kinds = [DType.int64 if k in self.integers else DType[self.dtype] for k in range(len(self.shapes))]
        shapes = [[known.get(d, d) if isinstance(d, str) else d for d in shape] for shape in self.shapes]
        return Graph("subject", self.function, [TensorType(t, s, CPU) for t, s in zip(kinds, shapes, strict=True)])

    def arrays(self, sizes: Mapping[str, int], first: int = 0, count: int = LARGEST) -> list[Any]:
        """The inputs for items `first` to `first + count` of the batch."""
        every = {**sizes, "b": LARGEST}
        found: list[Any] = []
        for k, shape in enumerate(self.shapes):
            random = np.random.default_rng(k)
            full = [every[d] if isinstance(d, str) else d for d in shape]
            x = random.integers(0, 3, full) if k in self.integers else random.standard_normal(full)
            x = x.astype(np.int64 if k in self.integers else DType[self.dtype].to_numpy())
            cut = [slice(first, first + count) if d == "b" else slice(None) for d in shape]
            found.append(np.ascontiguousarray(x[tuple(cut)]))
        return found

    def part(self, found: Sequence[Any], first: int, count: int) -> list[Any]:
        """Items of the batch, out of results."""
        cut = (slice(None),) * self.axis + (slice(first, first + count),)
        return [np.ascontiguousarray(y[cut]) for y in found]


def attention(x: Any, mask: Any, wq: Any, wk: Any, wv: Any, wo: Any, gamma: Any, beta: Any) -> Any:
    """One layer of a transformer: two heads, a mask, the residual, the norm."""
    b, s, width = x.shape
    heads = [ops.permute(ops.reshape(x @ w, [b, s, 2, width // 2]), [0, 2, 1, 3]) for w in (wq, wk, wv)]
    scores = heads[0] @ ops.transpose(heads[1], 2, 3) * 0.35 + ops.reshape(mask, [b, 1, 1, s])
    context = ops.permute(ops.softmax(scores) @ heads[2], [0, 2, 1, 3])
    return ops.layer_norm(x + ops.reshape(context, [b, s, width]) @ wo, gamma, beta, 1e-5)


def epilogue(x: Any, w: Any, bias: Any, residual: Any) -> Any:
    return ops.gelu(x @ w + bias) + residual


SQUARE: Shape = (16, 16)
SUBJECTS: dict[str, Subject] = {
    "softmax": Subject(ops.softmax, [("b", "s", "n")]),
    "softmax in the middle": Subject(lambda x: ops.softmax(x, 1), [("b", "s", "n")]),
    "logsoftmax bf16": Subject(ops.logsoftmax, [("b", "n")], "bfloat16"),
    "layer_norm": Subject(lambda x, g, b: ops.layer_norm(x, g, b, 1e-5), [("b", "s", "n"), ("n",), ("n",)]),
    "layer_norm f64": Subject(lambda x, g, b: ops.layer_norm(x, g, b, 1e-5), [("b", "n"), ("n",), ("n",)], "float64"),
    "rms_norm": Subject(lambda x, g: ops.rms_norm(x, g, 1e-6), [("b", "n"), ("n",)]),
    "rms_norm bf16": Subject(lambda x, g: ops.rms_norm(x, g, 1e-6), [("b", "n"), ("n",)], "bfloat16"),
    "sum of rows": Subject(lambda x: ops.sum(x, -1), [("b", "s", "n")]),
    "sum of columns": Subject(lambda x: ops.sum(x, 0), [("n", "b")], axis=1),
    "sum in the middle": Subject(lambda x: ops.sum(x * x, 1), [("b", "n", "s")]),
    "mean of everything": Subject(lambda x: ops.mean(x, [1, 2]), [("b", "s", "n")], "float16"),
    "argmax": Subject(ops.argmax, [("b", "s", "n")]),
    "argmax of columns": Subject(lambda x: ops.argmax(x, 0), [("n", "b")], axis=1),
    "gelu": Subject(lambda x: ops.gelu(x) * ops.gelu(x, "tanh") + ops.sigmoid(x), [("b", "n")]),
    "functions": Subject(lambda x: [ops.exp(x), ops.tanh(x), ops.erf(x), ops.sin(x), ops.log(abs(x))], [("b", "n")]),
    "matmul": Subject(ops.matmul, [("b", "n"), ("n", 40)]),
    "matmul of few columns": Subject(ops.matmul, [("s", "n"), ("n", "b")], axis=1),
    "matmul f64": Subject(ops.matmul, [("b", "s", "n"), ("n", 9)], "float64"),
    "matmul of a batch": Subject(lambda x, y: x @ ops.transpose(y, 1, 2), [("b", "s", "n"), ("b", 5, "n")]),
    "matmul, bias, gelu, residual": Subject(epilogue, [("b", "n"), ("n", 33), (33,), ("b", 33)]),
    "gather": Subject(lambda t, i: ops.gather(t, i, 0) * 2, [(3, "n"), ("b", "s")], integers=[1]),
    "attention": Subject(
        attention, [("b", "s", 16), ("b", "s"), SQUARE, SQUARE, SQUARE, SQUARE, (16,), (16,)]
    ),
}  # fmt: skip
each_subject = pytest.mark.parametrize("name", SUBJECTS)


@cache
def symbolic(name: str) -> Model:
    return compiled(SUBJECTS[name].graph({}).module)


def whole(name: str, sizes: Mapping[str, int]) -> list[Any]:
    """The results of the largest batch."""
    return results(symbolic(name), SUBJECTS[name].arrays(sizes))


def same(got: Sequence[Any], want: Sequence[Any], where: object) -> None:
    apart = difference(got, want)
    assert not apart, f"{where}: {apart}"


@each_subject
def test_an_item_is_the_same_alone_and_in_a_batch(name: str) -> None:
    subject, model = SUBJECTS[name], symbolic(name)
    for sizes in SIZES:
        together = whole(name, sizes)
        for count in BATCHES:
            for first in {0, 1, LARGEST - count}:
                got = results(model, subject.arrays(sizes, first, count))
                same(got, subject.part(together, first, count), (sizes, first, count))


@each_subject
def test_fused_and_unfused(name: str) -> None:
    subject = SUBJECTS[name]
    unfused = compiled(subject.graph({}).module, separate=True)
    for sizes in SIZES:
        same(results(unfused, subject.arrays(sizes)), whole(name, sizes), sizes)


@each_subject
def test_symbolic_and_known_sizes(name: str) -> None:
    """All sizes known, for two batches, and all but the batch."""
    subject, sizes = SUBJECTS[name], SIZES[0]
    together = whole(name, sizes)
    for known, batches in (({**sizes, "b": LARGEST}, [LARGEST]), ({**sizes, "b": 1}, [1]), (sizes, [1, LARGEST])):
        model = compiled(subject.graph(known).module)
        for count in batches:
            got = results(model, subject.arrays(sizes, 0, count))
            same(got, subject.part(together, 0, count), (known, count))


def test_functions_of_a_size() -> None:
    """What is computed from a size that is known is not folded to other bits than a size that is not known gives."""

    def function(x: Any) -> list[Any]:
        size = ops.shape_to_tensor(x.shape)[0].cast(DType.float32)
        return [x * ops.rsqrt(size), x + ops.log(size), x * ops.exp(size * 0.01), x * ops.tanh(size * 0.01)]

    subject = Subject(function, [("n",)])
    model = compiled(subject.graph({}).module)
    for n in (71, 72, 76, 79, 100):
        inputs = subject.arrays({"n": n})
        same(results(compiled(subject.graph({"n": n}).module), inputs), results(model, inputs), n)


@each_subject
def test_avx2_and_avx512(name: str) -> None:
    subject = SUBJECTS[name]
    codes = [artifact_of(subject.graph({}).module, target=target) for target in (AVX2, AVX512)]
    if missing := sorted((AVX2.required | AVX512.required) - host_features()):
        pytest.skip(f"this CPU has no {missing[0]}; the code was compiled")
    models = [Model(NativeExecutable(code, [])) for code in codes]
    for sizes in SIZES:
        narrow, broad = (results(model, subject.arrays(sizes)) for model in models)
        same(broad, narrow, sizes)


@each_subject
def test_a_saved_artifact(name: str, tmp_path: Path) -> None:
    subject = SUBJECTS[name]
    CompiledModel(artifact_of(subject.graph({}).module)).save(tmp_path / "subject.pelton")
    again = InferenceSession().load(tmp_path / "subject.pelton")
    for sizes in SIZES:
        same(results(again, subject.arrays(sizes)), whole(name, sizes), sizes)


@each_subject
def test_items_in_pieces_and_in_any_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As threads share them: a kernel's items one by one from the last, and in pieces of 3."""
    subject, code = SUBJECTS[name], artifact_of(SUBJECTS[name].graph({}).module)

    def cut(size: int) -> Callable[[int], Kernel]:
        def kernel(address: int) -> Kernel:
            run = native_kernel(address)
            return lambda args, lo, hi, ctx: max(
                (run(args, at, min(at + size, hi), ctx) for at in reversed(range(lo, hi, size))), default=0
            )

        return kernel

    for size in (1, 3):
        monkeypatch.setattr(executable, "native_kernel", cut(size))
        model = Model(NativeExecutable(code, [], reference=True))
        sizes = SIZES[1]
        same(results(model, subject.arrays(sizes, 0, 8)), subject.part(whole(name, sizes), 0, 8), size)


def spoil(model: Model, byte: int) -> None:
    """Fill the scratch memory of idle calls, and memory that is free to become outputs, with a byte."""
    runner: Any = model._executable.run  # pyright: ignore[reportPrivateUsage]
    for frame in runner._frames:
        if frame.arena is not None:
            ctypes.memset(frame.arena.address, byte, frame.arena.size)
    for size, blocks in pool._free.items():  # pyright: ignore[reportPrivateUsage]
        for address, _ in blocks:
            ctypes.memset(address, byte, size)


@each_subject
def test_rubbish_in_memory_and_sizes_in_any_order(name: str) -> None:
    """Scratch memory and outputs start as whatever was there: NaN, huge numbers, what other sizes left."""
    subject, model = SUBJECTS[name], compiled(SUBJECTS[name].graph({}).module)
    for turn, count in enumerate((1, LARGEST, 2, 8, 1, LARGEST)):
        sizes = SIZES[turn % len(SIZES)]
        want = subject.part(whole(name, sizes), 0, count)
        spoil(model, (0xFF, 0x7F, 0x5A)[turn % 3])
        same(results(model, subject.arrays(sizes, 0, count)), want, (sizes, count))


@pytest.mark.parametrize("name", ["softmax", "matmul, bias, gelu, residual", "attention"])
def test_threads_share_a_model(name: str) -> None:
    subject, model = SUBJECTS[name], compiled(SUBJECTS[name].graph({}).module)
    work = [(sizes, count) for sizes in SIZES for count in (1, 8, LARGEST)] * 5
    wanted = {id(sizes): whole(name, sizes) for sizes in SIZES}
    with ThreadPoolExecutor(4) as threads:
        every = list(threads.map(lambda w: results(model, subject.arrays(w[0], 0, w[1])), work))
    for (sizes, count), got in zip(work, every, strict=True):
        same(got, subject.part(wanted[id(sizes)], 0, count), (sizes, count))


LONG: dict[str, Subject] = {
    "one long row": Subject(lambda x: ops.gelu(x) + x, [("b", "n")]),
    "columns": Subject(lambda x: ops.sum(ops.exp(x), 0), [("b", "n")]),
    "softmax of columns": Subject(lambda x: ops.softmax(x, 0), [("b", "n")]),
    "norm of one long row": Subject(lambda x, g: ops.rms_norm(x, g, 1e-6), [("b", "n"), ("n",)]),
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("length", [4097, 10_000])
def test_lanes_cut_in_chunks(name: str, length: int) -> None:
    """Long rows are cut where their length is known, and where there are few of them: the bits stay."""
    subject, rows = LONG[name], 9
    inputs = subject.arrays({"n": length}, 0, rows)
    forms: list[Mapping[str, int]] = [{}, {"b": rows}, {"n": length}, {"b": rows, "n": length}]
    first, *others = [results(compiled(subject.graph(known).module), inputs) for known in forms]
    first.append(results(compiled(subject.graph({}).module, separate=True), inputs)[0])
    for known, got in zip(forms[1:], others, strict=True):
        same(got, first[:1], known)
    same(first[1:], first[:1], "unfused")
