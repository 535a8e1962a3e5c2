"""What threads do together, each by its section of the PTX ISA document (numbers of version 9.0): exchanges in a warp,
atomics, numbered barriers, special registers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton.runtime import emulator as em
from pelton.tests.support.ptx import assemble, entry, run

Array = np.ndarray[Any, Any]
BODIES: dict[str, str] = {
    "match any": "and.b32 %r1, %r0, 3;\nmatch.any.sync.b32 %r2, %r1, -1;\n",
    "match all": "match.all.sync.b32 %r2|%p1, 7, -1;\nselp.b32 %r3, 1, 0, %p1;\n"
    "match.all.sync.b32 %r4|%p2, %r0, -1;\nselp.b32 %r5, 1, 0, %p2;\n"
    "and.b32 %r2, %r2, 0xff00;\nadd.u32 %r2, %r2, %r3;\nadd.u32 %r2, %r2, %r4;\nadd.u32 %r2, %r2, %r5;\n",
    "elect": "elect.sync %r1|%p1, -1;\nselp.b32 %r2, 100, %r1, %p1;\n",
    "activemask": "mov.b32 %r2, 5;\nsetp.lt.u32 %p1, %r0, 7;\n@!%p1 bra $L1;\nactivemask.b32 %r2;\n$L1:\n",
    "half masks": "setp.lt.u32 %p1, %r0, 16;\nselp.b32 %r1, 0xffff, 0xffff0000, %p1;\n@%p1 bra $L1;\n"
    "vote.sync.ballot.b32 %r2, 1, %r1;\nbra $L2;\n$L1:\nshfl.sync.bfly.b32 %r2, %r0, 1, 31, %r1;\n$L2:\n",
}
OUT = "mad.wide.u32 %d31, %r0, 4, %d0;\nst.global.u32 [%d31], %r2;"
LANES = np.arange(32)


def values(name: str) -> Array:
    y = np.zeros(32, np.uint32)
    run(BODIES[name] + OUT, y)
    return y


def test_match_finds_equal_lanes() -> None:
    """9.7.13.10 match.sync: `.any` gives the lanes with my value."""
    want = [sum(1 << j for j in range(32) if j % 4 == i % 4) for i in range(32)]
    assert values("match any").tolist() == want


def test_match_all_says_whether_all_agree() -> None:
    """9.7.13.10 match.sync: `.all` gives the mask and true if all agree, else 0 and false."""
    assert (values("match all") == 0xFF01).all()


def test_the_lowest_lane_is_elected() -> None:
    """9.7.13.14 elect.sync: true for the leader; every lane learns who it is."""
    assert values("elect").tolist() == [100] + [0] * 31


def test_active_lanes() -> None:
    """9.7.13.11 activemask."""
    assert values("activemask").tolist() == [127] * 7 + [5] * 25


def test_masks_name_who_takes_part() -> None:
    """9.7.9.6 shfl.sync, 9.7.13.9 vote.sync: a warp's halves may go different ways."""
    assert values("half masks").tolist() == [i ^ 1 for i in range(16)] + [0xFFFF_0000] * 16


@pytest.mark.parametrize(
    ("operation", "type", "want"),
    [
        ("add", "u32", (LANES * LANES).sum()),
        ("add", "s32", (LANES * LANES).sum()),
        ("min", "s32", 2**32 - 15),
        ("max", "u32", 2**32 - 1),
        ("or", "b32", 2**32 - 1),
        ("and", "b32", 0),
        ("xor", "b32", int(np.bitwise_xor.reduce(np.arange(-15, 17).astype(np.uint32)))),
    ],
)
def test_reductions_across_a_warp(operation: str, type: str, want: int) -> None:
    """9.7.13.12 redux.sync."""
    source = "mul.lo.u32 %r1, %r0, %r0;\n" if operation == "add" else "sub.s32 %r1, %r0, 15;\n"
    y = np.zeros(32, np.uint32)
    run(f"{source}redux.sync.{operation}.{type} %r2, %r1, -1;\n{OUT}", y)
    assert (y == want).all()


def test_redux_takes_the_lanes_of_its_mask() -> None:
    """9.7.13.12 redux.sync: over the lanes in membermask."""
    y = np.zeros(32, np.uint32)
    body = "setp.lt.u32 %p1, %r0, 4;\nselp.b32 %r1, 0xf, 0xfffffff0, %p1;\n"
    run(f"{body}redux.sync.max.u32 %r2, %r0, %r1;\n{OUT}", y)
    assert y.tolist() == [3] * 4 + [31] * 28


def test_a_lane_outside_its_own_mask_is_refused() -> None:
    """9.7.13.9 vote.sync: undefined if the executing thread is not in membermask."""
    with pytest.raises(em.DivergentBarrier, match="thread 8 of block 0: a mask that does not name the lane itself"):
        run("vote.sync.ballot.b32 %r2, 1, 0xff;\n", np.zeros(1))


def test_a_shuffle_from_an_absent_lane_is_refused() -> None:
    """9.7.9.6 shfl.sync: a value sourced from an inactive thread is undefined."""
    body = "setp.lt.u32 %p1, %r0, 16;\n@!%p1 bra $L1;\nshfl.sync.idx.b32 %r2, %r0, 20, 31, 0xffff;\n$L1:\n"
    with pytest.raises(em.DivergentBarrier, match="takes the value of lane 20, which is not here"):
        run(body, np.zeros(1))


# ---- atomics
ATOMICS = {
    "inc": ("atom.global.inc.u32 %r2, [%d1], 4;", "9.7.13.5"),
    "dec": ("atom.global.dec.u32 %r2, [%d1], 4;", "9.7.13.5"),
    "f16x2": ("mov.b32 %r3, 0x3C003C00;\natom.global.add.noftz.f16x2 %r2, [%d1], %r3;", "9.7.13.5"),
    "bf16": ("mov.b16 %h1, 0x3F80;\nred.global.add.noftz.bf16 [%d1], %h1;", "9.7.13.6"),
    "v2": ("mov.f32 %f1, 0f3F800000;\nmov.f32 %f2, 0f40000000;\nred.global.add.v2.f32 [%d1], {%f1, %f2};", "9.7.13.6"),
    "shared": (".shared .align 4 .b8 s[4];\nmov.u32 %r4, s;\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 st.shared.u32 [%r4], 9;\n"
               "bar.sync 0;\nred.shared.add.u32 [%r4], %r0;\nbar.sync 0;\nld.shared.u32 %r2, [%r4];\n"
               "@%p1 st.global.u32 [%d1], %r2;", "9.7.13.6"),
    "float": ("mov.f32 %f1, 0f3F800000;\natom.global.add.f32 %f2, [%d1], %f1;\nmov.b32 %r2, %f2;", "9.7.13.5"),
    "wide": ("cvt.u64.u32 %d20, %r0;\natom.global.max.u64 %d21, [%d1], %d20;", "9.7.13.5"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("inc", [0, 0], [2, 0]),  # 0 1 2 3 4 0 1 …: 32 steps of a cycle of 5
        ("dec", [3, 0], [1, 0]),
        ("f16x2", [0, 0], [0x5000_5000, 0]),
        ("bf16", [0x3F80, 0], [0x4204, 0]),
        ("v2", [0, 0], [0x4200_0000, 0x4280_0000]),
        ("shared", [0, 0], [9 + 31 * 16, 0]),
        ("float", [0x4B80_0000, 0], [0x4B80_0000, 0]),  # 2**24 + 1 rounds down each time
        ("wide", [5, 0], [31, 0]),
    ],
)
def test_atomics_act_one_after_another(name: str, start: list[int], end: list[int]) -> None:
    """9.7.13.5 atom, 9.7.13.6 red."""
    y, memory = np.zeros(32, np.uint32), np.array(start, np.uint32)
    run("mov.u32 %r2, 0;\n" + ATOMICS[name][0] + "\n" + OUT, y, memory)
    assert memory.tolist() == end


def test_an_atomic_tells_each_thread_what_it_found() -> None:
    """9.7.13.5 atom: the original value; here 16 addresses with two threads each."""
    y, memory = np.zeros(32, np.uint32), np.arange(16, dtype=np.uint32)
    run(
        f"and.b32 %r1, %r0, 15;\nmad.wide.u32 %d20, %r1, 4, %d1;\natom.global.add.u32 %r2, [%d20], 100;\n{OUT}",
        y,
        memory,
    )
    assert sorted(y.reshape(2, 16).T.tolist()) == [[k, k + 100] for k in range(16)]
    assert memory.tolist() == [k + 200 for k in range(16)]


# ---- numbered barriers
PIPE = """
.shared .align 4 .b8 s[128];
mov.u32 %r4, s;
and.b32 %r5, %r0, 31;
mad.lo.u32 %r4, %r5, 4, %r4;
setp.ge.u32 %p1, %r0, 32;
@%p1 bra $consumer;
add.u32 %r6, %r0, 7;
st.shared.u32 [%r4], %r6;
{arrive}
bra $end;
$consumer:
bar.sync 1, 64;
ld.shared.u32 %r2, [%r4];
mad.wide.u32 %d31, %r5, 4, %d0;
st.global.u32 [%d31], %r2;
$end:
"""


def test_a_producer_arrives_and_a_consumer_waits() -> None:
    """9.7.13.1 bar: the document's producer and consumer."""
    y = np.zeros(32, np.uint32)
    run(PIPE.format(arrive="bar.arrive 1, 64;"), y, block=64)
    assert y.tolist() == list(range(7, 39))
    run(PIPE.format(arrive="bar.arrive 1, 64;"), y, block=64, grid=3, check_races=False)
    assert y.tolist() == list(range(7, 39))
    with pytest.raises(em.DivergentBarrier, match="thread 32 of block 0 waits here"):
        run(PIPE.format(arrive="bar.arrive 2, 64;"), y, block=64)
    with pytest.raises(em.DivergentBarrier, match="barrier 1 for 64 threads, others wait for 32"):
        run(PIPE.format(arrive="bar.arrive 1, 32;\nbar.arrive 1, 64;"), y, block=64)


def test_barriers_that_count() -> None:
    """9.7.13.1 bar.red: the number of threads with a true predicate, and whether all or any have one."""
    y = np.zeros(64, np.uint32)
    body = "setp.lt.u32 %p1, %r0, 40;\nbar.red.popc.u32 %r2, 0, %p1;\nbar.red.or.pred %p2, 0, %p1;\n"
    body += "bar.red.and.pred %p3, 0, !%p1;\n@%p2 add.u32 %r2, %r2, 100;\n@%p3 add.u32 %r2, %r2, 1000;\n"
    run(body + OUT, y, block=64)
    assert (y == 140).all()


def test_a_cluster_of_one_block_meets() -> None:
    """9.7.13.3 barrier.cluster; 9.7.13.13 griddepcontrol and 9.7.16 setmaxnreg change nothing here."""
    body = "griddepcontrol.wait;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
    body += "setmaxnreg.dec.sync.aligned.u32 40;\ngriddepcontrol.launch_dependents;\nmov.u32 %r2, 3;\n"
    y = np.zeros(128, np.uint32)
    run(body + OUT, y, block=128)
    assert (y == 3).all()


SPECIALS = {
    "laneid": LANES,
    "warpid": 0 * LANES,
    "lanemask_eq": 1 << LANES,
    "lanemask_lt": (1 << LANES) - 1,
    "lanemask_le": (2 << LANES) - 1,
    "lanemask_gt": 2**32 - (2 << LANES),
    "lanemask_ge": 2**32 - (1 << LANES),
    "cluster_ctarank": 0 * LANES,
    "cluster_nctarank": 0 * LANES + 1,
    "nclusterid.x": 0 * LANES + 3,
    "dynamic_smem_size": 0 * LANES + 64,
}


@pytest.mark.parametrize("name", SPECIALS)
def test_special_registers(name: str) -> None:
    """Section 10: special registers."""
    y = np.zeros(32, np.uint32)
    run(f"mov.u32 %r2, %{name};\nmov.u32 %r3, %ctaid.x;\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 {OUT.splitlines()[0]}\n"
        f"@%p1 {OUT.splitlines()[1]}", y, grid=3, shared=64)  # fmt: skip
    np.testing.assert_array_equal(y, SPECIALS[name])


def test_clocks_go_on() -> None:
    """10.22 %clock64, 10.28 %globaltimer."""
    y = np.zeros(32, np.uint32)
    body = "mov.u64 %d20, %clock64;\nmov.u64 %d21, %globaltimer;\nbar.warp.sync -1;\nmov.u64 %d22, %clock64;\n"
    body += "sub.u64 %d22, %d22, %d20;\ncvt.u32.u64 %r2, %d22;\n"
    run(body + OUT, y)
    assert (y > 0).all()


def test_ptxas_accepts_every_text(tmp_path: Path) -> None:
    bodies = [b + OUT for b in BODIES.values()] + [a + "\n" + OUT for a, _ in ATOMICS.values()]
    bodies += [PIPE.format(arrive="bar.arrive 1, 64;")]
    bodies += [f"redux.sync.{o} %r2, %r0, -1;\n{OUT}" for o in ("add.u32", "min.s32", "xor.b32")]
    bodies += [f"mov.u32 %r2, %{n};\n{OUT}" for n in SPECIALS]
    counting = "setp.lt.u32 %p1, %r0, 40;\nbar.red.popc.u32 %r2, 0, %p1;\nbar.red.or.pred %p2, 0, %p1;\n"
    bodies += [counting + "bar.red.and.pred %p3, 0, !%p1;\n" + OUT, "mov.u64 %d20, %globaltimer;\n"]
    bodies += ["barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"]
    assemble([entry(b, 2, f"k{n}") for n, b in enumerate(bodies)], tmp_path)
