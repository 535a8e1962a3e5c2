"""What is off leaves nothing behind: code and PTX are those of a graph that never had it; memory stays safe."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from pelton.codegen.cpu.target import TARGETS
from pelton.codegen.cuda.compile import compile_ptx
from pelton.codegen.cuda.sources import cuda_source
from pelton.compiler import Compilation, cuda_passes
from pelton.dialects.context import new_context
from pelton.dialects.kernel import FuncOp
from pelton.dtype import DType
from pelton.graph import DeviceRef, Graph, TensorType, Weight, ops
from pelton.support.options import AssertLevel, LogLevel, Options
from pelton.tests.support.compiled import STORE, compiled
from pelton.tests.support.guarded import execute

F32, I64, CPU = DType.float32, DType.int64, DeviceRef.CPU()
QUIET = Options(assert_level=AssertLevel.NONE, log_level=LogLevel.NOTSET)
INPUTS = [TensorType(F32, ["n", 40], CPU), TensorType(I64, ["k"], CPU)]


def built(says: bool) -> Graph:
    """A graph, with or without asserts and messages about values that it needs, and about some that it does not."""

    def function(x: Any, i: Any) -> Any:
        if says:
            ops.trace("error", "begins", x, ops.softmax(x))
            ops.assert_(x.cast(DType.float64) > 0, "positive", x)
            ops.assert_(ops.max(x * 2) < 8, "small")
        table = Weight("table", F32, [50, 40], CPU)
        y = ops.exp(x * 2) + ops.gather(table, i, 0)[0]
        if says:
            ops.print(y, "y")
            ops.assert_(ops.mean(y) > 0, "mean")
        z = ops.softmax(y @ table.transpose(0, 1))
        if says:
            ops.assert_(z <= 1, "softmax", z, z + 1)
            ops.trace("critical", "ends", z, table, i)
        return z, ops.sum(x * 2), ops.argmax(z)

    return Graph("says", function, INPUTS)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_cpu_code_is_that_of_a_graph_without(target: Any) -> None:
    made = [Compilation(built(says).module, target, STORE, options=QUIET).run() for says in (False, True)]
    assert made[0].sources == made[1].sources
    plans = [(c.artifact.main, c.artifact.init) for c in made]
    bare = [[program._replace(sites=()) for program in plan] for plan in plans]  # they number ops of the graph
    assert bare[0] == bare[1] and plans[0][0].reports is None and plans[0][0].ring is None


def ptx_of(module: ModuleOp, options: Options) -> list[str]:
    module = module.clone()
    for each in cuda_passes(options):
        each.apply(new_context(), module)
    return [compile_ptx(cuda_source(op)) for op in module.body.block.ops if isinstance(op, FuncOp)]


def test_ptx_is_that_of_a_graph_without() -> None:
    quiet = [ptx_of(built(says).module, QUIET) for says in (False, True)]
    assert quiet[0] == quiet[1]
    assert len(ptx_of(built(True).module, Options(assert_level=AssertLevel.WARN))) > len(quiet[0])


@pytest.mark.parametrize("level", [AssertLevel.NONE, AssertLevel.WARN])
@pytest.mark.parametrize("at_end", [True, False])
def test_a_wild_index_reads_nothing_but_its_tensor(level: AssertLevel, at_end: bool) -> None:
    """Inputs, outputs and scratch memory lie at forbidden pages: reading a byte beyond them would end the process."""
    graph = Graph("wild", lambda x, i: ops.gather(x, i, 0) * 2 + ops.gather(x, i + 1, 0), INPUTS)
    model = compiled(graph.module, options=Options(assert_level=level))
    wild = [0, 1, -1, 2, -3, 2**31, -(2**31), 2**62, 2**63 - 2, -(2**63)]
    for rows in (0, 1, 2, 33):
        execute(model, [np.ones((rows, 40), np.float32), np.array(wild)], at_end)


def test_what_a_bad_index_reads_is_an_element() -> None:
    graph = Graph("wild", lambda x, i: ops.gather(x, i, 0), INPUTS)
    model = compiled(graph.module, options=QUIET)
    x = np.arange(80, dtype=np.float32).reshape(2, 40)
    (y,) = model.execute(x, np.array([2, 2**62, -3, -(2**63)]))
    assert all(any((row == r).all() for r in x) for row in y.to_numpy())
