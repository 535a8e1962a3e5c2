"""`wgmma` against layouts written from section 9.7.15.5.1 of the PTX ISA document (version 9.0): fragments from its
figures, shared memory from its tables of swizzle atoms and strides; and what a missing wait or fence leads to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from pelton.runtime import emulator as em
from pelton.tests.support.ptx import assemble, entry, run

Array = np.ndarray[Any, Any]
rng = np.random.default_rng(53)
HEAD = ".extern .shared .align 1024 .b8 s[];\n"
SIZE = 40960
"""Bytes of shared memory: A from 0, B from 16384."""
B_AT = 16384


class Layout(NamedTuple):
    """How a matrix [rows, k] of elements of so many bytes lies in shared memory: `byte(row, k, bytes)`; the
    descriptor's leading and stride offsets, and its mode."""

    section: str
    byte: Callable[[int, int, int], int]
    leading: int
    stride: int
    mode: int
    across: bool = False


def by_rows(span: int, stride: int) -> Callable[[int, int, int], int]:
    """K-major with a swizzle: atoms of 8 rows of `span` bytes; the 16-byte pieces of a row change places by the number
    of its line of 128 bytes."""

    def byte(row: int, k: int, size: int) -> int:
        piece, rest = divmod(k * size, 16)
        line = row % 8 * span // 128
        return row // 8 * stride + row % 8 * span + 16 * (piece ^ line % (span // 16)) + rest

    return byte


def by_columns(span: int, leading: int, stride: int) -> Callable[[int, int, int], int]:
    """M- or N-major with a swizzle: atoms of 8 values of k, each `span` bytes of neighbours in M or N."""

    def byte(row: int, k: int, size: int) -> int:
        atom, inner = divmod(row * size, span)
        piece, rest = divmod(inner, 16)
        line = k % 8 * span // 128
        return atom * leading + k // 8 * stride + k % 8 * span + 16 * (piece ^ line % (span // 16)) + rest

    return byte


LAYOUTS = {
    "K 128B": Layout("9.7.15.5.1.2 K-major 128B swizzle", by_rows(128, 1024), 16, 1024, 1),
    "K 64B": Layout("9.7.15.5.1.2 K-major 64B swizzle", by_rows(64, 512), 16, 512, 2),
    "K 32B": Layout("9.7.15.5.1.2 K-major 32B swizzle", by_rows(32, 256), 16, 256, 3),
    "K none": Layout("9.7.15.5.1.2 K-major, core matrices of 8 rows of 16 bytes",
                     lambda r, k, size: r // 8 * 256 + k * size // 16 * 128 + r % 8 * 16 + k * size % 16, 128, 256, 0),
    "MN 128B": Layout("9.7.15.5.1.2 MN-major 128B swizzle", by_columns(128, 2048, 1024), 2048, 1024, 1, True),
    "MN 64B": Layout("9.7.15.5.1.2 MN-major 64B swizzle", by_columns(64, 1024, 512), 1024, 512, 2, True),
    "MN 32B": Layout("9.7.15.5.1.2 MN-major 32B swizzle", by_columns(32, 512, 256), 512, 256, 3, True),
    "MN none": Layout("9.7.15.5.1.2 MN-major, core matrices of 8 values of k",
                      lambda r, k, size: r // 8 * 128 + k // 8 * 4096 + k % 8 * 16 + r % 8 * size, 4096, 128, 0, True),
}  # fmt: skip
SIZES = {"bf16": 2, "f16": 2, "tf32": 4, "e4m3": 1, "s8": 1}


def encoded(values: Array, kind: str) -> Array:
    match kind:
        case "f16":
            return values.astype(np.float16).view(np.uint16)
        case "bf16":
            return (values.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        case "tf32":
            return values.astype(np.float32).view(np.uint32)
        case "e4m3":
            table = {0: 0, 1: 0x38, 2: 0x40, 3: 0x44, 4: 0x48}
            return np.array([table[abs(int(v))] | (v < 0) << 7 for v in values.flat], np.uint8).reshape(values.shape)
        case _:
            return values.astype(np.int8).view(np.uint8)


def place(image: Array, matrix: Array, layout: Layout, start: int, kind: str) -> None:
    """Writes a matrix [rows, k] into an image of shared memory."""
    size, bits = SIZES[kind], encoded(matrix, kind)
    for row, k in np.ndindex(*matrix.shape):
        at = start + layout.byte(row, k, size)
        image[at : at + size] = bits[row, k : k + 1].view(np.uint8)


def descriptor(layout: Layout, start: int) -> int:
    """9.7.15.5.1.2.2 matrix descriptor: bits 13–0, 29–16, 45–32 are (x & 0x3FFFF) >> 4, 63–62 the swizzle."""
    parts = [(x & 0x3FFFF) >> 4 for x in (start, layout.leading, layout.stride)]
    return parts[0] | parts[1] << 16 | parts[2] << 32 | layout.mode << 62


FILL = f"""
mov.u32 %r4, s;
mov.u32 %r10, %r0;
$fill:
mad.wide.u32 %d20, %r10, 16, %d1;
mad.lo.u32 %r11, %r10, 16, %r4;
ld.global.v4.u32 {{%r12, %r13, %r14, %r15}}, [%d20];
st.shared.v4.u32 [%r11], {{%r12, %r13, %r14, %r15}};
mov.u32 %r16, %ntid.x;
add.u32 %r10, %r10, %r16;
setp.lt.u32 %p3, %r10, {SIZE // 16};
@%p3 bra $fill;
"""
KNOWN = "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
FENCE, COMMIT = "wgmma.fence.sync.aligned;\n", "wgmma.commit_group.sync.aligned;\n"
WAIT = "wgmma.wait_group.sync.aligned 0;\n"


class Form(NamedTuple):
    columns: int
    kind: str
    sums: str = "f32"


def names(form: Form) -> list[str]:
    """The accumulator's registers."""
    count = 64 * form.columns // 128 // (2 if form.sums == "f16" else 1)
    return [f"{'%f' if form.sums == 'f32' else '%r'}{20 + k}" for k in range(count)]


def product(form: Form, a: str, b: str, keep: str, across: tuple[bool, ...]) -> str:
    depth = 32 // SIZES[form.kind]
    text = f"wgmma.mma_async.sync.aligned.m64n{form.columns}k{depth}.{form.sums}.{form.kind}.{form.kind} "
    text += f"{{{', '.join(names(form))}}}, {a}, {b}, {keep}"
    if form.kind != "s8":
        text += ", 1, 1"
    if SIZES[form.kind] == 2:
        text += "".join(f", {int(x)}" for x in across)
    return text + ";\n"


def out(form: Form) -> str:
    """Stores each thread's accumulators, one after another."""
    registers = names(form)
    text = f"mul.wide.u32 %d20, %r0, {4 * len(registers)};\nadd.u64 %d20, %d20, %d0;\n"
    type = "f32" if form.sums == "f32" else "b32"
    return text + "".join(f"st.global.{type} [%d20+{4 * k}], {r};\n" for k, r in enumerate(registers))


def clear(form: Form) -> str:
    zero = "0f00000000" if form.sums == "f32" else "0"
    return "".join(f"mov.{'f32' if form.sums == 'f32' else 'b32'} {r}, {zero};\n" for r in names(form))


def body(form: Form, left: Layout, right: Layout, products: str = "") -> str:
    """Fills shared memory, multiplies once (or as `products` says), stores the accumulators."""
    text = f"mov.u64 %d2, {descriptor(left, 0)};\nmov.u64 %d3, {descriptor(right, B_AT)};\nsetp.ne.u32 %p1, %r0, %r0;\n"
    text += "setp.eq.u32 %p2, %r0, %r0;\n" + clear(form)
    once = FENCE + product(form, "%d2", "%d3", "%p1", (left.across, right.across)) + COMMIT + WAIT
    return FILL + KNOWN + text + (products or once) + out(form)


def result(d: Array, form: Form) -> Array:
    """[64, N] from each thread's elements: 9.7.15.5.1.1.1, figure of the accumulator: element i of thread T is at row
    16·(T/32) + (T%32)/4 + 8·(i/2 % 2) and column 8·(i/4) + 2·(T%4) + i%2."""
    matrix = np.zeros((64, form.columns), d.dtype)
    for thread in range(128):
        for i in range(form.columns // 2):
            row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (i // 2 % 2)
            matrix[row, 8 * (i // 4) + 2 * (thread % 4) + i % 2] = d[thread, i]
    return matrix


def multiply(form: Form, left: Layout, right: Layout, products: str = "", block: int = 128) -> list[Array]:
    """A, B and the accumulators [128, N/2]."""
    depth = 32 // SIZES[form.kind]
    a, b = rng.integers(-4, 5, (64, depth)), rng.integers(-4, 5, (form.columns, depth))
    image = np.zeros(SIZE, np.uint8)
    place(image, a, left, 0, form.kind)
    place(image, b, right, B_AT, form.kind)
    dtype = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[form.sums]
    d = np.zeros((128, form.columns // 2), dtype)
    run(body(form, left, right, products), d, image, head=HEAD, shared=SIZE, block=block)
    return [a, b, d]


@pytest.mark.parametrize("right", [k for k in LAYOUTS if k != "K 32B"])
@pytest.mark.parametrize("left", ["K 128B", "MN 64B"])
def test_layouts_of_shared_memory(left: str, right: str) -> None:
    form = Form(64, "bf16")
    a, b, d = multiply(form, LAYOUTS[left], LAYOUTS[right])
    np.testing.assert_array_equal(result(d, form), a @ b.T)


@pytest.mark.parametrize("layout", ["K 64B", "K 32B", "K none", "MN 128B", "MN 32B", "MN none"])
def test_layouts_of_the_left_matrix(layout: str) -> None:
    form = Form(16, "f16")
    a, b, d = multiply(form, LAYOUTS[layout], LAYOUTS["K 128B"])
    np.testing.assert_array_equal(result(d, form), a @ b.T)


FORMS = [
    Form(8, "bf16"),
    Form(256, "bf16"),
    Form(24, "f16", "f16"),
    Form(32, "tf32"),
    Form(16, "e4m3"),
    Form(32, "s8", "s32"),
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_shapes_and_types(form: Form) -> None:
    """9.7.15.2 shapes, 9.7.15.5.2 wgmma.mma_async."""
    a, b, d = multiply(form, LAYOUTS["K 128B"], LAYOUTS["K 32B"])
    np.testing.assert_array_equal(result(d, form), a @ b.T)


def test_the_left_matrix_may_be_in_registers() -> None:
    """9.7.15.5.1.1.1, figure of matrix A: warp w has rows 16w…; as for mma.m16n8k16 within it."""
    form, right = Form(16, "bf16"), LAYOUTS["MN 128B"]
    a, b = rng.integers(-4, 5, (64, 16)), rng.integers(-4, 5, (16, 16))
    image = np.zeros(SIZE + 128 * 16, np.uint8)
    place(image, b, right, B_AT, "bf16")
    held, bits = np.zeros((128, 8), np.uint16), encoded(a, "bf16")
    for thread in range(128):
        group, inside = thread % 32 // 4, thread % 4
        for i in range(8):
            row = group if i < 2 or 4 <= i < 6 else group + 8
            held[thread, i] = bits[16 * (thread // 32) + row, inside * 2 + (i & 1) + (0 if i < 4 else 8)]
    image[SIZE:] = held.reshape(-1).view(np.uint8)
    load = f"mad.wide.u32 %d20, %r0, 16, %d1;\nld.global.v4.u32 {{%r5, %r6, %r7, %r8}}, [%d20+{SIZE}];\n"
    products = load + FENCE + product(form, "{%r5, %r6, %r7, %r8}", "%d3", "%p1", (True,)) + COMMIT + WAIT
    d = np.zeros((128, 8), np.float32)
    run(body(form, right, right, products), d, image, head=HEAD, shared=SIZE, block=128)
    np.testing.assert_array_equal(result(d, form), a @ b.T)


LEFT, RIGHT, SMALL = LAYOUTS["K 128B"], LAYOUTS["K 128B"], Form(16, "bf16")
FIRST, MORE = (product(SMALL, "%d2", "%d3", keep, (False, False)) for keep in ("%p1", "%p2"))


def test_products_are_added_up() -> None:
    """9.7.15.5.2: D = A·B where scale-d is false, else A·B + D; negated operands; 9.7.15.7.2 wait_group N."""
    for products, factor in (
        (FENCE + FIRST + MORE + MORE + COMMIT + WAIT, 3),
        (FENCE + FIRST + COMMIT + MORE + COMMIT + WAIT, 2),
        (FENCE + MORE.replace("1, 1, 0", "-1, 1, 0") + COMMIT + WAIT, -1),
        (FENCE + MORE + FIRST.replace("1, 1, 0", "-1, -1, 0") + COMMIT + WAIT, 1),
    ):
        a, b, d = multiply(SMALL, LEFT, RIGHT, products)
        np.testing.assert_array_equal(result(d, SMALL), factor * (a @ b.T))


def test_two_warpgroups_have_their_own() -> None:
    split = "setp.ge.u32 %p4, %r0, 128;\n@%p4 bra $other;\n" + FENCE + FIRST + COMMIT + WAIT + "bra $both;\n"
    other = "$other:\n" + FENCE + FIRST + MORE + COMMIT + WAIT + "ret;\n$both:\n"
    a, b, d = multiply(SMALL, LEFT, RIGHT, split + other, block=256)
    np.testing.assert_array_equal(result(d, SMALL), a @ b.T)


@pytest.mark.parametrize(
    "products",
    [FENCE + FIRST, FENCE + FIRST + COMMIT, FENCE + FIRST + WAIT, FENCE + FIRST + COMMIT + WAIT.replace(" 0;", " 1;")],
    ids=["no commit, no wait", "no wait", "no commit", "one group too few"],
)
def test_accumulators_are_no_numbers_before_the_wait(products: str) -> None:
    """9.7.15.7.2 wgmma.wait_group: accessing the registers earlier is undefined."""
    _, _, d = multiply(SMALL, LEFT, RIGHT, products)
    assert np.isnan(d).all()


OVERWRITE = "st.shared.u32 [%r4], %r0;\n"


@pytest.mark.parametrize(
    ("products", "error", "message"),
    [
        (FIRST + COMMIT + WAIT, em.EmulationError, "no wgmma.fence before the first product"),
        (FENCE + FIRST + COMMIT + OVERWRITE + WAIT, em.InFlight, "byte 0 of shared memory is still read by `wgmma.mma"),
        (FENCE + FIRST + COMMIT + WAIT + OVERWRITE, em.Race, "writes what thread 32 of block 0 read|writes what other"),
        (FENCE + "add.u64 %d2, %d2, 4096;\n" + FIRST + COMMIT + WAIT, em.OutOfBounds, "of shared memory"),
        ("cvt.u64.u32 %d20, %r0;\nadd.u64 %d2, %d2, %d20;\n" + FENCE + FIRST, em.EmulationError, "not the warpgroup's"),
        ("setp.lt.u32 %p4, %r0, 64;\n@%p4 bra $end;\n" + FENCE + FIRST + COMMIT + WAIT + "$end:\n", em.DivergentBarrier,
         "thread 64 of block 0 waits here, thread 0 of block 0 has ended"),
    ],
)  # fmt: skip
def test_a_wrong_product_is_refused(products: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        multiply(SMALL, LEFT, RIGHT, products)


@pytest.mark.parametrize(
    ("without", "message"),
    [("fence.proxy.async.shared::cta;\n", "no fence.proxy.async"), ("bar.sync 0;\n", "no barrier")],
)
def test_what_threads_stored_needs_a_proxy_fence(without: str, message: str) -> None:
    """9.7.15.4 async proxy: wgmma reads shared memory through it."""
    text, image = body(SMALL, LEFT, RIGHT).replace(without, ""), np.zeros(SIZE, np.uint8)
    with pytest.raises(em.Race, match=message):
        run(text, np.zeros((128, 8), np.float32), image, head=HEAD, shared=SIZE, block=128)


def test_ptxas_accepts_every_text(tmp_path: Path) -> None:
    bodies = [body(f, LEFT, RIGHT) for f in FORMS] + [body(SMALL, LAYOUTS["MN 64B"], LAYOUTS["MN none"])]
    bodies += [
        body(SMALL, LEFT, RIGHT, p) for p in (FENCE + FIRST + MORE + COMMIT + WAIT, FENCE + FIRST + COMMIT + WAIT)
    ]
    in_registers = product(SMALL, "{%r5, %r6, %r7, %r8}", "%d3", "%p1", (True,))
    bodies += [body(SMALL, LEFT, RIGHT, FENCE + in_registers + COMMIT + WAIT)]
    assemble([HEAD, *(entry(b, 2, f"k{n}") for n, b in enumerate(bodies))], tmp_path)
