"""The emulator on PTX written by hand: control flow, memory spaces, calls, and every mistake it refuses, by its
message."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pelton.runtime import emulator as em

Array = np.ndarray

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
REGISTERS = """\
    .reg .pred %p<8>;
    .reg .b16 %h<8>;
    .reg .b32 %r<20>;
    .reg .f32 %f<8>;
    .reg .b64 %rd<20>;
"""


def kernel(body: str, parameters: int = 1, head: str = "") -> str:
    """An entry `k` of pointers; %rd0, %rd1, … hold them, %r0 the thread, %rd9 its byte offset in 32-bit elements."""
    names = [f"k_param_{i}" for i in range(parameters)]
    signature = ",\n".join(f"    .param .u64 {n}" for n in names)
    loads = "\n".join(f"    ld.param.u64 %rd{i}, [{n}];" for i, n in enumerate(names))
    thread = "    mov.u32 %r0, %tid.x;\n    mul.wide.u32 %rd9, %r0, 4;"
    return f"{HEAD}{head}.visible .entry k(\n{signature}\n)\n{{\n{REGISTERS}{loads}\n{thread}\n{body}\n}}\n"


def run(text: str, *args: Array | int, grid: int = 1, block: int = 64, **more: Any) -> None:
    em.emulate(text, "k", grid, block, args, **more)


STORE_R1 = "    add.u64 %rd10, %rd0, %rd9;\n    st.global.u32 [%rd10], %r1;\n"


def test_threads_know_their_place() -> None:
    body = (
        """
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r1, %r2, %r3, %r0;
    mul.wide.u32 %rd9, %r1, 4;
"""
        + STORE_R1
    )
    y = np.zeros(640, np.uint32)
    run(kernel(body), y, grid=10)
    np.testing.assert_array_equal(y, np.arange(640))


def test_divergent_branches_meet_again() -> None:
    body = (
        """
    and.b32 %r2, %r0, 3;
    mov.u32 %r1, 0;
$L1:
    setp.ge.u32 %p1, %r1, %r2;
    @%p1 bra $L2;
    add.u32 %r1, %r1, 1;
    bra.uni $L1;
$L2:
    setp.eq.u32 %p2, %r2, 2;
    @!%p2 bra $L3;
    add.u32 %r1, %r1, 100;
$L3:
    shfl.sync.idx.b32 %r3, %r1, 2, 31, -1;
    add.u32 %r1, %r1, %r3;
"""
        + STORE_R1
    )
    y = np.zeros(64, np.uint32)
    run(kernel(body), y)
    want = np.array([0, 1, 102, 3]) + 102
    np.testing.assert_array_equal(y, np.tile(want, 16))


def test_predicated_instructions_leave_other_threads_alone() -> None:
    body = "    mov.u32 %r1, 5;\n    setp.lt.u32 %p1, %r0, 10;\n"
    body += "    @%p1 mov.u32 %r1, 6;\n    @!%p1 add.u32 %r1, %r1, %r0;\n"
    y = np.zeros(64, np.uint32)
    run(kernel(body + STORE_R1), y)
    np.testing.assert_array_equal(y, np.where(np.arange(64) < 10, 6, 5 + np.arange(64)))


@pytest.mark.parametrize("space", ["shared", "generic"])
def test_blocks_exchange_through_shared_memory(space: str) -> None:
    text = """
    .shared .align 4 .b8 tile[256];
    mov.u64 %rd11, tile;
    add.u64 %rd12, %rd11, %rd9;
    cvta.shared.u64 %rd13, %rd12;
    st.shared.u32 [%rd12], %r0;
    bar.sync 0;
    mov.u32 %r2, 63;
    sub.u32 %r2, %r2, %r0;
    mul.wide.u32 %rd14, %r2, 4;
    add.u64 %rd15, %rd11, %rd14;
    cvta.shared.u64 %rd16, %rd15;
"""
    load = {"shared": "    ld.shared.u32 %r1, [%rd15];\n", "generic": "    ld.u32 %r1, [%rd16];\n"}[space]
    y = np.zeros(64, np.uint32)
    run(kernel(text + load + STORE_R1), y)
    np.testing.assert_array_equal(y, np.arange(64)[::-1])


def test_local_memory_is_each_threads_own() -> None:
    body = (
        """
    .local .align 8 .b8 depot[16];
    mov.u64 %rd11, depot;
    cvta.local.u64 %rd12, %rd11;
    st.local.u32 [%rd11+4], %r0;
    ld.u32 %r1, [%rd12+4];
"""
        + STORE_R1
    )
    y = np.zeros(64, np.uint32)
    run(kernel(body), y)
    np.testing.assert_array_equal(y, np.arange(64))


def test_calls_are_inlined_each_with_its_own_names() -> None:
    function = """
.func (.param .b32 ret0) twice
(
    .param .b32 twice_param_0
)
;
.func (.param .b32 ret0) twice
(
    .param .b32 twice_param_0
)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [twice_param_0];
    setp.gt.u32 %p1, %r1, 20;
    @%p1 bra $end;
    add.u32 %r1, %r1, %r1;
$end:
    st.param.b32 [ret0+0], %r1;
    ret;
}
"""
    call = """
    {
    .param .b32 param0;
    st.param.b32 [param0+0], %r1;
    .param .b32 retval0;
    call.uni (retval0),
    twice,
    (
    param0
    );
    ld.param.b32 %r1, [retval0+0];
    }
"""
    y = np.zeros(64, np.uint32)
    run(kernel("    mov.u32 %r1, %r0;\n" + call + call + STORE_R1, head=function), y)
    once = np.where(np.arange(64) > 20, np.arange(64), 2 * np.arange(64))
    np.testing.assert_array_equal(y, np.where(once > 20, once, 2 * once))


def test_module_constants_and_vector_loads() -> None:
    head = ".global .align 16 .b8 table[16] = {1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255};\n"
    body = """
    mov.u64 %rd11, table;
    ld.global.v2.u32 {%r2, %r3}, [%rd11];
    ld.global.nc.s32 %r4, [%rd11+8];
    mov.b64 %rd12, {%r2, %r3};
    mov.b64 {%r5, %r6}, %rd12;
    add.u32 %r1, %r5, %r6;
    add.s32 %r1, %r1, %r4;
"""
    y = np.zeros(64, np.uint32)
    run(kernel(body + STORE_R1, head=head), y)
    assert (y == 2).all()


def test_narrow_loads_extend_by_their_sign() -> None:
    body = (
        """
    ld.global.s8 %h1, [%rd1];
    cvt.s32.s16 %r1, %h1;
    ld.global.u8 %r2, [%rd1];
    shl.b32 %r2, %r2, 16;
    add.s32 %r1, %r1, %r2;
"""
        + STORE_R1
    )
    y = np.zeros(64, np.int32)
    run(kernel(body, 2), y, np.array([-2], np.int8))
    assert (y == -2 + (254 << 16)).all()


def test_atomics_count_every_thread() -> None:
    body = (
        """
    atom.global.add.u32 %r1, [%rd1], 1;
    red.global.max.s32 [%rd1+4], %r0;
    atom.global.cas.b32 %r2, [%rd1+8], 0, 7;
"""
        + STORE_R1
    )
    y, counters = np.zeros(64, np.uint32), np.zeros(3, np.int32)
    run(kernel(body, 2), y, counters)
    assert sorted(y) == list(range(64)) and counters.tolist() == [64, 63, 7]


def test_votes_and_shuffles() -> None:
    body = (
        """
    setp.lt.u32 %p1, %r0, 40;
    vote.sync.ballot.b32 %r2, %p1, -1;
    vote.sync.any.pred %p2, %p1, -1;
    vote.sync.all.pred %p3, %p1, -1;
    selp.u32 %r3, 1, 0, %p2;
    selp.u32 %r4, 2, 0, %p3;
    shfl.sync.up.b32 %r5|%p4, %r0, 1, 0, -1;
    shfl.sync.down.b32 %r6, %r0, 4, 31, -1;
    popc.b32 %r7, %r2;
    add.u32 %r1, %r3, %r4;
    mad.lo.u32 %r1, %r7, 10, %r1;
    mad.lo.u32 %r1, %r5, 1000, %r1;
    mad.lo.u32 %r1, %r6, 100000, %r1;
"""
        + STORE_R1
    )
    y = np.zeros(64, np.uint32)
    run(kernel(body), y)
    t = np.arange(64)
    lane = t % 32
    votes = np.where(t < 32, 3 + 320, 1 + 80)
    up, down = np.where(lane >= 1, t - 1, t), np.where(lane + 4 <= 31, t + 4, t)
    np.testing.assert_array_equal(y, votes + 1000 * up + 100000 * down)


def test_a_lock_with_a_pause_makes_progress() -> None:
    body = """
$again:
    nanosleep.u32 20;
    atom.global.exch.b32 %r1, [%rd1], 1;
    setp.eq.u32 %p1, %r1, 1;
    @%p1 bra $again;
    ld.volatile.global.u32 %r2, [%rd1+4];
    add.u32 %r2, %r2, %r0;
    st.volatile.global.u32 [%rd1+4], %r2;
    membar.gl;
    atom.global.exch.b32 %r3, [%rd1], 0;
"""
    words = np.zeros(2, np.uint32)
    run(kernel(body, 2), np.zeros(1, np.uint32), words, grid=2, block=32)
    assert words.tolist() == [0, 2 * sum(range(32))]


def test_dynamic_shared_memory_follows_the_static() -> None:
    head = ".extern .shared .align 16 .b8 dynamic[];\n"
    body = "    mov.u64 %rd11, dynamic;\n    add.u64 %rd12, %rd11, %rd9;\n    st.shared.u32 [%rd12], %r0;\n"
    body += "    ld.shared.u32 %r1, [%rd12];\n" + STORE_R1
    y = np.zeros(64, np.uint32)
    run(kernel(body, head=head), y, shared=256)
    np.testing.assert_array_equal(y, np.arange(64))
    with pytest.raises(em.OutOfBounds, match="byte 128 of 128 bytes of shared memory"):
        run(kernel(body, head=head), y, shared=128)


# ---- what it refuses
def test_a_store_behind_the_end_names_thread_and_buffer() -> None:
    y = np.zeros(40, np.uint32)
    with pytest.raises(em.OutOfBounds) as caught:
        run(kernel("    mov.u32 %r1, 1;\n" + STORE_R1), y)
    assert "`st.global.u32 [%rd10], %r1;` (PTX line 18), thread 40 of block 0" in str(caught.value)
    assert "byte 160 of argument 0, which has 160 bytes" in str(caught.value)


def test_the_block_of_a_bad_store_is_named() -> None:
    body = "    mov.u32 %r2, %ctaid.x;\n    mad.lo.u32 %r1, %r2, 64, %r0;\n    mul.wide.u32 %rd9, %r1, 4;\n" + STORE_R1
    with pytest.raises(em.OutOfBounds, match="thread 3 of block 300"):
        run(kernel(body), np.zeros(300 * 64 + 3, np.uint32), grid=301)


def test_an_address_of_nothing_is_refused() -> None:
    with pytest.raises(em.OutOfBounds, match="lies in no buffer"):
        run(kernel("    mov.u64 %rd0, 4096;\n    mov.u32 %r1, 0;\n" + STORE_R1), np.zeros(64, np.uint32))


def test_a_misaligned_access_is_refused() -> None:
    with pytest.raises(em.Misaligned, match=r"thread 0 of block 0: address 0x\w+ is no multiple of 4"):
        run(kernel("    add.u64 %rd0, %rd0, 2;\n    mov.u32 %r1, 0;\n" + STORE_R1), np.zeros(99, np.uint32))


def test_unwritten_shared_memory_may_not_be_read() -> None:
    body = "    .shared .align 4 .b8 tile[256];\n    mov.u64 %rd11, tile;\n    add.u64 %rd12, %rd11, %rd9;\n"
    body += "    setp.lt.u32 %p1, %r0, 9;\n    @%p1 st.shared.u32 [%rd12], %r0;\n    ld.shared.u32 %r1, [%rd12];\n"
    with pytest.raises(em.Uninitialised, match="thread 9 of block 0: nobody wrote byte 36 of shared memory"):
        run(kernel(body + STORE_R1), np.zeros(64, np.uint32))


def test_a_barrier_that_some_never_reach_is_refused() -> None:
    body = "    setp.ge.u32 %p1, %r0, 50;\n    @%p1 bra $out;\n    bar.sync 0;\n$out:\n    ret;\n"
    with pytest.raises(
        em.DivergentBarrier, match=r"`bar.sync 0;` .*thread 0 of block 0 waits here, thread 50 of block 0 has ended"
    ):
        run(kernel(body), np.zeros(1))


def test_two_barriers_in_two_arms_are_refused() -> None:
    body = "    setp.ge.u32 %p1, %r0, 50;\n    @%p1 bra $other;\n"
    body += "    bar.sync 0;\n    ret;\n$other:\n    bar.sync 0;\n    ret;\n"
    with pytest.raises(em.DivergentBarrier, match=r"thread 50 of block 0 waits at `bar.sync 0;` \(PTX line 21\)"):
        run(kernel(body), np.zeros(1))


def test_a_shuffle_in_half_a_warp_is_refused() -> None:
    body = "    setp.ge.u32 %p1, %r0, 50;\n    @%p1 bra $out;\n"
    body += "    shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;\n$out:\n    ret;\n"
    with pytest.raises(
        em.DivergentBarrier, match=r"shfl.sync.* thread 32 of block 0 waits here, thread 50 of block 0 has ended"
    ):
        run(kernel(body), np.zeros(1))


RACE = "    .shared .align 4 .b8 tile[512];\n    mov.u64 %rd11, tile;\n    add.u64 %rd12, %rd11, %rd9;\n"


def test_reading_what_another_thread_just_wrote_is_a_race() -> None:
    body = (
        RACE
        + "    st.shared.u32 [%rd12], %r0;\n    st.shared.u32 [%rd12+256], %r0;\n    ld.shared.u32 %r1, [%rd12+4];\n"
    )
    with pytest.raises(
        em.Race, match="thread 0 of block 0: reads what thread 1 of block 0 wrote with no barrier between"
    ):
        run(kernel(body + STORE_R1), np.zeros(64, np.uint32))
    run(kernel(body + STORE_R1), np.zeros(64, np.uint32), check_races=False)


def test_overwriting_what_others_still_read_is_a_race() -> None:
    body = (
        RACE
        + "    st.shared.u32 [%rd12], %r0;\n    bar.sync 0;\n"
        + "    ld.shared.u32 %r1, [tile];\n    st.shared.u32 [%rd12], %r1;\n"
    )
    with pytest.raises(em.Race, match="thread 0 of block 0: writes what other threads read with no barrier between"):
        run(kernel(body), np.zeros(1))


def test_two_threads_that_store_to_one_place_are_a_race() -> None:
    body = RACE + "    st.shared.u32 [tile], %r0;\n"
    with pytest.raises(em.Race, match="thread 0 of block 0: writes what thread 63 of block 0 wrote in the same step"):
        run(kernel(body), np.zeros(1))


def test_blocks_are_never_ordered() -> None:
    other = "    mov.u32 %r2, %ctaid.x;\n    setp.eq.u32 %p1, %r2, 0;\n    @%p1 bra $out;\n    bar.sync 0;\n"
    body = "    mov.u32 %r1, 1;\n" + other + STORE_R1 + "    ret;\n$out:\n" + STORE_R1
    with pytest.raises(em.Race, match="thread 0 of block 1: writes what thread 0 of block 0 wrote"):
        run(kernel(body), np.zeros(64, np.uint32), grid=2)


def test_an_endless_loop_ends() -> None:
    with pytest.raises(em.DidNotFinish, match="k: more than 100 basic blocks"):
        run(kernel("$top:\n    bra.uni $top;\n"), np.zeros(1), limit=100)


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (
            "    frobnicate.u32 %r1, %r2;",
            em.UnsupportedInstruction,
            r"`frobnicate.u32 %r1, %r2;` \(PTX line 16\): no rule",
        ),
        ("    mul.rz.f64 %rd1, %rd2, %rd3;", em.UnsupportedInstruction, "mul.rz"),
        ("    bra $nowhere;", em.PtxSyntaxError, r"no label \$nowhere"),
        ("    add.u32 %r1, %r2, %unknown;", em.PtxSyntaxError, "unknown name %unknown"),
        ("    bar.sync 17;", em.DivergentBarrier, "barrier 17 for 64 threads"),
        ("    prmt.b32.xyz %r1, %r2, %r3, %r4;", em.UnsupportedInstruction, "xyz is not understood here"),
        ("    st.async.b32 [%r1], %r2, [%r3];", em.UnsupportedInstruction, "async is not understood here"),
        ("    bar.sync 0, 33;", em.DivergentBarrier, "barrier 0 for 33 threads"),
        ("    call.uni other, (%r1);", em.UnsupportedInstruction, "only a direct call"),
        ("    ld.global.u32 %r1, [%rd1]", em.PtxSyntaxError, "expected"),
        ("    ?", em.PtxSyntaxError, r"line 16: unexpected '\?'"),
    ],
)
def test_text_outside_the_subset_is_refused(body: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run(kernel(body), np.zeros(1))


def test_arguments_are_checked() -> None:
    text = kernel("    ret;")
    with pytest.raises(ValueError, match=r"k takes 1 arguments \(k_param_0\), got 2"):
        run(text, np.zeros(1), 3)
    with pytest.raises(ValueError, match="multiple of 32 threads, at most 1024; got 33"):
        run(text, np.zeros(1), block=33)
    with pytest.raises(em.PtxSyntaxError, match="no entry 'other' in the PTX text; it has: k"):
        em.emulate(text, "other", 1, 32, [])


def test_needs_numpy_alone() -> None:
    import subprocess
    import sys

    code = "import sys, pelton.runtime.emulator; print([m for m in ('numba', 'xdsl', 'llvmlite') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
