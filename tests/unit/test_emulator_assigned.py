"""Registers that are used before they are written: found on the way that leads there, in the threads that take it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pelton.runtime.emulator import Uninitialised, emulate
from pelton.runtime.emulator.assigned import unsure
from pelton.runtime.emulator.blocks import block_starts
from pelton.runtime.emulator.link import load
from pelton.tests.support import cuda

HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 y)
{
    .reg .pred %p<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd0, [y];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd1, %r0, 4;
    add.u64 %rd1, %rd0, %rd1;
    setp.lt.u32 %p0, %r0, 5;
"""
STORE = "    st.global.u32 [%rd1], %r1;\n"


def run(body: str, **more: bool) -> np.ndarray:
    y = np.zeros(32, np.uint32)
    emulate(HEAD + body + "}\n", "k", 1, 32, [y], **more)
    return y


def watched(body: str) -> set[str]:
    """The registers that are watched while the kernel runs."""
    program = load(HEAD + body + "}\n", "k")
    return {program.names[k] for k in unsure(program, block_starts(program))}


REFUSED = {
    "stored": (STORE, "%r1", 0),
    "written in some threads": ("    @%p0 mov.u32 %r1, 1;\n" + STORE, "%r1", 5),
    "on one of two ways": ("    @%p0 bra $a;\n    mov.u32 %r1, 1;\n$a:\n" + STORE, "%r1", 0),
    "copied and computed with": ("    mov.u32 %r2, %r3;\n    add.u32 %r1, %r2, %r0;\n" + STORE, "%r1", 0),
    "an address": ("    st.global.u32 [%rd5], %r0;\n", "%rd5", 0),
    "a predicate": ("    @%p1 st.global.u32 [%rd1], %r0;\n", "%p1", 0),
    "where to go": ("    @!%p1 bra $a;\n    mov.u32 %r1, 1;\n$a:\n    ret;\n", "%p1", 0),
    "what others get": ("    shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;\n" + STORE, "%r2", 0),
    "selected": ("    selp.u32 %r1, %r2, 7, %p0;\n" + STORE, "%r1", 0),
    "selected otherwise": ("    selp.u32 %r1, 7, %r2, %p0;\n" + STORE, "%r1", 5),
    "one of two": ("    mov.b64 %rd3, {%r0, %r2};\n    st.global.u64 [%rd0], %rd3;\n", "%rd3", 0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_was_not_written_is_not_used(name: str) -> None:
    body, register, thread = REFUSED[name]
    message = rf"`.*` \(PTX line \d+\), thread {thread} of block 0: nothing was written to {re.escape(register)}\n"
    with pytest.raises(Uninitialised, match=message):
        run(body)
    run(body.replace("[%rd5]", "[%rd0]"), check_uninitialized=False, check_races=False)


FINE = {
    "the other was selected": "    selp.u32 %r1, %r2, 7, %p1;\n" + STORE,
    "never stored": "    add.u32 %r2, %r3, 1;\n    mov.u32 %r1, 7;\n" + STORE,
    "the same threads": "    @%p0 mov.u32 %r1, 7;\n    @!%p0 mov.u32 %r1, 7;\n" + STORE,
    "in a loop": "    mov.u32 %r2, 0;\n$a:\n    setp.gt.u32 %p2, %r2, 0;\n    @%p2 bra $b;\n    mov.u32 %r1, 7;\n$b:\n"
    "    add.u32 %r2, %r2, 1;\n    setp.lt.u32 %p3, %r2, 3;\n    @%p3 bra $a;\n" + STORE,
}


@pytest.mark.parametrize("name", FINE)
def test_what_does_not_matter_is_let_pass(name: str) -> None:
    body = "    setp.gt.u32 %p1, %r0, 99;\n" + FINE[name]
    assert watched(body) and (run(body) == 7).all()


def test_nothing_is_watched_where_all_ways_write() -> None:
    both = "    @%p0 bra $a;\n    mov.u32 %r1, 1;\n    bra $b;\n$a:\n    mov.u32 %r1, 2;\n$b:\n" + STORE
    assert watched(both) == set()
    assert watched(both.replace("mov.u32 %r1, 2", "mov.u32 %r2, 2")) == {"%r1"}


@pytest.mark.parametrize("name", ["softmax", "linear", "take"])
def test_nothing_is_watched_in_our_kernels(name: str) -> None:
    program = load(cuda.ptx(name), cuda.source(name).name)
    assert unsure(program, block_starts(program)) == frozenset()
