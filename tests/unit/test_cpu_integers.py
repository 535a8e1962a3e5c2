"""Integer words and conversions of the CPU vocabulary against Python's integers and NumPy, on every target that runs
here.

Each expression runs as vectors and as scalars; both must give the reference.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pelton.tests.support.words import RUNNABLE, STORAGE_DTYPE, Array, apply_word, same_bits

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

INTEGERS = ["i8", "i32", "i64", "u8", "u16", "u64"]


def wrapped(numbers: Iterable[int], dtype: Any) -> Array:
    """Python integers reduced to the bits of `dtype`."""
    bits = np.iinfo(dtype).bits
    unsigned = np.dtype(f"uint{bits}")
    return np.array([n & ((1 << bits) - 1) for n in numbers], np.uint64).astype(unsigned).view(dtype)


def pairs(dtype: Any) -> tuple[Array, Array]:
    """Every pair of limits and small numbers, and random ones."""
    rng = np.random.default_rng(3)
    info = np.iinfo(dtype)
    special = np.array([0, 1, 2, 7, info.max, info.max - 1, info.min, info.min + 1], dtype)
    if info.min:
        special = np.concatenate([special, np.array([-1, -2, -7], dtype)])
    a, b = (v.ravel() for v in np.meshgrid(special, special))
    wide = rng.integers(info.min, info.max, 200, dtype, endpoint=True)
    small = rng.integers(-9 if info.min else 0, 9, 200, dtype)
    return np.concatenate([a, wide, wide]), np.concatenate([b, small, wide[::-1]])


def assert_word(expression: str, inputs: list[str], output: str, arrays: list[Array], reference: Array) -> None:
    for target in RUNNABLE:
        for form, got in zip(
            ("vectors", "scalars"), apply_word(target, expression, inputs, output, arrays), strict=True
        ):
            wrong = np.flatnonzero(~same_bits(got, reference))
            assert not len(wrong), (target.name, form, [a[wrong[:3]] for a in arrays], got[wrong[:3]])


@pytest.mark.parametrize("element", INTEGERS)
def test_division_rounds_wraps_and_never_traps(element: str) -> None:
    dtype = STORAGE_DTYPE[element]
    a, b = pairs(dtype)
    numbers = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    truncated = [(abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1) if y else 0 for x, y in numbers]
    meanings = {
        "a // b": [x // y if y else 0 for x, y in numbers],
        "a % b": [x % y if y else 0 for x, y in numbers],
        "truncdiv(a, b)": truncated,
        "truncmod(a, b)": [x - q * y if y else 0 for (x, y), q in zip(numbers, truncated, strict=True)],
    }
    for expression, reference in meanings.items():
        assert_word(expression, [element, element], element, [a, b], wrapped(reference, dtype))


@pytest.mark.parametrize("element", INTEGERS)
def test_arithmetic_wraps_and_shifts_have_no_undefined_counts(element: str) -> None:
    dtype = STORAGE_DTYPE[element]
    bits = np.iinfo(dtype).bits
    a, b = pairs(dtype)
    counts = (np.arange(len(a)) % (bits + 3)).astype(dtype)
    numbers = [int(x) for x in a]
    assert_word(
        "a - b * 3",
        [element] * 2,
        element,
        [a, b],
        wrapped((int(x) - 3 * int(y) for x, y in zip(a, b, strict=True)), dtype),
    )
    left = wrapped((x << int(c) if c < bits else 0 for x, c in zip(numbers, counts, strict=True)), dtype)
    right = wrapped((x >> int(c) for x, c in zip(numbers, counts, strict=True)), dtype)
    assert_word("a << b", [element] * 2, element, [a, counts], left)
    assert_word("a >> b", [element] * 2, element, [a, counts], right)
    assert_word("(a & b) | (~a ^ b)", [element] * 2, element, [a, b], (a & b) | (~a ^ b))


@pytest.mark.parametrize("element", INTEGERS)
def test_order_is_that_of_the_type_unless_asked_for_unsigned(element: str) -> None:
    dtype = STORAGE_DTYPE[element]
    a, b = pairs(dtype)
    unsigned = np.dtype(f"uint{np.iinfo(dtype).bits}")
    assert_word("maximum(a, b)", [element] * 2, element, [a, b], np.maximum(a, b))
    assert_word("as_bytes(a < b)", [element] * 2, "i1", [a, b], (a < b).view(np.uint8))
    assert_word(
        "as_bytes(ule(a, b))", [element] * 2, "i1", [a, b], (a.view(unsigned) <= b.view(unsigned)).view(np.uint8)
    )
    assert_word("where(a > b, a, b - 1)", [element] * 2, element, [a, b], np.where(a > b, a, b - dtype(1)))


@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize("other", ["f32", "f64"])
def test_floats_become_integers_truncated_and_saturated(other: str, element: str) -> None:
    dtype, floats = STORAGE_DTYPE[element], STORAGE_DTYPE[other]
    rng = np.random.default_rng(4)
    info = np.iinfo(dtype)
    special = [0.0, 0.5, 1.9, np.inf, np.nan, 127, 128, 129, 255, 256, 2.0**31, 2.0**32, 2.0**63, 2.0**64, 1e30]
    random = rng.standard_normal(300) * 10.0 ** rng.uniform(0, 20, 300)
    x = np.concatenate([special, np.negative(special), random]).astype(floats)
    clipped = [0 if np.isnan(v) else min(max(float(v), info.min), info.max) for v in x]
    assert_word(f"to_{element}(a)", [other], element, [x], wrapped(map(int, clipped), dtype))
    numbers, _ = pairs(dtype)
    assert_word(f"to_{other}(a)", [element], other, [numbers], numbers.astype(floats))


def test_integers_widen_by_their_sign_and_narrow_by_dropping_bits() -> None:
    for source, target in [("i8", "i32"), ("u8", "i64"), ("i32", "i64"), ("i64", "i8"), ("u16", "u64"), ("i32", "u8")]:
        a, _ = pairs(STORAGE_DTYPE[source])
        assert_word(f"to_{target}(a)", [source], target, [a], a.astype(STORAGE_DTYPE[target]))


def test_masks_are_numbers_only_when_converted() -> None:
    a = np.array([0, 1, 2, 255, 0], np.uint8)
    for element in ("f32", "i64", "u8"):
        reference = (a != 0).astype(STORAGE_DTYPE[element])
        assert_word(f"to_{element}(as_mask(a))", ["i1"], element, [a], reference)
    assert_word("as_bytes(~as_mask(a) | (as_mask(a) & as_mask(b)))", ["i1", "i1"], "i1", [a, a], np.ones(5, np.uint8))


HALVES: dict[str, Any] = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


def nearest(x: Array, half: Any) -> Array:
    """The bits of the value of `half` nearest to f64 numbers, ties to even: by search, with one rounding."""
    values = np.arange(65536, dtype=np.uint16).view(half).astype(np.float64)
    grid = np.unique(values[np.isfinite(values)])
    step = grid[-1] - grid[-2]
    grid = np.concatenate([[grid[0] - step], grid, [grid[-1] + step]])
    bits = grid.astype(half).view(np.uint16)
    at = np.clip(np.searchsorted(grid, x, side="right") - 1, 0, len(grid) - 2)
    below, above = x - grid[at], grid[at + 1] - x
    up = (below > above) | ((below == above) & (bits[at] % 2 == 1))
    return np.where(up, bits[at + 1], bits[at])


@pytest.mark.parametrize("name", HALVES)
def test_sixteen_bit_formats_are_read_exactly_and_rounded_once(name: str) -> None:
    half = HALVES[name]
    everything = np.arange(65536, dtype=np.uint16)
    values = everything.view(half)
    assert_word(f"{name}_to_f32(a)", [name], "f32", [everything], values.astype(np.float32))
    assert_word(f"{name}_to_f64(a)", [name], "f64", [everything], values.astype(np.float64))
    finite = np.sort(values.astype(np.float64)[np.isfinite(values.astype(np.float64))])
    middle = (finite[1:] + finite[:-1]) / 2
    x = np.concatenate([finite, middle, np.nextafter(middle, -np.inf), np.nextafter(middle, np.inf)])
    x = x[x != 0]
    for element in ("f64", "f32"):
        given = x.astype(STORAGE_DTYPE[element])
        reference = nearest(given.astype(np.float64), half)
        for target in RUNNABLE:
            for got in apply_word(target, f"{element}_to_{name}(a)", [element], name, [given]):
                zeros = (got | reference) & 0x7FFF == 0
                assert ((got == reference) | zeros).all(), (target.name, element)
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 1e300, -1e300])
    expected = np.array([np.nan, np.inf, -np.inf, -0.0, np.inf, -np.inf], np.float32)
    for target in RUNNABLE:
        rounded = apply_word(target, f"f64_to_{name}(a)", ["f64"], name, [special])[0].view(half)
        assert same_bits(rounded.astype(np.float32), expected).all(), target.name
