"""Mutable buffers as users see them: inputs that a model writes, buffers of its own, indexing, order, refusals.

Everything that runs, runs compiled and on the interpreter.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pelton.driver import Buffer
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import BufferType, BufferValue, DeviceRef, Graph, TensorType, TensorValue, ops
from pelton.runtime.model import Model

F32, I8, CPU = DType.float32, DType.int8, DeviceRef.CPU()
STATE = BufferType(F32, ["n", 4], CPU)
ROW = TensorType(F32, [1, 4], CPU)

Load = Callable[[Graph], Model]


@pytest.fixture(params=["compiled", "interpreted"])
def load(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Load:
    """How a graph becomes a model."""
    if request.param == "interpreted":
        monkeypatch.setenv("PELTON_INTERPRET", "1")
    return lambda graph: InferenceSession().load(graph)


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def counted(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


# types and values
def test_an_input_of_a_buffer_type_is_a_buffer_value() -> None:
    graph = Graph("g", input_types=[STATE, TensorType(F32, ["n"], CPU)])
    state, x = graph.inputs
    assert isinstance(state, BufferValue)
    assert isinstance(x, TensorValue)
    assert state.buffer is state
    assert x.tensor is x
    assert graph.input_types == [STATE, TensorType(F32, ["n"], CPU)]
    assert (state.type, state.dtype, state.shape, state.rank, state.device) == (STATE, F32, STATE.shape, 2, CPU)
    assert repr(state) == "BufferValue(float32[n, 4] on cpu:0)"
    with pytest.raises(TypeError, match="a mutable buffer, not a tensor"):
        _ = state.tensor
    with pytest.raises(TypeError, match="a tensor, not a mutable buffer"):
        _ = x.buffer


def test_tensor_and_buffer_types_become_each_other() -> None:
    assert TensorType(F32, ["n", 4], CPU).as_buffer() == STATE
    assert STATE.as_tensor() == TensorType(F32, ["n", 4], CPU)
    assert STATE.as_tensor() != STATE


def test_a_symbol_of_a_buffer_is_a_symbol_of_the_graph(load: Load) -> None:
    graph = Graph("g", lambda b: ops.range(0, b.shape[0], dtype=DType.int64, device=CPU), [STATE])
    (found,) = load(graph).execute(zeros(3, 4))
    assert found.to_numpy().tolist() == [0, 1, 2]


# what is read and written
def test_a_model_changes_what_it_is_given(load: Load) -> None:
    def step(b: BufferValue) -> TensorValue:
        b[...] = b[...] * 2 + 1
        return b[0]

    model = load(Graph("g", step, [STATE]))
    array, buffer = counted(3, 4), Buffer.from_numpy(counted(3, 4))
    for given in (array, buffer):
        (first,) = model.execute(given)
        assert first.to_numpy().tolist() == [1, 3, 5, 7]
        model.execute(given)
    np.testing.assert_array_equal(array, 4 * counted(3, 4) + 3)
    np.testing.assert_array_equal(buffer.to_numpy(), array)


def test_a_loaded_tensor_stays_what_it_was(load: Load) -> None:
    def swap(a: BufferValue, b: BufferValue) -> tuple[TensorValue, ...]:
        old = a[...]
        first = a[:1]
        a[...] = b[...]
        b[...] = old
        return old, first, a[...]

    model = load(Graph("g", swap, [STATE, STATE]))
    a, b = counted(2, 4), -counted(2, 4)
    old, first, now = (y.to_numpy() for y in model.execute(a, b))
    np.testing.assert_array_equal(old, counted(2, 4))
    np.testing.assert_array_equal(first, counted(2, 4)[:1])
    np.testing.assert_array_equal(now, -counted(2, 4))
    np.testing.assert_array_equal(a, -counted(2, 4))
    np.testing.assert_array_equal(b, counted(2, 4))


def test_outputs_are_no_windows_on_the_state(load: Load) -> None:
    model = load(Graph("g", lambda b: b[...], [STATE]))
    state = counted(2, 4)
    (output,) = model.execute(state)
    state[...] = 0
    np.testing.assert_array_equal(output.to_numpy(), counted(2, 4))


INDICES: dict[str, Any] = {
    "row": 1,
    "last row": -1,
    "rows": np.s_[1:3],
    "column": np.s_[:, 2],
    "every second": np.s_[::2],
    "columns backwards": np.s_[:, ::-1],
    "block": np.s_[1:-1, 1:3],
    "one element": (2, 3),
    "all": ...,
    "new dim": np.s_[None, 1:3],
    "nothing": np.s_[3:1],
    "backwards from": np.s_[2:0:-1, ..., 3],
    "more than there is": np.s_[2:100],
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES.keys())
def test_storing_at_an_index_is_numpy_s_assignment(load: Load, index: Any) -> None:
    shape = counted(4, 4)[index].shape
    x = 100 + counted(*shape)

    def put(b: BufferValue, x: TensorValue) -> TensorValue:
        b[index] = ops.sqrt(x)
        return b[index]

    state, want = counted(4, 4), counted(4, 4)
    want[index] = np.sqrt(x)
    model = load(Graph("g", put, [BufferType(F32, [4, 4], CPU), TensorType(F32, list(shape), CPU)]))
    (taken,) = model.execute(state, x)
    np.testing.assert_array_equal(state, want)
    np.testing.assert_array_equal(taken.to_numpy(), want[index])


def test_what_is_stored_broadcasts_and_numbers_are_weak(load: Load) -> None:
    def fill(b: BufferValue, row: TensorValue) -> None:
        b[...] = 7
        ops.buffer_store(b, np.arange(4, dtype=np.float32))
        ops.buffer_store_slice(b, row, [slice(1, 3)])
        ops.buffer_store_slice(b, -1, (slice(None), 3))

    state = zeros(4, 4)
    load(Graph("g", fill, [BufferType(F32, [4, 4], CPU), ROW])).execute(state, 9 + counted(1, 4))
    np.testing.assert_array_equal(state[0], [0, 1, 2, -1])
    np.testing.assert_array_equal(state[1], [9, 10, 11, -1])


def test_a_buffer_of_the_graph_s_own(load: Load) -> None:
    def build(x: TensorValue) -> tuple[TensorValue, ...]:
        empty = ops.buffer_create(BufferType(F32, ["n", 2], CPU))
        mask = ops.buffer_create(BufferType(DType.bool, [3], CPU))
        ones = ops.buffer_create(BufferType(F32, ["n"], CPU), 1.0)
        empty[:, 0] = x
        ones[0] = 5
        return ops.buffer_load(empty), mask[...], ones[...]

    model = load(Graph("g", build, [TensorType(F32, ["n"], CPU)]))
    for _ in range(2):
        empty, mask, ones = (y.to_numpy() for y in model.execute(counted(3)))
        np.testing.assert_array_equal(empty, [[0, 0], [1, 0], [2, 0]])
        np.testing.assert_array_equal(mask, [False] * 3)
        np.testing.assert_array_equal(ones, [5, 1, 1])


@pytest.mark.parametrize("dtype", [DType.float16, DType.bfloat16, DType.float64, DType.int32, DType.uint8, DType.bool])
def test_buffers_of_every_kind_of_element(load: Load, dtype: DType) -> None:
    types = [BufferType(dtype, ["n"], CPU), TensorType(dtype, ["n"], CPU)]
    model = load(Graph("g", lambda b, x: b.__setitem__(np.s_[1:], x[:-1]), types))
    state, x = (np.array(v).astype(dtype.to_numpy()) for v in ([1, 0, 0, 0], [0, 1, 0, 1]))
    model.execute(state, x)
    assert state.astype(int).tolist() == [1, 0, 1, 0]


# state over many calls
def cache_graph() -> Graph:
    """Appends rows to a cache at a place that only a run knows, and attends over what is there."""
    types = [BufferType(F32, ["max", 4], CPU), TensorType(F32, ["new", 4], CPU), TensorType(I8, ["past"], CPU)]

    def step(cache: BufferValue, rows: TensorValue, past: TensorValue) -> TensorValue:
        start = past.shape[0]
        stop = start + rows.shape[0]
        cache[start:stop] = rows * 2
        held = cache[:stop]
        return ops.matmul(ops.softmax(ops.matmul(rows, held.T)), held)

    return Graph("cache", step, types)


@pytest.mark.parametrize("wrap", [lambda x: x, Buffer.from_numpy], ids=["array", "buffer"])
def test_a_cache_grows_over_calls(load: Load, wrap: Callable[[Any], Any]) -> None:
    model, random = load(cache_graph()), np.random.default_rng(0)
    cache, held = zeros(12, 4), zeros(0, 4)
    given = wrap(cache)
    for count in (3, 1, 1, 2, 5):
        rows = random.standard_normal((count, 4), np.float32)
        (got,) = model.execute(given, rows, np.zeros(len(held), np.int8))
        held = np.concatenate([held, 2 * rows])
        scores = np.exp(rows @ held.T)
        np.testing.assert_allclose(got.to_numpy(), scores / scores.sum(1, keepdims=True) @ held, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(cache[: len(held)], held)
        assert not cache[len(held) :].any()
    with pytest.raises(RuntimeError, match="is stored in"):
        model.execute(given, zeros(1, 4), np.zeros(12, np.int8))
    np.testing.assert_array_equal(cache, held)


def test_two_callers_have_two_states() -> None:
    model = InferenceSession().load(cache_graph())
    first, second = zeros(4, 4), zeros(6, 4)
    model.execute(first, counted(1, 4), np.zeros(0, np.int8))
    model.execute(second, counted(1, 4) + 1, np.zeros(5, np.int8))
    np.testing.assert_array_equal(first[0], 2 * counted(4))
    np.testing.assert_array_equal(second[5], 2 * counted(4) + 2)


# what a model refuses
@pytest.fixture(scope="module")
def doubler() -> Model:
    def step(b: BufferValue, x: TensorValue) -> None:
        b[...] = x * 2

    return InferenceSession().load(Graph("g", step, [BufferType(F32, ["n"], CPU), TensorType(F32, ["n"], CPU)]))


def read_only() -> Any:
    array = zeros(4)
    array.flags.writeable = False
    return array


def misaligned() -> Any:
    return np.zeros(17, np.uint8)[1:].view(np.float32)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (read_only, "written by the model, and what was passed is read-only"),
        (misaligned, "its address is no multiple of its element's size"),
        (lambda: zeros(8)[::2], "not C-contiguous"),
        (lambda: np.zeros(4), r"expected: \[\(n\), f32\]"),
        (lambda: zeros(5), "gives the dim 'n' another size|another size"),
        (lambda: [0.0] * 4, "is a list"),
    ],
)
def test_what_cannot_be_written_is_no_silent_copy(doubler: Model, make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        doubler.execute(make(), counted(4))


@pytest.mark.parametrize("number", [1.0, 1, np.float32(1)], ids=repr)
def test_a_number_has_no_memory_to_write_to(number: Any) -> None:
    model = InferenceSession().load(Graph("g", lambda b: b.__setitem__(..., b[...] + 1), [BufferType(F32, [], CPU)]))
    state = np.array(1, np.float32)
    model.execute(state)
    assert state == 2
    with pytest.raises(ValueError, match="no memory to write to"):
        model.execute(number)


def test_overlapping_inputs_are_refused(doubler: Model) -> None:
    memory = zeros(8)
    with pytest.raises(ValueError, match=r"'input0'.* is written by the model and shares memory with .*'input1'"):
        doubler.execute(memory[:4], memory[3:7])
    doubler.execute(memory[:4], memory[4:])


# what a graph refuses
def build(function: Callable[[Any, Any], Any]) -> Graph:
    return Graph("g", function, [BufferType(F32, ["n", 4], CPU), TensorType(F32, ["m", 4], CPU)])


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (lambda b, x: b + x, TypeError, r"no operand.*remedy: +load what it holds: buffer\[\.\.\.\]"),
        (lambda b, x: ops.exp(b), TypeError, "load what it holds"),
        (lambda b, x: b, TypeError, r"return what it holds: buffer\[\.\.\.\]"),
        (lambda b, x: bool(b), TypeError, "has no truth value"),
        (lambda b, x: list(b), TypeError, "no elements to iterate over"),
        (lambda b, x: np.asarray(b), TypeError, "no numbers"),
        (lambda b, x: ops.buffer_load(x), TypeError, "x is no buffer"),
        (lambda b, x: ops.buffer_store(x, b), TypeError, "destination is no buffer"),
        (lambda b, x: ops.buffer_store(b, b), TypeError, "load what it holds"),
        (lambda b, x: ops.buffer_store(b, x.cast(DType.float64)), ValueError, "another dtype"),
        (lambda b, x: ops.buffer_store(b, 1e300), ValueError, "float32"),
        (lambda b, x: ops.buffer_store(b, np.zeros(3, np.float32)), ValueError, "sizes 3 and 4 do not broadcast"),
        (lambda b, x: ops.buffer_store(b, x[None]), ValueError, "too many dims"),
        (lambda b, x: b.__setitem__(x.cast(DType.int64), 0), TypeError, "a tensor is no place to store at"),
        (lambda b, x: b.__setitem__(np.s_[:, 4], 0), IndexError, "out of range for dim 1"),
        (lambda b, x: b.__setitem__((0, 0, 0), 0), IndexError, "too many indices"),
        (lambda b, x: ops.buffer_create(ROW), TypeError, "no BufferType"),  # pyright: ignore[reportArgumentType]
        (lambda b, x: ops.buffer_create(BufferType(F32, ["k"], CPU)), ValueError, "the symbol 'k'"),
    ],
)  # fmt: skip
def test_what_a_graph_refuses(function: Callable[[Any, Any], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as error:
        build(function)
    assert re.search(message, str(error.value), re.DOTALL), str(error.value)


def test_a_buffer_of_another_graph_is_refused() -> None:
    other = Graph("other", input_types=[STATE])
    with pytest.raises(ValueError, match="a value of the graph 'other' is used in the graph 'g'"):
        Graph("g", lambda b: other.inputs[0][...], [STATE])


def test_sizes_that_only_a_run_knows_are_checked_there(load: Load) -> None:
    model = load(build(ops.buffer_store))
    state = zeros(2, 4)
    model.execute(state, counted(2, 4))
    np.testing.assert_array_equal(state, counted(2, 4))
    with pytest.raises(RuntimeError, match=r"\[m, 4\] is stored in \[n, 4\]"):
        model.execute(state, counted(3, 4))
    np.testing.assert_array_equal(state, counted(2, 4))


def test_text_of_a_graph_with_buffers_is_a_graph(tmp_path: Any) -> None:
    path = tmp_path / "cache.mlir"
    path.write_text(f"{cache_graph()}\n")
    model = InferenceSession().load(Graph("cache", path=path))
    cache = zeros(4, 4)
    model.execute(cache, counted(1, 4), np.zeros(2, np.int8))
    np.testing.assert_array_equal(cache[2], 2 * counted(4))
