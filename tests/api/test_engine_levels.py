"""What becomes of asserts and messages at each level: compiled, interpreted, walked in Python, in the same words."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pelton.dtype import DType
from pelton.engine import CompiledModel, InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, ops
from pelton.program import RING_BYTES
from pelton.runtime.executable import NativeExecutable
from pelton.runtime.model import Model
from pelton.support.errors import AssertionFailed
from pelton.support.options import AssertLevel, LogLevel, Options
from pelton.tests.support.compiled import artifact_of, compiled

F32, I64, BOOL, CPU = DType.float32, DType.int64, DType.bool, DeviceRef.CPU()
VECTOR = TensorType(F32, ["n"], CPU)
LEVELS = ("NONE", "WARN", "SAFE", "ALL")
KINDS = ("compiled", "interpreted", "reference")


def load(graph: Graph, kind: str = "compiled", *, asserts: str = "ALL", log: str = "TRACE") -> Model:
    """A model at these levels."""
    options = Options(assert_level=AssertLevel[asserts], log_level=LogLevel[log])
    if kind == "reference":
        return Model(NativeExecutable(artifact_of(graph.module, graph.constants, options=options), [], reference=True))
    session = InferenceSession()
    session.set_assert_level(asserts)
    session.set_log_level(log)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PELTON_INTERPRET", "1" if kind == "interpreted" else "0")
        return session.load(graph)


def line_of(function: Callable[..., Any], text: str) -> str:
    """`file:line` of the line of a function that contains `text`."""
    lines, first = inspect.getsourcelines(function)
    return f"{__file__}:{first + next(k for k, line in enumerate(lines) if text in line)}"


@pytest.fixture(autouse=True)
def all_records(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(1, "pelton"):
        yield


# asserts, level by level
def three_kinds(x: Any, i: Any) -> Any:
    ops.assert_(x > 0, "each is positive")
    ops.assert_(x[0] < 100, "the first is small")
    return ops.gather(x * 2, i, 0)


THREE = Graph("three", three_kinds, [VECTOR, TensorType(I64, ["k"], CPU)])
CASES = {
    # what is wrong: inputs, what it says, its line, the levels at which it fails
    "elements": ([1, 2, -3, -4], [0], "each is positive", "each is", "-3.0 at element 2", ("ALL",)),
    "one": ([200, 2], [0], "the first is small", "the first", "200.0 at element 0", ("SAFE", "ALL")),
    "index": ([1, 2, 3], [0, 1, 7, -9], "gather: index out of range", "gather", "7 at element 2", ("SAFE", "ALL")),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", CASES)
def test_assert_levels(case: str, level: str, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    numbers, places, message, text, got, failing = CASES[case]
    model = load(THREE, kind, asserts=level)
    x, i = np.array(numbers, np.float32), np.array(places)
    op, line = "nn.gather" if case == "index" else "nn.assert", line_of(three_kinds, text)
    if level in failing:
        with pytest.raises(AssertionFailed) as caught:
            model.execute(x, i)
        error = caught.value
        assert (error.message, error.details.op, error.details.got) == (message, op, got)
        assert error.details.location.rpartition(":")[0] == line
    else:
        (y,) = model.execute(x, i)
        assert y.shape == i.shape
    records = [(r.name, r.levelname, r.getMessage()) for r in caplog.records]
    if level == "WARN":
        ((name, severity, said),) = records
        assert (name, severity) == ("pelton", "WARNING")
        assert said.startswith(f"{message} ({op} at {line}:") and said.endswith(f"): {got}")
    else:
        assert not records
    (good,) = model.execute(np.ones(3, np.float32), np.array([2]))  # it can be used again
    assert good.to_numpy().tolist() == [2]


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_comes_once_per_assert_and_run(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    model = load(THREE, kind, asserts="WARN")
    x, i = np.full(5000, -1, np.float32), np.full(3000, 9999)
    for runs in (1, 2):
        model.execute(x, i)
        said = [r.getMessage().partition(" (")[0] for r in caplog.records]
        assert said == ["each is positive", "gather: index out of range"] * runs


@pytest.mark.parametrize("kind", KINDS)
def test_the_lowest_index_of_many(kind: str) -> None:
    """Over rows, chunks of a row and steps; values of every kind stand there, bit for bit."""

    def function(x: Any, y: Any) -> Any:
        ops.assert_(x.cast(F32) + y > 0, "a sum", x, y, y.cast(DType.bfloat16), y > 3, x.cast(DType.int8))
        return x

    model = load(Graph("lowest", function, [TensorType(I64, ["m", "n"], CPU), TensorType(F32, ["n"], CPU)]), kind)
    for m, n in ((3, 7), (2, 9000), (1, 20000)):
        rng = np.random.default_rng(n)
        x, y = rng.integers(0, 100, (m, n)), rng.random(n, np.float32)
        first = m * n - 5
        x.reshape(-1)[first:] = -77
        at = y[first % n]
        shown = f"-77, {at!s}, {ml_dtypes.bfloat16(at)!s}, False, -77 at element {first}"
        with pytest.raises(AssertionFailed) as caught:
            model.execute(x, y)
        assert caught.value.details.got == shown


VALUES = {
    DType.float64: 0.1, DType.float32: np.float32(0.1), DType.float16: np.float16(0.1),
    DType.bfloat16: ml_dtypes.bfloat16(0.1), DType.int64: -(2**63), DType.int32: -5, DType.int8: -128,
    DType.bool: False,
}  # fmt: skip


@pytest.mark.parametrize("level", ["ALL", "WARN"])
@pytest.mark.parametrize("kind", KINDS)
def test_values_of_every_dtype(kind: str, level: str, caplog: pytest.LogCaptureFixture) -> None:
    def function(ok: Any, *values: Any) -> Any:
        ops.assert_(ok, "they are", *values)
        return ok

    types = [TensorType(BOOL, ["n"], CPU), *(TensorType(d, ["n"], CPU) for d in VALUES)]
    model = load(Graph("dtypes", function, types), kind, asserts=level)
    arrays = [np.array([v] * 3, d.to_numpy()) for d, v in VALUES.items()]
    expected = ", ".join(str(a[0]) for a in arrays) + " at element 1"
    if level == "WARN":
        model.execute(np.array([True, False, False]), *arrays)
        assert caplog.records[0].getMessage().endswith(expected)
    else:
        with pytest.raises(AssertionFailed) as caught:
            model.execute(np.array([True, False, False]), *arrays)
        assert caught.value.details.got == expected


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_known_when_the_model_is_compiled(kind: str) -> None:
    def function(x: Any) -> Any:
        ops.assert_(True, "always")
        ops.assert_(ops.constant(np.ones((2, 3), np.bool_), BOOL, CPU), "all of them")
        ops.assert_(False, "never")
        return x

    graph = Graph("known", function, [VECTOR])
    artifact = artifact_of(graph.module, options=Options(assert_level=AssertLevel.ALL))
    assert [site.message for site in artifact.main.sites] == ["never"]
    with pytest.raises(AssertionFailed, match="never"):
        load(graph, kind).execute(np.ones(1, np.float32))


def test_what_sizes_have_to_be_is_no_matter_of_levels() -> None:
    graph = Graph("rows", lambda x: ops.rebind(x, ["n", 3]) + 1, [TensorType(F32, ["n", "m"], CPU)])
    for level in LEVELS:
        for kind in KINDS:
            with pytest.raises(AssertionFailed) as caught:
                load(graph, kind, asserts=level).execute(np.ones((2, 4), np.float32))
            details = caught.value.details
            assert (details.op, details.expected, details.got) == ("nn.rebind", "a size equal to 3", "4")
            assert details.location.startswith(__file__)


def test_asserts_come_in_their_order_and_before_what_follows() -> None:
    """Whichever of two fails is told by the program, not by where their work was fused to."""

    def function(x: Any, i: Any) -> Any:
        y = ops.exp(x)
        ops.assert_(x < 10, "first")
        ops.assert_(y < 100, "second")
        return ops.gather(y, i, 0)

    graph = Graph("order", function, [VECTOR, TensorType(I64, ["k"], CPU)])
    for separate in (False, True):
        model = compiled(graph.module, separate=separate, options=Options(assert_level=AssertLevel.ALL))
        for x, i, message in ((20, 9, "first"), (5, 9, "second"), (1, 9, "gather")):
            with pytest.raises(AssertionFailed, match=message):
                model.execute(np.array([x], np.float32), np.array([i]))


# lines
def same_text(assert_first: bool) -> Graph:
    """Two functions of one text on different lines."""

    def one(x: Any) -> Any:
        ops.assert_(x > 0, "positive")
        return x + 1

    def other(x: Any) -> Any:

        ops.assert_(x > 0, "positive")  # other
        return x + 1

    return Graph("same", one if assert_first else other, [VECTOR])


def location(model: Model) -> str:
    with pytest.raises(AssertionFailed) as caught:
        model.execute(-np.ones(1, np.float32))
    return caught.value.details.location.rpartition(":")[0]


def test_the_line_is_that_of_the_graph_that_was_loaded() -> None:
    """The code of the second comes from the cache, which knows of no lines."""
    one, other = same_text(True), same_text(False)
    assert str(one) == str(other)
    lines = [line_of(same_text, '"positive")\n'), line_of(same_text, "# other")]
    assert [location(load(graph)) for graph in (one, other, one)] == [*lines, lines[0]]


def test_the_line_is_kept_in_an_artifact(tmp_path: Path) -> None:
    session = InferenceSession()
    session.set_assert_level("ALL")
    compiled_model = session.compile(same_text(False))
    compiled_model.save(tmp_path / "same.pelton")
    for model in (session.init(compiled_model), InferenceSession().load(tmp_path / "same.pelton")):
        assert location(model) == line_of(same_text, "# other")
    assert isinstance(compiled_model, CompiledModel)


# messages
def talkative(x: Any, i: Any) -> Any:
    ops.trace("trace", "begins")
    y = x * 2
    ops.trace(LogLevel.DEBUG, "doubled", y)
    ops.trace("info", "several", y, i, y > 2)
    ops.trace("warning", "matrix", ops.reshape(y, [1, -1, 1]))
    ops.trace("error", "bad", y[0])
    ops.trace("CRITICAL", "worse", y.cast(DType.float16), y.cast(DType.bfloat16))
    return ops.gather(y, i, 0)


TALK = Graph("talk", talkative, [VECTOR, TensorType(I64, ["k"], CPU)])
SAID = [
    ("Level 5", "begins", ""),
    ("DEBUG", "doubled", ": f32[2] [2. 3.]"),
    ("INFO", "several", ": f32[2] [2. 3.], i64[1] [1], i1[2] [False  True]"),
    ("WARNING", "matrix", "\nf32[1, 2, 1]\n[[[2.]\n  [3.]]]"),
    ("ERROR", "bad", ": f32[] 2."),
    ("CRITICAL", "worse", ": f16[2] [2. 3.], bf16[2] [2 3]"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", list(LogLevel))
def test_log_levels(level: LogLevel, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    model = load(TALK, kind, log=level.name)
    model.execute(np.array([1, 1.5], np.float32), np.array([1]))
    first = len(SAID) if level is LogLevel.NOTSET else list(LogLevel).index(level) - 1
    said = [(r.levelname, *r.getMessage().partition(f" (nn.trace at {__file__}:")[::2]) for r in caplog.records]
    said = [(severity, message, rest.partition(")")[2]) for severity, message, rest in said]
    assert said == SAID[first:]
    assert {r.name for r in caplog.records} <= {"pelton"}


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_said_before_a_failure(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    model = load(TALK, kind)
    for runs in (1, 2):
        with pytest.raises(AssertionFailed, match="gather"):
            model.execute(np.array([1, 1.5], np.float32), np.array([7]))
        assert len(caplog.records) == runs * len(SAID)


@pytest.mark.parametrize("kind", KINDS)
def test_reports_stand_between_messages(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    def function(x: Any) -> Any:
        ops.trace("info", "before")
        ops.assert_(x > 0, "positive")
        ops.trace("info", "after")
        return x

    load(Graph("between", function, [VECTOR]), kind, asserts="WARN").execute(-np.ones(3, np.float32))
    assert [r.getMessage().partition(" (")[0] for r in caplog.records] == ["before", "positive", "after"]


@pytest.mark.parametrize("kind", KINDS)
def test_print(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    def function(x: Any) -> Any:
        ops.print("hello")
        x.print()
        ops.print(ops.reshape(x, [2, -1]), "rows")
        return x

    graph = Graph("print", function, [VECTOR])
    for level in ("CRITICAL", "NOTSET"):
        load(graph, kind, log=level).execute(np.array([1, 2, 3, 4], np.float32))
        said = capsys.readouterr().out
        assert said == (
            "hello\n"
            "debug_tensor = tensor([1. 2. 3. 4.], dtype=f32, shape=[4])\n"
            "rows = tensor([[1. 2.]\n               [3. 4.]], dtype=f32, shape=[2, 2])\n"
        ) * (level != "NOTSET")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0, 1, 1001, 2048, 2049, 100_000])
def test_large_and_small_values(size: int, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    graph = Graph("large", lambda x: [ops.trace("info", "x", x), x + 1][1], [VECTOR])
    x = np.arange(size, dtype=np.float32)
    load(graph, kind).execute(x)
    text = np.array2string(x) if size <= 2048 else f"{np.array2string(x[:64])[:-1]} ...]"
    assert caplog.records[0].getMessage().endswith(f"f32[{size}]{chr(10) if chr(10) in text else ' '}{text}")


def test_more_than_there_is_room_for(caplog: pytest.LogCaptureFixture) -> None:
    """The first messages come, the rest are counted, and the next run begins anew."""
    count, entry = 50, 16 + 4 * 2000

    def function(x: Any) -> Any:
        for number in range(count):
            ops.trace("info", str(number), x)
        return x

    model = load(Graph("much", function, [VECTOR]))
    fit = RING_BYTES // entry
    for _ in range(2):
        caplog.clear()
        model.execute(np.ones(2000, np.float32))
        *said, last = [r.getMessage() for r in caplog.records]
        assert [s.partition(" ")[0] for s in said] == [str(number) for number in range(fit)]
        assert last == f"{count - fit} values of this run's messages did not fit and are lost"


def test_a_replay_says_what_a_run_says(caplog: pytest.LogCaptureFixture) -> None:
    from pelton.driver import Buffer

    model = load(TALK, asserts="WARN", log="ERROR")
    x, i = Buffer.from_numpy(np.array([1, 1.5], np.float32)), Buffer.from_numpy(np.array([7]))
    model.capture(1, x, i)
    first = [r.getMessage() for r in caplog.records]
    caplog.clear()
    model.replay(1, x, i)
    assert [r.getMessage() for r in caplog.records] == first and len(first) == 3


def test_levels_of_python_hide_what_the_session_keeps(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "pelton"):
        load(TALK).execute(np.array([1, 1.5], np.float32), np.array([1]))
    assert [r.levelname for r in caplog.records] == ["ERROR", "CRITICAL"]


# what users may write
def test_wrong_calls() -> None:
    def refused(what: Callable[[Any], Any], kind: type[Exception], match: str) -> None:
        with pytest.raises(kind, match=match):
            Graph("wrong", lambda x: [what(x), x][1], [TensorType(F32, ["n", 3], CPU)])

    refused(lambda x: ops.assert_(x, "no"), TypeError, "no tensor of bools")
    refused(lambda x: ops.assert_(x > 0, 3), TypeError, "a message is a str")  # pyright: ignore[reportArgumentType]
    refused(lambda x: ops.assert_(x > 0, "no", *[x] * 9), ValueError, "too many values")
    refused(lambda x: ops.assert_(x[0] > 0, "no", x), ValueError, "no element for each of the condition's")
    refused(lambda x: ops.trace("loud", "no"), TypeError, "TRACE, DEBUG, INFO")
    refused(lambda x: ops.trace("notset", "no"), TypeError, "a message has a level")
    refused(lambda x: ops.trace("info", "no", "x"), TypeError, "no operand")  # pyright: ignore[reportArgumentType]
    refused(lambda x: ops.print(x, 1), TypeError, "a message is a str")  # pyright: ignore[reportArgumentType]
