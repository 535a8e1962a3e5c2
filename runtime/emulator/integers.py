"""Integers and bits as PTX defines them, where NumPy's own operator is not enough: wide products, clamped shifts,
fields, permutations.

Enters: typed arrays. Leaves: typed arrays. Pure functions; rules.py and bit_rules.py say which instruction calls which.
"""

from __future__ import annotations

import numpy as np

from pelton.runtime.emulator.values import SIGNED, UNSIGNED, Array


def multiply_high(a: Array, b: Array) -> Array:
    """The upper half of the full product."""
    size = a.dtype.itemsize
    if size < 8:
        wide = SIGNED[2 * size] if a.dtype.kind == "i" else UNSIGNED[2 * size]
        return (a.astype(wide) * b.astype(wide) >> wide.type(8 * size)).astype(a.dtype)
    x, y = a.view(np.uint64), b.view(np.uint64)
    half, mask = np.uint64(32), np.uint64(0xFFFF_FFFF)
    xh, xl, yh, yl = x >> half, x & mask, y >> half, y & mask
    middle = xh * yl + (xl * yl >> half)
    high = xh * yh + (middle >> half) + ((middle & mask) + xl * yh >> half)
    if a.dtype.kind == "i":
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return high.view(a.dtype)


def multiply_wide(a: Array, b: Array) -> Array:
    """The full product, in twice the width."""
    wide = SIGNED[2 * a.dtype.itemsize] if a.dtype.kind == "i" else UNSIGNED[2 * a.dtype.itemsize]
    return a.astype(wide) * b.astype(wide)


def divide(a: Array, b: Array) -> Array:
    """Integer quotient toward zero; by zero it is all ones, as on the hardware."""
    safe = np.where(b == 0, b.dtype.type(1), b)
    quotient = a // safe
    if a.dtype.kind == "i":
        overflow = (safe == -1) & (a == np.iinfo(a.dtype).min)
        safe = np.where(overflow, a.dtype.type(1), safe)
        quotient = np.where(overflow, a, a // safe)
        quotient = quotient + ((quotient < 0) & (quotient * safe != a)).astype(a.dtype)
    return np.where(b == 0, np.array(-1).astype(a.dtype), quotient)


def remainder(a: Array, b: Array) -> Array:
    """Integer remainder with the dividend's sign; by zero it is the dividend, as on the hardware."""
    return np.where(b == 0, a, a - divide(a, b) * b)


def shift(a: Array, count: Array, *, left: bool) -> Array:
    """Shifts that clamp: a count beyond the width leaves zeros (or copies of the sign)."""
    width = 8 * a.dtype.itemsize
    inside = np.minimum(count, np.uint32(width - 1)).astype(a.dtype)
    if not left and a.dtype.kind == "i":
        return a >> inside
    return np.where(count >= width, a.dtype.type(0), a << inside if left else a >> inside)


def add_carry(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    """32- or 64-bit unsigned sum and its carry."""
    part = a + b
    total = part + carry.astype(a.dtype)
    return total, (part < a) | (total < part)


def bit_insert(a: Array, b: Array, start: Array, length: Array) -> Array:
    """`bfi`: the low bits of a over b's field."""
    width = 8 * a.dtype.itemsize
    start, length = (np.minimum(x & np.uint32(255), np.uint32(width)) for x in (start, length))
    ones = shift(~a.dtype.type(0) + a * 0, np.uint32(width) - length, left=False)
    ones = np.where(length == 0, a.dtype.type(0), ones)
    field = shift(ones, start, left=True)
    return (b & ~field) | (shift(a, start, left=True) & field)


def bit_extract(a: Array, start: Array, length: Array) -> Array:
    """`bfe`: a field, extended by its top bit when signed."""
    width = np.uint32(8 * a.dtype.itemsize)
    start, length = start & np.uint32(255), np.minimum(length & np.uint32(255), width)
    top = shift(shift(a, start, left=False), width - length, left=True)
    return np.where(length == 0, a.dtype.type(0), shift(top, width - length, left=False))


def funnel(low: Array, high: Array, count: Array, *, left: bool, wrap: bool) -> Array:
    """`shf`: 32 bits of a 64-bit value shifted by count."""
    count = (count & np.uint32(31) if wrap else np.minimum(count, np.uint32(32))).astype(np.uint64)
    both = (high.astype(np.uint64) << np.uint64(32)) | low
    moved = (both << count) >> np.uint64(32) if left else both >> count
    return (moved & np.uint64(0xFFFF_FFFF)).astype(np.uint32)


def leading_zeros(a: Array) -> Array:
    """`clz`"""
    bits, count = 8 * a.dtype.itemsize, np.zeros(a.shape, np.uint32)
    for k in range(bits):
        count += (a >> a.dtype.type(k)) == 0
    return count


def sum_of_products(a: Array, b: Array, c: Array) -> Array:
    """`dp4a`, `dp2a`: c plus the products of parts [threads, parts], in 32 bits."""
    return (c.astype(np.int64) + (a.astype(np.int64) * b.astype(np.int64)).sum(1)).astype(c.dtype)


def permute(a: Array, b: Array, control: Array) -> Array:
    """`prmt`: four bytes of the eight of b:a; bit 3 of a selector asks for the byte's sign."""
    pool = (b.astype(np.uint64) << np.uint64(32)) | a
    out = np.zeros(np.broadcast(a, b, control).shape, np.uint32)
    for k in range(4):
        pick = (control >> np.uint32(4 * k)).astype(np.uint64) & np.uint64(15)
        byte = (pool >> ((pick & np.uint64(7)) * np.uint64(8))) & np.uint64(255)
        sign = np.where(byte >> np.uint64(7), np.uint64(255), np.uint64(0))
        out |= np.where(pick & np.uint64(8), sign, byte).astype(np.uint32) << np.uint32(8 * k)
    return out


SELECTORS = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}
"""The special modes of `prmt` as selectors, by the two low bits of its third operand."""


def logic(a: Array, b: Array, c: Array, table: Array) -> Array:
    """`lop3`: bit k of the table says the result where (a, b, c) = the bits of k."""
    out = np.uint32(0)
    for k in range(8):
        row = (a if k & 4 else ~a) & (b if k & 2 else ~b) & (c if k & 1 else ~c)
        out = out | np.where((table >> np.uint32(k)) & np.uint32(1), row, np.uint32(0))
    return np.asarray(out)


def reverse(a: Array) -> Array:
    """`brev`"""
    out, bits = np.zeros_like(a), 8 * a.dtype.itemsize
    for k in range(bits):
        out |= ((a >> a.dtype.type(k)) & a.dtype.type(1)) << a.dtype.type(bits - 1 - k)
    return out


def find_leading(a: Array, *, distance: bool) -> Array:
    """`bfind`: where the highest bit stands that differs from the sign; its distance from the top with
    `.shiftamt`."""
    magnitude = np.where(a < 0, ~a, a).view(UNSIGNED[a.dtype.itemsize])
    zeros, bits = leading_zeros(magnitude), np.uint32(8 * a.dtype.itemsize)
    found = zeros if distance else bits - np.uint32(1) - zeros
    return np.where(zeros == bits, np.uint32(0xFFFF_FFFF), found)


def extend(a: Array, width: Array, *, clamp: bool) -> Array:
    """`szext`: the low bits of a, extended by their own sign when signed."""
    big = width >= 32
    inside = (width & np.uint32(31)).astype(a.dtype)
    unused: Array = np.where(inside == 0, 0, 32 - inside).astype(a.dtype)
    cut: Array = (a.view(np.uint32) << unused.astype(np.uint32)).view(a.dtype) >> unused
    return np.where(clamp & big, a, np.where(inside == 0, np.zeros_like(cut), cut))


def mask_of(start: Array, width: Array, *, clamp: bool) -> Array:
    """`bmsk`: ones from a start, so many."""
    first, count = (start & np.uint32(31)).astype(np.uint64), (width & np.uint32(31)).astype(np.uint64)
    if clamp:
        count = np.where(width >= 32, np.uint64(32), count)
    ones = (((np.uint64(1) << count) - np.uint64(1)) << first).astype(np.uint32)
    return np.where(clamp & (start >= 32), np.uint32(0), ones)
