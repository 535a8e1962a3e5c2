"""Graph, Weight and what stands in the module: building both ways, names, symbols, locations, and each refusal."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp

from pelton.dialects.check import check_module
from pelton.dialects.interpreter import InterpreterError, run
from pelton.dtype import DType
from pelton.graph import DeviceRef, Dim, Graph, TensorType, TensorValue, Weight, ops

CPU, F32, I64 = DeviceRef.CPU(), DType.float32, DType.int64
ROWS = TensorType(F32, ["n", 3], CPU)


def linear(inputs: Any = (ROWS,)) -> Graph:
    with Graph("linear", input_types=inputs) as graph:
        (x,) = graph.inputs
        graph.output(x @ Weight("w", F32, [3, 2], CPU) + Weight("b", F32, [2], CPU))
    return graph


MODULE = """\
builtin.module {
  func.func @linear(%input0: !nn.tensor<[n, 3], f32> {nn.name = "input0"}) -> (!nn.tensor<[n, 2], f32> OUTPUT0) {
    %w = nn.weight {key = "w"} : !nn.tensor<[3, 2], f32>
    %b = nn.weight {key = "b"} : !nn.tensor<[2], f32>
    %0 = nn.matmul %input0, %w : (!nn.tensor<[n, 3], f32>, !nn.tensor<[3, 2], f32>) -> !nn.tensor<[n, 2], f32>
    %1 = nn.broadcast_to %b {shape = #nn.dims[n, 2]} : (!nn.tensor<[2], f32>) -> !nn.tensor<[n, 2], f32>
    %2 = nn.add %0, %1 : !nn.tensor<[n, 2], f32>
    func.return %2 : !nn.tensor<[n, 2], f32>
  }
}""".replace("OUTPUT0", '{nn.name = "output0"}')


def test_the_module_is_one_function() -> None:
    graph = linear()
    assert str(graph) == MODULE == str(graph.module)
    assert isinstance(graph.module, ModuleOp)
    check_module(graph.module)
    assert graph.input_types == [ROWS] and graph.output_types == [TensorType(F32, ["n", 2], CPU)]
    assert repr(graph) == "Graph('linear': (float32[n, 3] on cpu:0) -> (float32[n, 2] on cpu:0))"


@pytest.mark.parametrize(
    ("forward", "count"),
    [(lambda x: None, 0), (lambda x: x, 1), (lambda x: [x, x + 1], 2), (lambda x: (x * k for k in (1, 2, 3)), 3)],
)
def test_a_function_builds_a_graph(forward: Callable[..., Any], count: int) -> None:
    graph = Graph("g", forward, [ROWS])
    assert len(graph.output_types) == count


def test_a_function_may_give_its_outputs_itself_and_takes_more_arguments() -> None:
    def forward(x: TensorValue, scale: float, *, shift: int) -> None:
        Graph.current.output(x * scale + shift)

    graph = Graph("g", forward, [ROWS], None, 2.0, shift=1)
    (y,) = run(graph.module, [np.ones((1, 3), np.float32)])
    assert y.tolist() == [[3.0] * 3]


def test_current_follows_the_blocks() -> None:
    outer, inner = Graph("outer", input_types=[ROWS]), Graph("inner", input_types=[ROWS])
    with outer:
        assert Graph.current is outer
        with inner:
            assert Graph.current is inner
            inner.output(inner.inputs[0] + 1)
        assert Graph.current is outer
        outer.output(outer.inputs[0] + 2)
    with pytest.raises(LookupError, match="no graph is being built"):
        _ = Graph.current


def test_an_error_in_the_block_leaves_no_current_graph() -> None:
    with pytest.raises(ZeroDivisionError), Graph("g", input_types=[ROWS]):
        _ = 1 // 0
    with pytest.raises(LookupError):
        _ = Graph.current


def test_a_block_may_be_entered_again() -> None:
    graph = Graph("g", input_types=[ROWS])
    with graph:
        y = graph.inputs[0] + 1
    with graph:
        graph.output(y * 2)
    assert len(graph.output_types) == 1


def test_threads_build_at_the_same_time() -> None:
    texts: list[str] = []
    barrier = threading.Barrier(4)

    def build() -> None:
        with Graph("g", input_types=[ROWS]) as graph:
            barrier.wait()
            x = graph.inputs[0]
            for _ in range(20):
                x = ops.relu(x) + 1
            graph.output(x)
        texts.append(str(graph))

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 4 and len(set(texts)) == 1


def test_inputs_are_themselves() -> None:
    (x,) = Graph("g", input_types=[ROWS]).inputs
    assert x.tensor is x and x.type == ROWS and (x.dtype, x.rank, x.device) == (F32, 2, CPU)
    assert x.shape == ["n", 3] and repr(x) == "TensorValue(float32[n, 3] on cpu:0)"
    assert len({x, x}) == 1
    with pytest.raises(TypeError, match="a tensor, not a mutable buffer"):
        _ = x.buffer


def test_a_graph_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "linear.mlir"
    path.write_text(MODULE)
    graph = Graph("ignored", path=path)
    assert str(graph) == MODULE and graph.input_types == [ROWS]
    with pytest.raises(ValueError, match="outputs already"):
        graph.output()
    with pytest.raises(RuntimeError, match=r"cannot read .*missing.mlir: No such file"):
        Graph("g", path=tmp_path / "missing.mlir")
    path.write_text("builtin.module {\n  %0 = nn.nonsense : i32\n}")
    with pytest.raises(RuntimeError, match=r"unknown operation 'nn.nonsense'(?s:.)*linear.mlir:2:"):
        Graph("g", path=str(path))
    path.write_text("builtin.module {}")
    with pytest.raises(RuntimeError, match="is no graph"):
        Graph("g", path=path)


# weights and constants
def test_a_weight_needs_no_graph_and_enters_each_once() -> None:
    weight = Weight("layer.0.w", F32, [3, 3], CPU, align=64)
    assert weight.shape == [3, 3] and weight.dtype is F32 and weight.device == CPU and weight.align == 64
    assert repr(weight) == "Weight('layer.0.w', float32[3, 3] on cpu:0)"
    for _ in range(2):
        graph = Graph("g", lambda x: x @ weight @ weight.T + weight[0], [ROWS])
        assert str(graph).count("nn.weight") == 1 and "%layer_0_w = nn.weight" in str(graph)


def test_weights_stand_before_all_other_ops() -> None:
    def forward(x: TensorValue) -> TensorValue:
        for k in range(3):
            x = x * Weight(f"{k}", F32, [], CPU)
        return x

    lines = [
        line.split("=")[1].split()[0] for line in str(Graph("g", forward, [ROWS])).splitlines() if " = nn." in line
    ]
    lines = [name for name in lines if name.startswith("nn.")]
    assert lines[:3] == ["nn.weight"] * 3 and "nn.weight" not in lines[3:]


def test_a_weight_can_be_an_output() -> None:
    graph = Graph("g", lambda: Weight("w", F32, [2], CPU))
    assert run(graph.module, [], {"w": np.ones(2, np.float32)})[0].tolist() == [1, 1]


def test_large_constants_stay_beside_the_module() -> None:
    small, large = np.arange(128.0), np.arange(129.0)
    graph = Graph("g", lambda: [ops.constant(a) for a in (small, large, large)])
    assert [a.nbytes for a in graph.constants.values()] == [129 * 8] * 2
    assert str(graph).count("nn.weight") == 2
    assert [len(a) for a in run(graph.module, [], graph.constants)] == [128, 129, 129]


# places
def test_each_op_knows_the_line_that_made_it() -> None:
    def helper(x: TensorValue) -> TensorValue:
        return ops.gelu(x)  # the helper's line

    with Graph("places", input_types=[ROWS]) as graph:  # the graph's line
        y = helper(graph.inputs[0]) + graph.inputs[0].var()  # the line of var
        graph.output(y)  # the output's line

    lines = Path(__file__).read_text().splitlines()
    marks = {
        "nn.gelu": "the helper's",
        "func.func": "the graph's",
        "nn.mean": "of var",
        "nn.add": "of var",
        "func.return": "the output's",
    }
    places = [op for op in graph.module.walk() if op.name in marks]
    assert {op.name for op in places} == set(marks)
    for op in places:
        assert isinstance(op.location, FileLineColLoc)
        assert op.location.filename.data == __file__ and op.location.column.data > 0
        assert marks[op.name] in lines[op.location.line.data - 1]


# symbols
def test_sizes_may_be_expressions_of_the_inputs() -> None:
    graph = Graph("g", lambda x: x.reshape([x.shape[0] * 3]), [ROWS])
    assert graph.output_types[0].shape == [Dim("n") * 3]


def test_equal_sizes_are_claimed_by_rebind_and_checked_when_run() -> None:
    types = [TensorType(F32, [s], CPU) for s in ("n", "m")]
    graph = Graph("g", lambda x, y: x + y.rebind(x.shape, "lengths agree"), types)
    two, three = np.ones(2, np.float32), np.ones(3, np.float32)
    assert run(graph.module, [two, two])[0].tolist() == [2, 2]
    with pytest.raises(InterpreterError, match=r"lengths agree(?s:.)*3 and 2"):
        run(graph.module, [two, three])


def test_a_reshape_that_depends_on_sizes_is_checked_when_run() -> None:
    graph = Graph("g", lambda x: x.reshape([-1, 4]), [TensorType(F32, ["n"], CPU)])
    assert graph.output_types[0].shape == [Dim("n") // 4, 4]
    assert run(graph.module, [np.zeros(8, np.float32)])[0].shape == (2, 4)
    with pytest.raises(InterpreterError, match="reshape of"):
        run(graph.module, [np.zeros(9, np.float32)])


# what is refused when a graph is made
@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"name": 3}, TypeError, "name is not a str"),
        ({"name": ""}, ValueError, "name is empty"),
        ({"forward": 3}, TypeError, "forward is not callable"),
        ({"input_types": ROWS}, TypeError, r"not a sequence of types(?s:.)*\[TensorType"),
        ({"input_types": [F32]}, TypeError, "input 0 is not of a tensor type"),
        (
            {"input_types": [TensorType(F32, [Dim("n") * 2], CPU)]},
            ValueError,
            r"input 0 has the size 2\*n(?s:.)*rebind",
        ),
        ({"input_types": [TensorType(DType.float8_e5m2, [1], CPU)]}, ValueError, "do not compute with float8_e5m2"),
        ({"custom_extensions": ["ops.py"]}, RuntimeError, "cannot read"),
        ({"path": "x.mlir", "forward": len}, TypeError, "path stands for the whole graph"),
    ],
)
def test_graph_refuses(arguments: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        make: Any = Graph
        make(**{"name": "g", **arguments})


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ((3, F32, [1], CPU), TypeError, "name is not a str"),
        (("", F32, [1], CPU), ValueError, "name is empty"),
        (("w", F32, ["n"], CPU), ValueError, "its shape is not static"),
        (("w", "f32", [1], CPU), TypeError, "dtype is not a DType"),
        (("w", F32, [1], CPU, "Q4_0"), ValueError, "no quantization encoding"),
        (("w", F32, [1], CPU, None, 3), ValueError, "no power of two"),
    ],
)
def test_weight_refuses(arguments: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        Weight(*arguments)


# what is refused while a graph is built
def output_twice(x: TensorValue) -> None:
    Graph.current.output(x)
    Graph.current.output(x)


def add_after_output(x: TensorValue) -> None:
    Graph.current.output(x)
    ops.relu(x)


def current() -> Any:
    return Graph.current


OTHER = Graph("other", input_types=[ROWS])
MISUSE: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (output_twice, ValueError, "'g' has its outputs already"),
    (add_after_output, ValueError, "'g' has its outputs already"),
    (lambda x: current().output([x]), TypeError, r"value 0 is no tensor(?s:.)*output\(\*values\)"),
    (lambda x: current().output(x, 1), TypeError, r"value 1 is no tensor(?s:.)*ops.constant"),
    (lambda x: 3, TypeError, "value 0 is no tensor"),
    (lambda x: Graph.current.module, ValueError, "no outputs yet"),
    (lambda x: Graph.current.output_types, ValueError, "no outputs yet"),
    (lambda x: x + OTHER.inputs[0], ValueError, "a value of the graph 'other' is used in the graph 'g'"),
    (lambda x: OTHER.inputs[0], ValueError, "a value of the graph 'other'"),
    (lambda x: x * Weight("w", F32, [3], CPU) + Weight("w", F32, [3], CPU), ValueError, "another weight named 'w'"),
    (lambda x: x + ops.constant(1.0, device=DeviceRef.GPU()), ValueError, "one device(?s:.)*cpu:0, gpu:0"),
    (bool, TypeError, "no truth value(?s:.)*ops.where"),
    (lambda x: [*x], TypeError, "cannot be iterated(?s:.)*ops.split"),
    (lambda x: 1 in x, TypeError, "iterable|iterated"),
    (np.asarray, TypeError, "no NumPy array"),
    (float, TypeError, "float"),
    (lambda x: x.to(DeviceRef.GPU()) + x, ValueError, "one device(?s:.)*gpu:0, cpu:0"),
]


@pytest.mark.parametrize(("forward", "kind", "text"), MISUSE)
def test_misuse_is_refused(forward: Callable[[TensorValue], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        Graph("g", forward, [ROWS])


def test_ops_need_a_graph() -> None:
    (x,) = Graph("g", input_types=[ROWS]).inputs
    for act in (lambda: ops.constant(1), lambda: x + x, lambda: ops.shape_to_tensor([1])):
        with pytest.raises(LookupError, match=r"none is being built(?s:.)*with Graph"):
            act()
