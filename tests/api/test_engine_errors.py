"""What a session refuses to load, with which exception, and what that says; compiled or interpreted, the same."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton.dtype import DType
from pelton.engine import CompiledModel, InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, Weight, ops
from pelton.support import trace
from pelton.support.errors import CompileError, KnobError

F32, CPU = DType.float32, DeviceRef.CPU()
T = "!nn.tensor<[n], f32>"


@pytest.fixture(params=["compiled", "interpreted"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "interpreted":
        monkeypatch.setenv("PELTON_INTERPRET", "1")
    yield request.param


@pytest.fixture
def session() -> InferenceSession:
    return InferenceSession()


def function(body: str, result: str = T, inputs: str = f"%x: {T}, %i: !nn.tensor<[n], i32>") -> str:
    return f"func.func @main({inputs}) -> {result} {{\n{body}}}\n"


TEXTS = {
    "an unclosed function": (f"func.func @main(%x: {T}) -> {{\n", "type expected", 1),
    "an empty file": ("", "expected an operation", 1),
    "no MLIR at all": ("hello, world\n", "", 1),
    "an unknown op": (function(f"  %y = nn.rleu %x : {T}\n"), "unknown operation 'nn.rleu', did you mean 'nn.relu'", 2),
    "an unknown dialect": (function("  cf.br ^next\n"), "unknown dialect 'cf'", 2),
    "an unknown type": (function("", "!nn.tensr<[n], f32>"), "nn.tensr", 1),
    "an unknown dtype": (function(f"  func.return %x : {T}\n", inputs="%x: !nn.tensor<[n], f31>"), "f31", 1),
    "mixed types": (
        function(f"  %y = nn.add %x, %i : ({T}, !nn.tensor<[n], i32>) -> {T}\n  func.return %y : {T}\n"),
        "'nn.add' expects operands of one type, got !nn.tensor<[n], f32> and !nn.tensor<[n], i32>",
        2,
    ),
    "sizes that differ": (
        function(
            "  %y = nn.matmul %x, %x : (!nn.tensor<[2, 3], f32>, !nn.tensor<[2, 3], f32>) -> !nn.tensor<[2, 3], f32>\n"
            "  func.return %y : !nn.tensor<[2, 3], f32>\n",
            "!nn.tensor<[2, 3], f32>",
            "%x: !nn.tensor<[2, 3], f32>",
        ),
        "'nn.matmul' expects",
        2,
    ),
    "a wrong result type": (
        function(f"  %y = nn.relu %x : ({T}) -> !nn.tensor<[m], f32>\n  func.return %x : {T}\n"),
        "'nn.relu' infers !nn.tensor<[n], f32>, its results say !nn.tensor<[m], f32>",
        2,
    ),
    "another type returned": (function(f"  func.return %x : {T}\n", "!nn.tensor<[m], f32>"), "func", 2),
    "a value used before it is defined": (
        function(f"  %y = nn.relu %z : {T}\n  %z = nn.relu %x : {T}\n  func.return %y : {T}\n"),
        "value %z is used before it is defined",
        2,
    ),
    "a cycle": (
        function(f"  %y = nn.relu %z : {T}\n  %z = nn.relu %y : {T}\n  func.return %y : {T}\n"),
        "value %z is used before it is defined",
        2,
    ),
    "an undefined value": (function(f"  func.return %nothing : {T}\n"), "use of undefined value %nothing", 2),
    "a value from outside its function": (
        function(f"  %y = nn.relu %x : {T}\n  func.return %y : {T}\n")
        + function(f"  func.return %y : {T}\n").replace("@main", "@other"),
        "%y",
        6,
    ),
    "an op of another dialect": (
        function(f"  %c = arith.constant 1 : i32\n  func.return %x : {T}\n"),
        "@main holds an op that is no part of a model",
        2,
    ),
    "a call": (
        function(f"  %y = func.call @main(%x, %i) : ({T}, !nn.tensor<[n], i32>) -> {T}\n  func.return %y : {T}\n"),
        "@main holds an op that is no part of a model",
        2,
    ),
    "a number for an input": (function("  func.return %x : i32\n", "i32", "%x: i32"), "a model takes and returns", 0),
    "two functions": (
        function(f"  func.return %x : {T}\n") + function(f"  func.return %x : {T}\n").replace("@main", "@other"),
        "a model is one function",
        0,
    ),
    "no body": (f"func.func private @main({T}) -> {T}\n", "a model is one function", 0),
}


@pytest.mark.parametrize("what", TEXTS)
def test_texts_that_are_no_model(what: str, session: InferenceSession, tmp_path: Path) -> None:
    """A RuntimeError with file and line, and the original behind it."""
    text, message, line = TEXTS[what]
    path = tmp_path / "bad.mlir"
    path.write_text(text)
    with pytest.raises(RuntimeError) as caught:
        session.load(path)
    assert isinstance(caught.value, CompileError)
    assert message in str(caught.value) and len(str(caught.value)) < 1000
    place = caught.value.details.location
    assert place.startswith(f"{path}:{line}:") if line else place == str(path)


FILES: Mapping[str, tuple[bytes | None, str]] = {
    "missing.mlir": (None, "No such file"),
    "missing.pelton": (None, "No such file"),
    "binary.mlir": (bytes(range(256)), "not a text file"),
    "binary.pelton": (bytes(range(256)), "not a pelton artifact"),
    "empty.pelton": (b"", "it is empty"),
    "cut.pelton": (b"\x93PELTON\n" + bytes(10), "cut off"),
    "model.onnx": (b"\x08\x07", "an ONNX reader does not exist yet"),
    "model.txt": (b"", "expected: a .mlir or a .pelton file"),
    "model": (b"", "no suffix"),
    "nul\0.mlir": (None, "null"),
    "nul\0.pelton": (None, "null"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_no_model(name: str, session: InferenceSession, tmp_path: Path) -> None:
    content, message = FILES[name]
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    for given in (path, str(path)):
        with pytest.raises(RuntimeError, match=message) as caught:
            session.load(given)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["folder", "folder.mlir", "folder.pelton"])
def test_folders(name: str, session: InferenceSession, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(RuntimeError, match=name):
        session.load(tmp_path / name)


@pytest.mark.parametrize("name", ["pipe.mlir", "pipe.pelton"])
def test_what_would_keep_a_reader_waiting(name: str, session: InferenceSession, tmp_path: Path) -> None:
    """A pipe that nobody writes to, and a device that never ends."""
    os.mkfifo(tmp_path / name)
    with pytest.raises(RuntimeError, match=f"{name}: it is no regular file"):
        session.load(tmp_path / name)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(RuntimeError, match=f"{name}: it is no regular file"):
        session.load(tmp_path / name)


class OddPath:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __fspath__(self) -> Any:
        return self.value


@pytest.mark.parametrize("path", [OddPath(b"model.mlir"), OddPath(b"model.pelton"), OddPath(3), "\ud800.mlir", "", "."])
def test_paths_that_are_none(path: Any, session: InferenceSession) -> None:
    for call in (session.load, session.compile):
        with pytest.raises(RuntimeError, match=r"path is a text|cannot read|no kind that can be loaded"):
            call(path)


@pytest.mark.parametrize(
    "bad", [None, 3, "model.mlir", b"model.pelton", Graph, object()], ids=lambda m: type(m).__name__
)
def test_what_cannot_be_initialised(bad: Any, session: InferenceSession) -> None:
    with pytest.raises(TypeError, match="init takes a CompiledModel"):
        session.init(bad)
    with pytest.raises(TypeError, match="made by InferenceSession"):
        CompiledModel(bad)


@pytest.mark.parametrize(
    "model", [None, 3, b"model.mlir", ["model.mlir"], lambda x: x, Graph], ids=lambda m: type(m).__name__
)
def test_other_things_are_no_model(model: Any, session: InferenceSession) -> None:
    with pytest.raises(RuntimeError, match="expected a Graph, or the path of"):
        session.load(model)


def test_a_graph_without_outputs(session: InferenceSession) -> None:
    with pytest.raises(RuntimeError, match="'unfinished' has no outputs yet"):
        session.load(Graph("unfinished", input_types=[TensorType(F32, ["n"], CPU)]))


def test_another_device(session: InferenceSession) -> None:
    on_gpu = Graph("gpu", lambda x: x + 1, [TensorType(F32, ["n"], DeviceRef.GPU(0))])
    with pytest.raises(RuntimeError, match=r"gpu:0(.*\n)*.*remedy"):
        session.load(on_gpu)


def test_options_go_by_name(session: InferenceSession) -> None:
    with pytest.raises(TypeError, match="positional"):
        session.load("model.mlir", {})  # type: ignore[misc]


# weights
def with_weight() -> Graph:
    """A graph no cache has seen: what is found out must be found out before compiling."""
    return Graph("weighty", lambda x: ops.tanh(x @ Weight("w", F32, [8, 4], CPU)), [TensorType(F32, ["n", 8], CPU)])


WEIGHTS: Mapping[str, tuple[Any, type[Exception], str]] = {
    "no registry": (None, ValueError, "needs a weight that weights_registry lacks: 'w'"),
    "not in it": ({"v": np.zeros((8, 4), np.float32)}, ValueError, "lacks: 'w'"),
    "shape": ({"w": np.zeros((4, 8), np.float32)}, ValueError, r"'w' .*\n.*\[\(8, 4\), f32\]\n.*\[\(4, 8\), f32\]"),
    "rank": ({"w": np.zeros(32, np.float32)}, ValueError, r"\[\(32\), f32\]"),
    "dtype": ({"w": np.zeros((8, 4))}, ValueError, r"\[\(8, 4\), f32\]\n.*\[\(8, 4\), f64\]"),
    "order": ({"w": np.zeros((4, 8), np.float32).T}, ValueError, "'w' is not C-contiguous"),
    "byte order": ({"w": np.zeros((8, 4), ">f4")}, ValueError, "'w' cannot be read: .*byte order"),
    "objects": ({"w": np.full((8, 4), None)}, ValueError, "'w' cannot be read"),
    "a list": ({"w": [[0.0] * 4] * 8}, TypeError, "'w' is a list"),
    "a text": ({"w": "zeros"}, TypeError, "'w' is a str"),
    "no mapping": ([("w", 1)], TypeError, "weights_registry is a mapping"),
}


@pytest.mark.parametrize("what", WEIGHTS)
def test_weights_that_do_not_fit(what: str, session: InferenceSession) -> None:
    registry, kind, message = WEIGHTS[what]
    with trace.recording() as record, pytest.raises(kind, match=message):
        session.load(with_weight(), weights_registry=registry)
    assert record.stages == [], "something was compiled first"


def test_weights_are_checked_for_saved_models_too(session: InferenceSession, tmp_path: Path) -> None:
    compiled = session.compile(with_weight())
    compiled.save(tmp_path / "weighty.pelton")
    for registry, kind, message in WEIGHTS.values():
        with pytest.raises(kind, match=message):
            session.load(tmp_path / "weighty.pelton", weights_registry=registry)
        for saved in (compiled, tmp_path / "weighty.pelton", session.compile(str(tmp_path / "weighty.pelton"))):
            with pytest.raises(kind, match=message):
                session.init(saved, weights_registry=registry)


def test_more_weights_than_needed_are_fine(session: InferenceSession) -> None:
    given = {"w": np.ones((8, 4), np.float32), "v": "not looked at"}
    model = session.load(with_weight(), weights_registry=given)
    np.testing.assert_allclose(model.execute(np.zeros((1, 8), np.float32))[0].to_numpy(), np.zeros((1, 4)))


@pytest.mark.parametrize(("name", "value"), [("PELTON_DEBUG", "7"), ("PELTON_TARGET", "z80")])
def test_environment_variables_that_make_no_sense(
    name: str, value: str, way: str, session: InferenceSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    if way == "interpreted":
        monkeypatch.setenv("PELTON_INTERPRET", "perhaps")
        name, value = "PELTON_INTERPRET", "perhaps"
    with pytest.raises(KnobError, match=rf"{name} has a value(.*\n)*.*{value}"):
        session.load(with_weight(), weights_registry={"w": np.ones((8, 4), np.float32)})
