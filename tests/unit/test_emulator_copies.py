"""`cp.async` and `mbarrier`, each by its section of the PTX ISA document (numbers of version 9.0): what becomes visible
when, and every way to wait too little, too much, or in vain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton.runtime import emulator as em
from pelton.tests.support.ptx import assemble, entry, run

Array = np.ndarray[Any, Any]
rng = np.random.default_rng(31)
SETUP = """
.shared .align 128 .b8 s[2048];
mov.u32 %r4, s;
mad.lo.u32 %r5, %r0, 16, %r4;
mad.wide.u32 %d20, %r0, 16, %d1;
mad.wide.u32 %d21, %r0, 16, %d0;
"""
COPY = "cp.async.cg.shared.global [%r5], [%d20], 16;\n"
TAKE = "ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5];\nst.global.v4.u32 [%d21], {%r6, %r7, %r8, %r9};\n"
WAIT = "cp.async.commit_group;\ncp.async.wait_group 0;\n"
X = rng.integers(0, 2**32, (64, 4), np.uint64).astype(np.uint32)


def result(body: str, rows: int = 64, **more: Any) -> Array:
    y = np.zeros((rows, 4), np.uint32)
    run(SETUP + body, y, X, block=64, **more)
    return y


def test_a_copy_is_there_after_its_wait() -> None:
    """9.7.9.25.3.1 cp.async, 9.7.9.25.3.3 cp.async.wait_group."""
    np.testing.assert_array_equal(result(COPY + WAIT + TAKE), X)
    np.testing.assert_array_equal(result(COPY + "cp.async.wait_all;\n" + TAKE), X)


@pytest.mark.parametrize("size", [4, 8, 16])
def test_sizes(size: int) -> None:
    """9.7.9.25.3.1 cp.async: cp-size is 4, 8 or 16."""
    clear = "mov.u32 %r10, 0;\nst.shared.v4.u32 [%r5], {%r10, %r10, %r10, %r10};\n"
    y = result(clear + f"cp.async.ca.shared.global [%r5], [%d20], {size};\n" + WAIT + TAKE)
    np.testing.assert_array_equal(y[:, : size // 4], X[:, : size // 4])
    assert not y[:, size // 4 :].any()


@pytest.mark.parametrize("operand", ["%r10", "%p1"])
def test_what_the_source_lacks_is_zero(operand: str) -> None:
    """9.7.9.25.3.1 cp.async: bytes beyond src-size, or all with ignore-src, are zeros."""
    body = "and.b32 %r10, %r0, 15;\nsetp.gt.u32 %p1, %r0, 5;\n"
    y = result(body + f"cp.async.cg.shared.global [%r5], [%d20], 16, {operand};\n" + WAIT + TAKE)
    bytes_of = X.view(np.uint8).reshape(64, 16).copy()
    for k in range(64):
        bytes_of[k, (k & 15 if operand == "%r10" else 16 * (k <= 5)) :] = 0
    np.testing.assert_array_equal(y.view(np.uint8).reshape(64, 16), bytes_of)


def test_ignored_sources_are_not_read() -> None:
    """9.7.9.25.3.1 cp.async: an address out of bounds does no harm with src-size 0."""
    body = "mov.u32 %r10, 0;\nadd.u64 %d20, %d20, 99984;\ncp.async.cg.shared.global [%r5], [%d20], 16, %r10;\n"
    assert not result(body + WAIT + TAKE).any()
    with pytest.raises(em.OutOfBounds, match="of argument 1, which has 1024 bytes"):
        result(body.replace("%r10, 0;", "%r10, 4;") + WAIT + TAKE)


TWO = COPY + "cp.async.commit_group;\ncp.async.cg.shared.global [%r5+1024], [%d20], 16;\ncp.async.commit_group;\n"


def test_groups_complete_in_order() -> None:
    """9.7.9.25.3.3 cp.async.wait_group N: all but the N most recent groups."""
    np.testing.assert_array_equal(result(TWO + "cp.async.wait_group 1;\n" + TAKE), X)
    second = TAKE.replace("[%r5]", "[%r5+1024]")
    np.testing.assert_array_equal(result(TWO + "cp.async.wait_group 0;\n" + second), X)
    with pytest.raises(em.InFlight) as caught:
        result(TWO + "cp.async.wait_group 1;\n" + second)
    assert "thread 0 of block 0: byte 1024 of shared memory is still written by `cp.async.cg" in str(caught.value)
    assert "for which nobody has waited" in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        COPY + TAKE,
        COPY + "cp.async.commit_group;\n" + TAKE,
        COPY + "cp.async.wait_group 0;\n" + TAKE,  # the copy is in no group yet
        COPY + "cp.async.commit_group;\ncp.async.wait_group 1;\n" + TAKE,
        COPY + "bar.sync 0;\n" + TAKE,
    ],
    ids=["no wait", "no wait for the group", "no commit", "one group too few", "a barrier is no wait"],
)
def test_reading_too_early_is_refused(body: str) -> None:
    with pytest.raises(em.InFlight):
        result(body)


def test_a_byte_in_flight_may_not_be_written() -> None:
    for write in ("st.shared.u32 [%r5+4], %r0;\n", COPY):
        with pytest.raises(em.InFlight):
            result(COPY + write + WAIT)


NEXT = "xor.b32 %r11, %r5, 512;\n" + TAKE.replace("[%r5]", "[%r11]")


def test_others_see_a_copy_after_a_barrier() -> None:
    """9.7.9.25.3.3: the wait is the executing thread's alone."""
    y = result(COPY + WAIT + "bar.sync 0;\n" + NEXT)
    np.testing.assert_array_equal(y, np.roll(X, 32, 0))
    with pytest.raises(em.Race, match="reads what thread 32 of block 0 wrote with no barrier between"):
        result(COPY + WAIT + NEXT)
    with pytest.raises(em.Race, match="wrote with no barrier between"):
        result(COPY + "bar.sync 0;\n" + WAIT + NEXT)


def test_a_copy_into_what_others_still_read_is_a_race() -> None:
    first = COPY + WAIT + "bar.sync 0;\n" + NEXT
    result(first + "bar.sync 0;\n" + COPY + WAIT)
    with pytest.raises(em.Race, match=r"`cp.async.* writes what (thread \d+ of block 0|other threads) read"):
        result(first + COPY + WAIT)


def test_a_misaligned_copy_is_refused() -> None:
    with pytest.raises(em.Misaligned):
        result(COPY.replace("[%r5]", "[%r5+8]"))
    with pytest.raises(em.Misaligned):
        result(COPY.replace("[%d20]", "[%d20+8]"))


# ---- mbarrier
HEAD = """
.shared .align 8 .b64 m[4];
mov.u32 %r20, m;
setp.ne.u32 %p1, %r0, 0;
@%p1 bra $ready;
mbarrier.init.shared::cta.b64 [%r20], {count};
mbarrier.init.shared::cta.b64 [%r20+8], {count};
$ready:
bar.sync 0;
"""
SPIN = "$w{k}:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r20+{at}], {parity};\n@!%p2 bra $w{k};\n"


def spin(k: int, parity: int | str, at: int = 0) -> str:
    return SPIN.format(k=k, parity=parity, at=at)


STATE = """
mbarrier.arrive.shared::cta.b64 %d25, [%r20];
$s:
mbarrier.test_wait.shared::cta.b64 %p3, [%r20], %d25;
@!%p3 bra $s;
"""
PUT = "st.shared.v4.u32 [%r5], {%r0, %r0, %r0, %r0};\n"
GOOD = {
    "state": HEAD.format(count=64) + PUT + STATE + NEXT,
    "parity": HEAD.format(count=64) + PUT + "mbarrier.arrive.shared::cta.b64 _, [%r20];\n" + spin(0, 0) + NEXT,
    "three phases": HEAD.format(count=64)
    + "".join(f"mbarrier.arrive.shared::cta.b64 _, [%r20];\n{spin(k, k & 1)}" for k in range(3))
    + PUT
    + "mbarrier.arrive.shared::cta.b64 _, [%r20];\n"
    + spin(3, 1)
    + NEXT,
    "count": HEAD.format(count=128) + PUT + "mbarrier.arrive.shared::cta.b64 _, [%r20], 2;\n" + spin(0, 0) + NEXT,
    "drop": HEAD.format(count=64)
    + "setp.ge.u32 %p4, %r0, 32;\n@%p4 mbarrier.arrive_drop.shared::cta.b64 _, [%r20];\n"
    + "@!%p4 mbarrier.arrive.shared::cta.b64 _, [%r20];\n"
    + spin(0, 0)
    + PUT
    + "@!%p4 mbarrier.arrive.shared::cta.b64 _, [%r20];\n"
    + "@!%p4 bra $later;\nbar.sync 0;\n"
    + NEXT
    + "bra $end;\n$later:\n"
    + spin(1, 1)
    + "bar.sync 0;\n"
    + NEXT
    + "$end:\n",
    "copies": HEAD.format(count=64)
    + COPY
    + "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r20];\n"
    + spin(0, 0)
    + NEXT,
    "copies inc": HEAD.format(count=64)
    + COPY
    + "cp.async.mbarrier.arrive.shared::cta.b64 [%r20];\nmbarrier.arrive.shared::cta.b64 _, [%r20];\n"
    + spin(0, 0)
    + NEXT,
    "bytes": HEAD.format(count=64)
    + PUT
    + "@!%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r20], 16;\n"
    + "mbarrier.arrive.shared::cta.b64 _, [%r20];\nbar.sync 0;\n"
    + "@!%p1 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r20], 16;\n"
    + spin(0, 0)
    + NEXT,
}
SECTIONS = {
    "state": "9.7.13.15.16 mbarrier.test_wait",
    "parity": "9.7.13.15.16 mbarrier.try_wait.parity",
    "three phases": "9.7.13.15.5 phases",
    "count": "9.7.13.15.13 mbarrier.arrive with a count",
    "drop": "9.7.13.15.14 mbarrier.arrive_drop",
    "copies": "9.7.13.15.15 cp.async.mbarrier.arrive.noinc",
    "copies inc": "9.7.13.15.15 cp.async.mbarrier.arrive",
    "bytes": "9.7.13.15.11 expect_tx, 9.7.13.15.12 complete_tx",
}


@pytest.mark.parametrize("name", GOOD, ids=lambda n: SECTIONS[n].replace(" ", "_"))
def test_an_mbarrier_orders_memory(name: str) -> None:
    want = X if "copies" in name else np.repeat(np.arange(64, dtype=np.uint32)[:, None], 4, 1)
    np.testing.assert_array_equal(result(GOOD[name]), np.roll(want, 32, 0))
    np.testing.assert_array_equal(result(GOOD[name], grid=3, check_races=False), np.roll(want, 32, 0))


ARRIVE = "mbarrier.arrive.shared::cta.b64 _, [%r20];\n"


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (GOOD["parity"].replace(spin(0, 0), ""), em.Race, "wrote with no barrier between"),
        (GOOD["parity"].replace(spin(0, 0), spin(0, 1)), em.Deadlock, "waits for phase 1 of an mbarrier .64 of 64"),
        (GOOD["parity"].replace(ARRIVE, ""), em.Deadlock, "phase 0 of an mbarrier .64 of 64 arrivals and 0 bytes"),
        (GOOD["parity"].replace("], 64;", "], 65;"), em.Deadlock, "1 of 65 arrivals"),
        (GOOD["state"].replace("], 64;", "], 65;"), em.Deadlock, "1 of 65 arrivals"),
        (GOOD["copies"].replace(".noinc", ""), em.Deadlock, "64 of 64 arrivals"),
        (GOOD["copies"].replace(spin(0, 0), ""), em.InFlight, "still written by `cp.async"),
        (GOOD["bytes"].replace("[%r20], 16;\n" + ARRIVE, "[%r20], 32;\n" + ARRIVE), em.Deadlock, "16 bytes are"),
        (HEAD.format(count=64).replace("bar.sync 0;", "") + ARRIVE, em.Race, "uses what thread 0 of block 0 wrote"),
        (HEAD.format(count=64) + ARRIVE.replace("%r20]", "%r20+16]"), em.EmulationError, "no mbarrier was initialised"),
        (HEAD.format(count=1) + "@%p1 bra $e;\n" + ARRIVE.replace("];", "], 2;") + "$e:\n", em.EmulationError,
         "2 more arrivals at an mbarrier that expects 1"),
        (HEAD.format(count=0), em.EmulationError, "an mbarrier for 0 arrivals"),
        (HEAD.format(count=1) + "@!%p1 mbarrier.init.shared::cta.b64 [%r20], 1;\n", em.EmulationError, "in use"),
        (HEAD.format(count=1) + "@!%p1 mbarrier.inval.shared::cta.b64 [%r20];\nbar.sync 0;\n" + ARRIVE,
         em.EmulationError, "no mbarrier was initialised"),
    ],
)  # fmt: skip
def test_a_wrong_use_is_refused(body: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        result(body)


PIPELINE = """
.shared .align 8 .b64 m[4];
mov.u32 %r20, m;
setp.ne.u32 %p1, %r0, 0;
@%p1 bra $ready;
mbarrier.init.shared::cta.b64 [%r20], 32;
mbarrier.init.shared::cta.b64 [%r20+8], 32;
mbarrier.init.shared::cta.b64 [%r20+16], 32;
mbarrier.init.shared::cta.b64 [%r20+24], 32;
$ready:
bar.sync 0;
and.b32 %r15, %r0, 31;
mov.u32 %r10, 0;
setp.ge.u32 %p5, %r0, 32;
@%p5 bra $consume;
$produce:
and.b32 %r11, %r10, 1;
shr.u32 %r12, %r10, 1;
and.b32 %r12, %r12, 1;
xor.b32 %r13, %r12, 1;
mad.lo.u32 %r14, %r11, 8, %r20;
$pw:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r14+16], %r13;
@!%p2 bra $pw;
mad.lo.u32 %r16, %r11, 128, %r4;
mad.lo.u32 %r16, %r15, 4, %r16;
mad.lo.u32 %r17, %r10, 32, %r15;
st.shared.u32 [%r16], %r17;
mbarrier.arrive.shared::cta.b64 _, [%r14];
add.u32 %r10, %r10, 1;
setp.lt.u32 %p6, %r10, 7;
@%p6 bra $produce;
bra $end;
$consume:
and.b32 %r11, %r10, 1;
shr.u32 %r12, %r10, 1;
and.b32 %r12, %r12, 1;
mad.lo.u32 %r14, %r11, 8, %r20;
$cw:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r14], %r12;
@!%p2 bra $cw;
xor.b32 %r18, %r15, 1;
mad.lo.u32 %r16, %r11, 128, %r4;
mad.lo.u32 %r16, %r18, 4, %r16;
ld.shared.u32 %r17, [%r16];
mad.lo.u32 %r19, %r10, 32, %r15;
mad.wide.u32 %d22, %r19, 4, %d0;
st.global.u32 [%d22], %r17;
mbarrier.arrive.shared::cta.b64 _, [%r14+16];
add.u32 %r10, %r10, 1;
setp.lt.u32 %p6, %r10, 7;
@%p6 bra $consume;
$end:
"""


def test_two_warps_and_two_stages() -> None:
    """9.7.13.15 mbarrier: full and empty barriers for each stage, seven rounds."""
    y = result(PIPELINE)
    want = (np.arange(7)[:, None] * 32 + (np.arange(32) ^ 1)).ravel()
    np.testing.assert_array_equal(y.ravel()[:224], want)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("@!%p2 bra $pw;", "", em.Race),
        ("@!%p2 bra $cw;", "", (em.Race, em.Uninitialised)),
        ("xor.b32 %r13, %r12, 1;", "mov.b32 %r13, %r12;", em.Deadlock),
        ("mbarrier.arrive.shared::cta.b64 _, [%r14+16];", "", em.Deadlock),
        ("mbarrier.arrive.shared::cta.b64 _, [%r14];", "", em.Deadlock),
        ("[%r20+8], 32;", "[%r20+8], 33;", em.Deadlock),
        ("mad.lo.u32 %r14, %r11, 8, %r20;\n$pw", "mov.u32 %r14, %r20;\n$pw", (em.Deadlock, em.EmulationError)),
    ],
)
def test_a_pipeline_with_a_fault_is_refused(old: str, new: str, error: Any) -> None:
    assert PIPELINE.count(old) == 1
    with pytest.raises(error):
        result(PIPELINE.replace(old, new))


def test_ptxas_accepts_every_text(tmp_path: Path) -> None:
    bodies = [COPY + WAIT + TAKE, COPY + "cp.async.wait_all;\n", TWO + "cp.async.wait_group 1;\n" + TAKE]
    bodies += [f"cp.async.ca.shared.global [%r5], [%d20], {size};\n" for size in (4, 8, 16)]
    bodies += [
        f"setp.gt.u32 %p1, %r0, 5;\ncp.async.cg.shared.global [%r5], [%d20], 16, {o};\n" for o in ("%r10", "%p1")
    ]
    bodies += [*GOOD.values(), PIPELINE]
    assemble([entry(SETUP + b, 2, f"k{n}") for n, b in enumerate(bodies)], tmp_path)
