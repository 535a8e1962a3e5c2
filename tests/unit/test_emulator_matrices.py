"""Matrices in registers against layouts written from the tables of the PTX ISA document (sections of version 9.0), one
formula per row of a table, and products in exact numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from pelton.runtime import emulator as em
from pelton.tests.support.ptx import assemble, entry, run

Array = np.ndarray[Any, Any]
Place = Callable[[int, int, int], tuple[int, int]]
"""(groupID, threadID_in_group, i) → row and column of the i-th element."""
rng = np.random.default_rng(23)


class Shape(NamedTuple):
    section: str
    opcode: str
    size: tuple[int, int, int]
    a: Place
    b: Place
    c: Place
    types: tuple[str, str, str]
    """Of A and B, of C, of D."""


def c16(g: int, t: int, i: int) -> tuple[int, int]:
    """The accumulators of all shapes with 16 rows: rows g and g+8 for i<2 and i>=2; columns t*2 + (i & 1)."""
    return (g if i < 2 else g + 8), t * 2 + (i & 1)


SHAPES = [
    Shape("9.7.14.5.7 mma.m16n8k8 .f16", "m16n8k8.row.col.f32.f16.f16.f32", (16, 8, 8),
          lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)), lambda g, t, i: (t * 2 + i, g), c16,
          ("f16", "f32", "f32")),
    Shape("9.7.14.5.7 mma.m16n8k8 .bf16", "m16n8k8.row.col.f32.bf16.bf16.f32", (16, 8, 8),
          lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)), lambda g, t, i: (t * 2 + i, g), c16,
          ("bf16", "f32", "f32")),
    Shape("9.7.14.5.6 mma.m16n8k4 .tf32", "m16n8k4.row.col.f32.tf32.tf32.f32", (16, 8, 4),
          lambda g, t, i: ((g, g + 8)[i], t), lambda g, t, i: (t, g), c16, ("tf32", "f32", "f32")),
    Shape("9.7.14.5.7 mma.m16n8k8 .tf32", "m16n8k8.row.col.f32.tf32.tf32.f32", (16, 8, 8),
          lambda g, t, i: (g if i in (0, 2) else g + 8, t if i in (0, 1) else t + 4),
          lambda g, t, i: ((t, t + 4)[i], g), c16, ("tf32", "f32", "f32")),
    Shape("9.7.14.5.8 mma.m16n8k16 .f16", "m16n8k16.row.col.f32.f16.f16.f32", (16, 8, 16),
          lambda g, t, i: (g if i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 1) + (0 if i < 4 else 8)),
          lambda g, t, i: (t * 2 + (i & 1) + (0 if i < 2 else 8), g), c16, ("f16", "f32", "f32")),
    Shape("9.7.14.5.8 mma.m16n8k16 .bf16", "m16n8k16.row.col.f32.bf16.bf16.f32", (16, 8, 16),
          lambda g, t, i: (g if i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 1) + (0 if i < 4 else 8)),
          lambda g, t, i: (t * 2 + (i & 1) + (0 if i < 2 else 8), g), c16, ("bf16", "f32", "f32")),
    Shape("9.7.14.5.8 mma.m16n8k16 .f16 to .f16", "m16n8k16.row.col.f16.f16.f16.f16", (16, 8, 16),
          lambda g, t, i: (g if i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 1) + (0 if i < 4 else 8)),
          lambda g, t, i: (t * 2 + (i & 1) + (0 if i < 2 else 8), g), c16, ("f16", "f16", "f16")),
    Shape("9.7.14.5.9 mma.m16n8k16 .s8", "m16n8k16.row.col.s32.s8.s8.s32", (16, 8, 16),
          lambda g, t, i: (g if i < 4 else g + 8, t * 4 + (i & 3)), lambda g, t, i: (t * 4 + i, g), c16,
          ("s8", "s32", "s32")),
    Shape("9.7.14.5.10 mma.m16n8k32 .s8", "m16n8k32.row.col.s32.s8.s8.s32", (16, 8, 32),
          lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (0 if i < 8 else 16)),
          lambda g, t, i: (t * 4 + (i & 3) + (0 if i < 4 else 16), g), c16, ("s8", "s32", "s32")),
    Shape("9.7.14.5.10 mma.m16n8k32 .u8", "m16n8k32.row.col.s32.u8.u8.s32", (16, 8, 32),
          lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (0 if i < 8 else 16)),
          lambda g, t, i: (t * 4 + (i & 3) + (0 if i < 4 else 16), g), c16, ("u8", "s32", "s32")),
    Shape("9.7.14.5.10 mma.m16n8k32 .e4m3", "m16n8k32.row.col.f32.e4m3.e4m3.f32", (16, 8, 32),
          lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (0 if i < 8 else 16)),
          lambda g, t, i: (t * 4 + (i & 3) + (0 if i < 4 else 16), g), c16, ("e4m3", "f32", "f32")),
    Shape("9.7.14.5.10 mma.m16n8k32 .e5m2", "m16n8k32.row.col.f32.e5m2.e5m2.f32", (16, 8, 32),
          lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (0 if i < 8 else 16)),
          lambda g, t, i: (t * 4 + (i & 3) + (0 if i < 4 else 16), g), c16, ("e5m2", "f32", "f32")),
    Shape("9.7.14.5.4 mma.m8n8k16 .s8", "m8n8k16.row.col.s32.s8.s8.s32", (8, 8, 16),
          lambda g, t, i: (g, t * 4 + i), lambda g, t, i: (t * 4 + i, g), lambda g, t, i: (g, t * 2 + i),
          ("s8", "s32", "s32")),
    Shape("9.7.14.5.2 mma.m8n8k4 .f64", "m8n8k4.row.col.f64.f64.f64.f64", (8, 8, 4),
          lambda g, t, i: (g, t), lambda g, t, i: (t, g), lambda g, t, i: (g, t * 2 + (i & 1)), ("f64", "f64", "f64")),
    Shape("9.7.14.5.8 mma.m16n8k16 .f64", "m16n8k16.row.col.f64.f64.f64.f64", (16, 8, 16),
          lambda g, t, i: (g, i * 2 + t) if i % 2 == 0 else (g + 8, i * 2 - 2 + t), lambda g, t, i: (i * 4 + t, g), c16,
          ("f64", "f64", "f64")),
]  # fmt: skip
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8, "f64": 64, "f32": 32, "s32": 32}


def encoded(values: Array, type: str) -> Array:
    """Small whole numbers as bits; each format has them exactly."""
    match type:
        case "f16":
            return values.astype(np.float16).view(np.uint16)
        case "bf16":
            return (values.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        case "tf32" | "f32":
            return values.astype(np.float32).view(np.uint32)
        case "f64":
            return values.astype(np.float64).view(np.uint64)
        case "e5m2":
            return (values.astype(np.float16).view(np.uint16) >> np.uint16(8)).astype(np.uint8)
        case "e4m3":
            table = {0: 0, 1: 0x38, 2: 0x40, 3: 0x44, 4: 0x48}
            return np.array([table[abs(int(v))] | (v < 0) << 7 for v in values.flat], np.uint8).reshape(values.shape)
        case "s32":
            return values.astype(np.int32).view(np.uint32)
        case _:
            return values.astype(np.int8).view(np.uint8)


def spread(matrix: Array, place: Place, type: str, elements: int) -> Array:
    """[32, registers]: the fragment of each lane, lower elements in lower bits."""
    bits = encoded(matrix, type)
    lanes = [[bits[place(lane >> 2, lane % 4, i)] for i in range(elements)] for lane in range(32)]
    return np.array(lanes, bits.dtype).view(np.uint64 if type == "f64" else np.uint32)


def registers(prefix: str, start: int, count: int) -> str:
    return "{" + ", ".join(f"{prefix}{start + k}" for k in range(count)) + "}"


def body_of(shape: Shape) -> str:
    """Loads the fragments of A, B, C (arrays 1, 2, 3), multiplies, stores D (array 0)."""
    m, n, k = shape.size
    kind, kind_c, kind_d = shape.types
    wide = kind == "f64"
    counts = [m * k * BITS[kind] // 1024, k * n * BITS[kind] // 1024, m * n * BITS[kind_c] // 1024]
    if wide:
        counts = [c // 2 for c in counts]
    prefix, type, size = ("%e", "f64", 8) if wide else ("%r", "b32", 4)
    base, text, groups = (1 if wide else 10), "", list[str]()
    for array, count in enumerate(counts, 1):
        text += f"mul.lo.u32 %r1, %r0, {size * count};\ncvt.u64.u32 %d20, %r1;\nadd.u64 %d20, %d20, %d{array};\n"
        text += "".join(f"ld.global.{type} {prefix}{base + j}, [%d20+{size * j}];\n" for j in range(count))
        groups.append(registers(prefix, base, count))
        base += count
    last = counts[2]
    if kind_d == "f32":  # f32 accumulators are in f32 registers
        text += "".join(f"mov.b32 %f{j + 1}, %r{base - last + j};\n" for j in range(last))
        groups[2] = registers("%f", 1, last)
        result, prefix, base, type = registers("%f", 20, last), "%f", 20, "f32"
    else:
        base = base if not wide else 12
        result = registers(prefix, base, last)
    text += f"mma.sync.aligned.{shape.opcode} {result}, {', '.join(groups)};\n"
    text += f"mul.lo.u32 %r1, %r0, {size * last};\ncvt.u64.u32 %d20, %r1;\nadd.u64 %d20, %d20, %d0;\n"
    return text + "".join(f"st.global.{type} [%d20+{size * j}], {prefix}{base + j};\n" for j in range(last))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.section.replace(" ", "_"))
def test_a_product_has_the_layout_of_the_document(shape: Shape) -> None:
    m, n, k = shape.size
    kind, kind_c, kind_d = shape.types
    low, high = (0, 5) if kind == "u8" else (-4, 5)
    a, b, c = rng.integers(low, high, (m, k)), rng.integers(low, high, (k, n)), rng.integers(-9, 10, (m, n))
    lanes = m * n // 32
    given = [spread(a, shape.a, kind, m * k // 32), spread(b, shape.b, kind, k * n // 32)]
    given.append(spread(c, shape.c, kind_c, lanes))
    out = np.zeros_like(spread(c, shape.c, kind_d, lanes))
    run(body_of(shape), out, *given)
    np.testing.assert_array_equal(out, spread(a @ b + c, shape.c, kind_d, lanes))


def test_tf32_ignores_the_low_bits() -> None:
    """9.7.14.5.7 and 5.2.3: tf32 has 10 bits of mantissa."""
    shape = SHAPES[3]
    a, b = np.full((32, 4), 0x3F80_1FFF, np.uint32), np.full((32, 2), 0x3F80_0000, np.uint32)
    out = np.zeros((32, 4), np.float32)
    run(body_of(shape), out, a, b, np.zeros((32, 4), np.float32))
    assert (out == 8).all()


def test_integer_sums_saturate_when_asked() -> None:
    """9.7.14.5.14 mma: `.satfinite` clamps, else the sum wraps."""
    shape = SHAPES[8]
    a, b = np.full((32, 4), 0x7F7F_7F7F, np.uint32), np.full((32, 2), 0x7F7F_7F7F, np.uint32)
    c, out = np.full((32, 4), 2**31 - 1, np.int32), np.zeros((32, 4), np.int32)
    run(body_of(shape), out, a, b, c)
    assert (out == 2**31 - 1 + 32 * 127 * 127 - 2**32).all()
    run(body_of(shape).replace("row.col.s32", "row.col.satfinite.s32"), out, a, b, c)
    assert (out == 2**31 - 1).all()


# ---- ldmatrix, stmatrix, movmatrix
def moving(load: bool, count: int, across: str) -> str:
    """Shared rows of 16 bytes, 8 to a matrix, and registers; array 0 is written, array 1 read."""
    group = registers("%r", 10, count)
    head = ".shared .align 16 .b8 s[512];\nmov.u32 %r4, s;\nmad.lo.u32 %r5, %r0, 16, %r4;\n"
    fill = "mad.wide.u32 %d20, %r0, 16, %d1;\nld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%d20];\n"
    fill += "st.shared.v4.u32 [%r5], {%r6, %r7, %r8, %r9};\nbar.warp.sync -1;\n"
    size = 4 * count
    if load:
        text = head + fill + f"ldmatrix.sync.aligned.m8n8.x{count}{across}.shared.b16 {group}, [%r5];\n"
        text += f"mad.wide.u32 %d20, %r0, {size}, %d0;\n"
        return text + "".join(f"st.global.u32 [%d20+{4 * j}], %r{10 + j};\n" for j in range(count))
    text = head + f"mad.wide.u32 %d20, %r0, {size}, %d1;\n"
    text += "".join(f"ld.global.u32 %r{10 + j}, [%d20+{4 * j}];\n" for j in range(count))
    text += f"stmatrix.sync.aligned.m8n8.x{count}{across}.shared.b16 [%r5], {group};\nbar.warp.sync -1;\n"
    text += f"setp.lt.u32 %p1, %r0, {8 * count};\n@!%p1 bra $end;\nld.shared.v4.u32 {{%r6, %r7, %r8, %r9}}, [%r5];\n"
    return text + "mad.wide.u32 %d20, %r0, 16, %d0;\nst.global.v4.u32 [%d20], {%r6, %r7, %r8, %r9};\n$end:\n"


@pytest.mark.parametrize("across", ["", ".trans"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_rows_of_matrices_come_from_shared_memory(count: int, across: str) -> None:
    """9.7.14.5.15 ldmatrix: lanes 8j…8j+7 give the addresses of matrix j's rows; lane T holds row T/4, columns
    2·(T%4) and the next; `.trans` loads it in column-major order."""
    source = rng.integers(0, 2**16, (32, 8)).astype(np.uint16)
    out = np.zeros((32, count, 2), np.uint16)
    run(moving(True, count, across), out, source)
    for lane in range(32):
        for j in range(count):
            matrix = source[8 * j : 8 * j + 8]
            matrix = matrix.T if across else matrix
            assert out[lane, j].tolist() == matrix[lane // 4, 2 * (lane % 4) : 2 * (lane % 4) + 2].tolist()


@pytest.mark.parametrize("across", ["", ".trans"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_matrices_go_to_rows_of_shared_memory(count: int, across: str) -> None:
    """9.7.14.5.16 stmatrix: the same layout, the other way."""
    source = rng.integers(0, 2**16, (32, count, 2)).astype(np.uint16)
    out = np.zeros((8 * count, 8), np.uint16)
    run(moving(False, count, across), out, source)
    for lane in range(32):
        for j in range(count):
            matrix = out[8 * j : 8 * j + 8]
            matrix = matrix.T if across else matrix
            assert source[lane, j].tolist() == matrix[lane // 4, 2 * (lane % 4) : 2 * (lane % 4) + 2].tolist()


TURN = """
mad.wide.u32 %d20, %r0, 4, %d1;
ld.global.u32 %r1, [%d20];
movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;
mad.wide.u32 %d20, %r0, 4, %d0;
st.global.u32 [%d20], %r2;
"""


def test_a_matrix_is_transposed_across_the_warp() -> None:
    """9.7.14.5.17 movmatrix."""
    source, out = rng.integers(0, 2**16, (8, 8)).astype(np.uint16), np.zeros((8, 8), np.uint16)
    run(TURN, out, source)
    np.testing.assert_array_equal(out, source.T)


def test_addresses_of_rows_are_checked() -> None:
    """9.7.14.5.15 ldmatrix: rows of 16 bytes, aligned; it waits for the warp's threads, and orders no memory."""
    y, x = np.zeros((32, 4), np.uint32), np.zeros((32, 8), np.uint32)
    with pytest.raises(em.OutOfBounds, match="byte 496 of 496 bytes of shared memory"):
        run(moving(True, 4, "").replace("s[512]", "s[496]"), y, x)
    with pytest.raises(em.Misaligned):
        run(moving(True, 1, "").replace("b16 {%r10}, [%r5]", "b16 {%r10}, [%r5+8]"), y, x)
    with pytest.raises(em.Race, match=r"reads what thread \d of block 0 wrote with no barrier between"):
        run(moving(True, 1, "").replace("bar.warp.sync -1;", "xor.b32 %r5, %r5, 16;"), y, x)


def test_shapes_that_are_not_modelled_are_refused() -> None:
    with pytest.raises(em.UnsupportedInstruction, match="m8n8k4"):
        run("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1, %f2}, {%r1}, {%r2}, {%f1, %f2};", np.zeros(1))


def test_half_a_warp_may_not_multiply() -> None:
    """9.7.14.5.14 mma: `.aligned`, all threads of the warp execute it."""
    with pytest.raises(em.DivergentBarrier, match="has ended"):
        run("setp.lt.u32 %p1, %r0, 9;\n@%p1 bra $end;\n" + body_of(SHAPES[0]) + "$end:\n",
            *(np.zeros(256, np.uint32) for _ in range(4)))  # fmt: skip


def test_ptxas_accepts_every_text(tmp_path: Path) -> None:
    bodies = [body_of(s) for s in SHAPES] + [TURN]
    bodies += [moving(load, n, across) for load in (True, False) for n in (1, 2, 4) for across in ("", ".trans")]
    assemble([entry(b, 4, f"k{n}") for n, b in enumerate(bodies)], tmp_path)
