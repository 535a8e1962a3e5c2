"""Which ops `fuse-groups` puts together: what holds for any graph, and the cases that are easy to get wrong.

For any graph: each op computes its result in exactly one group, but for what is never worth memory; a group's kind is
the loop nest its ops need; a product and a row's reductions are read only at the index they are made at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.ir import Operation

from pelton.dialects.check import check_module
from pelton.dialects.context import new_context
from pelton.dialects.nn import Elementwise, GroupOp
from pelton.dialects.op import NnOp, Reduction
from pelton.dtype import DType
from pelton.graph import Graph, TensorType, Weight, ops
from pelton.passes.choose_kernels import ChooseKernels
from pelton.passes.expand_ops import ExpandOps
from pelton.passes.fuse_groups import FREE, MATMULS, MOVES, FuseGroups
from pelton.passes.simplify import Simplify
from pelton.passes.split_init import SplitInit
from pelton.tests.support.random_graphs import CPU, build
from pelton.tests.support.random_steps import generate

F32 = DType.float32


def primitive(graph: Graph) -> Any:
    """The module as `fuse-groups` finds it."""
    module, context = graph.module.clone(), new_context()
    for each in (Simplify(), ExpandOps(), Simplify(), ChooseKernels("avx2"), SplitInit()):
        each.apply(context, module)
    return module


def grouped(graph: Graph, separate: bool = False) -> list[GroupOp]:
    module = primitive(graph)
    FuseGroups(separate).apply(Context(), module)
    check_module(module)
    return [op for op in module.walk() if isinstance(op, GroupOp)]


def inside(group: GroupOp) -> list[NnOp]:
    return [op for op in group.body.block.ops if isinstance(op, NnOp)]


def counted(found: list[NnOp]) -> Counter[str]:
    return Counter(op.name for op in found if not isinstance(op, FREE))


@pytest.mark.parametrize("separate", [False, True], ids=["fused", "separate"])
@pytest.mark.parametrize("seed", range(200, 240))
def test_every_op_is_computed_once(seed: int, separate: bool) -> None:
    graph = build(generate(seed))
    views = ("nn.reshape", "nn.rebind", "nn.weight")
    before = counted([op for op in primitive(graph).walk() if isinstance(op, NnOp) and op.name not in views])
    assert counted([op for group in grouped(graph, separate) for op in inside(group)]) == before


@pytest.mark.parametrize("seed", range(200, 240))
def test_kinds_are_what_the_ops_need(seed: int) -> None:
    for group in grouped(build(generate(seed))):
        found, kind = inside(group), group.kind.data
        along_rows = [op for op in found if isinstance(op, Reduction) and op.axis_index == op.tensor().rank - 1]
        others = [op for op in found if isinstance(op, Reduction) and op not in along_rows]
        products = [op for op in found if isinstance(op, MATMULS)]
        assert bool(products) == (kind == "matmul") and len(products) <= 1
        assert bool(along_rows) == (kind == "row") and bool(others) == (kind == "column")
        for op in [*products, *along_rows]:
            assert not any(isinstance(user, MOVES) for user in followers(op)), f"{op.name} is read elsewhere: {group}"
        spaces = {op.tensor().shape for op in along_rows}
        assert len(spaces) <= 1, "the reductions of one row run over one space"


def followers(op: Operation) -> set[Operation]:
    """The ops of the group that depend on `op`."""
    found: set[Operation] = set()
    todo = [op]
    while todo:
        for use in todo.pop().results[0].uses:
            if isinstance(use.operation, NnOp) and use.operation not in found:
                found.add(use.operation)
                todo.append(use.operation)
    return found


def kinds(function: Callable[..., Any], *shapes: tuple[int | str, ...]) -> list[str]:
    """The groups of a graph on f32 inputs, each as its kind and its ops."""
    graph = Graph("g", function, [TensorType(F32, list(shape), CPU) for shape in shapes])
    return [
        f"{g.kind.data}: {' '.join(op.name.removeprefix('nn.') for op in inside(g) if not isinstance(op, FREE))}"
        for g in grouped(graph)
    ]


N4 = ("n", 4)


def test_a_value_used_by_element_and_through_a_move_is_in_memory() -> None:
    def function(x: Any) -> Any:
        e = ops.exp(x)
        return e + e[:, ::-1]

    assert kinds(function, N4) == ["elementwise: exp", "elementwise: slice add"]


def test_a_product_is_computed_where_it_is_read_in_place() -> None:
    assert kinds(lambda x, y: ops.tanh(x @ y + 1), ("n", "k"), ("k", "n")) == [
        "elementwise: pack",
        "matmul: packed_matmul add tanh",
    ]


def test_a_product_that_is_read_backwards_is_in_memory() -> None:
    assert kinds(lambda x, y: (x @ y + 1)[::-1], ("n", "k"), ("k", "n")) == [
        "elementwise: pack",
        "matmul: packed_matmul",
        "elementwise: add slice",
    ]


def test_moves_of_what_is_added_to_a_product_stay_with_it() -> None:
    def function(x: Any, y: Any, z: Any) -> Any:
        return x @ y + z[:, ::-1]

    assert kinds(function, ("n", "k"), ("k", "m"), ("n", "m")) == [
        "elementwise: pack",
        "matmul: packed_matmul slice add",
    ]


def test_a_row_takes_its_reductions_and_what_is_per_row() -> None:
    assert kinds(ops.softmax, N4) == ["row: max sub exp sum div"]
    assert kinds(lambda x: ops.sqrt(ops.sum(x * x)) + 1, N4) == ["row: mul sum sqrt add"]


def test_a_reduction_with_a_result_of_its_own_is_in_memory() -> None:
    def function(x: Any) -> Any:
        total = ops.sum(x)
        return [total, x / total]

    assert kinds(function, N4) == ["row: sum", "elementwise: div"]


def test_reductions_along_different_axes_are_different_groups() -> None:
    assert kinds(lambda x: ops.sum(ops.sum(x, 0), 1), N4) == ["column: sum", "row: sum"]
    assert kinds(lambda x: ops.sum(ops.exp(ops.sum(x, 0)), 1), ("n", "m", 3)) == [
        "column: sum",
        "column: exp sum",
    ]


def test_a_column_is_not_summed_per_element_of_what_it_spreads_to() -> None:
    assert kinds(lambda x: x / ops.sum(x, 0), N4) == ["column: sum", "elementwise: div"]


def test_the_last_axis_moves_in_a_group_of_its_own_that_takes_what_stands_before_it() -> None:
    assert kinds(lambda x: ops.transpose(ops.exp(x), 0, 1) + 1, N4) == ["transpose: exp permute", "elementwise: add"]


def test_the_table_of_a_gather_is_memory() -> None:
    def function(x: Any) -> Any:
        return ops.gather(ops.exp(x), ops.range(0, 2, 1, dtype=DType.int64, device=CPU), 0)

    assert kinds(function, (3, 4)) == ["elementwise: exp", "elementwise: gather"]


def test_what_is_never_worth_memory_is_in_every_group_that_reads_it() -> None:
    def function(x: Any) -> Any:
        places = ops.range(0, x.shape[1], 1, dtype=DType.int64, device=CPU).cast(F32)
        return [ops.exp(x * 2.0), ops.transpose(x, 0, 1) * 2.0, ops.sum(x + places)]

    groups = kinds(function, ("n", "n"))
    assert len([g for g in groups if "range" not in g]) == len(groups)
    assert not [g for g in groups if g.split(": ")[1] in ("", "constant")], "numbers have no group of their own"


def test_an_op_without_users_has_a_group() -> None:
    """Nothing is left outside of groups, even where nobody cleaned up."""
    graph = Graph("g", lambda x: (ops.exp(x), x + 1)[1], [TensorType(F32, ["n"], CPU)])
    module = graph.module.clone()
    FuseGroups().apply(Context(), module)
    check_module(module)
    left = [op for op in module.walk() if isinstance(op, Elementwise) and not isinstance(op.parent_op(), GroupOp)]
    assert not left


def test_weights_are_inputs_of_groups() -> None:
    graph = Graph("g", lambda x: x + Weight("w", F32, [4], CPU), [TensorType(F32, ["n", 4], CPU)])
    (group,) = grouped(graph)
    assert len(group.inputs) == 2
