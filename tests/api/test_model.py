"""Model and TensorSpec and the enums, one test per promise; longer stories stand in the files beside.

| promise | test |
|---|---|
| `input_metadata`, `output_metadata` | test_metadata |
| weights are no inputs | test_metadata |
| `execute` takes a Buffer, DLPack, NumPy, scalars | test_execute_takes |
| contiguity comes first | test_contiguity_is_checked_first |
| a contiguous slice of a larger array | test_a_contiguous_slice |
| no casting, no broadcasting | test_no_casting_and_no_broadcasting |
| number of inputs | test_number_of_inputs |
| shape, rank, dtype | test_shape_rank_and_dtype_are_shown |
| wrong device | test_wrong_device |
| one symbol, two sizes | test_a_symbol_of_two_sizes |
| outputs alias nothing | test_outputs_alias_nothing |
| overlapping mutable inputs | test_overlapping_mutable_inputs |
| zero sizes, rank 0, no inputs | test_zero_sizes_rank_0_and_no_inputs |
| `__call__`, `signature` | test_call_binds_like_a_function |
| `repr` shows the inputs | test_repr_shows_the_inputs |
| what is loaded stays in its process | test_no_copies_of_what_is_loaded |
| `TensorSpec` | test_tensor_spec |
| `LogLevel` | test_log_level |
| `AssertLevel`, `SplitKReductionPrecision` | test_assert_level_and_split_k_precision |
"""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np
import pytest

from pelton.artifact import TensorInfo
from pelton.driver import Accelerator, Buffer, Device
from pelton.dtype import DType
from pelton.engine import AssertLevel, InferenceSession, LogLevel, Model, SplitKReductionPrecision, TensorSpec
from pelton.graph import DeviceRef, Graph, TensorType, Weight, ops
from pelton.runtime.executable import NativeExecutable
from pelton.tests.support import small_artifacts

BOOL, F32, I32, CPU = DType.bool, DType.float32, DType.int32, DeviceRef.CPU()


def load(function: Callable[..., Any], *types: tuple[DType, Sequence[int | str]], **weights: Any) -> Model:
    graph = Graph("model", function, [TensorType(dtype, list(shape), CPU) for dtype, shape in types])
    return InferenceSession().load(graph, weights_registry=weights)


@pytest.fixture(scope="module")
def product() -> Model:
    """[n, 3] @ [3, 2] and the sum of a scalar and itself."""
    return load(
        lambda x, k: (x @ Weight("w", F32, [3, 2], CPU), k + k), (F32, ("n", 3)), (I32, ()),
        w=np.arange(6, dtype=np.float32).reshape(3, 2),
    )  # fmt: skip


X = np.arange(12, dtype=np.float32).reshape(4, 3)


class Foreign:
    """Another library's tensor, which knows DLPack and nothing else."""

    def __init__(self, tensor: Any, device: tuple[int, int] = (1, 0)) -> None:
        self.tensor, self.device = tensor, device

    def __dlpack__(self, **options: Any) -> object:
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def test_metadata(product: Model) -> None:
    inputs, outputs = product.input_metadata, product.output_metadata
    assert type(inputs) is type(outputs) is list and all(type(s) is TensorSpec for s in (*inputs, *outputs))
    assert inputs == [TensorSpec([None, 3], F32, "input0"), TensorSpec([], I32, "input1")]
    assert outputs == [TensorSpec([None, 2], F32, "output0"), TensorSpec([], I32, "output1")]


@pytest.mark.parametrize(
    "x", [X, Buffer.from_numpy(X), Foreign(X), Foreign(Buffer.from_numpy(X))], ids=["numpy", "buffer", "dlpack", "ours"]
)
@pytest.mark.parametrize(
    "k", [3, 3.0, np.int8(3), np.float64(3), np.array(3, np.int32), Buffer.scalar(3, I32)], ids=repr
)
def test_execute_takes(x: Any, k: Any, product: Model) -> None:
    first, second = product.execute(x, k)
    assert type(first) is Buffer and second.item() == 6 and second.dtype is I32
    np.testing.assert_array_equal(first.to_numpy(), X @ np.arange(6, dtype=np.float32).reshape(3, 2))


def test_execute_takes_a_bool(product: Model) -> None:
    assert product.execute(X, True)[1].item() == 2
    assert load(lambda x: x + x, (F32, ())).execute(True)[0].item() == 2.0


def test_contiguity_is_checked_first(product: Model) -> None:
    """Before shape and dtype, which are wrong here too."""
    for bad in (np.zeros((5, 4))[:, ::2], np.asfortranarray(np.zeros((5, 4))), X[::-1], X.T):
        for wrap in (np.asarray, Foreign, alias):
            with pytest.raises(ValueError, match="not C-contiguous"):
                product.execute(wrap(bad), 1)


def alias(array: Any) -> Buffer:
    from pelton.runtime.buffer import alias_array

    return alias_array(array)


def test_a_contiguous_slice(product: Model) -> None:
    large = np.arange(36, dtype=np.float32).reshape(12, 3)
    for part in (large[4:8], large[4:5], large[4:4], Buffer.from_numpy(large)[4:8]):
        (got, _), want = product.execute(part, 1), np.asarray(part) @ np.arange(6, dtype=np.float32).reshape(3, 2)
        np.testing.assert_array_equal(got.to_numpy(), want)


@pytest.mark.parametrize(
    "bad", [X.astype(np.float64), X.astype(np.int32), X.astype(np.float16), X[0], X[:, :1].copy(), X[None], 1.0]
)
def test_no_casting_and_no_broadcasting(bad: Any, product: Model) -> None:
    with pytest.raises(ValueError, match=r"input 0 \('input0'\) has the wrong (type|shape)"):
        product.execute(bad, 1)


@pytest.mark.parametrize("count", [0, 1, 3, 10])
def test_number_of_inputs(count: int, product: Model) -> None:
    with pytest.raises(ValueError, match=rf"number of inputs\n.*2 \(input0, input1\)\n.*{count}"):
        product.execute(*[X] * count)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ((X[:, :2].copy(), 1), ("input 0", "'input0'", "[(n, 3), f32]", "[(4, 2), f32]")),
        ((X[0], 1), ("input 0", "'input0'", "[(n, 3), f32]", "[(3), f32]")),
        ((X.astype(np.int64), 1), ("input 0", "'input0'", "[(n, 3), f32]", "[(4, 3), i64]")),
        ((X, np.array(1)), ("input 1", "'input1'", "[(), i32]", "[(), i64]")),
        ((X, np.array([1], np.int32)), ("input 1", "'input1'", "[(), i32]", "[(1), i32]")),
    ],
)
def test_shape_rank_and_dtype_are_shown(arguments: Any, parts: tuple[str, ...], product: Model) -> None:
    with pytest.raises(ValueError) as caught:
        product.execute(*arguments)
    assert [part for part in parts if part not in str(caught.value)] == []


def test_wrong_device(product: Model) -> None:
    with pytest.raises(TypeError, match=r"input 0 \('input0'\) is on another device"):
        product.execute(Foreign(X, (2, 0)), 1)
    with pytest.raises(TypeError, match=r"input 0 \('input0'\) is on gpu:0\n.*cpu:0"):
        product.execute(Buffer.from_numpy(X).to(Accelerator.emulated()), 1)


def test_a_symbol_of_two_sizes() -> None:
    add = load(lambda x, y: x + y, (F32, ("n",)), (F32, ("n",)))
    with pytest.raises(ValueError, match=r"input 1 \('input1'\) gives the dim 'n' another size") as caught:
        add.execute(X[0], X[0, :2])
    assert "n = 3" in str(caught.value) and "n = 2" in str(caught.value)


def test_outputs_alias_nothing() -> None:
    same = load(lambda x: (x, x, ops.reshape(x, [-1])), (F32, ("n", 3)))
    first, second = same.execute(X), same.execute(X + 1)
    arrays = [X, *(b.to_numpy() for b in (*first, *second))]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])
    np.testing.assert_array_equal(first[0].to_numpy(), X)


def test_overlapping_mutable_inputs() -> None:
    counter = Model(NativeExecutable(small_artifacts.counter(), []))
    state = np.zeros(4, np.float32)
    with pytest.raises(ValueError, match=r"input 0 \('state'\) .* shares memory with input 1 \('one'\)"):
        counter.execute(state, state[1:2])
    read_only = np.zeros(4, np.float32)
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match=r"input 0 \('state'\) is written by the model, .* read-only"):
        counter.execute(read_only, np.ones(1, np.float32))
    counter.execute(state, np.ones(1, np.float32))
    assert state.tolist() == [1, 1, 1, 1]


def test_zero_sizes_rank_0_and_no_inputs(product: Model) -> None:
    assert product.execute(X[:0], 1)[0].shape == (0, 2)
    flip = load(ops.logical_not, (BOOL, ()))
    assert flip.execute(np.array(True))[0].item() is False and flip.execute(False)[0].item() is True
    assert load(lambda: ops.constant(np.float32(3), F32, CPU)).execute()[0].item() == 3


def test_call_binds_like_a_function(product: Model) -> None:
    assert product.signature == inspect.signature(lambda input0, input1: None)
    for args, kwargs in (((X, 1), {}), ((X,), {"input1": 1}), ((), {"input1": 1, "input0": X})):
        assert product(*args, **kwargs)[1].item() == 2
    for args, kwargs in (
        ((), {}), ((X,), {}), ((X, 1, 1), {}), ((X, 1), {"input2": 1}), ((X, 1), {"input0": X}), ((X,), {"input0": X}),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            product(*args, **kwargs)


@pytest.mark.parametrize("through", [pickle.dumps, copy.copy, copy.deepcopy])
def test_no_copies_of_what_is_loaded(through: Callable[[Model], object], product: Model) -> None:
    with pytest.raises(TypeError, match="a loaded model cannot be copied or pickled"):
        through(product)


def test_repr_shows_the_inputs(product: Model) -> None:
    assert repr(product) == "Model('model', inputs=(input0: [(n, 3), f32], input1: [(), i32]))"


@pytest.mark.parametrize(
    ("shape", "text"), [([2, 3], "2x3xfloat32"), ([], "float32"), ([None, 4], "-1x4xfloat32"), ([0], "0xfloat32")]
)
def test_tensor_spec(shape: list[int | None], text: str) -> None:
    spec = TensorSpec(shape, F32, "x")
    assert (spec.shape, spec.dtype, spec.name, str(spec)) == (shape, F32, "x", text)
    assert type(spec.shape) is list and spec == TensorSpec(tuple(shape), F32, "x") != TensorSpec(shape, F32, "y")
    assert TensorSpec.of(TensorInfo("x", F32, tuple("n" if s is None else s for s in shape))) == spec
    assert repr(spec) == f"TensorSpec(shape={shape}, dtype=DType.float32, name='x')"


def test_log_level() -> None:
    names = ["NOTSET", "TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
    assert [level.name for level in LogLevel] == names and [level.value for level in LogLevel] == [
        *map(str.lower, names)
    ]
    assert issubclass(LogLevel, str) and issubclass(LogLevel, Enum) and LogLevel("info") is LogLevel.INFO


def test_assert_level_and_split_k_precision() -> None:
    assert [level.name for level in AssertLevel] == ["NONE", "WARN", "SAFE", "ALL"]
    assert {p.name: p.value for p in SplitKReductionPrecision} == {"ACCUM": 1, "OUTPUT": 2}


def test_a_device_is_what_an_artifact_names() -> None:
    assert TensorInfo("x", F32, ()).device == Device("cpu", 0).name
