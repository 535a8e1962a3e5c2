"""Faults that nobody notices when the usual ones are planted: which, and why.

A new text of a kernel, or a new compiler, moves the draw of faults, and others survive. Look at each: either it changes
nothing that anyone could observe, which belongs into `EQUIVALENT` with the reason, or a test lacks an input.
"""

from __future__ import annotations

NOBODY = "a register for an element behind the last one: computed with, but not stored"
ONE_ROUND = "counts rounds of a loop: a block has 512 elements, four for each of its threads, so one round at most"
WIDE = "chooses between a division of 64 bits and one of 32, which do the same for what a grid can have, below 2^31"

EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "greater_sub_mul_where",
        "start changed",
        "add.s64 %rd, %rd, %rd; | mov.f32 %f, 0f00000000; → mov.f32 %f, 0f3F800000;",
    ): NOBODY,
    ("mul_add_relu", "start removed", "add.s64 %rd, %rd, %rd; | mov.f32 %f, 0f00000000; → nothing"): NOBODY,
    ("broadcast_to", "start removed", "setp.ge.s64 %p, %rd, %rd; | mov.f32 %f, 0f00000000; → nothing"): NOBODY,
    ("slice", "start changed", "add.s64 %rd, %rd, %rd; | mov.f32 %f, 0f00000000; → mov.f32 %f, 0f3F800000;"): NOBODY,
    ("slice", "start removed", "selp.b64 %rd, %rd, 0, %p; | mov.u64 %rd, 0; → nothing"): NOBODY,
    ("slice", "constant changed", "not.b64 %rd, %rd; | max.s64 %rd, %rd, -1; → max.s64 %rd, %rd, -2;"): ONE_ROUND,
    (
        "slice",
        "operator replaced",
        "add.s64 %rd, %rd, 6144; | add.s64 %rd, %rd, 512; → sub.s64 %rd, %rd, 512;",
    ): ONE_ROUND,
    (
        "concat",
        "operator replaced",
        "selp.s64 %rd, -1, 0, %p; | add.s64 %rd, %rd, %rd; → sub.s64 %rd, %rd, %rd;",
    ): ONE_ROUND,
    ("permute", "guard dropped", "setp.eq.s64 %p, %rd, 0; | @%p bra $L__BB0_; → bra $L__BB0_;"): WIDE,
    ("matmul", "guard dropped", "setp.eq.s64 %p, %rd, 0; | @%p bra $L__BB0_; → bra $L__BB0_;"): WIDE,
    (
        "layer_norm",
        "operator replaced",
        "add.s64 %rd, %rd, %rd; | add.s64 %rd, %rd, 2; → sub.s64 %rd, %rd, 2;",
    ): "two more and two less are the same modulo 4, and that is what it is used for",
    (
        "max",
        "constant changed",
        "setp.eq.s64 %p, %rd, 0; | setp.ne.s64 %p, %rd, 0; → setp.ne.s64 %p, %rd, -1;",
    ): "where there are no rounds, which is what it asks, the loop is left before the answer is used",
    (
        "linear",
        "start changed",
        "setp.ge.s64 %p, %rd, %rd; | mov.f32 %f, 0f00000000; → mov.f32 %f, 0f3F800000;",
    ): "stands for an element of a row behind the last one; such rows are not stored",
    (
        "concat",
        "guarded dropped",
        "add.s64 %rd, %rd, %rd; | @%p bra $L__BB0_; → nothing",
    ): "computes elements behind the last one of a block, which nobody stores; guards behind it look at their operands",
    (
        "top_k_select_2",
        "start changed",
        "@%p bra $L__BB0_; | mov.u32 %r, 40; → mov.u32 %r, 41;",
    ): "keeps one candidate more than are asked for, and sorts it behind them",
    (
        "top_k_select",
        "operator replaced",
        "selp.u64 %rd, 1, 0, %p; | add.s64 %rd, %rd, %rd; → sub.s64 %rd, %rd, %rd;",
    ): "a number of rounds of -1 in the place of 1: either is one round, and 0 is none",
    (
        "top_k_sort",
        "operator replaced",
        "cvt.s64.s32 %rd, %r; | sub.s64 %rd, %rd, %rd; → add.s64 %rd, %rd, %rd;",
    ): "one round for each thread that comes here, either way: a chunk of 64 elements has not two for any of 256",
    (
        "top_k_sort",
        "guarded dropped",
        "mov.u64 %rd, %rd; | @%p bra $L__BB0_; → nothing",
    ): "taken by threads with a multiple of four rounds: a chunk of 64 elements has one at most for each of 256",
    (
        "rotate",
        "constant changed",
        "add.s64 %rd, %rd, %rd; | add.s64 %rd, %rd, 1; → add.s64 %rd, %rd, 2;",
    ): "counts further rounds of a loop, which at this length no thread has",
    (
        "rotate",
        "comparison turned",
        "sub.s64 %rd, %rd, %rd; | setp.gt.s64 %p, %rd, 0; → setp.le.s64 %p, %rd, 0;",
    ): "counts further rounds of a loop, which at this length no thread has",
    (
        "judge",
        "constant changed",
        "setp.eq.s64 %p, %rd, %rd; | setp.gt.s64 %p, %rd, 1; → setp.gt.s64 %p, %rd, 2;",
    ): "a report has one site, 1: no recorded one is greater",
    (
        "matmul",
        "argument exchanged",
        "ld.param.u64 %rd, [matmul_param_5]; | "
        "ld.param.u64 %rd, [matmul_param_6]; → ld.param.u64 %rd, [matmul_param_7];",
    ): "items are taken modulo their number, which is what the other argument says",
    (
        "permute",
        "operator replaced",
        "mul.wide.s32 %rd, %r, 4; | sub.s64 %rd, %rd, %rd; → add.s64 %rd, %rd, %rd;",
    ): "used only to ask whether there is a round, and a whole tile has one for each thread",
    (
        "permute",
        "guarded dropped",
        "add.s64 %rd, %rd, %rd; | @%p bra $L__BB0_; → nothing",
    ): "taken by threads without a round, and a whole tile has one for each",
    (
        "permute",
        "guarded dropped",
        "setp.lt.u64 %p, %rd, 3; | @%p bra $L__BB0_; → nothing",
    ): "taken by threads with fewer than four rounds, and a tile has eight for each",
    (
        "top_k_select_2",
        "operands swapped",
        "setp.ne.s64 %p, %rd, 0; | selp.b64 %rd, -1, 0, %p; → selp.b64 %rd, 0, -1, %p;",
    ): "one round more of a step of the sort, whose pairs lie behind the last element and are left alone",
    (
        "top_k_select",
        "guarded dropped",
        "setp.lt.u64 %p, %rd, 3; | @%p bra $L__BB0_; → nothing",
    ): "compares a thread's own pair once more, which is in order by then",
}
"""(kernel, kind, line in front and change, without the numbers of registers) → why no input could show it."""

UNNOTICED: dict[tuple[str, str, str], str] = {
    (
        "max",
        "start removed",
        "cvta.to.global.u64 %rd, %rd; | mov.f32 %f, 0fFF800000; → nothing",
    ): "softmax gives the same for any number near the largest in the place of that",
    (
        "max_sub_maximum_etc_maximum_minimum",
        "start removed",
        "neg.s64 %rd, %rd; | mov.f32 %f, 0fFF800000; → nothing",
    ): "a register that nobody wrote is 0 to the emulator, and each of these rows has a positive element",
    (
        "judge",
        "not atomic",
        "cvta.to.global.u64 %rd, %rd; | atom.global.exch.b64 %rd, [%rd], -1; → ld.global.u64 %rd, [%rd];",
    ): (
        "the lock of a report stands before this one, and threads leave it one by one: none meets another here; "
        "where a lock stands alone (take) the tests catch it"
    ),
}
"""The same for faults that other inputs or another device could show."""


def reason_for(key: tuple[str, str, str]) -> str:
    """Why a fault may survive; empty for one that may not."""
    return EQUIVALENT.get(key) or UNNOTICED.get(key, "")
