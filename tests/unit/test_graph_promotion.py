"""Promotion: which dtypes meet, and which numbers and arrays fit."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pelton.dtype import DType
from pelton.graph.promotion import RANGES, fit, is_safe, promote

# What each pair meets in; "." where neither holds the other exactly.
TABLE = """
     i1   i8   i16  i32  i64  u8   u16  u32  u64  f16  bf16 f32  f64
i1   i1   i8   i16  i32  i64  u8   u16  u32  u64  f16  bf16 f32  f64
i8   i8   i8   i16  i32  i64  .    .    .    .    f16  bf16 f32  f64
i16  i16  i16  i16  i32  i64  i16  .    .    .    .    .    f32  f64
i32  i32  i32  i32  i32  i64  i32  i32  .    .    .    .    .    f64
i64  i64  i64  i64  i64  i64  i64  i64  i64  .    .    .    .    .
u8   u8   .    i16  i32  i64  u8   u16  u32  u64  f16  bf16 f32  f64
u16  u16  .    .    i32  i64  u16  u16  u32  u64  .    .    f32  f64
u32  u32  .    .    .    i64  u32  u32  u32  u64  .    .    .    f64
u64  u64  .    .    .    .    u64  u64  u64  u64  .    .    .    .
f16  f16  f16  .    .    .    f16  .    .    .    f16  .    f32  f64
bf16 bf16 bf16 .    .    .    bf16 .    .    .    .    bf16 f32  f64
f32  f32  f32  f32  .    .    f32  f32  .    .    f32  f32  f32  f64
f64  f64  f64  f64  f64  .    f64  f64  f64  .    f64  f64  f64  f64
"""
ORDER, *ROWS = [line.split() for line in TABLE.strip().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_pairs_meet_in_one_of_the_two(row: list[str]) -> None:
    for other, expected in zip(ORDER, row[1:], strict=True):
        x, y = DType(row[0]), DType(other)
        if expected == ".":
            with pytest.raises(ValueError, match=r"neither holds every value of the other(?s:.)*ops\.cast"):
                promote("ops.add", x, y)
        else:
            assert promote("ops.add", x, y) is DType(expected)


@pytest.mark.parametrize("source", RANGES, ids=lambda d: d.name)
@pytest.mark.parametrize("target", RANGES, ids=lambda d: d.name)
def test_safe_means_that_extreme_values_survive(source: DType, target: DType) -> None:
    """By conversion: the limits of one dtype, and its longest odd number, come back from the other one unchanged."""
    limits = RANGES[source]
    values: list[Any] = [limits.low, limits.high, 2**limits.bits - 1, 0]
    if source.is_float():
        values += [0.5, 2.0 ** (-14 if limits.bits == 11 else -126 if limits.bits < 53 else -1022)]
    assert is_safe(source, target) is all(survives(v, target) for v in values)


def survives(value: float, dtype: DType) -> bool:
    if not dtype.is_float():
        return int(value) == value and RANGES[dtype].low <= value <= RANGES[dtype].high
    with np.errstate(over="ignore"):
        return float(np.asarray(float(value)).astype(dtype.to_numpy()).astype(np.float64)) == value


FITS: list[tuple[Any, str, Any]] = [
    (2048, "float16", 2048.0),
    (65504, "float16", 65504.0),
    (65519.9, "float16", 65519.9),
    (2**25, "float32", 2.0**25),
    (0.1, "float32", 0.1),
    (float("-inf"), "float16", float("-inf")),
    (True, "float32", 1.0),
    (1, "bool", 1),
    (-128, "int8", -128),
    (255, "uint8", 255),
    (3.4028235e38, "float32", 3.4028235e38),
]
TOO_MUCH: list[tuple[Any, str]] = [
    (2049, "float16"),
    (65505, "float16"),
    (65520.0, "float16"),
    (2**24 + 1, "float32"),
    (257, "bfloat16"),
    (3.5e38, "float32"),
    (2, "bool"),
    (128, "int8"),
    (-1, "uint8"),
    (2**63, "int64"),
    (1.5, "int32"),
    (2.0, "int32"),
    (0.0, "bool"),
    (np.array([1, 300]), "uint8"),
    (np.array([1.0, 1e10]), "float16"),
    (np.array([1, 2**24 + 1]), "float32"),
    (np.array([0.5]), "int64"),
    (np.float32(2), "int64"),
    (np.uint64(2**64 - 1), "int64"),
]


@pytest.mark.parametrize(("value", "dtype", "expected"), FITS)
def test_numbers_that_fit(value: Any, dtype: str, expected: Any) -> None:
    assert fit("ops.add", value, DType[dtype]) == expected


@pytest.mark.parametrize(("value", "dtype"), TOO_MUCH)
def test_numbers_that_do_not(value: Any, dtype: str) -> None:
    with pytest.raises(ValueError, match=rf"ops.add: the operand .* is not a value of {dtype}"):
        fit("ops.add", value, DType[dtype])


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.array([[1, -2], [2**24, 2**25]]), "float32"),
        (np.array([0.1, np.nan, np.inf]), "float32"),
        (np.array([True, False]), "int8"),
        (np.array([1.5], ml_dtypes.bfloat16), "float32"),
        (np.array([], np.float64), "int32"),
        (np.arange(6, dtype=np.int8).reshape(2, 3).T, "int64"),
    ],
)
def test_arrays_that_fit(array: Any, dtype: str) -> None:
    made = fit("ops.add", array, DType[dtype])
    assert made.dtype == DType[dtype].to_numpy() and made.flags.c_contiguous
    np.testing.assert_array_equal(made, array.astype(made.dtype))


def test_a_named_dtype_takes_whole_floats() -> None:
    assert fit("ops.constant", 2.0, DType.int32, explicit=True) == 2
    assert fit("ops.constant", np.array([3.0]), DType.int32, explicit=True).tolist() == [3]
    with pytest.raises(ValueError, match=r"1\.5 is not a value of int32"):
        fit("ops.constant", 1.5, DType.int32, explicit=True)


def test_what_has_no_dtype_is_refused() -> None:
    with pytest.raises(TypeError, match="NumPy array of <U1"):
        fit("ops.add", np.array(["a"]), DType.float32)
    with pytest.raises(ValueError, match="float8_e5m2 has no constants"):
        fit("ops.add", 1.0, DType.float8_e5m2)
