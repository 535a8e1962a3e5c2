"""f16, bf16, 8-bit floats and conversions against exact rational numbers: each section of the PTX ISA document (numbers
of version 9.0) that rounds says to which of the format's numbers."""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton.tests.support.ptx import assemble, compute, scalar

Array = np.ndarray[Any, Any]
rng = np.random.default_rng(17)
NAN = 0x7FFF
EDGES = [0, 0x8000, 1, 0x8001, 0x03FF, 0x0400, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00]


def number(bits: int, form: str) -> float:
    """What bits mean, by the layout in section 5.2.3: sign, exponent, mantissa."""
    exponents, mantissas, bias = {"f16": (5, 10, 15), "bf16": (8, 7, 127), "e4m3": (4, 3, 7), "e5m2": (5, 2, 15)}[form]
    sign = -1.0 if bits >> (exponents + mantissas) & 1 else 1.0
    exponent, mantissa = bits >> mantissas & ((1 << exponents) - 1), bits & ((1 << mantissas) - 1)
    if exponent == (1 << exponents) - 1 and (form != "e4m3" or mantissa == 7):
        return sign * math.inf if mantissa == 0 else math.nan
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - mantissas)
    return sign * math.ldexp(mantissa + (1 << mantissas), exponent - bias - mantissas)


@cache
def grid(form: str) -> list[Fraction]:
    """Every finite number from 0 up, and the first one beyond."""
    top = {"f16": 0x7C00, "bf16": 0x7F80, "e4m3": 0x7F, "e5m2": 0x7C}[form]
    numbers = [Fraction(number(b, form)) for b in range(top)]
    return [*numbers, 2 * numbers[-1] - numbers[-2]]


def rounded(exact: Fraction, form: str, sign: int, mode: str = "rn", *, finite: bool = False) -> int:
    """The bits of the number of the grid that an exact value rounds to; `sign` (0 or 1) is a zero's."""
    numbers, size = grid(form), abs(exact)
    k = min(bisect_left(numbers, size), len(numbers) - 1)
    if size > numbers[-1]:
        k = len(numbers) - 1
    elif numbers[k] != size:
        low, high = size - numbers[k - 1], numbers[k] - size
        up = {"rn": high < low or (high == low and k % 2 == 0), "rz": False}[mode]
        k = k if up else k - 1
    k = min(k, len(numbers) - 2) if finite or (mode == "rz") else k
    width = 7 if form in ("e4m3", "e5m2") else 15
    negative = exact < 0 if exact else bool(sign)
    return k | negative << width


def halves(form: str, count: int) -> Array:
    """Bits of all kinds of numbers, with short mantissas (they make ties) among them."""
    bits = rng.integers(0, 2**16, count, np.uint16)
    near = {"f16": 0x3C00, "bf16": 0x3F80}[form] + rng.integers(-600, 600, count)
    bits = np.where(rng.random(count) < 0.6, (near | rng.integers(0, 2, count) << 15).astype(np.uint16), bits)
    bits[: len(EDGES)] = EDGES
    return bits


def exact(operation: str, *values: float) -> tuple[Fraction, int] | None:
    """The exact result and a zero's sign; None where it is no finite number (the float formula then tells which)."""
    if not all(math.isfinite(v) for v in values):
        return None
    parts = [Fraction(v) for v in values]
    plain = float_of(operation, *values)
    total = {
        "add": lambda: parts[0] + parts[1],
        "sub": lambda: parts[0] - parts[1],
        "mul": lambda: parts[0] * parts[1],
        "fma": lambda: parts[0] * parts[1] + parts[2],
    }[operation]()
    return total, int(math.copysign(1, plain) < 0)


def float_of(operation: str, *v: float) -> float:
    match operation:
        case "add":
            return v[0] + v[1]
        case "sub":
            return v[0] - v[1]
        case "mul":
            return v[0] * v[1]
        case _:
            return v[0] * v[1] + v[2]


def expected(operation: str, form: str, *bits: int) -> int:
    values = [number(b, form) for b in bits]
    result = exact(operation, *values)
    if result is not None:
        return rounded(result[0], form, result[1])
    plain = float_of(operation, *values)
    infinity = {"f16": 0x7C00, "bf16": 0x7F80}[form]
    return NAN if math.isnan(plain) else infinity | (plain < 0) << 15


@pytest.mark.parametrize("form", ["f16", "bf16"])
@pytest.mark.parametrize("operation", ["add", "sub", "mul", "fma"])
def test_half_arithmetic_rounds_once(operation: str, form: str) -> None:
    """9.7.4.1 add, 9.7.4.2 sub, 9.7.4.3 mul, 9.7.4.4 fma: a single rounding to nearest even."""
    count = 3 if operation == "fma" else 2
    values = [np.roll(halves(form, 384), 7 * k) for k in range(count)]
    names = ", ".join(f"${k}" for k in range(count + 1))
    (got,) = compute(f"{operation}.rn.{form} {names};", ["b16"], ["b16"] * count, *values)
    for k, row in enumerate(zip(*(v.tolist() for v in values), strict=True)):
        assert int(got[k]) == expected(operation, form, *row), [number(b, form) for b in row]


@pytest.mark.parametrize("form", ["f16", "bf16"])
def test_packed_arithmetic_is_that_of_its_halves(form: str) -> None:
    """9.7.4.4 fma: `.f16x2` and `.bf16x2` compute in the two halves."""
    values = [halves(form, 128) for _ in range(3)]
    (single,) = compute(f"fma.rn.{form} $0, $1, $2, $3;", ["b16"], ["b16"] * 3, *values)
    packed = [v.view(np.uint32) for v in values]
    (both,) = compute(f"fma.rn.{form}x2 $0, $1, $2, $3;", ["b32"], ["b32"] * 3, *packed)
    np.testing.assert_array_equal(both.view(np.uint16), single)


SMALL: list[tuple[str, str, list[str], list[str], list[list[int]], list[int]]] = [
    ("9.7.4.1", "add.sat.f16 $0, $1, $2;", ["b16"], ["b16"] * 2,
     [[0x3C00, 0xBC00, 0x7E00, 0x3800], [0x3C00, 0x3800, 0x3C00, 0x2C00]], [0x3C00, 0, 0, 0x3880]),
    ("9.7.4.1", "add.ftz.f16 $0, $1, $2;", ["b16"], ["b16"] * 2, [[1, 0x8001, 0x0400], [0, 0x8000, 0]],
     [0, 0x8000, 0x0400]),
    ("9.7.4.4", "fma.rn.relu.f16 $0, $1, $2, $3;", ["b16"], ["b16"] * 3,
     [[0x3C00, 0x3C00, 0x7E00], [0xBC00, 0x3C00, 0x3C00], [0, 0, 0]], [0, 0x3C00, NAN]),
    ("9.7.4.4", "fma.rn.relu.bf16x2 $0, $1, $2, $3;", ["b32"], ["b32"] * 3,
     [[0x3F80_BF80], [0x3F80_3F80], [0]], [0x3F80_0000]),
    ("9.7.4.5", "neg.f16 $0, $1;", ["b16"], ["b16"], [[0, 0x3C00, 0xFE00]], [0x8000, 0xBC00, 0x7E00]),
    ("9.7.4.5", "neg.bf16x2 $0, $1;", ["b32"], ["b32"], [[0x0000_3F80]], [0x8000_BF80]),
    ("9.7.4.6", "abs.bf16 $0, $1;", ["b16"], ["b16"], [[0x8000, 0xBF80]], [0, 0x3F80]),
    ("9.7.4.6", "abs.f16x2 $0, $1;", ["b32"], ["b32"], [[0xBC00_8001]], [0x3C00_0001]),
    ("9.7.4.7", "min.f16 $0, $1, $2;", ["b16"], ["b16"] * 2, [[0x8000, 0x7E00, 0x7E00, 0x4000],
     [0, 0x3C00, 0xFE00, 0x3C00]], [0x8000, 0x3C00, NAN, 0x3C00]),
    ("9.7.4.7", "min.NaN.bf16x2 $0, $1, $2;", ["b32"], ["b32"] * 2, [[0x7FC0_3F80], [0x3F80_4000]], [0x7FFF_3F80]),
    ("9.7.4.8", "max.f16x2 $0, $1, $2;", ["b32"], ["b32"] * 2, [[0x8000_3C00], [0x0000_4000]], [0x0000_4000]),
    ("9.7.4.8", "max.NaN.f16 $0, $1, $2;", ["b16"], ["b16"] * 2, [[0x7E00], [0x3C00]], [NAN]),
    ("9.7.4.9", "tanh.approx.f16 $0, $1;", ["b16"], ["b16"], [[0, 0x7C00, 0xFC00]], [0, 0x3C00, 0xBC00]),
    ("9.7.4.10", "ex2.approx.f16x2 $0, $1;", ["b32"], ["b32"], [[0x4000_C000]], [0x4400_3400]),
    ("9.7.7.1", "set.lt.f16.f16 $0, $1, $2;", ["b16"], ["b16"] * 2, [[0x3C00, 0x7E00], [0x4000, 0x4000]], [0x3C00, 0]),
    ("9.7.7.1", "set.ltu.u32.f16 $0, $1, $2;", ["u32"], ["b16"] * 2, [[0x3C00, 0x7E00], [0x4000, 0x4000]],
     [2**32 - 1] * 2),
    ("9.7.7.1", "set.ge.bf16x2.bf16x2 $0, $1, $2;", ["b32"], ["b32"] * 2, [[0x4000_3F80], [0x3F80_4000]],
     [0x3F80_0000]),
    ("9.7.7.2", "setp.gt.bf16 $0, $1, $2;", ["pred"], ["b16"] * 2, [[0x4000, 0x7FC0], [0x3F80, 0x3F80]], [1, 0]),
    ("9.7.9.21", "cvt.rn.satfinite.e4m3x2.f16x2 $0, $1;", ["b16"], ["b32"], [[0x7C00_3C00, 0x7E00_C500]],
     [0x7E38, 0x7FCA]),
    ("9.7.9.21", "cvt.rn.f16x2.e5m2x2 $0, $1;", ["b32"], ["b16"], [[0x3C01]], [0x3C00_0100]),
    ("9.7.9.21", "cvt.rn.relu.f16.f32 $0, $1;", ["b16"], ["u32"], [[0xBF80_0000, 0x3F80_0000, 0x7FC0_0000]],
     [0, 0x3C00, NAN]),
    ("9.7.9.21", "cvt.rn.satfinite.relu.e5m2x2.f32 $0, $1, $2;", ["b16"], ["u32"] * 2,
     [[0xBF80_0000], [0x7F80_0000]], [0x007B]),
    ("9.7.9.21", "cvt.rna.tf32.f32 $0, $1;", ["b32"], ["u32"], [[0x3F80_1000, 0x3F80_0FFF, 0xBF80_1000]],
     [0x3F80_2000, 0x3F80_0000, 0xBF80_2000]),
    ("9.7.9.21", "cvt.rn.tf32.f32 $0, $1;", ["b32"], ["u32"], [[0x3F80_1000, 0x3F80_3000]], [0x3F80_0000, 0x3F80_4000]),
    ("9.7.9.21", "cvt.rzi.s16.f16 $0, $1;", ["s16"], ["b16"], [[0x4580, 0xC580]], [5, 2**16 - 5]),
    ("9.7.9.21", "cvt.rn.f16.s32 $0, $1;", ["b16"], ["s32"], [[2049, 2051, 65519, 65520]],
     [0x6800, 0x6802, 0x7BFF, 0x7C00]),
    ("9.7.9.21", "cvt.rn.bf16.f32 $0, $1;", ["b16"], ["u32"], [[0x3F80_8000, 0x3F81_8000]], [0x3F80, 0x3F82]),
    ("9.7.9.21", "cvt.f32.bf16 $0, $1;", ["f32"], ["b16"], [[0x3F81, 0x8000]], [0x3F81_0000, 0x8000_0000]),
    ("9.7.9.21", "cvt.rn.bf16.f16 $0, $1;", ["b16"], ["b16"], [[0x3C04, 0x0001]], [0x3F80, 0x3380]),
    ("9.7.9.21", "cvt.rni.f16.f16 $0, $1;", ["b16"], ["b16"], [[0x3E00, 0x4100]], [0x4000, 0x4000]),
    ("9.7.9.21", "cvt.ftz.f32.f16 $0, $1;", ["f32"], ["b16"], [[1]], [0x3380_0000]),
    ("9.7.3.5", "mul.rz.f32 $0, $1, $2;", ["f32"], ["u32"] * 2, [[0x3F80_0001], [0x3F80_0001]], [0x3F80_0002]),
    ("9.7.3.5", "mul.rp.f32 $0, $1, $2;", ["f32"], ["u32"] * 2, [[0x3F80_0001], [0x3F80_0001]], [0x3F80_0003]),
    ("9.7.3.3", "add.sat.f32 $0, $1, $2;", ["f32"], ["u32"] * 2, [[0x3F80_0000, 0x7FC0_0000], [0x3F80_0000, 0]],
     [0x3F80_0000, 0]),
    ("9.7.3.8", "div.rz.f32 $0, $1, $2;", ["f32"], ["u32"] * 2, [[0x3F80_0000, 0xBF80_0000], [0x4040_0000] * 2],
     [0x3EAA_AAAA, 0xBEAA_AAAA]),
    ("9.7.3.8", "div.rp.f32 $0, $1, $2;", ["f32"], ["u32"] * 2, [[0x3F80_0000, 0xBF80_0000], [0x4040_0000] * 2],
     [0x3EAA_AAAB, 0xBEAA_AAAA]),
    ("9.7.3.13", "rcp.rm.f32 $0, $1;", ["f32"], ["u32"], [[0x4040_0000, 0xC040_0000, 0]],
     [0x3EAA_AAAA, 0xBEAA_AAAB, 0x7F80_0000]),
    ("9.7.3.15", "sqrt.rz.f32 $0, $1;", ["f32"], ["u32"], [[0x4000_0000, 0x4080_0000]], [0x3FB5_04F3, 0x4000_0000]),
    ("9.7.3.15", "sqrt.rp.f32 $0, $1;", ["f32"], ["u32"], [[0x4000_0000, 0x4080_0000]], [0x3FB5_04F4, 0x4000_0000]),
]  # fmt: skip


@pytest.mark.parametrize("case", SMALL, ids=lambda c: f"{c[0]} {c[1].split()[0]}")
def test_a_few_values_by_hand(case: tuple[str, str, list[str], list[str], list[list[int]], list[int]]) -> None:
    _, line, results, types, values, want = case
    sizes = [np.dtype(f"u{2 if '16' in t else 4}") for t in types]
    (got,) = compute(line, results, types, *(np.array(v, s) for v, s in zip(values, sizes, strict=True)))
    assert [hex(x) for x in got.view(f"u{got.dtype.itemsize}").tolist()] == [hex(w) for w in want]


CONVERSIONS = [("rn", "f16", 16), ("rz", "f16", 16), ("rn", "bf16", 16), ("rz", "bf16", 16)]


@pytest.mark.parametrize(("mode", "form", "shift"), CONVERSIONS)
def test_pairs_of_floats_are_rounded_to_halves(mode: str, form: str, shift: int) -> None:
    """9.7.9.21 cvt: of two f32, the first goes to the upper half."""
    high, low = singles(form), np.roll(singles(form), 11)
    (got,) = compute(f"cvt.{mode}.{form}x2.f32 $0, $1, $2;", ["b32"], ["f32", "f32"], high, low)
    for k in range(len(high)):
        want = [rounded(Fraction(float(x)), form, int(np.signbit(x)), mode) for x in (high[k], low[k])]
        assert int(got[k]) == want[0] << shift | want[1], (high[k], low[k])


@pytest.mark.parametrize("form", ["e4m3", "e5m2"])
def test_pairs_of_floats_are_rounded_to_eight_bits(form: str) -> None:
    """9.7.9.21 cvt: `.satfinite` clamps to the greatest finite number."""
    high, low = singles(form), np.roll(singles(form), 11)
    (got,) = compute(f"cvt.rn.satfinite.{form}x2.f32 $0, $1, $2;", ["b16"], ["f32", "f32"], high, low)
    for k in range(len(high)):
        want = [rounded(Fraction(float(x)), form, int(np.signbit(x)), finite=True) for x in (high[k], low[k])]
        assert int(got[k]) == want[0] << 8 | want[1], (high[k], low[k])


@pytest.mark.parametrize("form", ["e4m3", "e5m2"])
def test_every_eight_bit_float_has_its_value(form: str) -> None:
    """9.7.9.21 cvt to f16x2, and the layouts of 5.2.3."""
    bits = np.arange(256, dtype=np.uint16)
    (got,) = compute(f"cvt.rn.f16x2.{form}x2 $0, $1;", ["b32"], ["b16"], bits)
    values = (got & np.uint32(0xFFFF)).astype(np.uint16).view(np.float16)
    np.testing.assert_array_equal(values.astype(np.float64), [number(b, form) for b in range(256)])


def singles(form: str) -> Array:
    """float32 numbers around the format's grid: exact ones, ties and their neighbours, tiny and huge."""
    numbers = [float(g) for g in grid(form)]
    pick = rng.integers(0, len(numbers) - 1, 100)
    exact_ones = np.array([numbers[k] for k in pick], np.float32)
    ties = np.array([(Fraction(numbers[k]) + Fraction(numbers[k + 1])) / 2 for k in pick], np.float64).astype(
        np.float32
    )
    around = np.concatenate([np.nextafter(ties, np.float32(np.inf)), np.nextafter(ties, np.float32(0))])
    every = np.concatenate([exact_ones, ties, around, np.array([0.0, -0.0, 1e-44, 3.3e38], np.float32)])
    finite = every[np.isfinite(every)]
    return (finite * rng.choice([-1, 1], finite.size)).astype(np.float32)[:384]


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_wide_integers_become_floats_with_one_rounding(mode: str) -> None:
    """9.7.9.21 cvt: s64 has more bits than float64 has."""
    values = np.array([2**53 + 1, 2**62 + 2**38 + 1, 2**62 + 2**38, -(2**62) - 2**38 - 1, 2**63 - 1, 3, 0], np.int64)
    (got,) = compute(f"cvt.{mode}.f32.s64 $0, $1;", ["f32"], ["s64"], values)
    for value, result in zip(values.tolist(), got.tolist(), strict=True):
        error = Fraction(result) - value
        spacing = Fraction(float(np.spacing(np.float32(abs(result)))))
        assert abs(error) < spacing if mode != "rn" else abs(error) <= spacing / 2
        assert {"rn": True, "rz": abs(result) <= abs(value), "rm": error <= 0, "rp": error >= 0}[mode]


def test_ptxas_accepts_every_line(tmp_path: Path) -> None:
    lines = [(line, results, types) for _, line, results, types, _, _ in SMALL]
    for form in ("f16", "bf16"):
        lines += [(f"{o}.rn.{form} $0, $1, $2;", ["b16"], ["b16"] * 2) for o in ("add", "sub", "mul")]
        lines += [(f"fma.rn.{form} $0, $1, $2, $3;", ["b16"], ["b16"] * 3)]
        lines += [(f"fma.rn.{form}x2 $0, $1, $2, $3;", ["b32"], ["b32"] * 3)]
    lines += [(f"cvt.{m}.{f}x2.f32 $0, $1, $2;", ["b32"], ["f32"] * 2) for m, f, _ in CONVERSIONS]
    lines += [(f"cvt.rn.satfinite.{f}x2.f32 $0, $1, $2;", ["b16"], ["f32"] * 2) for f in ("e4m3", "e5m2")]
    lines += [(f"cvt.rn.f16x2.{f}x2 $0, $1;", ["b32"], ["b16"]) for f in ("e4m3", "e5m2")]
    lines += [(f"cvt.{m}.f32.s64 $0, $1;", ["f32"], ["s64"]) for m in ("rn", "rz", "rm", "rp")]
    assemble([scalar(*row, f"k{n}") for n, row in enumerate(lines)], tmp_path)
