"""The emulator's arithmetic against exact rational numbers and Python integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pelton.runtime.emulator import UnsupportedInstruction
from pelton.runtime.emulator import arithmetic as ar
from pelton.runtime.emulator import integers as it
from pelton.runtime.emulator.rules import rule
from pelton.runtime.emulator.values import TYPES, as_bits, as_type, immediate

Array = np.ndarray
rng = np.random.default_rng(11)


def floats(dtype: type, count: int, spread: int) -> Array:
    """Numbers of all magnitudes, with short mantissas among them (they make ties)."""
    mantissa = np.where(rng.random(count) < 0.5, rng.integers(1, 64, count) / 64.0, rng.random(count))
    return (np.ldexp(mantissa, rng.integers(-spread, spread, count)) * rng.choice([-1, 1], count)).astype(dtype)


def nearest(exact: Fraction, dtype: type) -> float:
    """The float nearest to an exact value, ties to even, found by trying neighbours."""
    guess = dtype(float(exact))
    around = [np.nextafter(guess, dtype(-np.inf)), guess, np.nextafter(guess, dtype(np.inf))]
    bits = [int(np.asarray(v).view(f"u{np.dtype(dtype).itemsize}")) for v in around]
    distance = [(abs(Fraction(float(v)) - exact), b & 1) for v, b in zip(around, bits, strict=True)]
    return float(around[distance.index(min(distance))])


def test_fma32_in_the_middle_of_two_floats_goes_by_what_is_beyond_a_double() -> None:
    """(1 + 2^-12)^2 lies there; what is added is lost in float64, and decides. So below the normal numbers, 2^-150."""
    a = np.full(6, 1 + 2.0**-12, np.float32)
    c = np.array([2.0**-100, -(2.0**-100), 0, 1e-38, -1e-38, -0.0], np.float32)
    low, high = np.float32(1 + 2.0**-11), np.float32(1 + 2.0**-11 + 2.0**-23)
    assert ar.fma32(a, a, c).tolist() == [high, low, low, high, low, low]
    small, step = np.float32(2.0**-126), np.float32(2.0**-149)
    halves = np.array([0.5, 1.5, 2.5, 0.5 + 2.0**-23, 0.5 - 2.0**-24], np.float32) * np.float32(2.0**-23)
    assert (ar.fma32(np.full(5, small), halves, np.zeros(5, np.float32)) / step).tolist() == [0, 2, 2, 1, 0]
    x, y, z = (np.array([value], np.float32) for value in (small, 2.0**-24, step))
    assert ar.fma32(x, y, z).tolist() == [2 * step]


@pytest.mark.parametrize(("dtype", "fma", "spread"), [(np.float32, ar.fma32, 40), (np.float64, ar.fma64, 300)])
def test_fused_multiply_add_rounds_once(dtype: type, fma: Callable[..., Array], spread: int) -> None:
    a, b = floats(dtype, 3000, spread), floats(dtype, 3000, spread)
    c = np.where(
        rng.random(3000) < 0.5,
        -(a * b) * dtype(1 + rng.integers(-3, 4) * np.finfo(dtype).eps),
        floats(dtype, 3000, spread),
    )
    got = fma(a, b, c.astype(dtype))
    for k in range(3000):
        exact = Fraction(float(a[k])) * Fraction(float(b[k])) + Fraction(float(c[k]))
        assert float(got[k]) == nearest(exact, dtype), (a[k], b[k], c[k])


def test_fused_multiply_add_at_the_limits() -> None:
    big, tiny = np.float64(1e308), np.float64(5e-324)
    a = np.array([big, big, tiny, np.inf, 0.0, np.nan, 1e200, tiny])
    b = np.array([2.0, 10.0, 0.5, 0.0, np.inf, 1.0, 1e200, tiny])
    c = np.array([-big, -np.inf, tiny, 1.0, 1.0, 1.0, -np.inf, 1.0])
    with np.errstate(all="ignore"):
        got = ar.fma64(a, b, c)
    assert got[0] == 1e308 and got[1] == -np.inf and got[2] == 2 * tiny and got[6] == -np.inf and got[7] == 1.0
    assert np.isnan(got[3:6]).all()


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_directed_rounding(mode: str) -> None:
    x = floats(np.float64, 2000, 60)
    got = ar.narrow(x, mode)
    for value, rounded in zip(x.tolist(), got.tolist(), strict=True):
        inward = mode == "rz" and abs(rounded) <= abs(value)
        assert inward or (mode == "rm" and rounded <= value) or (mode == "rp" and rounded >= value)
        gap = float(np.spacing(np.float32(max(abs(rounded), abs(value)))))
        assert abs(rounded - value) < gap * 1.0001


def test_the_floor_of_a_fused_sum_has_the_sign_of_minus_zero() -> None:
    one = np.ones(1, np.float32)
    assert math.copysign(1, ar.fma32(one, one, -one, "rm")[0]) == -1
    assert math.copysign(1, ar.fma32(one, one, -one, "rn")[0]) == 1


@pytest.mark.parametrize("name", ["s32", "u32", "s64", "u64"])
def test_integer_products_and_quotients(name: str) -> None:
    dtype = TYPES[name].dtype
    limits = np.iinfo(dtype)
    edge = np.array([0, 1, 2, 3, limits.max, limits.min, limits.max - 1, limits.min + 1], dtype)
    a = np.concatenate([np.repeat(edge, 8), rng.integers(limits.min, limits.max, 200, dtype)])
    b = np.concatenate([np.tile(edge, 8), rng.integers(limits.min, limits.max, 200, dtype)])
    bits, low = 8 * dtype.itemsize, int(limits.min)

    def wrap(v: int) -> int:
        return (v - low) % 2**bits + low

    def toward_zero(p: int, q: int) -> int:
        return abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)

    high, quotient, rest = it.multiply_high(a, b), it.divide(a, b), it.remainder(a, b)
    for k, (p, q) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        assert int(high[k]) == (p * q) >> bits
        if q:
            assert int(quotient[k]) == wrap(toward_zero(p, q))
            assert int(rest[k]) == wrap(p - toward_zero(p, q) * q)
        else:
            assert int(quotient[k]) == wrap(-1) and int(rest[k]) == p
    if bits == 32:
        wide = it.multiply_wide(a, b)
        assert [int(w) for w in wide] == [p * q for p, q in zip(a.tolist(), b.tolist(), strict=True)]


@pytest.mark.parametrize("name", ["u32", "s32", "u64", "s64"])
def test_shifts_clamp(name: str) -> None:
    dtype = TYPES[name].dtype
    bits = 8 * dtype.itemsize
    x = np.array([1, -5 if name[0] == "s" else 5, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    for count in (0, 1, bits - 1, bits, bits + 1, 2**31):
        n = np.full(4, count, np.uint32)
        left, right = it.shift(x, n, left=True), it.shift(x, n, left=False)
        for k, value in enumerate(x.tolist()):
            shifted = (value << count if count < bits else 0) & (2**bits - 1)
            assert int(left[k]) & (2**bits - 1) == shifted
            assert int(right[k]) == value >> min(count, 200)


def test_bit_fields() -> None:
    a, b = (rng.integers(0, 2**32, 500, np.uint64).astype(np.uint32) for _ in range(2))
    start, length = (rng.integers(0, 40, 500).astype(np.uint32) for _ in range(2))
    inserted, taken = it.bit_insert(a, b, start, length), it.bit_extract(a, start, length)
    signed = it.bit_extract(a.view(np.int32), start, length)
    for k in range(500):
        s, n = int(start[k]), min(int(length[k]), 32)
        field = ((1 << n) - 1) << s & 0xFFFF_FFFF
        assert int(inserted[k]) == (int(b[k]) & ~field | int(a[k]) << s & field) & 0xFFFF_FFFF
        value = int(a[k]) >> s & ((1 << n) - 1)
        assert int(taken[k]) == value
        top = min(s + n - 1, 31)
        wide = int(a.view(np.int32)[k]) >> s & ((1 << n) - 1)
        assert int(signed[k]) == (wide - (1 << n) if n and int(a[k]) >> top & 1 else wide)


def compute_of(stem: str, modifiers: tuple[str, ...]) -> Callable[..., Any]:
    return rule(stem, modifiers).compute


def test_carries_chain() -> None:
    a, b = (rng.integers(0, 2**32, 300, np.uint64).astype(np.uint32) for _ in range(2))
    ones = np.full(300, 0xFFFF_FFFF, np.uint32)
    low, carry = compute_of("add", ("cc", "u32"))(a, ones)
    high = compute_of("addc", ("u32",))(b, ones, carry)
    for k in range(300):
        total = (int(a[k]) | int(b[k]) << 32) + 2**64 - 1
        assert int(low[k]) | int(high[k]) << 32 == total % 2**64
    low, borrow = compute_of("sub", ("cc", "u32"))(a, b)
    high = compute_of("subc", ("u32",))(a, b, borrow)
    for k in range(300):
        assert int(low[k]) | int(high[k]) << 32 == (int(a[k]) * (1 + 2**32) - int(b[k]) * (1 + 2**32)) % 2**64
    low, carry = compute_of("mad", ("lo", "cc", "u32"))(a, b, ones)
    high = compute_of("madc", ("hi", "u32"))(a, b, a, carry)
    for k in range(300):
        want = int(a[k]) * int(b[k]) + 0xFFFF_FFFF + (int(a[k]) << 32)
        assert int(low[k]) | int(high[k]) << 32 == want % 2**64


def test_funnel_shifts_and_counts() -> None:
    low, high, n = (rng.integers(0, 2**32, 200, np.uint64).astype(np.uint32) for _ in range(3))
    n %= 40
    for left in (True, False):
        for wrap in (True, False):
            got = it.funnel(low, high, n, left=left, wrap=wrap)
            for k in range(200):
                count = int(n[k]) & 31 if wrap else min(int(n[k]), 32)
                both = int(high[k]) << 32 | int(low[k])
                want = both << count >> 32 if left else both >> count
                assert int(got[k]) == want & 0xFFFF_FFFF
    x = np.array([0, 1, 2**31, 2**32 - 1], np.uint32)
    assert compute_of("clz", ("b32",))(x).tolist() == [32, 31, 0, 0]
    assert compute_of("popc", ("b32",))(x).tolist() == [0, 1, 1, 32]


def compute(opcode: str, *operands: object) -> Array:
    stem, *modifiers = opcode.split(".")
    found = rule(stem, tuple(modifiers))
    values = [np.asarray(o, t.dtype) for o, t in zip(operands, found.operands, strict=True)]
    result = compute_of(stem, tuple(modifiers))(*values)
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize(
    ("opcode", "operand", "want"),
    [
        ("cvt.rzi.s32.f32", [1.9, -1.9, 3e9, -3e9, np.nan], [1, -1, 2**31 - 1, -(2**31), 0]),
        ("cvt.rni.s32.f32", [0.5, 1.5, 2.5, -0.5, np.inf], [0, 2, 2, 0, 2**31 - 1]),
        ("cvt.rzi.s64.f32", [np.nan, 1e19, -1e19], [-(2**63), 2**63 - 1, -(2**63)]),
        ("cvt.rzi.s32.f64", [np.nan, 2147483647.5, -2147483648.9], [-(2**31), 2**31 - 1, -(2**31)]),
        ("cvt.rzi.u32.f32", [-1, 4294967296.0, 7.5], [0, 2**32 - 1, 7]),
        ("cvt.rzi.u64.f64", [-0.5, 1.8446744073709552e19, 2.0**63], [0, 2**64 - 1, 2**63]),
        ("cvt.sat.f32.f32", [-1, 0.25, 7, np.nan], [0, 0.25, 1, 0]),
        ("cvt.sat.u8.s32", [-5, 300, 7], [0, 255, 7]),
        ("cvt.s8.s32", [200, -200], [-56, 56]),
        ("cvt.rn.f32.s64", [2**53 + 1, 2**24 + 1, -(2**63)], [2.0**53, 2.0**24, -(2.0**63)]),
        ("cvt.rn.f32.u64", [2**64 - 1], [2.0**64]),
        ("cvt.rmi.f32.f32", [-1.5, 2.5], [-2, 2]),
        ("cvt.rz.f32.f64", [1 + 2.0**-24 * 1.5, -1 - 2.0**-24 * 1.5], [1, -1]),
        ("abs.s32", [-7, 7], [7, 7]),
        ("neg.s32", [-7, 7], [7, -7]),
        ("not.b32", [0], [2**32 - 1]),
        ("ex2.approx.ftz.f32", [-130, 3, np.nan], [0, 8, np.nan]),
        ("rcp.rn.f64", [3, 0], [1 / 3, np.inf]),
        ("rcp.approx.ftz.f32", [1e-40, 2], [np.inf, 0.5]),
        ("sqrt.rn.f32", [2, -1], [np.sqrt(np.float32(2)), np.nan]),
    ],
)
def test_one_operand(opcode: str, operand: list[float], want: list[float]) -> None:
    with np.errstate(all="ignore"):
        got = compute(opcode, operand).tolist()
    assert all(g == w or (g != g and w != w) for g, w in zip(got, want, strict=True)), got


def test_flushing_of_subnormals() -> None:
    assert compute("add.ftz.f32", [1e-40, 1], [0, 0]).tolist() == [0, 1]
    assert compute("add.f32", [1e-40, 1], [0, 0])[0] > 0


def test_minimum_and_maximum() -> None:
    x, y = np.array([1, 0.0, -0.0, np.nan, np.nan]), np.array([2, -0.0, 0.0, 5, np.nan])
    top, low = compute("max.f32", x, y), compute("min.f32", x, y)
    np.testing.assert_array_equal(top, [2, 0, 0, 5, np.nan])
    assert not np.signbit(top[1:3]).any() and np.signbit(low[1:3]).all()
    np.testing.assert_array_equal(compute("max.NaN.f32", x, y)[3:], [np.nan, np.nan])


@pytest.mark.parametrize(
    ("condition", "want"),
    [
        ("lt", [1, 0, 0, 0]),
        ("ltu", [1, 0, 0, 1]),
        ("ne", [1, 0, 1, 0]),
        ("neu", [1, 0, 1, 1]),
        ("num", [1, 1, 1, 0]),
        ("nan", [0, 0, 0, 1]),
    ],
)
def test_comparisons_of_floats(condition: str, want: list[int]) -> None:
    assert compute(f"setp.{condition}.f32", [1, 2, 3, np.nan], [2, 2, 2, 2]).tolist() == [bool(w) for w in want]


def test_comparisons_of_integers() -> None:
    assert compute("setp.lo.u32", [1, 2**31], [2**31, 1]).tolist() == [True, False]
    assert compute("setp.lt.s32", [1, -5], [3, 1]).tolist() == [True, True]
    assert compute("setp.gt.and.s32", [5, 5], [1, 1], [True, False]).tolist() == [True, False]


def test_packed_halves() -> None:
    packed = compute("cvt.rn.bf16x2.f32", [1.0], [2.0])
    assert packed.tolist() == [0x3F80_4000]
    assert compute("cvt.rn.f16x2.f32", [1.0], [-2.0]).tolist() == [0x3C00_C000]


@pytest.mark.parametrize(
    "opcode", ["add.rz.bf16", "cvt.rp.f64.s64", "fma.rz.f64", "sqrt.rz.f64", "min.xorsign.abs.f32"]
)
def test_what_is_not_modelled_is_refused(opcode: str) -> None:
    stem, *modifiers = opcode.split(".")
    with pytest.raises(UnsupportedInstruction):
        found = rule(stem, tuple(modifiers))
        compute_of(stem, tuple(modifiers))(*(np.ones(1, t.dtype) for t in found.operands))


def test_literals_and_register_views() -> None:
    assert immediate("0f3F800000", TYPES["f32"]).tolist() == [1.0]
    assert immediate("0dBFF0000000000000", TYPES["f64"]).tolist() == [-1.0]
    assert immediate("-1", TYPES["u32"]).tolist() == [2**32 - 1]
    assert immediate("0x80000000", TYPES["s32"]).tolist() == [-(2**31)]
    bits = np.array([0xFFFF_FFFE], np.uint32)
    assert as_type(bits, TYPES["s8"]).tolist() == [-2]
    assert as_bits(np.array([-2], np.int8), 4).tolist() == bits.tolist()
    assert as_bits(np.array([254], np.uint8), 4).tolist() == [254]
