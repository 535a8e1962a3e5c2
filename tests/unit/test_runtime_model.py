"""Model: what it takes, what it returns, and every error of the API page."""

from __future__ import annotations

import gc
import inspect
import threading
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pelton.artifact import Artifact, TensorInfo
from pelton.driver import Accelerator, Buffer
from pelton.dtype import DType
from pelton.program_builder import ProgramBuilder
from pelton.runtime.executable import NativeExecutable
from pelton.runtime.metadata import TensorSpec
from pelton.runtime.model import Model
from pelton.runtime.weights import bind_weights
from pelton.tests.support import small_artifacts as small

F32 = DType.float32
Array = np.ndarray[Any, Any]


def model_of(artifact: Artifact, *, reference: bool = False, **weights: Any) -> Model:
    return Model(NativeExecutable(artifact, bind_weights(artifact.weights, weights), reference=reference))


def floats(*shape: int, start: float = 0) -> Array:
    return (np.arange(int(np.prod(shape))) + start).astype(np.float32).reshape(shape)


class Dlpack:
    """Nothing but the protocol, and an old version of it where asked."""

    def __init__(self, array: Array, device: tuple[int, int] = (1, 0), old: bool = False) -> None:
        self.array, self.device, self.old = array, device, old

    def __dlpack__(self, **options: Any) -> object:
        if self.old and options:
            raise TypeError("__dlpack__() takes no keyword arguments")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


both = pytest.mark.parametrize("reference", [False, True], ids=["native", "python"])


@both
def test_shapes_vary_from_call_to_call(reference: bool) -> None:
    model = model_of(small.square_sum(), reference=reference)
    for m, n in [(2, 3), (0, 4), (1, 1), (3, 0), (2, 3), (17, 33)]:
        x, y = floats(m, n), floats(m, n, start=7)
        if m + n > m * n:  # the second output reads m + n elements of x
            x, y = (np.concatenate([a.reshape(-1), np.zeros(64, np.float32)])[: m * n].reshape(m, n) for a in (x, y))
        z, w = model.execute(x, y)
        np.testing.assert_array_equal(z.to_numpy(), x * x + y * y)
        assert (z.shape, w.shape, z.dtype) == ((m, n), (m + n,), F32)


@both
def test_init_runs_once_and_binds_weights_and_constants(reference: bool) -> None:
    w = floats(4, start=1)
    model = model_of(small.scaled(), reference=reference, w=w, unused=None)
    w[:] = 0
    np.testing.assert_array_equal(model.execute(floats(4))[0].to_numpy(), [0, 4, 18, 48])


@both
def test_a_failed_check_names_message_index_value_and_leaves_the_model_usable(reference: bool) -> None:
    model = model_of(small.take(), reference=reference)
    x = floats(5)
    for bad in ([0, 9, -7], [3, 5], [-1]):
        with pytest.raises(RuntimeError, match="index out of range in take") as caught:
            model.execute(x, np.array(bad))
        at = next(i for i, index in enumerate(bad) if not 0 <= index < 5)
        assert f"element {at}" in str(caught.value) and str(bad[at]) in str(caught.value)
        good = model.execute(x, np.array([4, 0]))[0]
        np.testing.assert_array_equal(good.to_numpy(), [4, 0])


def test_everything_the_api_accepts() -> None:
    model = model_of(small.add())
    x = floats(6)
    wide = floats(3, 6)
    read_only = x.copy()
    read_only.flags.writeable = False
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.float32, offset=1)
    for argument in (
        x, Buffer.from_numpy(x), Dlpack(x), Dlpack(x, old=True), wide[0], read_only, unaligned, np.asfortranarray(x),
    ):  # fmt: skip
        np.testing.assert_array_equal(model.execute(argument, x)[0].to_numpy(), x + x)
    assert model.execute(floats(0), floats(0))[0].shape == (0,)


def scalar_model(dtype: DType) -> Model:
    """z = copy of x, rank 0."""
    b = ProgramBuilder()
    x = b.argument()
    b.copy(b.output(dtype, []), x, b.const(dtype.size_in_bytes))
    return model_of(small.artifact(b.finish(), (TensorInfo("x", dtype, ()),), (TensorInfo("z", dtype, ()),)))


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (DType.float32, 3, 3.0),
        (DType.float32, True, 1.0),
        (DType.float32, np.float64(0.5), 0.5),
        (DType.float32, np.int8(-3), -3.0),
        (DType.int32, 2.0, 2),
        (DType.bool, 5, True),
        (DType.bool, np.bool_(False), False),
        (DType.bfloat16, 1.5, 1.5),
        (DType.float64, ml_dtypes.bfloat16(2.5), 2.5),
        (DType.float32, np.array(4, np.float32), 4.0),
        (DType.bool, np.array(True), True),
        (DType.uint8, 255, 255),
        (DType.float32, float("inf"), float("inf")),
        (DType.float16, 0.1, 0.0999755859375),
    ],
)
def test_scalars_become_the_type_of_the_input(dtype: DType, value: Any, expected: object) -> None:
    (result,) = scalar_model(dtype).execute(value)
    assert (result.item(), result.dtype, result.shape) == (expected, dtype, ())


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (DType.uint8, 256),
        (DType.uint8, -1),
        (DType.int32, float("nan")),
        (DType.int32, 2.5),
        (DType.int32, np.float32(2.5)),
        (DType.float16, 1e10),
        (DType.float32, np.float64(1e300)),
        (DType.int32, 2**40),
        (DType.float32, 1j),
        (DType.float32, np.complex64(1)),
        (DType.float32, np.str_("3")),
        (DType.int64, np.datetime64(3, "s")),
    ],
)
def test_scalars_that_do_not_fit(dtype: DType, value: Any) -> None:
    with pytest.raises(ValueError, match=r"input 0 \('x'\)"):
        scalar_model(dtype).execute(value)


def test_models_without_inputs_or_outputs() -> None:
    b = ProgramBuilder()
    c = b.argument()
    b.copy(b.output(F32, [b.const(4)]), c, b.const(16))
    constants = small.scaled().constants
    made = small.artifact(b.finish(), (), (TensorInfo("z", F32, (4,)),), constants=constants)
    model = model_of(made)
    np.testing.assert_array_equal(model.execute()[0].to_numpy(), [1, 2, 3, 4])
    assert model()[0].shape == (4,)
    empty = model_of(small.artifact(small.nothing(0), (), ()))
    assert empty.execute() == []


BAD: list[tuple[str, Callable[[], tuple[Any, ...]], type[Exception], tuple[str, ...]]] = [
    ("too few", lambda: (floats(5),), ValueError, ("2", "1")),
    ("too many", lambda: (floats(5),) * 3, ValueError, ("2", "3")),
    ("list", lambda: (floats(5), [1.0]), ValueError, ("input 1", "'y'", "list")),
    ("str", lambda: ("x", floats(5)), ValueError, ("input 0", "'x'", "str")),
    ("None", lambda: (floats(5), None), ValueError, ("input 1", "NoneType")),
    ("bytes", lambda: (floats(5), b"abcd"), ValueError, ("input 1", "bytes")),
    ("sliced", lambda: (floats(5), floats(10)[::2]), ValueError, ("input 1", "contiguous")),
    ("reversed", lambda: (floats(5)[::-1], floats(5)), ValueError, ("input 0", "contiguous")),
    ("sliced buffer", lambda: (floats(5), Buffer.from_numpy(floats(10))[::2]), ValueError, ("input 1", "contiguous")),
    ("sliced dlpack", lambda: (floats(5), Dlpack(floats(10)[::2])), ValueError, ("input 1", "contiguous")),
    ("dtype", lambda: (floats(5), np.zeros(5)), ValueError, ("input 1", "'y'", "[(n), f32]", "[(5), f64]")),
    ("rank", lambda: (floats(5), floats(1, 5)), ValueError, ("input 1", "[(n), f32]", "[(1, 5), f32]")),
    ("symbol", lambda: (floats(5), floats(6)), ValueError, ("'n'", "input 1", "5", "6")),
    ("scalar for a vector", lambda: (floats(5), 1.0), ValueError, ("input 1", "[(), f32]")),
    ("byte order", lambda: (floats(5), floats(5).astype(">f4")), ValueError, ("input 1", "byte order")),
    ("object dtype", lambda: (floats(5), np.array([None] * 5)), ValueError, ("input 1", "object")),
    ("complex", lambda: (floats(5), np.zeros(5, complex)), ValueError, ("input 1", "complex128")),
    ("other device", lambda: (floats(5), Dlpack(floats(5), (2, 0))), TypeError, ("input 1", "device")),
]


@pytest.mark.parametrize(("make", "error", "parts"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_bad_arguments(make: Callable[[], tuple[Any, ...]], error: type[Exception], parts: tuple[str, ...]) -> None:
    model = model_of(small.add())
    with pytest.raises(error) as caught:
        model.execute(*make())
    for part in parts:
        assert part in str(caught.value)
    np.testing.assert_array_equal(model.execute(floats(3), floats(3))[0].to_numpy(), [0, 2, 4])


def test_static_sizes_are_checked() -> None:
    model = model_of(small.scaled(), w=floats(4))
    with pytest.raises(ValueError, match="shape") as caught:
        model.execute(floats(6))
    assert "[(4), f32]" in str(caught.value) and "[(6), f32]" in str(caught.value)


def test_fortran_order_is_not_contiguous() -> None:
    model = model_of(small.square_sum())
    with pytest.raises(ValueError, match="contiguous"):
        model.execute(np.asfortranarray(floats(3, 4)), floats(3, 4))


def test_a_dlpack_object_that_raises() -> None:
    class Broken:
        def __dlpack__(self, **_: Any) -> object:
            raise RuntimeError("needs grad")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    class NoCapsule(Broken):
        def __dlpack__(self, **_: Any) -> object:
            return 7

    model = model_of(small.add())
    with pytest.raises(ValueError, match="needs grad"):
        model.execute(Broken(), floats(3))
    with pytest.raises(ValueError, match="no DLPack capsule"):
        model.execute(NoCapsule(), floats(3))


def test_call_binds_like_a_function() -> None:
    model = model_of(small.add())
    x, y = floats(3), floats(3, start=1)
    expected = (x + y).tolist()
    for result in (model(x, y), model(x, y=y), model(y=y, x=x)):
        assert result[0].to_numpy().tolist() == expected
    assert str(model.signature) == "(x, y)" and isinstance(model.signature, inspect.Signature)
    for args, kwargs in [((x,), {}), ((x, y, x), {}), ((x, y), {"z": x}), ((x, y), {"x": x})]:
        with pytest.raises(TypeError):
            model(*args, **kwargs)


def test_names_that_are_no_identifiers_become_parameters() -> None:
    infos = tuple(TensorInfo(name, F32, ()) for name in ("a.1", "a_1", "class", "2x", "é"))
    model = model_of(small.artifact(small.nothing(5), infos, ()))
    assert list(model.signature.parameters) == ["a_1", "a_1_", "_class", "_2x", "é"]
    assert [spec.name for spec in model.input_metadata] == ["a.1", "a_1", "class", "2x", "é"]


def test_metadata_and_repr() -> None:
    model = model_of(small.square_sum())
    assert model.input_metadata == [TensorSpec([None, None], F32, "x"), TensorSpec([None, None], F32, "y")]
    assert [str(spec) for spec in model.output_metadata] == ["-1x-1xfloat32", "-1xfloat32"]
    assert str(TensorSpec([2, 3], F32, "a")) == "2x3xfloat32"
    assert str(TensorSpec([], F32, "a")) == "float32"
    assert "x: [(m, n), f32]" in repr(model) and "y: " in repr(model)


def test_outputs_are_fresh_while_held() -> None:
    model = model_of(small.add())
    x = floats(1000)
    held = [model.execute(x, x)[0] for _ in range(5)]
    arrays = [out.to_numpy() for out in held]
    addresses = {out.address for out in held}
    assert len(addresses) == 5 and all(address % 64 == 0 for address in addresses)
    del held
    gc.collect()
    model.execute(floats(1000, start=9), x)
    model.execute(floats(1000, start=9), x)
    for array in arrays:
        np.testing.assert_array_equal(array, x + x)
        array[:] = 0


def test_mutable_inputs_are_written_in_place() -> None:
    model = model_of(small.counter())
    state, one = floats(5), np.ones(1, np.float32)
    (out,) = model.execute(state, one)
    np.testing.assert_array_equal(state, [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(out.to_numpy(), state)
    model.execute(Dlpack(state, old=True), one)
    assert state[0] == 2 and out.to_numpy()[0] == 1


def test_mutable_inputs_that_cannot_be() -> None:
    model = model_of(small.counter())
    state = floats(5)
    with pytest.raises(ValueError, match="shares memory") as caught:
        model.execute(state, state[2:3])
    assert "input 0 ('state')" in str(caught.value) and "input 1 ('one')" in str(caught.value)
    model.execute(state[1:], state[:1])
    state.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        model.execute(state, np.ones(1, np.float32))
    raw = np.zeros(21, np.uint8)[1:].view(np.float32)
    with pytest.raises(ValueError, match="address"):
        model.execute(raw, np.ones(1, np.float32))


def huge() -> Artifact:
    """An output of n * 2**50 elements."""
    b = ProgramBuilder()
    b.argument()
    b.output(F32, [b.mul(b.dim(0, 0), b.const(2**50))])
    return small.artifact(b.finish(), (TensorInfo("x", F32, ("n",)),), (TensorInfo("z", F32, ("n * 2**50",)),))


def test_sizes_no_machine_has_raise() -> None:
    model = model_of(huge())
    assert model.execute(floats(0))[0].shape == (0,)
    for size in (1, 64, 4096):
        with pytest.raises(MemoryError):
            model.execute(floats(size))
    with pytest.raises(ValueError, match="64 bits") as caught:
        model.execute(floats(2**13))
    assert "MUL" in str(caught.value)
    assert model.execute(floats(0))[0].shape == (0,)


def test_negative_sizes_and_broken_requirements_raise() -> None:
    b = ProgramBuilder()
    b.argument()
    n = b.dim(0, 0)
    b.require_at_most(n, b.const(10), "rebind of n fails")
    b.output(F32, [b.sub(n, b.const(3))])
    infos = (TensorInfo("x", F32, ("n",)),), (TensorInfo("z", F32, ("n - 3",)),)
    model = model_of(small.artifact(b.finish(), *infos))
    assert model.execute(floats(5))[0].shape == (2,)
    with pytest.raises(ValueError, match="negative"):
        model.execute(floats(2))
    with pytest.raises(RuntimeError, match="rebind of n fails") as caught:
        model.execute(floats(11))
    assert "11" in str(caught.value) and "10" in str(caught.value)
    assert model.execute(floats(5))[0].shape == (2,)


def test_many_threads_share_a_model() -> None:
    model = model_of(small.square_sum())
    take = model_of(small.take())
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for _ in range(200):
                m, n = rng.integers(2, 40, 2)
                x, y = (rng.random((m, n), np.float32) for _ in range(2))
                z, w = model.execute(x, y)
                np.testing.assert_array_equal(z.to_numpy(), x * x + y * y)
                np.testing.assert_array_equal(w.to_numpy(), (x.reshape(-1) + y.reshape(-1))[: m + n])
                with pytest.raises(RuntimeError, match="out of range"):
                    take.execute(x[0], np.array([0, 99]))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def test_buffers_on_a_device_that_is_not_the_models() -> None:
    model = model_of(small.artifact(small.nothing(1), (TensorInfo("x", F32, (1,)),), ()))
    with pytest.raises(TypeError, match="cpu:0"):
        model.execute(Buffer(F32, (1,), Accelerator.emulated()))
