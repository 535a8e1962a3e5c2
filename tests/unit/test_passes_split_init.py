"""What `split-init` computes once, when a model is bound, and what has to wait for the sizes of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pelton.dialects import plan
from pelton.dtype import DType
from pelton.graph import Graph, TensorType, Weight, ops
from pelton.tests.support.compiled import artifact_of, compiled, results
from pelton.tests.support.random_graphs import CPU

F32 = DType.float32
WEIGHTS = {"w": np.arange(12, dtype=np.float32).reshape(3, 4) / 9}


def weight() -> Weight:
    return Weight("w", F32, [3, 4], CPU)


def launches(function: Callable[[Any], Any]) -> dict[str, list[str]]:
    """The kernels that each plan launches."""
    found: dict[str, list[str]] = {}
    for line in artifact_of(graph_of(function).module).text.splitlines():
        if line.startswith("plan.func"):
            found[line.split("@")[1].split("(")[0]] = []
        elif plan.LaunchOp.name in line:
            found[list(found)[-1]].append(line.split("@")[1].split("(")[0])
    return found


def graph_of(function: Callable[[Any], Any]) -> Graph:
    return Graph("g", function, [TensorType(F32, ["n", 12], CPU)])


def result(function: Callable[[Any], Any], x: Any) -> Any:
    return results(compiled(graph_of(function).module, {}, WEIGHTS), [x])[0]


def test_functions_of_weights_are_computed_once() -> None:
    assert launches(lambda x: x @ ops.reshape(ops.exp(weight()), [12, 1]))["main"] == ["packed_matmul"]


def test_views_do_not_hide_what_is_computed_before_them() -> None:
    def function(x: Any) -> Any:
        return x + ops.reshape(ops.exp(weight()), [12])

    assert launches(function) == {"init": ["exp"], "main": ["add"]}
    x = np.ones((2, 12), np.float32)
    np.testing.assert_allclose(result(function, x), x + np.exp(WEIGHTS["w"]).reshape(12), rtol=1e-6)


def test_a_value_that_depends_on_a_size_waits_for_it() -> None:
    """Its shape is known all the same."""

    def function(x: Any) -> Any:
        return ops.reshape(weight(), [12]) * x.shape[0]

    assert launches(function)["init"] == []
    for n in (1, 3):
        np.testing.assert_array_equal(result(function, np.ones((n, 12), np.float32)), WEIGHTS["w"].reshape(12) * n)


def test_a_slice_that_starts_at_a_size_waits_for_it() -> None:
    def function(x: Any) -> Any:
        n = x.shape[0]
        return ops.exp(ops.slice_tensor(weight(), [slice(n, n + 1), slice(None)]))

    assert launches(function)["init"] == []
    for n in (0, 2):
        got = result(function, np.ones((n, 12), np.float32))
        np.testing.assert_allclose(got, np.exp(WEIGHTS["w"][n : n + 1]), rtol=1e-6)
