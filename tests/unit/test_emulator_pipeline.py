"""A whole matrix product as hand schedules write it, on the emulator: one warp fetches boxes into a ring of two stages,
four warps multiply them with `wgmma`; and each fault planted in it is caught."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton.runtime import emulator as em
from pelton.runtime.emulator import Tiled
from pelton.tests.support.ptx import assemble, entry, run

Array = np.ndarray[Any, Any]
HEAD = ".extern .shared .align 1024 .b8 s[];\n"
ACCUMULATORS = ", ".join(f"%f{k}" for k in range(8))
STAGE = 8192 + 2048
"""Bytes of a stage: 64 × 64 of A, 16 × 64 of B, of two bytes each, rows of 128 bytes swizzled."""
MODE = (1 << 62) | (64 << 32) | (1 << 16)
"""A descriptor but for its start: rows of 128 bytes, groups of 8 rows 1024 bytes apart."""
PRODUCTS = "".join(
    f"add.s64 %d22, %d20, {2 * k};\nadd.s64 %d23, %d21, {2 * k};\n"
    f"wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {{{ACCUMULATORS}}}, %d22, %d23, %p4, 1, 1, 0, 0;\n"
    for k in range(4)
)
BODY = f"""
.shared .align 8 .b64 m[4];
mov.u32 %r1, s;
mov.u32 %r2, m;
setp.ne.u32 %p1, %r0, 0;
@%p1 bra $ready;
mbarrier.init.shared::cta.b64 [%r2], 1;
mbarrier.init.shared::cta.b64 [%r2+8], 1;
mbarrier.init.shared::cta.b64 [%r2+16], 4;
mbarrier.init.shared::cta.b64 [%r2+24], 4;
fence.mbarrier_init.release.cluster;
$ready:
bar.sync 0;
mov.u32 %r3, 0;
mov.u32 %r4, 0;
setp.lt.u32 %p2, %r0, 128;
@%p2 bra $consumers;

elect.sync _|%p3, -1;
@!%p3 bra $end;
$fetch:
and.b32 %r5, %r3, 1;
xor.b32 %r6, %r4, 1;
mad.lo.u32 %r7, %r5, 8, %r2;
$empty:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r7+16], %r6;
@!%p5 bra $empty;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], {STAGE};
mad.lo.u32 %r8, %r5, 8192, %r1;
mad.lo.u32 %r9, %r5, 2048, %r1;
add.u32 %r9, %r9, 16384;
mul.lo.u32 %r10, %r3, 64;
mov.u32 %r12, %ctaid.x;
mul.lo.u32 %r13, %r12, 64;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%d1, {{%r10, %r13}}], [%r7];
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%d2, {{%r10, 0}}], [%r7];
add.u32 %r3, %r3, 1;
xor.b32 %r4, %r4, %r5;
setp.lt.u32 %p6, %r3, 5;
@%p6 bra $fetch;
bra $end;

$consumers:
{"".join(f"mov.f32 %f{k}, 0f00000000;" for k in range(8))}
setp.eq.u32 %p4, %r0, %r0;
and.b32 %r11, %r0, 31;
setp.ne.u32 %p7, %r11, 0;
$multiply:
and.b32 %r5, %r3, 1;
mad.lo.u32 %r7, %r5, 8, %r2;
$full:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r7], %r4;
@!%p5 bra $full;
mad.lo.u32 %r8, %r5, 8192, %r1;
mad.lo.u32 %r9, %r5, 2048, %r1;
add.u32 %r9, %r9, 16384;
shr.u32 %r8, %r8, 4;
shr.u32 %r9, %r9, 4;
cvt.u64.u32 %d20, %r8;
cvt.u64.u32 %d21, %r9;
or.b64 %d20, %d20, {MODE};
or.b64 %d21, %d21, {MODE};
wgmma.fence.sync.aligned;
{PRODUCTS}
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
@%p7 bra $told;
mbarrier.arrive.shared::cta.b64 _, [%r7+16];
$told:
add.u32 %r3, %r3, 1;
xor.b32 %r4, %r4, %r5;
setp.lt.u32 %p6, %r3, 5;
@%p6 bra $multiply;
mul.wide.u32 %d24, %r0, 32;
add.u64 %d24, %d24, %d0;
mov.u32 %r12, %ctaid.x;
mad.wide.u32 %d24, %r12, 4096, %d24;
st.global.v4.f32 [%d24], {{%f0, %f1, %f2, %f3}};
st.global.v4.f32 [%d24+16], {{%f4, %f5, %f6, %f7}};
$end:
"""


def product(body: str) -> tuple[Array, Array]:
    """What the kernel leaves, and A·Bᵀ, both by block, thread and accumulator. K is no multiple of a stage, the last
    block has fewer rows."""
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-3, 4, (rows, 304)).astype(np.float32) for rows in (160, 16))
    halves = [(x.view(np.uint32) >> np.uint32(16)).astype(np.uint16) for x in (a, b)]
    out = np.zeros((3, 128, 8), np.float32)
    boxes = Tiled(halves[0], (64, 64), "128B"), Tiled(halves[1], (64, 16), "128B")
    run(body, out, *boxes, head=HEAD, shared=2 * STAGE, grid=3, block=160, limit=20_000)
    c = np.zeros((192, 16), np.float32)
    c[:160] = a @ b.T
    block, thread, i = np.arange(3)[:, None, None], np.arange(128)[:, None], np.arange(8)[None, :]
    rows = 64 * block + 16 * (thread // 32) + thread % 32 // 4 + 8 * (i // 2 % 2)
    return out, c[rows, 8 * (i // 4) + 2 * (thread % 4) + i % 2]


def test_the_product_is_right() -> None:
    got, want = product(BODY)
    np.testing.assert_array_equal(got, want)


FAULTS = [
    ("bar.sync 0;", ""),
    ("fence.mbarrier_init.release.cluster;", ""),
    ("[%r2+8], 1;", "[%r2+8], 2;"),
    ("[%r2+16], 4;", "[%r2+16], 5;"),
    ("[%r2+16], 4;", "[%r2+16], 3;"),
    ("@!%p5 bra $empty;", ""),
    ("@!%p5 bra $full;", ""),
    ("xor.b32 %r6, %r4, 1;", "mov.b32 %r6, %r4;"),
    (f"[%r7], {STAGE};", f"[%r7], {STAGE - 2048};"),
    (f"[%r7], {STAGE};", f"[%r7], {STAGE + 16};"),
    ("[%d1, {%r10, %r13}]", "[%d1, {%r3, %r13}]"),
    ("[%d2, {%r10, 0}], [%r7]", "[%d2, {%r10, 0}], [%r7+16]"),
    ("mul.lo.u32 %r10, %r3, 64;", "mul.lo.u32 %r10, %r3, 63;"),
    ("setp.lt.u32 %p6, %r3, 5;\n@%p6 bra $fetch;", "setp.lt.u32 %p6, %r3, 4;\n@%p6 bra $fetch;"),
    ("setp.lt.u32 %p6, %r3, 5;\n@%p6 bra $fetch;", "setp.lt.u32 %p6, %r3, 6;\n@%p6 bra $fetch;"),
    ("setp.lt.u32 %p6, %r3, 5;\n@%p6 bra $multiply;", "setp.lt.u32 %p6, %r3, 4;\n@%p6 bra $multiply;"),
    ("wgmma.fence.sync.aligned;", ""),
    ("wgmma.commit_group.sync.aligned;", ""),
    ("wgmma.wait_group.sync.aligned 0;", ""),
    ("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;"),
    ("add.s64 %d22, %d20, 2;", "add.s64 %d22, %d20, 4;"),
    (f"or.b64 %d20, %d20, {MODE};", f"or.b64 %d20, %d20, {MODE - (1 << 62) + (2 << 62)};"),
    (f"or.b64 %d21, %d21, {MODE};", f"or.b64 %d21, %d21, {MODE - (64 << 32) + (32 << 32)};"),
    ("mbarrier.arrive.shared::cta.b64 _, [%r7+16];", ""),
    ("mbarrier.arrive.shared::cta.b64 _, [%r7+16];", "mbarrier.arrive.shared::cta.b64 _, [%r2+16];"),
    ("wgmma.wait_group.sync.aligned 0;\n@%p7 bra $told;\nmbarrier.arrive.shared::cta.b64 _, [%r7+16];\n$told:",
     "@%p7 bra $told;\nmbarrier.arrive.shared::cta.b64 _, [%r7+16];\n$told:\nwgmma.wait_group.sync.aligned 0;"),
]  # fmt: skip


@pytest.mark.parametrize("fault", range(len(FAULTS)))
def test_a_planted_fault_is_caught(fault: int) -> None:
    old, new = FAULTS[fault]
    assert BODY.count(old) == 1
    try:
        got, want = product(BODY.replace(old, new))
    except em.EmulationError:
        return
    assert not np.array_equal(got, want), (old, new)


def test_ptxas_accepts_the_text(tmp_path: Path) -> None:
    assemble([HEAD, entry(BODY, 3)], tmp_path)
