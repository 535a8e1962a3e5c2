"""Objects that a caller may pass by mistake. Enters: a random generator. Leaves: objects for `soak/wrong_calls.py`."""

from __future__ import annotations

from random import Random
from typing import Any

import ml_dtypes
import numpy as np

from pelton.driver import CPU, Buffer, Device
from pelton.dtype import DType
from pelton.runtime.buffer import alias_array

DTYPES: tuple[Any, ...] = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64", ml_dtypes.bfloat16,
    ml_dtypes.float8_e5m2, "complex64", ">f4", ">i8", "longdouble", object, "S3", "U2", "datetime64[s]", "V4",
    [("a", "f4"), ("b", "i4")],
)  # fmt: skip
SHAPES = ((), (0,), (1,), (3,), (4,), (2, 3), (4, 3), (3, 4), (0, 3), (2, 0), (1, 1, 3), (2, 2, 2, 2))
USUAL = ("float32", "int64", "int32", "bool")
SIZES: tuple[Any, ...] = (0, 1, 2, 3, 4, -1, 2**48, 2**62, 2**63, 10**30, 1.5, "3", None, True, np.int32(2))
"""Either small, or more than any machine has."""
NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 7, 255, 256, 2**31, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), 10**30, True, False, 0.0, 1.5,
    -2.5, 1e300, float("nan"), float("inf"), 1j,
)  # fmt: skip


ZEROS = np.zeros(3)


class Producer:
    """A DLPack object with whatever is given as what its two methods return, or raise."""

    def __init__(self, capsule: Any, device: Any) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **options: Any) -> Any:
        return answer(self.capsule, options)

    def __dlpack_device__(self) -> Any:
        return answer(self.device, {})


class HalfProducer:
    """It has only one of the two methods."""

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("not now")


class Interface:
    """It offers an array interface, true or not."""

    def __init__(self, interface: Any) -> None:
        self.__array_interface__ = interface


def answer(value: Any, options: dict[str, Any]) -> Any:
    """What a method returns for `value`: raised where it is an exception, called where it is a function."""
    if isinstance(value, Exception):
        raise value
    return value(**options) if callable(value) else value


def array(rng: Random) -> Any:
    """An array of any dtype, shape, order and kind; half of them of the usual ones."""
    plain = rng.random() < 0.5
    shape, dtype = rng.choice(SHAPES), np.dtype(rng.choice(USUAL if plain else DTYPES))
    made: Any = np.zeros(shape, dtype)
    if dtype.kind in "iufb" and made.size:
        made[...] = np.arange(made.size).reshape(shape) % 5 - (dtype.kind != "u" and rng.random() < 0.3)
    return made if plain and rng.random() < 0.5 else rng.choice(LAYOUTS)(made)


def usual(value: Any) -> bool:
    """Whether it is an array of one of the usual dtypes."""
    return type(value) is np.ndarray and value.dtype in [np.dtype(name) for name in USUAL]


def _misaligned(given: Any) -> Any:
    if given.dtype.hasobject:
        return given
    raw = np.zeros(given.nbytes + 1, np.uint8)[1:]
    return raw.view(given.dtype).reshape(given.shape) if given.nbytes else given


def _read_only(given: Any) -> Any:
    given.flags.writeable = False
    return given


LAYOUTS: tuple[Any, ...] = (
    np.asfortranarray, lambda a: a[::-1] if a.ndim else a, lambda a: a[..., ::2] if a.ndim else a, lambda a: a.T,
    lambda a: np.broadcast_to(a, (3, *a.shape)), _misaligned, _read_only, lambda a: a.view(np.ma.MaskedArray),
    lambda a: np.repeat(a, 2, axis=0)[:: 2 if a.ndim else 1] if a.ndim else a, lambda a: a[None], lambda a: a[()],
)  # fmt: skip


def buffer(rng: Random) -> Buffer:
    """A buffer, or a view of one, of any type."""
    made = Buffer.zeros(rng.choice(SHAPES), DType.float32 if rng.random() < 0.5 else rng.choice([*DType]))
    if rng.random() < 0.3 and made.rank:
        made = made[:: rng.choice((1, 2, -1))]
    if rng.random() < 0.1:
        made = alias_array(_read_only(np.zeros(made.shape, made.dtype.to_numpy())))
    return made


def producer(rng: Random) -> Any:
    """A DLPack object: honest, of a foreign device, or broken."""
    owner = np.zeros(rng.choice(SHAPES), rng.choice(USUAL))
    used = owner.__dlpack__()
    if rng.random() < 0.5:
        np.from_dlpack(Producer(used, (1, 0)))  # pyright: ignore[reportArgumentType]
        capsule: Any = used
    else:
        capsule = rng.choice((owner.__dlpack__, None, 3, "capsule", RuntimeError("odd"), KeyError("odd"), object()))
    device = rng.choice(((1, 0), (1, 0), (1, 0), (2, 0), (13, 1), (3, 0), None, 3, (), ("cpu", 0), ValueError("odd")))
    return rng.choice((Producer(capsule, device), Producer(owner.__dlpack__, (1, 0)), HalfProducer()))


def thing(rng: Random) -> Any:
    """Anything else."""
    return rng.choice(
        (
            None, "", "text", "f32", "float32", b"bytes", "\ud800", [], [1.0], [[1, 2], [3]], (), (1, 2), {}, {"w": 1},
            {1}, object(), object, int, len, slice(None), slice(0, 9, 0), ..., range(3), iter([1]), NotImplemented,
            memoryview(b"1234"), bytearray(4), np.float32(2), np.int64(3), np.bool_(True), np.str_("x"), np.void(b"12"),
            np.datetime64(3, "s"), np.complex64(1j), np.longdouble(2), ml_dtypes.bfloat16(2), np.dtype("f4"),
            np.float32, DType.float32, DType.int8, CPU(), Device("gpu", 0), Interface({}), Interface(None),
            Interface(ZEROS.__array_interface__), ValueError("a value"), np.ndarray, Buffer,
        )
    )  # fmt: skip


def anything(rng: Random) -> Any:
    """An array, a buffer, a number, a DLPack object, or something else."""
    return rng.choice((array, array, buffer, buffer, producer, thing, thing, number))(rng)


def number(rng: Random) -> Any:
    return rng.choice(NUMBERS)


def index(rng: Random) -> Any:
    """An index as people write them, and as they do not."""
    part = (
        0,
        -1,
        1,
        5,
        2**70,
        slice(None),
        slice(1, None),
        slice(None, None, -1),
        slice(0, 9, 0),
        ...,
        None,
        np.int64(1),
    )
    parts = tuple(rng.choice(part) if rng.random() < 0.9 else thing(rng) for _ in range(rng.randrange(4)))
    return parts if rng.random() < 0.7 or not parts else parts[0]


def shape(rng: Random) -> Any:
    """Sizes, good and bad, or no sizes at all."""
    if rng.random() < 0.15:
        return anything(rng)
    return rng.choice((tuple, list))(
        rng.choice(SIZES[:5] if rng.random() < 0.6 else SIZES) for _ in range(rng.randrange(4))
    )


def dtype(rng: Random) -> Any:
    return rng.choice([*DType]) if rng.random() < 0.8 else thing(rng)
