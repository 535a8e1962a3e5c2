"""Explanations: a row per kernel of a model, with the line that made it and the reason for what computes it."""

from __future__ import annotations

import inspect

import pytest

from pelton.dialects.dims import Dim
from pelton.dtype import DType
from pelton.explain import NESTS, Row, explain
from pelton.graph import DeviceRef, Graph, TensorType, Weight, ops
from pelton.kernels.choices import Candidate, Estimate, choose
from pelton.support.errors import CompileError
from pelton.support.options import AssertLevel, Options
from pelton.tests.support.compiled import artifact_of

CPU = DeviceRef.CPU()


def model() -> tuple[Graph, int]:
    """A layer and a softmax; and the number of the line of the product."""
    with Graph("g", input_types=[TensorType(DType.float32, ["n", 384], CPU)]) as graph:
        weight = Weight("w", DType.float32, (384, 100), CPU)
        frame = inspect.currentframe()
        y, line = graph.inputs[0].tensor @ weight, frame.f_lineno if frame else 0
        graph.output(ops.softmax(ops.relu(y)))
    return graph, line


def by_kind(target: str) -> dict[str, Row]:
    return {row.kind: row for row in explain(model()[0].module, target)}


@pytest.mark.parametrize("target", ["avx2", "cuda"])
def test_every_kernel_of_the_model_has_a_row(target: str) -> None:
    rows = explain(model()[0].module, target)
    assert [row.function for row in rows] == sorted(row.function for row in rows)
    assert all(row.reason and row.kernel and row.fused for row in rows)
    assert {op for row in rows for op in row.fused} >= {"nn.relu", "nn.exp", "nn.div"}
    assert {row.kind for row in rows} <= set(NESTS)
    if target == "avx2":
        assert {row.kernel for row in rows} == {k.name for k in artifact_of(model()[0].module).kernels}


def test_a_row_names_the_line_of_the_op_that_had_a_choice() -> None:
    row = by_kind("avx2")["matmul"]
    assert row.choice
    assert (row.op, row.choice.kernel, row.function) == ("nn.matmul", "matmul", "main")
    assert row.line.split(":")[0].endswith("test_explain.py")
    assert int(row.line.split(":")[1]) == model()[1]
    assert "accumulators in registers" in row.reason


def test_generated_loops_have_a_reason_but_no_choice() -> None:
    row = by_kind("avx2")["row"]
    assert (row.choice, row.reason) == (None, NESTS["row"])
    assert row.fused[-1] == row.op == "nn.div"


def candidate(kernel: str, refusal: str = "", flops: Dim = 1) -> Candidate:
    return Candidate(kernel, Estimate(flops, 2048, "n"), refusal, f"{kernel} is general")


def test_the_first_that_does_not_refuse_is_taken() -> None:
    found = choose("nn.f", [candidate("fast", "needs a GPU"), candidate("plain", flops=3_000_000), candidate("slow")])
    assert (found.kernel, found.reason, found.cost) == ("plain", "plain is general", "3 MFLOP, 2.05 kB, n items")
    assert [(x.kernel, x.why) for x in found.lost] == [("fast", "needs a GPU"), ("slow", "slow is general")]


def test_an_op_that_all_refuse_is_an_error_with_all_reasons() -> None:
    with pytest.raises(CompileError, match=r"a: not i8; b: not today"):
        choose("nn.f", [candidate("a", "not i8"), candidate("b", "not today")])


def test_an_assert_has_a_row_without_a_result() -> None:
    graph = Graph("asserts", lambda x: [ops.assert_(x > 0, "m"), x + 1][1], [TensorType(DType.float32, ["n"], CPU)])
    for target in ("avx2", "cuda"):
        row, _ = explain(graph.module, target, Options(assert_level=AssertLevel.ALL))
        assert (row.kind, row.op, row.result, row.reason) == ("check", "nn.assert", "", NESTS["check"])
        assert len(explain(graph.module, target)) == 1
