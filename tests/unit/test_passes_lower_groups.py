"""What `lower-groups` makes of groups: shared kernels, buffers by name, results in the caller's memory, in-place marks.

`in_place` is judged by meaning: each launch whose input may be taken over is run on the kernel interpreter with the
result in that input's very memory, and must give what it gives with memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from pelton.codegen.interpreter import run_kernel
from pelton.codegen.scalar_values import numpy_dtype
from pelton.compiler import passes_for
from pelton.dialects import dims, kernel, plan
from pelton.dialects.context import new_context
from pelton.dtype import DType
from pelton.graph import Graph, TensorType, Weight, ops
from pelton.support.options import Options
from pelton.tests.support.compiled import compiled, results
from pelton.tests.support.random_graphs import CPU, build
from pelton.tests.support.random_steps import generate

F32 = DType.float32
SIZES = {"n": 3, "m": 2, "k": 5}
LARGEST = 4000


def lowered(graph: Graph, separate: bool = False) -> ModuleOp:
    """The module with launches over buffers that are not placed yet; products as they are, for the interpreter."""
    module, context = graph.module.clone(), new_context()
    for each in passes_for("avx2", Options(separate=separate)):
        if each.name not in ("assign-buffers", "choose-kernels"):
            each.apply(context, module)
    return module


def graph_of(function: Callable[..., Any], *shapes: tuple[int | str, ...]) -> Graph:
    return Graph("g", function, [TensorType(F32, list(shape), CPU) for shape in shapes])


def ops_of(module: ModuleOp, kind: type[Any]) -> list[Any]:
    return [op for op in module.walk() if isinstance(op, kind)]


# kernels
def test_equal_groups_share_a_kernel_whatever_their_sizes_are_called() -> None:
    module = lowered(graph_of(lambda x, y: [ops.exp(x), ops.exp(y), ops.exp(x + 1)], ("n", "m"), ("k", "n")))
    launches = ops_of(module, plan.LaunchOp)
    names = [op.callee.string_value() for op in launches]
    assert len(names) == 3 and len(set(names)) == 2 and names[0] == names[1]
    assert [op.sizes.data for op in launches[:2]] == [("n", "m"), ("k", "n")]
    assert {f.sym_name.data for f in ops_of(module, kernel.FuncOp)} == set(names)


def test_groups_of_equal_names_and_different_code_have_different_kernels() -> None:
    module = lowered(graph_of(lambda x: [x + 1, x + 2, ops.sum(x, 0), ops.sum(x, 1)], ("n", "m")))
    names = [f.sym_name.data for f in ops_of(module, kernel.FuncOp)]
    assert sorted(names) == ["add", "add_2", "sum", "sum_2"]


# names
@pytest.mark.parametrize("name", ["w", "input0", "input1", "prepared", "prepared0", "output0", "x y"])
def test_a_weight_may_have_any_name(name: str) -> None:
    """Names of inputs and of what is prepared are no names of weights: the plan tells them apart by place."""

    def function(x: Any, y: Any) -> Any:
        w = Weight(name, F32, [3, 3], CPU)
        return x @ w + ops.exp(w)[0] + y

    w, x = np.arange(9, dtype=np.float32).reshape(3, 3) / 9, np.ones((2, 3), np.float32)
    model = compiled(graph_of(function, ("n", 3), ("n", 3)).module, {}, {name: w})
    np.testing.assert_allclose(results(model, [x, 2 * x])[0], x @ w + np.exp(w[0]) + 2 * x, rtol=1e-6)


# results
def test_results_are_written_where_the_caller_wants_them() -> None:
    """No copy but for an input, a second mention, and a view of what is a result already."""

    def function(x: Any) -> Any:
        e = ops.exp(x)
        return [ops.reshape(e, [-1]), e, x, ops.tanh(e)]

    module = lowered(graph_of(function, ("n", 4)))
    assert [op.number.data for op in ops_of(module, plan.OutputOp)] == [0, 3, 1, 2]
    copies = [plan.buf_type(op.target).shape for op in ops_of(module, plan.CopyOp)]
    assert copies == [("n", 4), ("n", 4)] and not ops_of(module, plan.AllocOp)


# checks
def test_what_ops_require_of_sizes_is_checked_before_anything_runs() -> None:
    def function(x: Any, y: Any) -> Any:
        return [ops.rebind(x, ["k"], "x is as long as y") + y, ops.exp(x)]

    model = compiled(graph_of(function, ("n",), ("k",)).module)
    good, short = np.ones(3, np.float32), np.ones(2, np.float32)
    with pytest.raises(RuntimeError, match="x is as long as y"):
        model.execute(good, short)
    assert results(model, [good, good])[0].tolist() == [2, 2, 2]


# in place
def arguments(op: plan.LaunchOp, seed: int) -> list[Any]:
    """Arrays for the buffers of a launch; indices stay small."""
    random = np.random.default_rng(seed)
    arrays: list[Any] = []
    for value in op.operands:
        t = plan.buf_type(value)
        shape = [dims.evaluate(d, SIZES) for d in t.shape]
        arrays.append(np.ascontiguousarray(random.integers(0, 2, shape).astype(numpy_dtype(t.elem))))
    return arrays


def seen_as(arrays: list[Any], function: kernel.FuncOp, sizes: list[int]) -> list[Any]:
    """The same memory in the shapes of the kernel's parameters."""
    bound = dict(zip((str(s) for s in function.sizes.data), sizes, strict=True))
    found: list[Any] = []
    for array, parameter in zip(arrays, function.body.block.args, strict=True):
        assert isinstance(parameter.type, kernel.BufType)
        shape = [dims.evaluate(d, bound) for d in parameter.type.shape]
        found.append(array.reshape(shape))
    return found


def check_in_place(module: ModuleOp) -> int:
    """How many inputs could be taken over, each found to change nothing when they are."""
    functions = {f.sym_name.data: f for f in ops_of(module, kernel.FuncOp)}
    count = 0
    for number, op in enumerate(ops_of(module, plan.LaunchOp)):
        function, sizes = functions[op.callee.string_value()], [dims.evaluate(d, SIZES) for d in op.sizes.data]
        if any(isinstance(o, kernel.CallOp) for o in function.body.block.ops):
            continue
        for k in op.in_place.data:
            taken, out = plan.buf_type(op.inputs[k]), plan.buf_type(op.outputs[0])
            if op.inputs.count(op.inputs[k]) > 1 or taken.bytes != out.bytes:
                continue  # as `assign-buffers` has it
            if sum(dims.evaluate(plan.buf_type(v).bytes, SIZES) for v in op.operands) > LARGEST:
                continue  # the interpreter is slow
            plain, shared = arguments(op, number), arguments(op, number)
            shared[-1] = shared[k].view(shared[-1].dtype).reshape(shared[-1].shape)
            with np.errstate(all="ignore"):
                for arrays in (plain, shared):
                    run_kernel(function, seen_as(arrays, function, sizes), sizes)
            assert plain[-1].tobytes() == shared[-1].tobytes(), f"input {k} of {op.callee.string_value()}\n{function}"
            count += 1
    return count


def test_in_place_changes_no_result() -> None:
    taken = sum(check_in_place(lowered(build(generate(seed)))) for seed in range(400, 430))
    assert taken > 20


def in_place_of(function: Callable[..., Any], *shapes: tuple[int | str, ...]) -> list[tuple[int, ...]]:
    module = lowered(graph_of(function, *shapes))
    check_in_place(module)
    return [op.in_place.data for op in ops_of(module, plan.LaunchOp)]


def test_what_is_read_at_its_own_place_may_be_taken_over() -> None:
    assert in_place_of(lambda x, y: ops.exp(x) + y, ("n", "m"), ("n", "m")) == [(0, 1)]


def test_what_is_read_elsewhere_too_may_not() -> None:
    assert in_place_of(lambda x: x + x[::-1], ("n", "m")) == [()]
    assert in_place_of(lambda x: x + ops.transpose(x, 0, 1)[:, ::-1], ("n", "n"))[-1] in ((0,), (1,))
    assert in_place_of(lambda x: x - ops.max(x), ("n", "m")) == [()]


def test_what_is_read_after_the_result_was_begun_may_not() -> None:
    """A row keeps its exponentials in the result's memory; what is added last must not stand there."""

    def function(x: Any, y: Any) -> Any:
        return ops.softmax(x) + y

    assert in_place_of(function, ("n", "m"), ("n", "m")) == [()]


def test_what_is_wider_or_narrower_may_not() -> None:
    def function(x: Any) -> Any:
        return ops.exp(x).cast(DType.float64)

    assert in_place_of(function, ("n", "m")) == [()]


def test_what_is_read_under_a_guard_at_its_own_place() -> None:
    """The first operand of a concatenation is read where the result stands, but the result is larger."""
    module = lowered(graph_of(lambda x, y: ops.concat([x, y]) * 2, ("n", "m"), ("k", "m")))
    check_in_place(module)
    (launch,) = ops_of(module, plan.LaunchOp)
    sizes = [plan.buf_type(v).bytes for v in (*launch.inputs, *launch.outputs)]
    assert sizes[2] not in sizes[:2]
