"""Texts that are none, with half of a surrogate pair: refused where a graph is built, escaped where a file has them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pelton
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Dim, Graph, TensorType, Weight, ops
from pelton.support.errors import PeltonError
from pelton.support.texts import escaped, is_unicode
from pelton.tools.cli import main

CPU = DeviceRef.CPU()
X = TensorType(DType.float32, ["n"], CPU)
HALF = "a\ud800b"


def labelled(out: Any, x: Any, *, label: str) -> None:
    out[0] = x[0] if label == "first" else x[1]


def call(x: Any) -> Any:
    pelton.register("labelled", types="f32[n] -> f32[n]")(labelled)
    return ops.custom("labelled", CPU, [x], None, {"label": HALF})[0]


BUILT: dict[str, Callable[[], object]] = {
    "Graph: name": lambda: Graph(HALF, lambda x: x, [X]),
    "Weight: name": lambda: Weight(HALF, DType.float32, [1], CPU),
    "ops.assert_: message": lambda: Graph("g", lambda x: ops.assert_(x > 0, HALF), [X]),
    "ops.trace: message": lambda: Graph("g", lambda x: ops.trace("info", HALF, x), [X]),
    "ops.print: message": lambda: Graph("g", lambda x: ops.print(x, HALF), [X]),
    "ops.rebind: message": lambda: Graph("g", lambda x: x.rebind([3], HALF), [X]),
    "ops.custom: parameter 'label'": lambda: Graph("g", call, [X]),
    "pelton.register: the name": lambda: pelton.register(HALF, types="f32[n] -> f32[n]")(labelled),
    "a symbol's name": lambda: Dim(HALF),
}


@pytest.mark.parametrize("what", BUILT)
def test_half_a_pair_is_refused_where_it_is_given(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pelton.custom.registry.REGISTERED", kept := {})
    monkeypatch.setattr("pelton.graph.custom.REGISTERED", kept)
    with pytest.raises(ValueError, match=what) as refused:
        BUILT[what]()
    assert isinstance(refused.value, PeltonError) and is_unicode(str(refused.value))


def test_whole_characters_are_texts() -> None:
    name = "größe \U0001f600"
    assert is_unicode(name) and escaped(name) == name and escaped(HALF) == "a\\ud800b"
    graph = Graph(name, lambda x: x + Weight(name, DType.float32, [1], CPU), [X])
    model = InferenceSession().load(graph, weights_registry={name: np.ones(1, np.float32)})
    assert model.execute(np.zeros(2, np.float32))[0].to_numpy().tolist() == [1, 1]


def test_files_whose_names_are_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file system takes any bytes for a name."""
    monkeypatch.chdir(tmp_path)
    file = Path(os.fsdecode(b"caf\xe9.mlir"))
    file.write_text(str(Graph("g", ops.relu, [X]).module))
    assert InferenceSession().load(file).execute(-np.ones(2, np.float32))[0].to_numpy().tolist() == [0, 0]
    assert main(["explain", str(file)]) == 0
    assert "caf\\udce9" in capsys.readouterr().out
    assert main(["compile", str(file), "-o", "x.pelton"]) == 0
    file.write_text("func.func @main(")
    assert main(["explain", str(file)]) == 1
    assert "caf\\udce9.mlir:1:17: error" in capsys.readouterr().err
