"""pelton.driver.Buffer, against NumPy.

| promise | test |
|---|---|
| `Buffer(dtype, shape, device)` | test_a_new_buffer, test_bad_shapes, test_other_devices |
| `zeros` | test_every_type_goes_to_numpy_and_back |
| `scalar` | test_scalars, test_what_is_no_scalar |
| `from_numpy` | test_from_numpy_is_zero_copy_when_it_can_be, test_what_is_no_array |
| `from_dlpack` | test_from_dlpack_copies_on_demand_or_need, test_dlpack_there_and_back, test_what_is_no_array |
| `to_numpy` aliases | test_numpy_takes_buffers_without_copying, test_memory_outlives_its_owner |
| `item` | test_items |
| `to(device)` | test_copies, test_other_devices |
| `copy`, `contiguous` | test_copies, test_copies_of_copy_and_pickle |
| `view(dtype, shape)` | test_views_as_other_types |
| `inplace_copy_from` | test_copies, test_inplace_copy_from_refuses |
| `__getitem__` | test_views_are_numpys, test_views_of_views, test_bad_indices |
| `__setitem__` | test_assignment, test_read_only |
| `dtype`, `shape`, `strides`, `rank`, `num_elements`, `element_size` | test_a_new_buffer |
| `is_contiguous` | test_views_are_numpys |
| `is_host`, `device`, `pinned` | test_a_new_buffer |
| `__dlpack__` | test_dlpack_there_and_back, test_dlpack_refuses |
| `__dlpack_device__` | test_numpy_takes_buffers_without_copying |
| bf16 and fp8 are ml_dtypes' in NumPy | test_every_type_goes_to_numpy_and_back |
"""

from __future__ import annotations

import copy
import ctypes
import gc
import itertools
import pickle
import random
import threading
import weakref
from fractions import Fraction
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest

from pelton.driver import CPU, Buffer, Device
from pelton.dtype import DType
from pelton.runtime.buffer import alias_any, alias_array
from pelton.runtime.memory import POOL_BYTES, Pool, rounded

F32 = DType.float32
Array = np.ndarray[Any, Any]


class Foreign:
    """Another library's tensor, which knows DLPack and nothing else."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __dlpack__(self, **options: Any) -> object:
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()


def numbers(*shape: int) -> Array:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def test_a_new_buffer() -> None:
    b = Buffer(F32, (2, 3), CPU())
    assert (b.dtype, b.shape, b.strides, b.rank, b.num_elements, b.element_size) == (F32, (2, 3), (3, 1), 2, 6, 4)
    assert b.is_contiguous and b.is_host and not b.pinned and b.device == CPU() and b.address % 64 == 0
    assert b.to_numpy().shape == (2, 3) and "(2, 3)" in repr(b)
    assert Buffer(F32, [cast(int, np.int64(2))]).shape == (2,) and Buffer(F32, ()).shape == ()


@pytest.mark.parametrize("dtype", DType, ids=lambda d: d.name)
def test_every_type_goes_to_numpy_and_back(dtype: DType) -> None:
    b = Buffer.zeros((2, 3), dtype)
    assert not b.view(DType.uint8).to_numpy().any()
    array = b.to_numpy()
    assert array.dtype == dtype.to_numpy()
    array[1, 2] = 1
    assert b[1, 2].item() == 1 and b[1].contiguous().to_numpy()[2] == 1
    again = Buffer.from_numpy(array)
    assert again.address == b.address and again.dtype is dtype
    assert Buffer.from_dlpack(array).address == b.address
    one = Buffer.scalar(1, dtype)
    assert (one.item(), one.shape) == (1, ())
    assert type(one.item()) is (bool if dtype is DType.bool else float if dtype.is_float() else int)


@pytest.mark.parametrize("dtype", [d for d in DType if d not in (DType.int4, DType.uint4)], ids=lambda d: d.name)
def test_dlpack_there_and_back(dtype: DType) -> None:
    b = Buffer.zeros((2, 3), dtype)
    b[1, 2] = 1
    again = Buffer.from_dlpack(Foreign(b))
    assert (again.address, again.dtype, again.shape) == (b.address, dtype, (2, 3))
    assert again[1, 2].item() == 1


def test_numpy_takes_buffers_without_copying() -> None:
    b = Buffer.from_numpy(numbers(2, 3))
    for array in (np.from_dlpack(b), np.asarray(b), b.to_numpy()):  # pyright: ignore[reportArgumentType]
        assert array.ctypes.data == b.address
    assert np.array(b).ctypes.data != b.address
    assert np.asarray(b, np.float64).dtype == np.float64
    assert np.asarray(Buffer.zeros((2,), DType.bfloat16)).dtype == ml_dtypes.bfloat16
    assert b.__dlpack_device__() == (1, 0)


def test_from_numpy_is_zero_copy_when_it_can_be() -> None:
    array = numbers(4, 4)
    assert Buffer.from_numpy(array).address == array.ctypes.data
    for other in (array[:, ::2], array.T, array[::-1], np.asfortranarray(array)):
        b = Buffer.from_numpy(other)
        assert b.address != other.ctypes.data and b.is_contiguous
        np.testing.assert_array_equal(b.to_numpy(), other)
    array.flags.writeable = False
    b = Buffer.from_numpy(array)
    assert b.address != array.ctypes.data and b.writable
    for shape in ((0,), (0, 3), ()):
        assert Buffer.from_numpy(np.zeros(shape)).shape == shape


def test_from_dlpack_copies_on_demand_or_need() -> None:
    array = numbers(4, 4)
    assert Buffer.from_dlpack(array).address == array.ctypes.data
    assert Buffer.from_dlpack(array, copy=False).address == array.ctypes.data
    assert Buffer.from_dlpack(array, copy=True).address != array.ctypes.data
    assert Buffer.from_dlpack(array.T).is_contiguous
    with pytest.raises(BufferError, match="copy=False"):
        Buffer.from_dlpack(array.T, copy=False)
    b = Buffer.from_numpy(array)
    assert Buffer.from_dlpack(b) is b and Buffer.from_dlpack(b, copy=True).address != b.address


@pytest.mark.parametrize("bad", [[1.0], None, 3, "text"])
def test_what_is_no_array(bad: Any) -> None:
    with pytest.raises(TypeError, match=type(bad).__name__):
        Buffer.from_numpy(bad)
    with pytest.raises(TypeError, match=type(bad).__name__):
        Buffer.from_dlpack(bad)


def test_memory_outlives_its_owner() -> None:
    array = numbers(1000)
    b = Buffer.from_numpy(array)
    alive = weakref.ref(array)
    del array
    gc.collect()
    view = b[3:5]
    np_view = view.to_numpy()
    del b, view
    gc.collect()
    assert alive() is not None and np_view.tolist() == [3, 4]
    del np_view
    gc.collect()
    assert alive() is None


INDICES: list[Any] = [
    0, -1, np.int64(1), slice(None), slice(1, None), slice(None, None, -1), slice(None, None, 2), slice(-2, 0, -1),
    slice(9, 2),
    ..., None, (0, 1), (slice(None), 0), (..., 0), (0, ...), (None, 1, ..., None), (1, slice(2, 0, -1), -1), (1, 2, 3),
    slice(0, 4, 10**18), slice(-(10**30), 10**30, 10**30), slice(None, None, -(2**63)),
    (slice(0, 0),), (), (slice(None, None, -2), slice(None), slice(3, None, -3)),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_views_are_numpys(index: Any) -> None:
    array = numbers(3, 4, 5)
    view, expected = Buffer.from_numpy(array)[index], array[index]
    np.testing.assert_array_equal(view.to_numpy(), expected)
    assert view.shape == np.shape(expected)
    assert view.is_contiguous == np.asarray(expected).flags.c_contiguous
    view.to_numpy()[...] = -1
    np.testing.assert_array_equal(array[index], -np.ones(np.shape(expected)))
    np.testing.assert_array_equal(view.copy().to_numpy(), view.to_numpy())


def test_views_of_views() -> None:
    rng = random.Random(7)

    def bound() -> int | None:
        return rng.choice((None, *range(-6, 7)))

    for _ in range(300):
        array = numbers(*rng.choices(range(5), k=3))
        buffer, expected = Buffer.from_numpy(array), array
        for _ in range(3):
            steps = [slice(bound(), bound(), rng.choice((-3, -1, 1, 2))) for _ in expected.shape]
            index = tuple(
                rng.choice((0, -1)) if size and rng.random() < 0.15 else step
                for size, step in zip(expected.shape, steps, strict=True)
            )
            buffer, expected = buffer[index], expected[index]
            np.testing.assert_array_equal(buffer.to_numpy(), expected)


@pytest.mark.parametrize(
    ("index", "error"),
    [
        (3, IndexError),
        (-4, IndexError),
        ((0, 0, 0), IndexError),
        ((..., ...), IndexError),
        ("a", TypeError),
        ([0, 1], TypeError),
        (1.0, TypeError),
        (True, TypeError),
        (10**30, IndexError),
        (np.True_, TypeError),
        (slice("a", None), TypeError),
        (np.array([0]), TypeError),
        (slice(None, None, 0), ValueError),
    ],
)
def test_bad_indices(index: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Buffer.zeros((3, 2), F32)[index]


def test_numbers_too_long_to_be_printed() -> None:
    b = Buffer.zeros((3, 2), F32)
    for index in (10**6000, (0, -(10**6000))):
        with pytest.raises(IndexError, match="an index of many digits is out of bounds"):
            b[index]
    with pytest.raises(IndexError, match=r"3 indices for 2 axes: the shape is \(3, 2\)"):
        b[0, 0, 10**6000]
    with pytest.raises(ValueError, match="must not be negative"):
        Buffer(F32, (-(10**6000),))
    with pytest.raises(MemoryError, match="a tensor of shape"):
        Buffer(F32, (10**6000,))


def test_assignment() -> None:
    array = numbers(3, 4)
    b = Buffer.from_numpy(array)
    b[0] = 9
    b[1, ::2] = np.array([7, 8])
    b[2, :2] = Buffer.from_numpy(np.array([5, 6], np.float32))
    assert array.tolist() == [[9, 9, 9, 9], [7, 5, 8, 7], [5, 6, 10, 11]]
    for number in (1e39, np.float64(1e39), 10**6000):
        with pytest.raises(ValueError, match="cannot be a float32"):
            b[0] = number
    for value in (Buffer.zeros((4,), DType.int32), Buffer.zeros((3,), F32)):
        with pytest.raises(ValueError, match="cannot copy"):
            b[0] = value
    with pytest.raises(ValueError, match="broadcast"):
        b[0] = np.zeros(3)
    for nothing in (
        None, "3", b"3", 1j, object(), {}, {1}, [None], ["3"], [1, b"3"], [1j], [1, 2.5, 1j], [10**30, None], int,
        np.array(["2020-01-01"], "datetime64[D]"), np.datetime64(3, "s"), np.str_("3"), np.complex64(1),
        np.array(["3"]), np.array([None]), np.array([1j]), np.zeros(4, "f4,f4"), Fraction(1, 2),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="a buffer takes numbers, arrays of numbers and buffers, got"):
            b[0] = nothing
    b[1:] = b[:2]  # overlapping
    assert array[1:].tolist() == [[9, 9, 9, 9], [7, 5, 8, 7]]
    for value, expected in (
        ([1, 2.5, True, 10**30], [1, 2.5, 1, 1e30]), (range(4), [0, 1, 2, 3]),
        (np.array([1, 2, 3, 4], ">f4"), [1, 2, 3, 4]),
        (np.longdouble(3), [3] * 4), (np.array([1, 0, 1, 0], ml_dtypes.int4), [1, 0, 1, 0]), (np.bool_(1), [1] * 4),
    ):  # fmt: skip
        b[0] = value
        assert array[0].tolist() == np.array(expected, np.float32).tolist()


def test_a_list_is_not_cut_to_the_type() -> None:
    b = Buffer.zeros((2,), DType.uint8)
    for numbers in ([300, 1], [-1, 1], [10**30, 1]):
        with pytest.raises(OverflowError):
            b[...] = numbers
    assert b.to_numpy().tolist() == [0, 0]


def test_what_does_not_hand_its_elements_over() -> None:
    class Stubborn:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
            raise RuntimeError("detach it first")

    with pytest.raises(TypeError, match=r"a Stubborn does not hand its elements over: .*detach it first"):
        Buffer.zeros((2,), F32)[0] = Stubborn()


def test_copies() -> None:
    b = Buffer.from_numpy(numbers(3, 4))
    assert b.contiguous() is b and b.to(CPU()) is b
    part = b[:, 1:3]
    assert not part.is_contiguous and part.strides == (4, 1)
    for other in (part.contiguous(), part.copy(), part.copy(CPU())):
        assert other.is_contiguous and other.address != part.address
        np.testing.assert_array_equal(other.to_numpy(), part.to_numpy())
    target = Buffer.zeros((3, 2), F32)
    target.inplace_copy_from(part)
    np.testing.assert_array_equal(target.to_numpy(), part.to_numpy())
    with pytest.raises(ValueError, match=r"\[\(3, 4\), f32\] into \[\(3, 2\), f32\]"):
        target.inplace_copy_from(b)


def test_views_as_other_types() -> None:
    b = Buffer.from_numpy(numbers(2, 4))
    assert b.view(DType.int32).to_numpy()[0, 1] == 0x3F800000
    assert b.view(DType.uint8).shape == (2, 16) and b.view(DType.float64).shape == (2, 2)
    assert b.view(F32, (8,)).shape == (8,) and b.view(DType.uint16, [4, 2, 2]).shape == (4, 2, 2)
    assert b.view(F32, (8,)).address == b.address
    assert Buffer.scalar(1, F32).view(DType.int32).item() == 0x3F800000
    assert Buffer.zeros((0, 3), F32).view(DType.uint8).shape == (0, 12)
    for dtype, shape in [(F32, (7,)), (F32, (9,)), (DType.float64, (8,)), (F32, (-1, 8))]:
        with pytest.raises(ValueError, match=r"bytes|negative"):
            b.view(dtype, shape)
    with pytest.raises(ValueError, match="whole number"):
        Buffer.zeros((2, 3), F32).view(DType.float64)
    with pytest.raises(ValueError, match="contiguous"):
        b[:, :2].view(DType.int32)


def test_items() -> None:
    assert Buffer.from_numpy(numbers(1, 1)).item() == 0 and Buffer.from_numpy(numbers(2, 3))[1, 2].item() == 5
    for shape in ((2,), (0,)):
        with pytest.raises(ValueError, match="one element"):
            Buffer.zeros(shape, F32).item()


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (7, F32, 7.0), (2.0, DType.int32, 2), (-128.0, DType.int8, -128), (True, F32, 1.0), (0.1, DType.bool, True),
        (65519.0, DType.float16, 65504.0), (-8, DType.int4, -8), (15, DType.uint4, 15), (2**24 + 1, F32, 2.0**24),
        (np.int64(3), DType.uint8, 3), (np.float64(0.5), DType.bfloat16, 0.5), (np.array(4), F32, 4.0),
        (ml_dtypes.bfloat16(1.5), F32, 1.5), (2**64 - 1, DType.uint64, 2**64 - 1), (float("inf"), F32, float("inf")),
    ],
)  # fmt: skip
def test_scalars(value: Any, dtype: DType, expected: object) -> None:
    scalar = Buffer.scalar(value, dtype)
    assert (scalar.shape, scalar.dtype, scalar.item()) == ((), dtype, expected)


@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [
        (300, DType.uint8, "300 cannot be a uint8"), (-1, DType.uint8, "-1"), (2**64, DType.int64, "int64"),
        (2.75, DType.int32, "2.75 cannot be a int32: it is no whole number"), (np.float16(0.5), DType.int8, "no whole"),
        (8, DType.int4, "not from -8 to 7"), (-1, DType.uint4, "not from 0 to 15"), (2.0**63, DType.int64, "not from"),
        (1e10, DType.float16, "out of range"), (65520, DType.float16, "out of range"), (1e39, F32, "out of range"),
        (np.float64(1e39), DType.bfloat16, "out of range"), (1e10, DType.float8_e4m3fn, "out of range"),
        (float("nan"), DType.int32, "nan"), (1e300, DType.int64, "1e"),
        (float("inf"), DType.int8, "inf"), ("3", F32, "'3' .* no number"), (b"3", F32, "a bytes .* no number"),
        (None, F32, "NoneType"), (1j, F32, "a complex"), (np.complex64(1), F32, "complex64"), ([1], F32, "a list"),
        (np.zeros(1), F32, "a ndarray"), (np.str_("3"), F32, "no DType"), (np.datetime64(3, "s"), F32, "no DType"),
    ],
)  # fmt: skip
def test_what_is_no_scalar(value: Any, dtype: DType, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Buffer.scalar(value, dtype)


def test_a_scalar_too_large_to_be_printed() -> None:
    with pytest.raises(ValueError, match="an int cannot be a float32"):
        Buffer.scalar(10**6000, F32)


def test_copies_of_copy_and_pickle() -> None:
    """A copy of the elements, but for `copy.copy`, which is a view; no block of the pool is given back twice."""
    array = numbers(3, 4)
    part = Buffer.from_numpy(array)[:, 1:3]
    view = copy.copy(part)
    assert (view.address, view.strides) == (part.address, part.strides)
    for other in (copy.deepcopy(part), pickle.loads(pickle.dumps(part)), copy.deepcopy({"b": [part]})["b"][0]):
        assert other.is_contiguous and other.address != part.address and other.writable
        np.testing.assert_array_equal(other.to_numpy(), array[:, 1:3])
    low = Buffer.zeros((2,), DType.bfloat16)
    low[1] = 1.5
    again = pickle.loads(pickle.dumps(low))
    assert again.dtype is DType.bfloat16 and again[1].item() == 1.5
    memory = Pool().take(10)
    for refused in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="not copied"):
            refused(memory)


@pytest.mark.parametrize("bad", [None, 3, [1.0], np.zeros(2, np.float32), "text"])
def test_inplace_copy_from_refuses(bad: Any) -> None:
    with pytest.raises(TypeError, match=f"takes a Buffer, got {type(bad).__name__}"):
        Buffer.zeros((2,), F32).inplace_copy_from(bad)


def test_read_only() -> None:
    array = numbers(3)
    array.flags.writeable = False
    fixed = alias_array(array)
    assert not fixed.writable and not fixed.to_numpy().flags.writeable and not fixed[1:].writable
    for write in (
        lambda: fixed.inplace_copy_from(Buffer.zeros((3,), F32)),
        lambda: fixed.__setitem__(0, 1.0),
        lambda: fixed[1:].__setitem__(0, Buffer.zeros((), F32)),
    ):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert Buffer.from_dlpack(fixed).writable and array.tolist() == [0, 1, 2]


def test_dlpack_refuses() -> None:
    with pytest.raises(BufferError, match=r"no int4; hand over the bytes: buffer.view\(DType.uint8\)"):
        Buffer.zeros((2,), DType.int4).__dlpack__()
    with pytest.raises(BufferError):
        Buffer.zeros((2,), F32).__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match=r"strides \(3, -1\).*buffer.contiguous\(\)"):
        Buffer.zeros((2, 3), F32)[:, ::-1].__dlpack__()  # of which torch ends the process
    fixed = alias_array(np.frombuffer(bytes(8), np.float32))
    with pytest.raises(BufferError):
        fixed.__dlpack__()
    alias = alias_any(Foreign(fixed))
    assert alias is not None and not alias.writable


@pytest.mark.parametrize(
    ("shape", "error"),
    [
        ((-1,), ValueError),
        ((1.5,), TypeError),
        ((True, 2), TypeError),
        ((np.True_, 2), TypeError),
        (b"ab", TypeError),
        ({2, 3}, TypeError),
        ({2: 3}, TypeError),
        (np.array([2.0]), TypeError),
        (3, TypeError),
        ("ab", TypeError),
        ((2**40, 2**40), MemoryError),
        ((2**60,), MemoryError),
    ],
)
def test_bad_shapes(shape: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Buffer(F32, shape)
    with pytest.raises(error):
        Buffer.zeros(shape, F32)


def test_other_devices() -> None:
    gpu = Device("gpu", 0)
    for make in (
        lambda: Buffer(F32, (1,), gpu),
        lambda: Buffer.zeros((1,), F32).to(gpu),
        lambda: Buffer.scalar(1, F32, gpu),
    ):
        with pytest.raises(ValueError, match="gpu"):
            make()
    for bad in ("cpu", 0, None, DType.int8):
        with pytest.raises(TypeError, match="expected a Device"):
            Buffer.zeros((1,), F32).to(bad)  # type: ignore[arg-type]
        if bad is not None:
            with pytest.raises(TypeError, match="expected a Device"):
                Buffer(F32, (1,), bad)  # type: ignore[arg-type]


def test_the_pool_gives_blocks_again_and_keeps_few() -> None:
    pool = Pool(limit=10_000)
    first = pool.take(1000)
    address = first.address
    assert address % 64 == 0 and first.size >= 1000 and pool.waiting == 0
    del first
    assert pool.waiting == rounded(1000)
    assert pool.take(rounded(1000)).address == address
    blocks = [pool.take(4000) for _ in range(4)]
    assert len({block.address for block in blocks}) == 4
    del blocks
    assert 0 < pool.waiting <= 10_000
    pool.take(20_000)
    assert pool.waiting <= 10_000


def test_block_sizes() -> None:
    for size in itertools.chain(range(0, 5000, 7), (2**20 + 1, 2**31 - 1, POOL_BYTES)):
        block = rounded(size)
        assert block >= max(size, 64) and block % 64 == 0 and block <= max(size * 9 // 8, size + 64)
        assert rounded(block) == block


def test_threads_share_the_pool() -> None:
    pool, failures = Pool(limit=1 << 20), list[str]()

    def work(mark: int) -> None:
        for number in range(3000):
            memory = pool.take(64 << number % 5)
            words = (ctypes.c_int64 * 8).from_address(memory.address)
            words[:] = [mark] * 8
            if list(words) != [mark] * 8:
                failures.append("two threads were given one block")

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
