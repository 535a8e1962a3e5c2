"""bind_weights: nothing is copied, and every way a weight can be wrong is named."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pelton.artifact import TensorInfo
from pelton.driver import Buffer
from pelton.dtype import DType
from pelton.runtime.weights import bind_weights

W = TensorInfo("layer.w", DType.float32, (2, 3))
V = TensorInfo("layer.v", DType.bfloat16, (4,))
GOOD = np.arange(6, dtype=np.float32).reshape(2, 3)


class Interface:
    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Dlpack:
    def __init__(self, array: np.ndarray[Any, Any], device: tuple[int, int] = (1, 0)) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **options: Any) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


@pytest.mark.parametrize(
    "wrap", [np.asarray, Buffer.from_numpy, Interface, Dlpack], ids=["numpy", "buffer", "iface", "dlpack"]
)
def test_nothing_is_copied(wrap: Any) -> None:
    (buffer,) = bind_weights([W], {"layer.w": wrap(GOOD), "extra": object()})
    assert buffer.address == GOOD.ctypes.data
    assert (buffer.shape, buffer.dtype) == ((2, 3), DType.float32)


def test_read_only_arrays_are_not_copied_and_stay_alive() -> None:
    array = GOOD.copy()
    array.flags.writeable = False
    address = array.ctypes.data
    (buffer,) = bind_weights([W], {"layer.w": array})
    del array
    assert buffer.address == address and not buffer.writable
    np.testing.assert_array_equal(buffer.to_numpy(), GOOD)


def test_order_follows_the_model_and_types_of_ml_dtypes_work() -> None:
    v = np.ones(4, ml_dtypes.bfloat16)
    first, second = bind_weights([V, W], {"layer.w": GOOD, "layer.v": v})
    assert (first.dtype, second.dtype) == (DType.bfloat16, DType.float32)
    assert bind_weights([], None) == []


def test_missing_weights_are_all_named() -> None:
    with pytest.raises(ValueError, match=r"2 weights .*'layer.w', 'layer.v'"):
        bind_weights([W, V], None)
    with pytest.raises(ValueError, match=r"a weight .*'layer.v'"):
        bind_weights([W, V], {"layer.w": GOOD})


@pytest.mark.parametrize(
    ("value", "error", "parts"),
    [
        (GOOD[:1], ValueError, ("[(2, 3), f32]", "[(1, 3), f32]")),
        (GOOD.reshape(6), ValueError, ("[(2, 3), f32]", "[(6), f32]")),
        (GOOD.astype(np.float64), ValueError, ("[(2, 3), f32]", "[(2, 3), f64]")),
        (np.asfortranarray(GOOD), ValueError, ("not C-contiguous", "ascontiguousarray")),
        (np.zeros((2, 6), np.float32)[:, ::2], ValueError, ("not C-contiguous",)),
        (GOOD.astype(">f4"), ValueError, ("byte order",)),
        (Dlpack(GOOD, (2, 0)), ValueError, ("device",)),
        ([1.0, 2.0], TypeError, ("list", "__dlpack__", "__array_interface__")),
        (None, TypeError, ("NoneType",)),
        (3.0, TypeError, ("float",)),
    ],
)
def test_wrong_weights_name_the_weight(value: Any, error: type[Exception], parts: tuple[str, ...]) -> None:
    with pytest.raises(error) as caught:
        bind_weights([W], {"layer.w": value})
    for part in ("'layer.w'", *parts):
        assert part in str(caught.value)


def test_the_registry_must_be_a_mapping() -> None:
    with pytest.raises(TypeError, match="mapping"):
        bind_weights([W], [GOOD])  # pyright: ignore[reportArgumentType]


def test_a_misaligned_weight_is_copied() -> None:
    raw = np.frombuffer(b"\0" + GOOD.tobytes(), np.uint8)
    (buffer,) = bind_weights([W], {"layer.w": raw[1:].view(np.float32).reshape(2, 3)})
    assert buffer.address % 4 == 0
    np.testing.assert_array_equal(buffer.to_numpy(), GOOD)
