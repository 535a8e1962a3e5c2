"""Profiling marks: what a plan with them is, what its walks note, and that a plan without them is untouched."""

from __future__ import annotations

import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from pelton.artifact import Artifact
from pelton.codegen.cpu.target import TARGETS, CpuTarget, host_target
from pelton.codegen.cpu.walker import NAME
from pelton.compiler import Compilation, passes_for
from pelton.dtype import DType
from pelton.graph import DeviceRef, Graph, TensorType, TensorValue, Weight, ops
from pelton.passes.insert_marks import InsertMarks
from pelton.program import Op, check_program, instructions
from pelton.runtime.executable import NativeExecutable
from pelton.runtime.loader import host_features, map_objects
from pelton.runtime.marks import marks_of
from pelton.runtime.model import Model
from pelton.runtime.walker import Code, Frame, NativeWalker
from pelton.runtime.weights import bind_weights
from pelton.support import trace
from pelton.support.chrome import Span
from pelton.support.errors import AssertionFailed
from pelton.support.options import Options
from pelton.tests.support import small_artifacts as small
from pelton.tests.support.compiled import STORE

CPU = DeviceRef.CPU()
W = np.linspace(-1, 1, 48 * 16, dtype=np.float32).reshape(48, 16)
X = np.linspace(0, 1, 5 * 48, dtype=np.float32).reshape(5, 48)


def layer() -> Graph:
    def body(x: TensorValue) -> tuple[TensorValue, TensorValue]:
        return ops.softmax(x @ Weight("w", DType.float32, [48, 16], CPU)), x  # an input as an output is copied

    return Graph("layer", body, [TensorType(DType.float32, ["n", 48], CPU)])


def artifact(mode: str) -> Artifact:
    graph = layer()
    compilation = Compilation(graph.module, host_target(), STORE, graph.constants, graph.name, Options(profiling=mode))
    return compilation.run().artifact


def model(mode: str, *, reference: bool = False) -> Model:
    made = artifact(mode)
    return Model(NativeExecutable(made, bind_weights(made.weights, {"w": W}), reference=reference))


def spans(mode: str, *, reference: bool = False) -> list[Span]:
    """Of one execute."""
    loaded = model(mode, reference=reference)
    with trace.recording() as record:
        loaded.execute(X)
    return record.spans


def test_off_is_as_if_the_pass_did_not_exist() -> None:
    assert not any(isinstance(each, InsertMarks) for each in passes_for("avx2", Options(profiling="off")))
    graph = layer()
    compilation = Compilation(graph.module, host_target(), STORE, graph.constants, graph.name)
    compilation.pipeline.append(InsertMarks("off"))
    assert compilation.run().artifact.to_bytes() == artifact("off").to_bytes()


@pytest.mark.parametrize("mode", ["on", "detailed"])
def test_marks_change_the_plan_alone(mode: str) -> None:
    plain, marked = artifact("off"), artifact(mode)
    assert marked.kernels == plain.kernels and marked.walker == plain.walker
    for part in ("prologue", "body"):
        steps = [op for _, op, _ in instructions(getattr(marked.main, part)) if op is not Op.MARK]
        assert steps == [op for _, op, _ in instructions(getattr(plain.main, part))]
    for got, want in zip(model(mode).execute(X), model("off").execute(X), strict=True):
        np.testing.assert_array_equal(got.to_numpy(), want.to_numpy())


@pytest.mark.parametrize("reference", [False, True])
def test_each_launch_becomes_a_span(reference: bool) -> None:
    begun = time.perf_counter_ns()
    found = spans("on", reference=reference)
    ended = time.perf_counter_ns()
    kernels = artifact("on").main.kernels
    assert [s.name for s in found] == [
        kernels[o[0]] for _, op, o in instructions(artifact("on").main.body) if op is Op.LAUNCH
    ]
    assert {(s.kind, s.thread, s.facts["model"]) for s in found} == {
        ("launch", threading.get_native_id(), "main of layer")
    }
    times = [t for s in found for t in (s.begin_ns, s.end_ns)]
    assert times == sorted(times) and begun <= times[0] and times[-1] <= ended
    product = next(s for s in found if "flops" in s.facts)
    assert product.facts["flops"] == 2 * 5 * 48 * 16


def test_detailed_adds_copies_the_plan_and_the_call() -> None:
    found = spans("detailed")
    assert [(s.name, s.kind) for s in found[-3:]] == [
        ("copy", "copy"), ("@main", "walk"), ("execute layer", "call"),
    ]  # fmt: skip
    walk, call = found[-2:]
    for inner, outer in ((found[0], walk), (found[-3], walk), (walk, call)):
        assert outer.begin_ns <= inner.begin_ns <= inner.end_ns <= outer.end_ns


def test_init_is_marked_too() -> None:
    with trace.recording() as record:
        model("detailed")
    assert ("@init", "init of layer") in [(s.name, s.facts.get("model")) for s in record.spans]


def test_nobody_records_nothing_happens_and_later_calls_are_not_mixed_up() -> None:
    loaded = model("on")
    loaded.execute(X)
    with trace.recording() as record:
        loaded.execute(X[:1])
    once = len(record.spans)
    with trace.recording() as record:
        loaded.execute(X[:1])
        loaded.execute(X)
    assert once and len(record.spans) == 2 * once


def marked_take() -> Artifact:
    """z = x[i], then w = x + x, both marked; the first may fail."""
    b = small.ProgramBuilder()
    x, i = b.argument(), b.argument()
    n, k = b.dim(0, 0), b.dim(1, 0)
    for name, step in (("take", [x, i]), ("add", [x, x])):
        site = b.begin(name)
        items = k if name == "take" else n
        b.launch(name, items, [*step, b.output(small.F32, [items]), n], ["index out of range"] * (name == "take"))
        b.end(site)
    shapes = (small.TensorInfo("x", small.F32, ("n",)), small.TensorInfo("i", small.I64, ("k",)))
    outputs = (small.TensorInfo("z", small.F32, ("k",)), small.TensorInfo("w", small.F32, ("n",)))
    return small.artifact(b.finish(), shapes, outputs)


def test_a_walk_that_fails_tells_what_it_finished() -> None:
    loaded = Model(NativeExecutable(marked_take(), []))
    x, good, bad = np.ones(4, np.float32), np.array([3, 0]), np.array([4, 0])
    with trace.recording() as record:
        loaded.execute(x, good)
        with pytest.raises(AssertionFailed):
            loaded.execute(x, bad)
        loaded.execute(x, good)
    assert [s.name for s in record.spans] == ["take", "add", "take", "add"]


def test_marks_survive_the_file() -> None:
    made = artifact("detailed")
    again = Artifact.from_bytes(made.to_bytes())
    assert marks_of(again.main) == marks_of(made.main) and again == made


def test_a_program_whose_marks_lie_outside_is_refused() -> None:
    program = marked_take().main
    at = next(at for at, op, _ in instructions(program.body) if op is Op.MARK)
    for operand, wrong in ((1, program.slots - 1), (2, len(program.sites)), (3, 2)):
        words = list(program.body)
        words[at + operand] = wrong
        with pytest.raises(ValueError, match="MARK names"):
            check_program(program._replace(body=tuple(words)))


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_every_walker_reads_the_clock_of_python(target: CpuTarget) -> None:
    if not target.required <= host_features():
        pytest.skip("this CPU cannot run that code")
    mapped = map_objects([small.codes(target)[0]])
    frame = Frame(3)
    before = time.perf_counter_ns()
    assert NativeWalker(mapped.address(NAME), [], mapped).bind(Code([Op.MARK, 1, 0, 0, Op.END]), frame)() == 0
    after = time.perf_counter_ns()
    assert before <= frame.values[1] * 10**9 + frame.values[2] <= after and frame.values[0] == 0


def test_a_python_walk_makes_ranges_of_nvtx(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    fake = SimpleNamespace(
        push_range=lambda name, domain: told.append(f"{domain}: {name}"),
        pop_range=lambda domain: told.append("end"),
        __spec__=SimpleNamespace(),
    )
    monkeypatch.setitem(sys.modules, "nvtx", fake)
    native = Model(NativeExecutable(marked_take(), []))
    walked = Model(NativeExecutable(marked_take(), [], reference=True))
    x = np.ones(4, np.float32)
    native.execute(x, np.array([1]))
    assert told == []
    walked.execute(x, np.array([1]))
    assert told == ["pelton: take", "end", "pelton: add", "end"]
    told.clear()
    with pytest.raises(AssertionFailed):
        walked.execute(x, np.array([9]))
    assert told == ["pelton: take", "end"]
    monkeypatch.setitem(sys.modules, "nvtx", None)
    without = Model(NativeExecutable(marked_take(), [], reference=True))
    without.execute(x, np.array([1]))
    assert told == ["pelton: take", "end"]
