"""Bulk copies and boxes of tensors, each by its section of the PTX ISA document (numbers of version 9.0): where the
bytes go, when they are there, and every way to wait too little or in vain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton.runtime import emulator as em
from pelton.runtime.emulator import TensorMap, Tiled
from pelton.tests.support.ptx import assemble, entry, run

Array = np.ndarray[Any, Any]
rng = np.random.default_rng(41)
SETUP = """
.shared .align 1024 .b8 s[4096];
.shared .align 8 .b64 m[2];
mov.u32 %r4, s;
mov.u32 %r20, m;
setp.ne.u32 %p1, %r0, 0;
@%p1 bra $ready;
mbarrier.init.shared::cta.b64 [%r20], 1;
fence.mbarrier_init.release.cluster;
$ready:
bar.sync 0;
"""
WAIT = "$w:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r20], 0;\n@!%p2 bra $w;\n"
ARRIVE = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], {bytes};\n"
LINEAR = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%d1], {bytes}, [%r20];\n"
OUT = """
mov.u32 %r10, %r0;
$o:
mad.lo.u32 %r11, %r10, 4, %r4;
mad.wide.u32 %d20, %r10, 4, %d0;
ld.shared.u32 %r12, [%r11];
st.global.u32 [%d20], %r12;
add.u32 %r10, %r10, 64;
setp.lt.u32 %p3, %r10, {words};
@%p3 bra $o;
"""


def loading(copy: str, size: int, expected: int | None = None) -> str:
    """One thread starts a copy of so many bytes, all wait and write shared memory out."""
    start = "@%p1 bra $started;\n" + ARRIVE.format(bytes=size if expected is None else expected) + copy + "$started:\n"
    return SETUP + start + WAIT + OUT.format(words=size // 4)


X = rng.integers(0, 2**32, 512, np.uint64).astype(np.uint32)


def test_a_piece_comes_to_shared_memory() -> None:
    """9.7.9.25.4.1 cp.async.bulk, with the completion mechanism of 9.7.9.25.2: bytes at an mbarrier."""
    y = np.zeros(256, np.uint32)
    run(loading(LINEAR.format(bytes=1024), 1024), y, X, block=64)
    np.testing.assert_array_equal(y, X[:256])


TWICE = LINEAR.format(bytes=1024) + LINEAR.format(bytes=1024).replace("[%r4]", "[%r14]")
TWO = "add.u32 %r14, %r4, 1024;\n" + TWICE


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (loading(LINEAR.format(bytes=1024), 1024).replace(WAIT, ""), em.InFlight, "still written by `cp.async.bulk"),
        (loading(LINEAR.format(bytes=1024), 1024).replace(WAIT, "bar.sync 0;\n"), em.InFlight, "still written by"),
        (loading(LINEAR.format(bytes=1024), 1024, 2048), em.Deadlock, "0 of 1 arrivals and 1024 bytes are missing"),
        (loading(LINEAR.format(bytes=1024), 1024, 512), em.Deadlock, "-512 bytes are missing"),
        (loading(TWO, 2048, 1024), em.InFlight, "byte 1024 of shared memory is still written by `cp.async.bulk"),
        (loading(LINEAR.format(bytes=1024), 1024).replace(ARRIVE.format(bytes=1024), ""), em.Deadlock, "1 of 1 arriv"),
        (loading(LINEAR.format(bytes=1024), 1024).replace("fence.mbarrier_init.release.cluster;", ""), em.Race,
         "no fence.mbarrier_init or fence.proxy.async follows"),
        (loading(LINEAR.format(bytes=1024), 1024).replace(WAIT, "@%p1 bra $e;\n" + WAIT + "$e:\nbar.warp.sync -1;\n"),
         em.Race, "reads what an asynchronous copy wrote with no barrier between"),
        (loading(LINEAR.format(bytes=1000), 1024), em.Misaligned, "1000 bytes"),
        (loading(LINEAR.format(bytes=1024).replace("[%d1]", "[%d1+8]"), 1024), em.Misaligned, "multiples of 16"),
        (loading(LINEAR.format(bytes=1024).replace("[%r4]", "[%r4+8]"), 1024), em.Misaligned, "no multiple of 16"),
        (loading(LINEAR.format(bytes=2064), 2064), em.OutOfBounds, "of argument 1, which has 2048 bytes"),
        (loading(LINEAR.format(bytes=1024).replace("[%r4]", "[%r4+3584]"), 1024), em.OutOfBounds, "of shared memory"),
        (SETUP + "@%p1 bra $e;\n" + ARRIVE.format(bytes=16) + LINEAR.format(bytes=16) + "$e:\n", em.InFlight,
         "a block ends while 1 copies or arrivals are under way"),
    ],
)  # fmt: skip
def test_a_wrong_load_is_refused(body: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run(body, np.zeros(512, np.uint32), X, block=64)


FILL = """
.shared .align 128 .b8 s[1024];
mov.u32 %r4, s;
mad.lo.u32 %r5, %r0, 16, %r4;
st.shared.v4.u32 [%r5], {%r0, %r0, %r0, %r0};
fence.proxy.async.shared::cta;
bar.sync 0;
setp.ne.u32 %p1, %r0, 0;
@%p1 bra $wait;
"""
STORE = "cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r4], 1024;\n"
COMMIT = "cp.async.bulk.commit_group;\n"
DONE = "cp.async.bulk.wait_group 0;\n$wait:\n"
AGAIN = "bar.sync 0;\nst.shared.v4.u32 [%r5], {%r4, %r4, %r4, %r4};\n"


def test_a_piece_goes_to_global_memory() -> None:
    """9.7.9.25.4.1 cp.async.bulk and 9.7.9.25.6 bulk groups: global memory has it after wait_group, or at the end of
    the kernel; shared memory may be used again after wait_group.read."""
    want = np.repeat(np.arange(64, dtype=np.uint32), 4)
    for wait in ("cp.async.bulk.wait_group 0;\n", "cp.async.bulk.wait_group.read 0;\n"):
        y = np.zeros(256, np.uint32)
        run(FILL + STORE + COMMIT + wait + "$wait:\n" + AGAIN, y, block=64)
        np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (FILL + STORE + COMMIT + "$wait:\n" + AGAIN, em.InFlight, "byte 0 of shared memory is still read by `cp.async"),
        (FILL + STORE + DONE + AGAIN, em.InFlight, "still read by"),
        (FILL + STORE + COMMIT + DONE.replace("group 0", "group 1") + AGAIN, em.InFlight, "still read by"),
        (FILL + STORE + COMMIT + "$wait:\n", em.InFlight, "thread 0 of block 0 ends while its copy still reads"),
        (FILL.replace("fence.proxy.async.shared::cta;", "") + STORE + COMMIT + DONE, em.Race,
         "reads byte 0 of shared memory, which thread 0 of block 0 wrote: no fence.proxy.async"),
        (FILL.replace("bar.sync 0;", "") + STORE + COMMIT + DONE, em.Race, "wrote with no barrier between"),
        (FILL + STORE + COMMIT + DONE + AGAIN.replace("bar.sync 0;", ""), em.Race, "writes what thread 0 of"),
        (FILL + STORE.replace("[%d0]", "[%d0+16]") + COMMIT + DONE, em.OutOfBounds, "of argument 0"),
    ],
)  # fmt: skip
def test_a_wrong_store_is_refused(body: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run(body, np.zeros(256, np.uint32), block=64)


THROUGH = (
    SETUP
    + "mad.lo.u32 %r5, %r0, 16, %r4;\nst.shared.v4.u32 [%r5], {%r0, %r0, %r0, %r0};\nbar.sync 0;\n"
    + "@%p1 bra $started;\n"
    + ARRIVE.format(bytes=1024)
    + LINEAR.format(bytes=1024)
    + "$started:\n"
    + WAIT
    + "@%p1 bra $wait;\n"
    + STORE
    + COMMIT
    + DONE
)
BY_THREADS = (
    SETUP
    + "mad.lo.u32 %r5, %r0, 16, %r4;\nmad.wide.u32 %d20, %r0, 16, %d1;\n"
    + "cp.async.cg.shared.global [%r5], [%d20], 16;\ncp.async.wait_all;\nfence.proxy.async;\nbar.sync 0;\n"
    + "@%p1 bra $wait;\n"
    + STORE
    + COMMIT
    + DONE
)


def test_what_a_bulk_copy_brought_needs_no_fence() -> None:
    """9.7.9.25.2 async proxy: bulk copies are in it; cp.async and plain stores are not."""
    y = np.zeros(256, np.uint32)
    run(THROUGH, y, X, block=64)
    np.testing.assert_array_equal(y, X[:256])
    run(BY_THREADS, y, X[::-1].copy(), block=64)
    np.testing.assert_array_equal(y, X[::-1][:256])
    with pytest.raises(em.Race, match=r"which thread 0 of block 0 wrote: no fence.proxy.async"):
        run(BY_THREADS.replace("fence.proxy.async;", ""), y, X, block=64)


REDUCE = {
    "add.u32": "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d0], [%r4], 1024;\n",
    "max.s32": "cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%d0], [%r4], 1024;\n",
    "add.noftz.bf16": "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%d0], [%r4], 1024;\n",
}


def test_a_piece_is_added_to_global_memory() -> None:
    """9.7.9.25.4.2 cp.reduce.async.bulk."""
    base, told = np.arange(256, dtype=np.uint32), np.repeat(np.arange(64, dtype=np.uint32), 4)
    for name, want in (("add.u32", base + 2 * told), ("max.s32", np.maximum(base, told))):
        y = base.copy()
        run(FILL + REDUCE[name] + COMMIT + DONE, y, block=64, grid=2)
        np.testing.assert_array_equal(y, want)
    y = np.full(256, 0x3F80_3F80, np.uint32)
    halves = FILL.replace("%r0, %r0, %r0, %r0", "%r6, %r6, %r6, %r6").replace("st.", "mov.u32 %r6, 0x40003F80;\nst.", 1)
    run(halves + REDUCE["add.noftz.bf16"] + COMMIT + DONE, y, block=64)
    assert (y == 0x4040_4000).all()


# ---- boxes of tensors
def tensor(rank: int, coordinates: str, byvalue: bool = False) -> str:
    """Loads a box at coordinates; the map is at %d1."""
    kind = "shared::cluster.global.mbarrier::complete_tx::bytes"
    return f"cp.async.bulk.tensor.{rank}d.{kind} [%r4], [%d1, {{{coordinates}}}], [%r20];\n"


def box_of(a: Array, first: tuple[int, ...], box: tuple[int, ...], steps: tuple[int, ...] = ()) -> Array:
    """5.5.3 tiled mode: elements at first + k·step, innermost dimension first; 0 outside the tensor."""
    counts = [-(-b // s) for b, s in zip(box, steps or (1,) * len(box), strict=True)]
    out = np.zeros(counts[::-1], a.dtype)
    for place in np.ndindex(*counts[::-1]):
        at = [f + s * k for f, s, k in zip(first[::-1], (steps or (1,) * len(box))[::-1], place, strict=True)]
        if all(0 <= k < n for k, n in zip(at, a.shape, strict=True)):
            out[place] = a[tuple(at)]
    return out


CASES = [
    ((200,), (64,), (8,), ()),
    ((200,), (64,), (170,), ()),
    ((20, 32), (16, 8), (8, 4), ()),
    ((20, 32), (16, 8), (24, 15), ()),
    ((20, 32), (16, 8), (-8, -3), ()),
    ((20, 32), (16, 16), (0, 0), (1, 3)),
    ((5, 6, 8), (8, 2, 4), (4, 5, 2), ()),
    ((3, 4, 5, 8), (8, 3, 2, 2), (0, 1, 2, 1), ()),
    ((2, 3, 4, 5, 8), (8, 2, 2, 2, 2), (4, -1, 1, 2, 1), ()),
]


@pytest.mark.parametrize(("shape", "box", "first", "steps"), CASES)
def test_a_box_of_a_tensor(shape: tuple[int, ...], box: Any, first: Any, steps: Any) -> None:
    """9.7.9.25.5.2 cp.async.bulk.tensor of 1 to 5 dimensions; 5.5.3.3: elements out of bounds are 0."""
    a = rng.integers(1, 2**31, shape).astype(np.uint32)
    want = box_of(a, first, box, steps)
    y = np.zeros(want.size, np.uint32)
    body = tensor(len(shape), ", ".join(map(str, first)))
    run(loading(body, want.nbytes), y, Tiled(a, box, steps=steps), block=64)
    np.testing.assert_array_equal(y, want.ravel())


@pytest.mark.parametrize(("swizzle", "span"), [("32B", 32), ("64B", 64), ("128B", 128)])
def test_swizzles(swizzle: str, span: int) -> None:
    """5.5.7 swizzling modes: in each line of 128 bytes of shared memory the 16-byte pieces within a span change
    places by the line's number."""
    inner = span // 2
    a = np.arange(64 * 64, dtype=np.uint16).reshape(64, 64)
    rows = 2048 // span
    want = np.zeros((128, 8), np.uint16)
    for piece in range(rows * span // 16):
        row, within = divmod(piece, span // 16)
        line = piece // 8
        moved = piece // (span // 16) * (span // 16) + (within ^ line % (span // 16))
        want[moved] = a[row, 8 * within : 8 * within + 8]
    y = np.zeros(512, np.uint32)
    run(loading(tensor(2, "0, 0"), 2048), y, Tiled(a, (inner, rows), swizzle), block=64)
    np.testing.assert_array_equal(y.view(np.uint16).reshape(128, 8), want)


def test_numbers_outside_may_be_nan() -> None:
    """5.5.3.3: out-of-bounds accesses give 0 or NaN."""
    a, y = np.ones((4, 8), np.float32), np.zeros((8, 8), np.float32)
    run(loading(tensor(2, "0, 0"), 256), y, Tiled(a, (8, 8), nan=True), block=64)
    assert (y[:4] == 1).all() and np.isnan(y[4:]).all()


PARAMETER = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .align 64 .b8 map[128])
{
.reg .pred %p<12>;
.reg .b32 %r<30>;
.reg .b64 %d<32>;
ld.param.u64 %d0, [out];
mov.b64 %d2, map;
cvta.param.u64 %d1, %d2;
mov.u32 %r0, %tid.x;
BODY
ret;
}
"""


def test_a_map_may_be_a_parameter() -> None:
    """9.7.9.25.5.2: tensorMap is a generic address in .param, .const or .global space."""
    a, y = np.arange(64, dtype=np.uint32).reshape(4, 16), np.zeros(64, np.uint32)
    text = PARAMETER.replace("BODY", loading(tensor(2, "0, 0"), 256))
    em.emulate(text, "k", 1, 64, [y, Tiled(a, (16, 4))])
    np.testing.assert_array_equal(y, a.ravel())


TENSOR_STORE = "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d0, {8, 3}], [%r4];\n"


def test_a_box_goes_to_global_memory() -> None:
    """9.7.9.25.5.2 cp.async.bulk.tensor: what is out of bounds is not written."""
    a = np.zeros((10, 16), np.uint32)
    run(FILL + TENSOR_STORE + COMMIT + DONE, Tiled(a, (16, 16)), block=64)
    told, want = np.repeat(np.arange(64, dtype=np.uint32), 4).reshape(16, 16), np.zeros_like(a)
    want[3:, 8:] = told[:7, :8]
    np.testing.assert_array_equal(a, want)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"box": (6,)}, "the inner dimension of a box has a multiple of 16 bytes, got 24"),
        ({"box": (512,)}, "1 to 256 elements"),
        ({"address": 8}, "a multiple of 16, got 0x8"),
        ({"sizes": (8, 8), "strides": (36,), "box": (8, 8)}, "strides are multiples of 16"),
        ({"box": (16,), "swizzle": "32B"}, "a box of 64 bytes does not fit a swizzle of 32"),
        ({"swizzle": "256B"}, "a swizzle is one of"),
        ({"sizes": (8, 8)}, "a size, a box and a step for each dimension"),
    ],
)
def test_maps_that_the_driver_refuses(more: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"address": 256, "element": 4, "sizes": (64,), "strides": (), "box": (16,)}
    with pytest.raises(ValueError, match=message):
        TensorMap(**(good | more)).encode()


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("[%r4], [%d1, ", "[%r4+64], [%d1, ", em.Misaligned, "no multiple of 128"),
        ("[%d1, {0, 0}]", "[%d1+64, {0, 0}]", em.OutOfBounds, "tensor map"),
        ("2d", "1d", em.EmulationError, "a tensor map of 2 dimensions in a copy of 1"),
        ("[%d1, ", "[%d0, ", em.EmulationError, "here is no tensor map"),
        ("_tx.shared::cta.b64 _, [%r20], 256", "_tx.shared::cta.b64 _, [%r20], 128", em.Deadlock, "-128 bytes"),
    ],
)
def test_a_wrong_box_is_refused(old: str, new: str, error: type[Exception], message: str) -> None:
    body = loading(tensor(2, "0, 0"), 256)
    assert old in body
    with pytest.raises(error, match=message):
        run(body.replace(old, new), np.zeros(64, np.uint32), Tiled(np.zeros((4, 16), np.uint32), (16, 4)), block=64)


def test_ptxas_accepts_every_text(tmp_path: Path) -> None:
    bodies = [loading(LINEAR.format(bytes=1024), 1024), loading(TWO, 2048), THROUGH, BY_THREADS]
    bodies += [
        FILL + STORE + COMMIT + w + "$wait:\n" + AGAIN for w in (DONE[:27] + "\n", "cp.async.bulk.wait_group.read 0;\n")
    ]
    bodies += [FILL + r + COMMIT + DONE for r in REDUCE.values()] + [FILL + TENSOR_STORE + COMMIT + DONE]
    bodies += [loading(tensor(len(shape), ", ".join(map(str, first))), 64) for shape, _, first, _ in CASES]
    assemble([entry(b, 2, f"k{n}") for n, b in enumerate(bodies)], tmp_path)
