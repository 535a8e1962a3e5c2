"""What a call costs: an addition of four elements enters, what `execute` and `replay` take for it
leaves, beside others' calls.

The same array is given as a Buffer and as a NumPy array, to torch as a tensor, to onnxruntime as `run` takes it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from pelton.benchmarks.report import Figure, Report
from pelton.benchmarks.timing import Call, measure
from pelton.driver import Buffer
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType

ELEMENTS = 4
TARGETS = {"execute, Buffers": 3.0, "execute, NumPy arrays": 4.0, "replay": 1.0}  # µs
OTHERS = {"torch": "torch", "numpy": "NumPy", "onnxruntime": "onnxruntime"}


def run(report: Report, seconds: float) -> None:
    """Add a figure for each way to call pelton, and one for each of the others."""
    torch: Any = import_module("torch")
    torch.set_num_threads(1)
    x, y = (np.random.default_rng(k).standard_normal(ELEMENTS, np.float32) for k in range(2))
    calls = {**_calls_of_pelton(x, y), "numpy": lambda: x + y}
    tensors = torch.from_numpy(x), torch.from_numpy(y)
    calls["torch"] = lambda: tensors[0] + tensors[1]
    if (peer := _onnxruntime(x, y)) is not None:
        calls["onnxruntime"] = peer
    with torch.inference_mode():
        times = measure(calls, seconds)
    others = [name for name in OTHERS if name in calls]
    for name, target in TARGETS.items():
        ratios = {other: times.ratio(name, other) for other in others}
        report.add(Figure(f"add {ELEMENTS}, {name}", times.seconds(name) * 1e6, "CPU µs", target, ratios))
    for other in others:
        report.add(Figure(f"add {ELEMENTS}, {OTHERS[other]}", times.seconds(other) * 1e6, "CPU µs"))


def _calls_of_pelton(x: Any, y: Any) -> dict[str, Call]:
    kind = TensorType(DType.float32, (ELEMENTS,), DeviceRef.CPU())
    with Graph("add", input_types=[kind, kind]) as graph:
        graph.output(graph.inputs[0].tensor + graph.inputs[1].tensor)
    model = InferenceSession().load(graph)
    first, second = Buffer.from_numpy(x), Buffer.from_numpy(y)
    np.testing.assert_array_equal(model.execute(first, second)[0].to_numpy(), x + y)
    (captured,) = model.capture(0, first, second)
    model.replay(0, first, second)
    np.testing.assert_array_equal(captured.to_numpy(), x + y)
    return {
        "execute, Buffers": lambda: model.execute(first, second),
        "execute, NumPy arrays": lambda: model.execute(x, y),
        "replay": lambda: model.replay(0, first, second),
    }


def _onnxruntime(x: Any, y: Any) -> Call | None:
    """Its `run` on the same model; None where it is not installed."""
    try:
        runtime, onnx = import_module("onnxruntime"), import_module("onnx")
    except ImportError:
        return None
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    infos = [helper.make_tensor_value_info(name, float32, [ELEMENTS]) for name in ("x", "y", "z")]
    graph = helper.make_graph([helper.make_node("Add", ["x", "y"], ["z"])], "add", infos[:2], infos[2:])
    opset = [helper.make_opsetid("", 20)]
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    model = helper.make_model(graph, opset_imports=opset, ir_version=10).SerializeToString()
    session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    given = {"x": x, "y": y}
    np.testing.assert_array_equal(session.run(None, given)[0], x + y)
    return lambda: session.run(None, given)
