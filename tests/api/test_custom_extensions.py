"""`custom_extensions` of a graph, a session and `load`: files, directories, packages, modules, functions."""

from __future__ import annotations

import importlib
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pelton
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, ops

CPU = DeviceRef.CPU()
N = TensorType(DType.float32, ["n"], CPU)
X = np.arange(4, dtype=np.float32)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pelton.custom.registry.REGISTERED", kept := {})
    monkeypatch.setattr("pelton.graph.custom.REGISTERED", kept)


def text(name: str = "times", factor: float = 2.0) -> str:
    return (
        f"import pelton\n\n@pelton.register({name!r}, types='T[n] -> T[n]')\ndef body(out, x):\n"
        f"    for i in range(x.shape[0]):\n        out[i] = x[i] * {factor}\n"
    )


def times(name: str = "times", **options: Any) -> Graph:
    return Graph("g", lambda x: ops.custom(name, CPU, [x], None), [N], **options)


def result(g: Graph) -> Any:
    return InferenceSession().load(g).execute(X)[0].to_numpy()


@pytest.mark.parametrize("kind", [str, Path, lambda p: [p], lambda p: (str(p),)])
def test_a_file(kind: Any, tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text(text())
    np.testing.assert_array_equal(result(times(custom_extensions=kind(tmp_path / "my.py"))), X * 2)


def test_a_directory_of_files(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(text("one", 3.0))
    (tmp_path / "two.py").write_text(text("two", 5.0))
    (tmp_path / "none.py").write_text("")
    (tmp_path / "notes.txt").write_text("not Python")
    np.testing.assert_array_equal(result(times("one", custom_extensions=tmp_path)), X * 3)
    np.testing.assert_array_equal(result(times("two", custom_extensions=tmp_path)), X * 5)


def test_a_package(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("from .inner import body\n")
    (tmp_path / "inner.py").write_text(text("inner", 7.0))
    np.testing.assert_array_equal(result(times("inner", custom_extensions=tmp_path)), X * 7)


def test_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pelton_test_module.py").write_text(text())
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("pelton_test_module")
    np.testing.assert_array_equal(result(times(custom_extensions=[module])), X * 2)


def test_a_function_and_what_is_registered_in_the_process() -> None:
    def body(out: Any, x: Any) -> None:
        out[0] = x[0]

    first = pelton.register("times", types="T[n] -> T[n]")(body)

    @pelton.register("times", types="T[n] -> T[n]")
    def second(out: Any, x: Any) -> None:
        for i in range(x.shape[0]):
            out[i] = x[i] * 9

    np.testing.assert_array_equal(result(times()), X * 9)  # the later one
    assert result(times(custom_extensions=[first]))[0] == X[0]  # a graph's own come first
    assert first is body


def test_extensions_of_a_session_and_of_load(tmp_path: Path) -> None:
    """They bring the bodies for a text, which holds none; and register their ops for graphs built afterwards."""
    (tmp_path / "my.py").write_text(text())
    (tmp_path / "g.mlir").write_text(str(times(custom_extensions=tmp_path / "my.py").module))
    for model in (
        InferenceSession(custom_extensions=tmp_path / "my.py").load(tmp_path / "g.mlir"),
        InferenceSession().load(tmp_path / "g.mlir", custom_extensions=[tmp_path / "my.py"]),
    ):
        np.testing.assert_array_equal(model.execute(X)[0].to_numpy(), X * 2)


def test_a_session_registers_for_graphs_built_afterwards(tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text(text())
    InferenceSession(custom_extensions=tmp_path / "my.py")
    np.testing.assert_array_equal(result(times()), X * 2)


def test_a_text_without_its_extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my.py").write_text(text(factor=11.0))
    (tmp_path / "g.mlir").write_text(str(times(custom_extensions=tmp_path / "my.py").module))
    monkeypatch.setattr("pelton.custom.bodies._BODIES", {})
    with pytest.raises(RuntimeError, match="body of the custom op 'times' is not here"):
        InferenceSession().load(tmp_path / "g.mlir")


@pytest.mark.parametrize("interpreted", ["0", "1"])
def test_a_text_without_its_extension_is_refused_whatever_the_cache_holds(
    interpreted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PELTON_INTERPRET", interpreted)
    (tmp_path / "my.py").write_text(text(factor=13.0))
    (tmp_path / "g.mlir").write_text(str(times(custom_extensions=tmp_path / "my.py").module))
    for _ in range(2):  # the second time all of it is in the cache
        model = InferenceSession(custom_extensions=tmp_path / "my.py").load(tmp_path / "g.mlir")
        np.testing.assert_array_equal(model.execute(X)[0].to_numpy(), X * 13)
    monkeypatch.setattr("pelton.custom.bodies._BODIES", {})
    with pytest.raises(RuntimeError, match=r"body of the custom op 'times' is not here[^$]*g\.mlir:\d"):
        InferenceSession().load(tmp_path / "g.mlir")


def refusals(folder: Path) -> dict[str, tuple[Any, type[Exception], str]]:
    (folder / "empty").mkdir()
    (folder / "none.py").write_text("x = 1\n")
    (folder / "twice.py").write_text(text() + "\n" + text().replace("import pelton", ""))
    (folder / "fails.py").write_text("1 / 0\n")
    (folder / "broken.py").write_text("def f(:\n")
    (folder / "exits.py").write_text("import sys\nsys.exit(3)\n")
    (folder / "ends.py").write_text("class End(BaseException): ...\nraise End('all')\n")
    (folder / "kernels.mojopkg").write_bytes(b"")
    (folder / "notes.txt").write_text("")
    return {
        "a Mojo package": (folder / "kernels.mojopkg", RuntimeError, r"cannot be loaded[^$]*@pelton.register"),
        "Mojo code": ("kernels.mojoc", RuntimeError, r"cannot be loaded[^$]*@pelton.register"),
        "another kind of file": (folder / "notes.txt", RuntimeError, "is no custom extension"),
        "a file that exits": (folder / "exits.py", RuntimeError, r"exits\.py fails: SystemExit: 3"),
        "a file that ends": (folder / "ends.py", RuntimeError, r"ends\.py fails: End: all"),
        "no file": (folder / "missing.py", RuntimeError, "cannot read"),
        "a file without ops": (folder / "none.py", RuntimeError, "registers no custom op"),
        "a directory without ops": (folder / "empty", RuntimeError, "registers no custom op"),
        "two ops of one name": (folder / "twice.py", RuntimeError, "registers the custom op 'times' twice"),
        "a file that fails": (folder / "fails.py", RuntimeError, "fails: ZeroDivisionError"),
        "a file that is no Python": (folder / "broken.py", RuntimeError, "fails: SyntaxError"),
        "a module without ops": (types.ModuleType("m"), RuntimeError, "the module m registers no custom op"),
        "a function without an op": (refusals, TypeError, "this is no extension"),
        "a number": (3, TypeError, "this is no extension"),
    }


@pytest.mark.parametrize("case", range(12))
def test_refusals(case: int, tmp_path: Path) -> None:
    extension, kind, message = list(refusals(tmp_path).values())[case]
    for use in (
        lambda: Graph("g", custom_extensions=[extension]),
        lambda: InferenceSession(custom_extensions=extension),
        lambda: InferenceSession().load(Graph("g", lambda x: x, [N]), custom_extensions=extension),
    ):
        with pytest.raises(kind, match=message):
            use()
