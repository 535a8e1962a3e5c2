"""Checks inside kernels: a condition per lane and where it stands enter; what failed first is left in the context of
the call.

ctx[0] is the number of the check that failed (0: none), ctx[1] the linear index, ctx[2] the value. The lowest index
wins whatever the order in which threads arrive: ctx[0] is -1 while one of them compares and writes.
"""

from __future__ import annotations

from typing import Any

from pelton.codegen.cpu import reduce
from pelton.codegen.cpu.elements import I64
from pelton.codegen.cpu.emitter import Emitter, Value
from pelton.codegen.cpu.lanes import mask_bits
from pelton.codegen.cpu.seam import ir

FUNCTION = "record_failure"
BUSY = -1
LARGEST = (1 << 63) - 1


def check(e: Emitter, ok: Value, mask: Value, index: Value, value: Value, ctx: Any, site: int) -> None:
    """Records the lane of lowest index where the mask is true and `ok` is not."""
    b = e.builder
    bad = mask & ~ok
    failed, after = b.append_basic_block("failed"), b.append_basic_block("checked")
    b.cbranch(mask_bits(e, bad).differs(0).llvm, failed, after)
    b.position_at_end(failed)
    at, got = index, value
    if bad.lanes:
        candidates = e.select(bad, index, LARGEST)
        at = reduce.across(e, candidates, reduce.minimum)
        first = bad & candidates.equals(at)
        lane = e.call("llvm.cttz.i64", I64.llvm, [mask_bits(e, first).llvm, ir.Constant(ir.IntType(1), 0)])
        got = Value(e, b.extract_element(value.llvm, lane), value.element, 0)
    b.call(recorder(e), [ctx, ir.Constant(I64.llvm, site), at.llvm, got.llvm])
    b.branch(after)
    b.position_at_end(after)


def recorder(e: Emitter) -> Any:
    """`void record_failure(i64 *ctx, i64 site, i64 index, i64 value)`, written at its first use."""
    module = e.builder.module
    if FUNCTION in module.globals:
        return module.globals[FUNCTION]
    word = I64.llvm
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [word.as_pointer(), word, word, word]), FUNCTION)
    function.linkage = "private"
    function.attributes.add("noinline")
    _write_body(Emitter(ir.IRBuilder(function.append_basic_block("entry")), e.target, 0), function)
    return function


def _write_body(e: Emitter, function: Any) -> None:
    ctx, site, index, value = function.args
    b = e.builder
    wait, owned = function.append_basic_block("wait"), function.append_basic_block("owned")
    write, leave = function.append_basic_block("write"), function.append_basic_block("leave")
    b.branch(wait)
    b.position_at_end(wait)
    before = Value(e, b.atomic_rmw("xchg", ctx, ir.Constant(I64.llvm, BUSY), "acquire"), I64, 0)
    b.cbranch(before.equals(BUSY).llvm, wait, owned)
    b.position_at_end(owned)
    slot = [b.gep(ctx, [ir.Constant(I64.llvm, i)]) for i in (1, 2)]
    lower = Value(e, index, I64, 0) < Value(e, b.load(slot[0]), I64, 0)
    b.cbranch((before.equals(0) | lower).llvm, write, leave)
    b.position_at_end(write)
    b.store(index, slot[0])
    b.store(value, slot[1])
    b.branch(leave)
    b.position_at_end(leave)
    winner = b.phi(I64.llvm)
    winner.add_incoming(before.llvm, owned)
    winner.add_incoming(site, write)
    b.store_atomic(winner, ctx, "release", 8)
    b.ret_void()
