"""Constants that become memory give the numbers they had, from the graph and from a saved artifact."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, ops


def test_a_constant_of_many_elements(tmp_path: Path) -> None:
    table = np.arange(200, dtype=np.float32) ** 2
    with Graph("g", input_types=[TensorType(DType.float32, ("n", 200), DeviceRef.CPU())]) as graph:
        x = graph.inputs[0].tensor
        graph.output(x + ops.constant(table, DType.float32, DeviceRef.CPU()))
    session = InferenceSession()
    x = np.random.default_rng(0).standard_normal((3, 200)).astype(np.float32)
    compiled = session.compile(graph)
    assert [c.data for c in compiled.artifact.constants] == [table.tobytes()]
    compiled.save(tmp_path / "g.pelton")
    for model in (session.init(compiled), session.load(tmp_path / "g.pelton")):
        np.testing.assert_array_equal(model.execute(x)[0].to_numpy(), x + table)
