"""Files to try the command line on: a model, its inputs and its weight, in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from pelton.tools.cli import main

LAYER = """\
func.func @main(%x: !nn.tensor<[n, 4], f32> {nn.name = "x"}, %at: !nn.tensor<[k], i64> {nn.name = "at"})
    -> (!nn.tensor<[k, 4], f32>, !nn.tensor<[n, 1], f32>) {
  %w = nn.weight {key = "w"} : !nn.tensor<[4, 4], f32>
  %h = nn.matmul %x, %w : (!nn.tensor<[n, 4], f32>, !nn.tensor<[4, 4], f32>) -> !nn.tensor<[n, 4], f32>
  %rows = nn.gather %h, %at {axis = 0} : (!nn.tensor<[n, 4], f32>, !nn.tensor<[k], i64>) -> !nn.tensor<[k, 4], f32>
  %sum = nn.sum %x {axis = 1} : (!nn.tensor<[n, 4], f32>) -> !nn.tensor<[n, 1], f32>
  func.return %rows, %sum : !nn.tensor<[k, 4], f32>, !nn.tensor<[n, 1], f32>
}
"""
X = np.arange(12, dtype=np.float32).reshape(3, 4)
AT = np.array([2, 0])
W = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
RUN = ("run", "layer.mlir", "--weights", "w.npz", "--input", "at=at.npy", "--input", "x=x.npy")


def write_files(folder: Path) -> None:
    """layer.mlir, x.npy, at.npy and w.npz."""
    (folder / "layer.mlir").write_text(LAYER)
    np.save(folder / "x.npy", X)
    np.save(folder / "at.npy", AT)
    np.savez(folder / "w.npz", w=W, other=np.zeros(3))


def save(path: Path, array: Any, **options: Any) -> None:
    """A `.npy` file of any name."""
    with open(path, "wb") as file:
        np.save(file, array, **options)


def safetensors(path: Path, header: dict[str, Any], data: bytes) -> None:
    """A `.safetensors` file."""
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def failing(capsys: Any, *words: str, code: int = 1) -> str:
    """What the command says when it fails, which has to be in words."""
    capsys.readouterr()
    assert main(words) == code
    said = capsys.readouterr()
    assert said.out == "" and "Traceback" not in said.err and "internal error" not in said.err
    return said.err
