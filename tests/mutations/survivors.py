"""Faults that nobody notices when the usual ones are planted: which, and why.

A new text of a kernel, or a new compiler, moves the draw of faults, and others survive. Look at each: either it changes
nothing that anyone could observe, which belongs into `EQUIVALENT` with the reason, or a test lacks an input.
"""

from __future__ import annotations

NEG = "corrects the remainder of a negative number, and indices are none"
ROUNDS = "counts further rounds of a loop, which at this length no thread has"

EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "reduce_f32",
        "start removed",
        "mov.f32 \t%f, 0fFF800000;  →  nothing",
    ): ("the register holds this number already; NVVM sets it once more before a branch"),
    ("transpose", "constant changed", "shr.s64 \t%rd, %rd, 63;  →  shr.s64 \t%rd, %rd, 62;"): NEG,
    ("permute", "operator replaced", "add.s64 \t%rd, %rd, 32;  →  sub.s64 \t%rd, %rd, 32;"): NEG,
    (
        "transpose",
        "start removed",
        "mov.u64 \t%rd, 0;  →  nothing",
    ): ("used only where there is no tile, and then there is no block"),
    (
        "transpose",
        "start changed",
        "mov.u64 \t%rd, 1024;  →  mov.u64 \t%rd, 1025;",
    ): ("the count says only whether three rounds or more are left, for which one more makes no difference"),
    ("permute", "guarded dropped", "@%p bra \t$L__BB0_;  →  nothing"): "taken only for the least integer divided by -1",
    (
        "concat",
        "start removed",
        "mov.f32 \t%f, 0f00000000;  →  nothing",
    ): ("stands for an element of the other operand, which the choice behind it takes instead"),
    ("rotate", "constant changed", "add.s64 \t%rd, %rd, 1;  →  add.s64 \t%rd, %rd, 2;"): ROUNDS,
    ("rotate", "comparison turned", "setp.gt.s64 \t%p, %rd, 0;  →  setp.le.s64 \t%p, %rd, 0;"): ROUNDS,
    (
        "judge",
        "constant changed",
        "setp.gt.s64 \t%p, %rd, 1;  →  setp.gt.s64 \t%p, %rd, 2;",
    ): "a report has one site, 1: no recorded one is greater",
    (
        "matmul",
        "argument exchanged",
        "ld.param.u64 \t%rd, [matmul_param_6];  →  ld.param.u64 \t%rd, [matmul_param_7];",
    ): ("items are taken modulo their number, which is what the other argument says"),
    (
        "batched",
        "guard negated",
        "@%p bra \t$L__BB0_;  →  @!%p bra \t$L__BB0_;",
    ): ("chooses between a division of 32 bits and one of 64, whose results agree for numbers of 32"),
    ("top_k_select", "operator replaced", "max.s64 \t%rd, %rd, -1;  →  min.s64 \t%rd, %rd, -1;"): ROUNDS,
    ("top_k_select", "constant changed", "max.s64 \t%rd, %rd, -1;  →  max.s64 \t%rd, %rd, -2;"): ROUNDS,
    ("top_k_sort_2", "constant changed", "setp.lt.u64 \t%p, %rd, 3;  →  setp.lt.u64 \t%p, %rd, 6;"): ROUNDS,
    ("top_k_sort_2", "comparison turned", "setp.ne.s64 \t%p, %rd, 0;  →  setp.eq.s64 \t%p, %rd, 0;"): ROUNDS,
}
"""(kernel, kind, change without the numbers of registers) → why no input could show it."""

UNNOTICED: dict[tuple[str, str, str], str] = {
    (
        "sub_exp",
        "start changed",
        "mov.f32 \t%f, 0f437C0000;  →  mov.f32 \t%f, 0f3F800000;",
    ): (
        "exp does without taking a power of two off its argument; that shows only where it underflows, "
        "far below the tolerance of softmax"
    ),
    (
        "judge",
        "not atomic",
        "atom.global.exch.b64 \t%rd, [%rd], -1;  →  ld.global.u64 %rd, [%rd];",
    ): (
        "the lock of a report stands before this one, and threads leave it one by one: none meets "
        "another here; where a lock stands alone (take) the tests catch it"
    ),
    (
        "matmul",
        "guarded dropped",
        "@%p bra \t$L__BB0_;  →  nothing",
    ): (
        "reads from the buffer behind its own, for a row that is not stored: the emulator knows that an "
        "address is in a buffer, not in which it should be"
    ),
    (
        "top_k_select_2",
        "start changed",
        "mov.u64 \t%rd, 1;  →  mov.u64 \t%rd, 2;",
    ): ("pairs of rising and of falling rows are in order, or put in order by the next step"),
}
"""The same for faults that other inputs or another device could show."""


def reason_for(key: tuple[str, str, str]) -> str:
    """Why a fault may survive; empty for one that may not."""
    return EQUIVALENT.get(key) or UNNOTICED.get(key, "")
