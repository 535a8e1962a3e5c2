"""PELTON_INTERPRET=1: the same Model on the nn interpreter; it agrees with compiled code and says the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, Weight, ops
from pelton.runtime.model import Model
from pelton.support import trace

F32, I64, CPU = DType.float32, DType.int64, DeviceRef.CPU()
RNG = np.random.default_rng(5)
WEIGHTS = {
    "table": RNG.standard_normal((50, 24), np.float32),
    "dense": RNG.standard_normal((24, 24), np.float32),
    "gamma": RNG.standard_normal(24, np.float32),
}


def encoder() -> Graph:
    """Weights, a small constant, one too large for the IR, ints and floats, two outputs."""
    large = RNG.standard_normal((1, 40, 24)).astype(np.float32)

    def function(ids: Any) -> Any:
        table = Weight("table", F32, [50, 24], CPU)
        x = ops.gather(table, ids, 0) + ops.constant(large, F32, CPU)
        y = ops.gelu(x @ Weight("dense", F32, [24, 24], CPU) + ops.constant(np.arange(24, dtype=np.float32), F32, CPU))
        z = ops.rms_norm(y, Weight("gamma", F32, [24], CPU), 1e-6)
        return ops.softmax(z), ops.argmax(z)

    return Graph("encoder", function, [TensorType(I64, ["batch", 40], CPU)])


def both(graph: Graph | Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Model, Model]:
    """(compiled, interpreted)"""
    compiled = InferenceSession().load(graph, weights_registry=WEIGHTS)
    with monkeypatch.context() as patch:
        patch.setenv("PELTON_INTERPRET", "1")
        with trace.recording() as record:
            interpreted = InferenceSession().load(graph, weights_registry=WEIGHTS)
        assert record.stages == [], "something was compiled"
    return compiled, interpreted


@pytest.mark.parametrize("batch", [0, 1, 3])
def test_it_agrees_with_compiled_code(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, interpreted = both(encoder(), monkeypatch)
    ids = RNG.integers(0, 50, (batch, 40))
    (soft, most), (soft_, most_) = (
        [b.to_numpy() for b in model.execute(ids)] for model in (compiled, interpreted)
    )  # fmt: skip
    np.testing.assert_allclose(soft, soft_, rtol=2e-5, atol=1e-7)
    np.testing.assert_array_equal(most, most_)
    assert (soft.dtype, most.dtype) == (soft_.dtype, most_.dtype) == (np.float32, np.int64)


def test_it_says_the_same_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, interpreted = both(encoder(), monkeypatch)
    assert repr(compiled) == repr(interpreted) and compiled.signature == interpreted.signature
    assert compiled.input_metadata == interpreted.input_metadata
    assert compiled.output_metadata == interpreted.output_metadata


def test_a_text_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "double.mlir"
    path.write_text(
        'func.func @main(%x: !nn.tensor<[n], f32> {nn.name = "x"}) -> !nn.tensor<[n], f32> {\n'
        "  %y = nn.add %x, %x : !nn.tensor<[n], f32>\n  func.return %y : !nn.tensor<[n], f32>\n}\n"
    )
    compiled, interpreted = both(path, monkeypatch)
    x = np.arange(3, dtype=np.float32)
    assert compiled(x=x)[0].to_numpy().tolist() == interpreted(x=x)[0].to_numpy().tolist() == [0, 2, 4]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64, np.int8, np.int16, np.bool_])
def test_every_kind_of_number(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype)
    graph = Graph("t", lambda x: ops.transpose(x, 0, 1), [TensorType(DType.from_numpy(x.dtype), ["n", "m"], CPU)])
    compiled, interpreted = both(graph, monkeypatch)
    for model in (compiled, interpreted):
        (result,) = model.execute(x)
        assert result.dtype is DType.from_numpy(x.dtype)
        np.testing.assert_array_equal(result.to_numpy(), x.T)
