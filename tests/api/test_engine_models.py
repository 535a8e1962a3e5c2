"""What a `.mlir` file may declare as a model's inputs and outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pelton.engine import InferenceSession


@pytest.mark.parametrize(
    ("t", "message"),
    [
        ("!nn.tensor<[n + 1], f32>", r"the size n \+ 1 of input0 would have to be solved for its symbols"),
        ("!nn.tensor<[n], i7>", "input0 has elements of no known type"),
        ("!nn.tensor<[n], f128>", "input0 has elements of no known type"),
        ("!nn.tensor<[-1], f32>", "a tensor's sizes are 0 or more, got -1"),
    ],
)
def test_a_type_that_no_input_can_have(tmp_path: Path, t: str, message: str) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(f"func.func @main(%x : {t}) -> {t} {{\n  func.return %x : {t}\n}}\n")
    with pytest.raises(RuntimeError, match=message):
        InferenceSession().load(path)
