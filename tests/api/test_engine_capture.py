"""capture, replay, debug_verify_replay and release_captured_graph: what they do and what they refuse."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import pytest

from pelton.driver import Buffer
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, ops
from pelton.runtime.executable import NativeExecutable
from pelton.runtime.model import Model
from pelton.tests.support import small_artifacts as small
from pelton.tests.support.compiled import difference
from pelton.tests.support.random_graphs import arrays, build, weights
from pelton.tests.support.random_steps import generate, sizes_of

F32, I64, CPU = DType.float32, DType.int64, DeviceRef.CPU()
CALLS = ("capture", "replay", "debug_verify_replay")


@pytest.fixture(params=["compiled", "interpreted"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "interpreted":
        monkeypatch.setenv("PELTON_INTERPRET", "1")
    yield request.param


def model(function: Callable[..., Any], *types: tuple[DType, Sequence[int | str]]) -> Model:
    graph = Graph("g", function, [TensorType(dtype, list(shape), CPU) for dtype, shape in types])
    return InferenceSession().load(graph)


def add() -> Model:
    """z[n] = x[n] + y[n]"""
    return Model(NativeExecutable(small.add(), []))


def buffer(*values: float, dtype: Any = np.float32) -> Buffer:
    return Buffer.from_numpy(np.array(values, dtype))


X, Y = buffer(1, 2, 3, 4), buffer(10, 20, 30, 40)


# what it does
def test_a_replay_reads_the_inputs_and_rewrites_the_outputs(way: str) -> None:
    two = model(lambda x, y: (ops.tanh(x) @ y, ops.sum(x)), (F32, ("n", "k")), (F32, ("k", 3)))
    rng = np.random.default_rng(0)
    x, y = (Buffer.from_numpy(rng.standard_normal(shape, np.float32)) for shape in ((5, 7), (7, 3)))
    outputs = two.capture(7, x, y)
    arrays = [output.to_numpy() for output in outputs]
    for _ in range(3):
        wanted = [output.to_numpy() for output in two.execute(x, y)]
        assert not difference(arrays, wanted)
        x.to_numpy()[:] = rng.standard_normal((5, 7), np.float32)
        y.inplace_copy_from(Buffer.from_numpy(rng.standard_normal((7, 3), np.float32)))
        assert difference(arrays, [output.to_numpy() for output in two.execute(x, y)])
        assert two.replay(7, x, y) is None  # pyright: ignore[reportFunctionMemberAccess]


@pytest.mark.parametrize("seed", range(6))
def test_bits_are_those_of_an_eager_run(seed: int) -> None:
    recipe = generate(seed)
    loaded = InferenceSession().load(build(recipe), weights_registry=weights(recipe))
    for key, sizes in enumerate(sizes_of(seed, 3)):
        inputs = [Buffer.from_numpy(array) for array in arrays(recipe, sizes)]
        try:
            eager = [output.to_numpy() for output in loaded.execute(*inputs)]
        except RuntimeError as error:
            with pytest.raises(type(error)):
                loaded.capture(key, *inputs)
            continue
        outputs = loaded.capture(key, *inputs)
        for output in outputs:
            output.to_numpy()[...] = np.zeros((), output.dtype.to_numpy())
        loaded.replay(key, *inputs)
        assert not difference([output.to_numpy() for output in outputs], eager)
        loaded.debug_verify_replay(key, *(one.copy() for one in inputs))


def test_keys_of_one_model_are_apart(way: str) -> None:
    double = model(lambda x: x + x, (F32, ("n",)))
    inputs = [Buffer.from_numpy(np.full(size, size, np.float32)) for size in (1, 5, 0)]
    outputs = [double.capture(size, inputs[size])[0] for size in range(3)]
    inputs[0].to_numpy()[:] = 100
    inputs[1].to_numpy()[:] = 7
    double.replay(1, inputs[1])
    double.replay(2, inputs[2])
    assert [output.to_numpy().tolist() for output in outputs] == [[2], [14] * 5, []]
    double.replay(0, inputs[0])
    assert outputs[0].to_numpy().tolist() == [200]


def test_inputs_may_be_other_objects_over_the_same_memory(way: str) -> None:
    double = model(lambda x: x + x, (F32, ("n",)))
    array = np.ones(4, np.float32)
    (output,) = double.capture(0, Buffer.from_numpy(array))
    array[:] = 4
    double.replay(0, Buffer.from_dlpack(array))
    assert output.to_numpy().tolist() == [8] * 4


def test_one_buffer_may_be_two_inputs() -> None:
    loaded = add()
    (z,) = loaded.capture(0, X, X)
    assert z.to_numpy().tolist() == [2, 4, 6, 8]
    loaded.debug_verify_replay(0, Y, X)
    with pytest.raises(RuntimeError, match="input 1"):
        loaded.replay(0, X, Y)


def test_an_output_of_one_capture_is_an_input_of_the_next() -> None:
    loaded = add()
    x = buffer(1, 1)
    (middle,) = loaded.capture(1, x, x)
    (last,) = loaded.capture(2, middle, x)
    x.to_numpy()[:] = 5
    loaded.replay(1, x, x)
    loaded.replay(2, middle, x)
    assert last.to_numpy().tolist() == [15, 15]


def test_inputs_that_are_written() -> None:
    """Capturing is a run, and so are a replay and a verification: each counts."""
    counter = Model(NativeExecutable(small.counter(), []))
    state, one = buffer(0, 0), buffer(1)
    (seen,) = counter.capture(0, state, one)
    assert (state.to_numpy().tolist(), seen.to_numpy().tolist()) == ([1, 1], [1, 1])
    counter.replay(0, state, one)
    assert (state.to_numpy().tolist(), seen.to_numpy().tolist()) == ([2, 2], [2, 2])
    other = buffer(7, 7)
    counter.debug_verify_replay(0, other, one)
    assert (other.to_numpy().tolist(), seen.to_numpy().tolist()) == ([8, 8], [2, 2])
    with pytest.raises(ValueError, match="shares memory"):
        counter.capture(1, state, state[:1])
    frozen = Buffer.over(state, state.address, F32, (2,), writable=False)
    with pytest.raises(ValueError, match="read-only"):
        counter.capture(1, frozen, one)
    with pytest.raises(RuntimeError, match=r"input 0 .*read-only"):
        counter.replay(0, frozen, one)
    assert state.to_numpy().tolist() == [2, 2]


def test_outputs_stay_while_held() -> None:
    """Neither an execute nor another capture gets the memory of a captured output, whoever holds it."""
    loaded = add()
    x = Buffer.from_numpy(np.ones(1000, np.float32))
    address = loaded.capture(0, x, x)[0].address  # the model alone holds it
    taken = {output.address for _ in range(5) for output in loaded.execute(x, x)}
    held = [loaded.execute(x, x)[0] for _ in range(5)]
    assert address not in taken | {output.address for output in held}
    (output,) = loaded.capture(1, x, x)
    array = output.to_numpy()
    loaded.release_captured_graph(1)
    del output
    others = [loaded.execute(x, x)[0] for _ in range(5)]
    others[0].to_numpy()[:] = 0
    assert array.ctypes.data not in {other.address for other in others} and set(array.tolist()) == {2}


def test_the_list_of_outputs_is_the_callers() -> None:
    loaded = add()
    outputs = loaded.capture(0, X, Y)
    array = outputs.pop().to_numpy()
    array[:] = 0
    loaded.replay(0, X, Y)
    assert array.tolist() == [11, 22, 33, 44]


def test_inputs_are_kept_alive() -> None:
    loaded = add()
    array = np.ones(1 << 16, np.float32)
    kept, address = weakref.ref(array), array.ctypes.data
    (z,) = loaded.capture(0, Buffer.from_numpy(array), Buffer.from_numpy(array))
    del array
    gc.collect()
    assert kept() is not None
    again = Buffer.over(None, address, F32, (1 << 16,))
    loaded.replay(0, again, again)
    assert set(z.to_numpy().tolist()) == {2}
    loaded.release_captured_graph(0)
    assert kept() is None


# keys
class Named(IntEnum):
    PREFILL = 5


@pytest.mark.parametrize("key", [0, 2**64 - 1, Named.PREFILL, [3], (3,), range(3, 4)])
def test_keys(key: Any, way: str) -> None:
    double = model(lambda x: x + x, (F32, ("n",)))
    x = buffer(1)
    (output,) = double.capture(key, x)
    x.to_numpy()[:] = 2
    double.replay(key, x)
    assert output.to_numpy().tolist() == [4]
    with pytest.raises(RuntimeError, match="captured already"):
        double.capture(int(key[0]) if isinstance(key, Sequence) else int(key), x)
    double.debug_verify_replay(key, x)
    double.release_captured_graph(key)
    with pytest.raises(RuntimeError, match="not captured"):
        double.replay(key, x)


@pytest.mark.parametrize("call", [*CALLS, "release_captured_graph"])
@pytest.mark.parametrize("key", [True, False, 1.0, "1", b"1", None, np.int64(1), [True], ["1"], [[1]], {1}, {1: 1}])
def test_keys_that_are_no_ints(call: str, key: Any) -> None:
    loaded = add()
    loaded.capture(1, X, Y)
    with pytest.raises(TypeError, match=r"a graph key is an int.*\n.*got:"):
        getattr(loaded, call)(key, *([] if call.startswith("release") else [X, Y]))
    loaded.replay(1, X, Y)


@pytest.mark.parametrize("call", [*CALLS, "release_captured_graph"])
@pytest.mark.parametrize("key", [-1, 2**64, -(2**70), [-1], [1, 2], [], range(10**30)], ids=str)
def test_keys_out_of_range(call: str, key: Any) -> None:
    loaded = add()
    with pytest.raises(ValueError, match=r"lies out of range|one per device"):
        getattr(loaded, call)(key, *([] if call.startswith("release") else [X, Y]))


# the order of the checks
@pytest.mark.parametrize("call", CALLS)
def test_no_inputs_come_first(call: str) -> None:
    with pytest.raises(ValueError, match=rf"{call} got no inputs\n.*2 \(x, y\)"):
        getattr(add(), call)("no key")
    nothing = Model(NativeExecutable(small.artifact(small.nothing(0), (), ()), []))
    with pytest.raises(ValueError, match=r"the model has none.*\n.*execute"):
        getattr(nothing, call)(1)
    with pytest.raises(ValueError, match=r"the model has none.*\n.*execute"):
        getattr(nothing, call)(1, X)


def test_a_key_of_ten_thousand_digits() -> None:
    with pytest.raises(ValueError, match=r"out of range.*\n.*\n.*bits"):
        add().release_captured_graph(10**9999)


@pytest.mark.parametrize("call", CALLS)
def test_then_come_the_kind_and_the_range_of_the_key(call: str) -> None:
    with pytest.raises(TypeError, match="a graph key"):
        getattr(add(), call)(True, None, None, None)
    with pytest.raises(ValueError, match="out of range"):
        getattr(add(), call)(-1, None, None, None)


def test_then_what_is_captured() -> None:
    loaded = add()
    loaded.capture(3, X, Y)
    with pytest.raises(RuntimeError, match="key 3 is captured already"):
        loaded.capture(3, None)  # pyright: ignore[reportArgumentType]
    for call in CALLS[1:]:
        with pytest.raises(RuntimeError, match=r"key 4 is not captured\n.*3"):
            getattr(loaded, call)(4, None)


# inputs
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("given", [np.ones(4, np.float32), 1.0, None, [1.0], X.to_numpy()])
def test_only_buffers(call: str, given: Any, way: str) -> None:
    double = model(lambda x: x + x, (F32, ("n",)))
    if call != "capture":
        double.capture(1, X)
    with pytest.raises(TypeError, match=rf"input 0 \('input0'\) of {call} is a {type(given).__name__}"):
        getattr(double, call)(1, given)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("given", [(X,), (X, Y, X)])
def test_the_number_of_inputs(call: str, given: Sequence[Buffer]) -> None:
    loaded = add()
    if call != "capture":
        loaded.capture(1, X, Y)
    with pytest.raises(ValueError, match=rf"wrong number of inputs\n.*2 \(x, y\)\n.*{len(given)}"):
        getattr(loaded, call)(1, *given)


LONG = np.zeros(21, np.uint8)[1:].view(np.float32)
UNFIT = {
    "dtype": ((buffer(1, 2, dtype=np.float64), X), r"input 0 \('x'\) has the wrong type"),
    "rank": ((X, Buffer.zeros((2, 2), F32)), r"input 1 \('y'\) has the wrong shape"),
    "symbol": ((X, buffer(1)), "another size"),
    "order": ((Buffer.zeros((8,), F32)[::2], X), "not C-contiguous"),
    "alignment": ((Buffer.from_numpy(LONG), X), "cannot use, and a copy would not be seen"),
}


@pytest.mark.parametrize("call", ["capture", "debug_verify_replay"])
@pytest.mark.parametrize("what", UNFIT)
def test_buffers_that_do_not_fit_the_model(call: str, what: str) -> None:
    given, message = UNFIT[what]
    loaded = add()
    if call != "capture":
        loaded.capture(1, X, Y)
    with pytest.raises(ValueError, match=message):
        getattr(loaded, call)(1, *given)
    if call == "capture":
        loaded.capture(1, X, Y)
    loaded.replay(1, X, Y)


BASE = np.arange(8, dtype=np.float32)
OTHERS = {
    "address": (Buffer.from_numpy(BASE[4:]), r"another address\n.* at 0x.*\n.* at 0x"),
    "shape": (Buffer.from_numpy(BASE[:3]), r"another shape\n.*\[\(4\), f32\].*\n.*\[\(3\), f32\]"),
    "rank": (Buffer.from_numpy(BASE[:4].reshape(2, 2)), r"another shape\n.*\[\(4\), f32\].*\n.*\[\(2, 2\), f32\]"),
    "dtype": (Buffer.from_numpy(BASE[:4].view(np.int32)), r"another dtype\n.*f32.*\n.*i32"),
    "order": (Buffer.from_numpy(BASE)[:8:2], r"another order in memory\n.*\n.*strides \(2,\)"),
    "everything": (buffer(1, dtype=np.int64), "another address and shape and dtype"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_replay_of_other_buffers(what: str, way: str) -> None:
    both = model(lambda x, y: x + y, (F32, ("n",)), (F32, ("n",)))
    x, (other, message) = Buffer.from_numpy(BASE[:4]), OTHERS[what]
    (z,) = both.capture(1, Y, x)
    z.to_numpy()[:] = 0
    with pytest.raises(RuntimeError, match=r"input 1 \('input1'\) is not what was captured: it has " + message):
        both.replay(1, Y, other)
    assert z.to_numpy().tolist() == [0] * 4
    both.replay(1, Y, x)
    assert z.to_numpy().tolist() == [10, 21, 32, 43]


# asserts
def test_a_failed_assert(way: str) -> None:
    """It is the same as in `execute`, each time, and the capture serves as before."""
    take = model(lambda x, i: ops.gather(x, i, 0), (F32, ("n",)), (I64, ("k",)))
    at = buffer(0, 3, dtype=np.int64)
    (z,) = take.capture(1, X, at)
    for bad, good in ((9, 1), (-7, -1)):
        at.to_numpy()[:] = [0, bad]
        with pytest.raises(RuntimeError) as eager:
            take.execute(X, at)
        for _ in range(2):
            with pytest.raises(type(eager.value), match=re.escape(str(eager.value))) as replayed:
                take.replay(1, X, at)
            assert str(replayed.value) == str(eager.value) and str(bad) in str(replayed.value)
        with pytest.raises(type(eager.value)):
            take.debug_verify_replay(1, X, at)
        at.to_numpy()[:] = [0, good]
        take.replay(1, X, at)
        assert z.to_numpy().tolist() == X.to_numpy()[[0, good]].tolist()
    at.to_numpy()[:] = [0, 9]
    with pytest.raises(type(eager.value)):
        take.capture(2, X, at)
    with pytest.raises(RuntimeError, match="not captured"):
        take.replay(2, X, at)
    at.to_numpy()[:] = [0, 1]
    take.capture(2, X, at)


def test_sizes_that_do_not_fit(way: str) -> None:
    flat = model(lambda x: ops.reshape(x, [2, -1]), (F32, ("n",)))
    with pytest.raises(RuntimeError, match="reshape"):
        flat.capture(1, buffer(1, 2, 3))
    flat.capture(1, X)


# verification
def test_verification_of_the_same(way: str) -> None:
    soft = model(ops.softmax, (F32, ("n", "m")))
    x = Buffer.zeros((3, 4), F32)
    (z,) = soft.capture(1, x)
    z.to_numpy()[:] = 7
    soft.debug_verify_replay(1, x)
    soft.debug_verify_replay(1, Buffer.zeros((3, 4), F32))
    assert set(z.to_numpy().ravel().tolist()) == {7}, "the captured outputs were written"
    soft.replay(1, x)
    assert set(z.to_numpy().ravel().tolist()) == {0.25}


def test_verification_of_other_sizes(way: str) -> None:
    soft = model(ops.softmax, (F32, ("n", "m")))
    x = Buffer.zeros((3, 4), F32)
    soft.capture(1, x)
    with pytest.raises(RuntimeError, match=r"than was captured under key 1: launch 0 .*\n.*3.*captured\n.*5"):
        soft.debug_verify_replay(1, Buffer.zeros((5, 4), F32))
    soft.debug_verify_replay(1, x)
    soft.replay(1, x)


# release
def test_release(way: str) -> None:
    double = model(lambda x: x + x, (F32, ("n",)))
    (z,) = double.capture(1, X)
    double.release_captured_graph(1)
    double.release_captured_graph(1)
    double.release_captured_graph(99)
    for call in CALLS[1:]:
        with pytest.raises(RuntimeError, match="key 1 is not captured"):
            getattr(double, call)(1, X)
    assert z.to_numpy().tolist() == [2, 4, 6, 8]
    (again,) = double.capture(1, Y)
    double.replay(1, Y)
    assert (z.to_numpy()[0], again.to_numpy()[0]) == (2, 20)
