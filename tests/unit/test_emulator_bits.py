"""Integer, bit and selecting instructions, each against the pseudo code of its section of the PTX ISA document (numbers
of version 9.0), written out in Python integers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from pelton.tests.support.ptx import assemble, compute, scalar

M32 = 2**32 - 1
rng = np.random.default_rng(5)
WORDS = [0, 1, 2, 31, 32, 33, 255, 0x8000_0000, 0x7FFF_FFFF, M32, M32 - 1, *map(int, rng.integers(0, 2**32, 21))]
MIXED = [WORDS[(7 * k + 3) % 32] for k in range(32)]
COUNTS = [*range(32), 32, 33, 40, 64, 255, 256, M32, 31]


def s32(x: int) -> int:
    return (x & M32) - (2**32 if x & 0x8000_0000 else 0)


def u32(x: int) -> int:
    return x & M32


def bytes_of(x: int) -> list[int]:
    return [x >> 8 * k & 255 for k in range(4)]


def signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> (bits - 1) & 1 else x


# ---- the document's pseudo code
def bfind(a: int, msb: int, sign: bool, shiftamt: bool) -> int:
    if sign and a & (1 << msb):
        a = ~a & ((1 << msb + 1) - 1)
    d = next((i for i in range(msb, -1, -1) if a & (1 << i)), M32)
    return msb - d if shiftamt and d != M32 else d


def szext(a: int, b: int, clamp: bool, sign: bool) -> int:
    b1, too_large = b & 31, b >= 32 and clamp
    mask = 0 if too_large else u32(M32 << b1)
    sign_bit = 0 if b1 == 0 or too_large or not sign else a >> (b1 - 1) & 1
    return u32((a & ~mask) | (mask if sign_bit else 0))


def bmsk(a: int, b: int, clamp: bool) -> int:
    a1, b1 = a & 31, b & 31
    mask0, total = u32(M32 << a1), a1 + b1
    mask1 = u32(M32 << total)
    position = width = False
    if clamp:
        position, width = a >= 32, b >= 32
        mask0 = 0 if position else mask0
    if total >= 32 or position or width:
        mask1 = 0
    elif b1 == 0:
        mask1 = M32
    return mask0 & ~mask1


def prmt(a: int, b: int, c: int) -> int:
    pool = bytes_of(a) + bytes_of(b)
    out = 0
    for k in range(4):
        pick = c >> 4 * k & 15
        byte = pool[pick & 7]
        out |= (255 * (byte >> 7) if pick & 8 else byte) << 8 * k
    return out


def chosen(table: str) -> Callable[[int, int, int], int]:
    """A special mode: by the two low bits of c, the bytes for positions 3 2 1 0, from the document's table."""
    rows = table.split()
    return lambda a, b, c: sum(
        (bytes_of(a) + bytes_of(b))[int(digit)] << 8 * (3 - k) for k, digit in enumerate(rows[c & 3])
    )


def lop3(a: int, b: int, c: int, table: int) -> int:
    return sum((table >> ((a >> k & 1) << 2 | (b >> k & 1) << 1 | c >> k & 1) & 1) << k for k in range(32))


def dp4a(a: int, b: int, c: int, left: bool, right: bool) -> int:
    take = [lambda x: x, lambda x: signed(x, 8)]
    return u32(c + sum(take[left](x) * take[right](y) for x, y in zip(bytes_of(a), bytes_of(b), strict=True)))


def dp2a(a: int, b: int, c: int, left: bool, right: bool, high: bool) -> int:
    halves = [a & 0xFFFF, a >> 16]
    parts = bytes_of(b)[2:] if high else bytes_of(b)[:2]
    x = [signed(h, 16) if left else h for h in halves]
    y = [signed(p, 8) if right else p for p in parts]
    return u32(c + x[0] * y[0] + x[1] * y[1])


def pairs(operate: Callable[[int, int], int], sign: bool) -> Callable[[int, int], int]:
    def act(a: int, b: int) -> int:
        parts = [(a >> s & 0xFFFF, b >> s & 0xFFFF) for s in (0, 16)]
        if sign:
            parts = [(signed(x, 16), signed(y, 16)) for x, y in parts]
        return sum((operate(x, y) & 0xFFFF) << 16 * k for k, (x, y) in enumerate(parts))

    return act


def mul24(a: int, b: int, sign: bool, high: bool) -> int:
    x, y = a & 0xFF_FFFF, b & 0xFF_FFFF
    if sign:
        x, y = signed(x, 24), signed(y, 24)
    return u32(x * y >> (16 if high else 0))


class Row(NamedTuple):
    section: str
    line: str
    meaning: Callable[..., int]
    operands: str = "u32 u32"
    result: str = "u32"


ROWS = [
    Row("9.7.1.1 add", "add.sat.s32 $0, $1, $2;", lambda a, b: u32(max(-(2**31), min(2**31 - 1, s32(a) + s32(b))))),
    Row("9.7.1.2 sub", "sub.sat.s32 $0, $1, $2;", lambda a, b: u32(max(-(2**31), min(2**31 - 1, s32(a) - s32(b))))),
    Row("9.7.1.1 add", "add.u16x2 $0, $1, $2;", pairs(lambda x, y: x + y, False)),
    Row("9.7.1.4 mad", "mad.hi.sat.s32 $0, $1, $2, $3;",
        lambda a, b, c: u32(max(-(2**31), min(2**31 - 1, (s32(a) * s32(b) >> 32) + s32(c)))), "u32 u32 u32"),
    Row("9.7.1.5 mul24", "mul24.lo.s32 $0, $1, $2;", lambda a, b: mul24(a, b, True, False)),
    Row("9.7.1.5 mul24", "mul24.hi.u32 $0, $1, $2;", lambda a, b: mul24(a, b, False, True)),
    Row("9.7.1.6 mad24", "mad24.lo.s32 $0, $1, $2, $3;",
        lambda a, b, c: u32(mul24(a, b, True, False) + c), "u32 u32 u32"),
    Row("9.7.1.7 sad", "sad.s32 $0, $1, $2, $3;", lambda a, b, c: u32(c + abs(s32(a) - s32(b))), "u32 u32 u32"),
    Row("9.7.1.7 sad", "sad.u32 $0, $1, $2, $3;", lambda a, b, c: u32(c + abs(a - b)), "u32 u32 u32"),
    Row("9.7.1.12 min", "min.relu.s32 $0, $1, $2;", lambda a, b: max(0, min(s32(a), s32(b)))),
    Row("9.7.1.12 min", "min.s16x2 $0, $1, $2;", pairs(min, True)),
    Row("9.7.1.13 max", "max.u16x2 $0, $1, $2;", pairs(max, False)),
    Row("9.7.1.13 max", "max.relu.s16x2 $0, $1, $2;", pairs(lambda x, y: max(x, y, 0), True)),
    Row("9.7.1.14 popc", "popc.b64 $0, $1;", lambda a: a.bit_count(), "u64"),
    Row("9.7.1.15 clz", "clz.b64 $0, $1;", lambda a: 64 - a.bit_length(), "u64"),
    Row("9.7.1.16 bfind", "bfind.u32 $0, $1;", lambda a: bfind(a, 31, False, False), "u32"),
    Row("9.7.1.16 bfind", "bfind.s32 $0, $1;", lambda a: bfind(a, 31, True, False), "u32"),
    Row("9.7.1.16 bfind", "bfind.shiftamt.s64 $0, $1;", lambda a: bfind(a, 63, True, True), "u64"),
    Row("9.7.1.18 brev", "brev.b32 $0, $1;", lambda a: int(f"{a:032b}"[::-1], 2), "u32"),
    Row("9.7.1.18 brev", "brev.b64 $0, $1;", lambda a: int(f"{a:064b}"[::-1], 2), "u64", "u64"),
    Row("9.7.1.21 szext", "szext.clamp.s32 $0, $1, $2;", lambda a, b: szext(a, b, True, True), "u32 count"),
    Row("9.7.1.21 szext", "szext.wrap.s32 $0, $1, $2;", lambda a, b: szext(a, b, False, True), "u32 count"),
    Row("9.7.1.21 szext", "szext.wrap.u32 $0, $1, $2;", lambda a, b: szext(a, b, False, False), "u32 count"),
    Row("9.7.1.22 bmsk", "bmsk.clamp.b32 $0, $1, $2;", lambda a, b: bmsk(a, b, True), "count2 count"),
    Row("9.7.1.22 bmsk", "bmsk.wrap.b32 $0, $1, $2;", lambda a, b: bmsk(a, b, False), "count2 count"),
    Row("9.7.1.23 dp4a", "dp4a.u32.u32 $0, $1, $2, $3;", lambda a, b, c: dp4a(a, b, c, False, False), "u32 u32 u32"),
    Row("9.7.1.23 dp4a", "dp4a.s32.s32 $0, $1, $2, $3;", lambda a, b, c: dp4a(a, b, c, True, True), "u32 u32 u32"),
    Row("9.7.1.23 dp4a", "dp4a.u32.s32 $0, $1, $2, $3;", lambda a, b, c: dp4a(a, b, c, False, True), "u32 u32 u32"),
    Row("9.7.1.24 dp2a", "dp2a.lo.s32.u32 $0, $1, $2, $3;",
        lambda a, b, c: dp2a(a, b, c, True, False, False), "u32 u32 u32"),
    Row("9.7.1.24 dp2a", "dp2a.hi.s32.s32 $0, $1, $2, $3;",
        lambda a, b, c: dp2a(a, b, c, True, True, True), "u32 u32 u32"),
    Row("9.7.6.1 set", "set.lt.u32.s32 $0, $1, $2;", lambda a, b: M32 * (s32(a) < s32(b))),
    Row("9.7.6.1 set", "set.ge.f32.u32 $0, $1, $2;", lambda a, b: 0x3F80_0000 * (a >= b), "u32 u32", "f32"),
    Row("9.7.6.4 slct", "slct.u32.s32 $0, $1, $2, $3;", lambda a, b, c: a if s32(c) >= 0 else b, "u32 u32 s32"),
    Row("9.7.8.5 cnot", "cnot.b32 $0, $1;", lambda a: int(a == 0), "u32"),
    *[Row("9.7.8.6 lop3", f"lop3.b32 $0, $1, $2, $3, {table};",
          lambda a, b, c, table=table: lop3(a, b, c, table), "u32 u32 u32") for table in (0x80, 0x1A, 0x96, 0xE8)],
    Row("9.7.9.7 prmt", "prmt.b32 $0, $1, $2, $3;", prmt, "u32 u32 u32"),
    Row("9.7.9.7 prmt.f4e", "prmt.b32.f4e $0, $1, $2, $3;", chosen("3210 4321 5432 6543"), "u32 u32 u32"),
    Row("9.7.9.7 prmt.b4e", "prmt.b32.b4e $0, $1, $2, $3;", chosen("5670 6701 7012 0123"), "u32 u32 u32"),
    Row("9.7.9.7 prmt.rc8", "prmt.b32.rc8 $0, $1, $2, $3;", chosen("0000 1111 2222 3333"), "u32 u32 u32"),
    Row("9.7.9.7 prmt.ecl", "prmt.b32.ecl $0, $1, $2, $3;", chosen("3210 3211 3222 3333"), "u32 u32 u32"),
    Row("9.7.9.7 prmt.ecr", "prmt.b32.ecr $0, $1, $2, $3;", chosen("0000 1110 2210 3210"), "u32 u32 u32"),
    Row("9.7.9.7 prmt.rc16", "prmt.b32.rc16 $0, $1, $2, $3;", chosen("1010 3232 1010 3232"), "u32 u32 u32"),
    Row("9.7.9.22 cvt.pack", "cvt.pack.sat.s16.s32 $0, $1, $2;",
        lambda a, b: sum((max(-(2**15), min(2**15 - 1, s32(x))) & 0xFFFF) << s for x, s in ((a, 16), (b, 0)))),
    Row("9.7.9.22 cvt.pack", "cvt.pack.sat.u8.s32.b32 $0, $1, $2, $3;",
        lambda a, b, c: u32(c << 16) | max(0, min(255, s32(a))) << 8 | max(0, min(255, s32(b))), "u32 u32 u32"),
]  # fmt: skip
_VALUES: dict[str, list[int]] = {
    "u32": WORDS,
    "s32": [int(np.uint32(x).view(np.int32)) for x in MIXED],
    "u64": [x | y << 32 for x, y in zip(WORDS, MIXED, strict=True)],
    "count": COUNTS[8:],
    "count2": [COUNTS[(5 * k) % len(COUNTS)] for k in range(32)],
}


def operands_of(row: Row) -> tuple[list[str], list[list[int]]]:
    names = row.operands.split()
    shifted = [_VALUES[n][k * 5 :] + _VALUES[n][: k * 5] for k, n in enumerate(names)]
    return ["u32" if n.startswith("count") else n for n in names], shifted


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.section} {row.line.split()[0]}")
def test_an_instruction_means_what_the_document_says(row: Row) -> None:
    types, values = operands_of(row)
    dtypes = {"u32": np.uint32, "s32": np.int32, "u64": np.uint64}
    arrays: list[Any] = [np.array(v, dtypes[t]) for t, v in zip(types, values, strict=True)]
    (got,) = compute(row.line, [row.result], types, *arrays)
    bits = got.view(f"u{got.dtype.itemsize}").tolist()
    unsigned = [a.view(f"u{a.dtype.itemsize}").tolist() for a in arrays]
    assert bits == [row.meaning(*one) for one in zip(*unsigned, strict=True)]


def test_predicates_may_be_negated_operands() -> None:
    """9.7.6.2 setp: `{!}c`."""
    line = "setp.lt.and.s32 $0|$1, $2, $3, !$4;"
    both, other = compute(line, ["pred", "pred"], ["s32", "s32", "pred"], [1, 1, 5, 5], [3, 3, 3, 3], [0, 1, 0, 1])
    assert both.tolist() == [1, 0, 0, 0] and other.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("test", "want"),
    [
        ("finite", [1, 1, 1, 0, 0]),
        ("infinite", [0, 0, 0, 1, 0]),
        ("number", [1, 1, 1, 1, 0]),
        ("notanumber", [0, 0, 0, 0, 1]),
        ("normal", [1, 1, 0, 0, 0]),
        ("subnormal", [0, 0, 1, 0, 0]),
    ],
)
def test_kinds_of_floats(test: str, want: list[int]) -> None:
    """9.7.3.1 testp: zeros count as normal."""
    values = np.array([1.5, -0.0, 1e-40, -np.inf, np.nan], np.float32)
    (got,) = compute(f"testp.{test}.f32 $0, $1;", ["pred"], ["f32"], values)
    assert got.tolist() == want


def test_ptxas_accepts_every_line(tmp_path: Path) -> None:
    assemble([scalar(r.line, [r.result], operands_of(r)[0], f"k{n}") for n, r in enumerate(ROWS)], tmp_path)
