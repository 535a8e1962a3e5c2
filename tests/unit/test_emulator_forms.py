"""Forms of instructions beyond the common ones, each by its section of the PTX ISA document (numbers of version 9.0):
vectors of small elements, packing moves, branch tables, labels of scopes, spaces of addresses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton.runtime import emulator as em
from pelton.tests.support.ptx import assemble, entry, run

Array = np.ndarray[Any, Any]
rng = np.random.default_rng(61)
VECTORS = [("v2", "b8"), ("v4", "b8"), ("v2", "u16"), ("v4", "b16"), ("v2", "b64"), ("v4", "f32"), ("v2", "s8")]
PREFIX = {1: "%h", 2: "%h", 4: "%f", 8: "%d"}


def copy(vector: str, type: str, space: str = "global") -> str:
    """Each thread copies a vector, through shared memory if `space` says so, and turns its parts round."""
    count, size = int(vector[1]), int(type[1:]) // 8
    names = [f"{PREFIX[size]}{k + 4}" for k in range(count)]
    group, turned = ", ".join(names), ", ".join(names[::-1])
    at = f"mul.wide.u32 %d20, %r0, {count * size};\nadd.u64 %d21, %d20, %d1;\nadd.u64 %d22, %d20, %d0;\n"
    load = f"ld.global.{vector}.{type} {{{group}}}, [%d21];\n"
    if space == "shared":
        at += ".shared .align 16 .b8 s[512];\nmov.u64 %d23, s;\nadd.u64 %d23, %d23, %d20;\n"
        load += f"st.shared.{vector}.{type} [%d23], {{{group}}};\nld.shared.{vector}.{type} {{{group}}}, [%d23];\n"
    return at + load + f"st.global.{vector}.{type} [%d22], {{{turned}}};\n"


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(("vector", "type"), VECTORS)
def test_vectors(vector: str, type: str, space: str) -> None:
    """9.7.9.8 ld, 9.7.9.11 st: `.v2` and `.v4`."""
    shape, dtype = (32, int(vector[1])), np.dtype(f"u{int(type[1:]) // 8}")
    source = rng.integers(0, 2**8, (*shape, dtype.itemsize)).astype(np.uint8).view(dtype)[..., 0]
    target = np.zeros(shape, dtype)
    run(copy(vector, type, space), target, np.ascontiguousarray(source))
    np.testing.assert_array_equal(target, source[:, ::-1])


PACK = """
mov.b32 %r1, 0x44332211;
mov.b32 {%h1, %h2}, %r1;
mov.b32 %r2, {%h2, %h1};
mov.b64 %d20, {%r1, %r2};
mov.b64 {%h3, %h4, %h5, %h6}, %d20;
mov.b64 %d21, {%h6, %h5, %h4, %h3};
mov.b64 {_, %r3}, %d21;
xor.b32 %r2, %r2, %r3;
"""
OUT = "mad.wide.u32 %d31, %r0, 4, %d0;\nst.global.u32 [%d31], %r2;\n"


def test_packing_moves() -> None:
    """9.7.9.4 mov: the first element is the least significant."""
    y = np.zeros(32, np.uint32)
    run(PACK + OUT, y)
    assert not y.any()
    run(PACK.replace("xor.b32 %r2, %r2, %r3;", "mov.b32 %r2, %r3;") + OUT, y)
    assert (y == 0x2211_4433).all()


TABLE = """
and.b32 %r1, %r0, 3;
$table: .branchtargets $L0, $L1, $L2, $L1;
brx.idx %r1, $table;
$L0:
mov.u32 %r2, 10;
bra $end;
$L1:
mov.u32 %r2, 11;
bra $end;
$L2:
mov.u32 %r2, 12;
$end:
"""


def test_a_branch_by_a_table() -> None:
    """9.7.12.4 brx.idx."""
    y = np.zeros(32, np.uint32)
    run(TABLE + OUT, y)
    assert y.tolist() == [10, 11, 12, 11] * 8


LABELS = """
mov.u32 %r2, 0;
{
.reg .pred p;
again:
add.u32 %r2, %r2, 1;
setp.lt.u32 p, %r2, 5;
@p bra again;
}
{
.reg .pred p;
again:
add.u32 %r2, %r2, 10;
setp.lt.u32 p, %r2, 35;
@p bra again;
@!p bra out;
add.u32 %r2, %r2, 1000;
out:
}
"""


def test_labels_end_with_their_scope() -> None:
    """9.2 statements and 4.4 identifiers: inline assembly of two calls has the same labels, in braces."""
    y = np.zeros(32, np.uint32)
    run(LABELS + OUT, y)
    assert (y == 35).all()


SPACES = """
.shared .align 4 .b8 s[128];
.local .align 4 .b8 l[8];
mov.u64 %d20, s;
cvta.shared.u64 %d21, %d20;
mov.u64 %d22, l;
cvta.local.u64 %d23, %d22;
isspacep.shared %p1, %d21;
isspacep.local %p2, %d23;
isspacep.global %p3, %d0;
isspacep.shared %p4, %d0;
selp.u32 %r2, 1, 0, %p1;
selp.u32 %r3, 10, 0, %p2;
selp.u32 %r4, 100, 0, %p3;
selp.u32 %r5, 1000, 0, %p4;
add.u32 %r2, %r2, %r3;
add.u32 %r2, %r2, %r4;
add.u32 %r2, %r2, %r5;
"""


def test_spaces_of_generic_addresses() -> None:
    """9.7.9.19 isspacep."""
    y = np.zeros(32, np.uint32)
    run(SPACES + OUT, y)
    assert (y == 111).all()


def test_a_trap_ends_the_kernel() -> None:
    """9.7.19.4 trap."""
    with pytest.raises(em.EmulationError, match="thread 7 of block 0: the kernel gives up"):
        run("setp.eq.u32 %p1, %r0, 7;\n@%p1 trap;\n", np.zeros(1))


FLAG = """
setp.ge.u32 %p1, %r0, 32;
@%p1 bra $writes;
$wait:
ld.relaxed.gpu.global.u32 %r2, [%d1];
setp.eq.u32 %p2, %r2, 0;
@%p2 bra $wait;
bra $end;
$writes:
mov.u32 %r2, 5;
st.relaxed.gpu.global.u32 [%d1], %r2;
$end:
"""


def test_who_polls_a_flag_lets_others_set_it() -> None:
    """8.6 and 9.7.9.8 ld.relaxed: threads make progress though others spin."""
    y, flag = np.zeros(64, np.uint32), np.zeros(1, np.uint32)
    run(FLAG + OUT, y, flag, block=64, limit=5000)
    assert (y == 5).all()


def test_ptxas_accepts_every_text(tmp_path: Path) -> None:
    bodies = [copy(v, t, s) for v, t in VECTORS for s in ("global", "shared")]
    bodies += [PACK + OUT, TABLE + OUT, LABELS + OUT, SPACES + OUT, FLAG + OUT, "trap;\n"]
    assemble([entry(b, 2, f"k{n}") for n, b in enumerate(bodies)], tmp_path)
