"""Checks inside kernels: a condition per lane and where it stands enter; what failed first is left in a record.

record[0] is the number of the check that failed (0: none), record[1] the linear index, then come the values. The lowest
index wins whatever the order in which threads arrive, of two checks at one index the first: record[0] is -1 while one
of them compares and writes. The record is the context of the call, or a row of reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pelton.codegen.cpu import reduce
from pelton.codegen.cpu.elements import I64
from pelton.codegen.cpu.emitter import Emitter, Value
from pelton.codegen.cpu.lanes import mask_bits
from pelton.codegen.cpu.seam import ir

BUSY = -1
LARGEST = (1 << 63) - 1


def check(e: Emitter, ok: Value, mask: Value, index: Value, values: Sequence[Value], record: Any, site: int) -> None:
    """Records the lane of lowest index where the mask is true and `ok` is not."""
    b = e.builder
    bad = mask & ~ok
    failed, after = b.append_basic_block("failed"), b.append_basic_block("checked")
    b.cbranch(mask_bits(e, bad).differs(0).llvm, failed, after)
    b.position_at_end(failed)
    at, got = index, [v.llvm for v in values]
    if bad.lanes:
        candidates = e.select(bad, index, LARGEST)
        at = reduce.across(e, candidates, reduce.minimum)
        first = bad & candidates.equals(at)
        lane = e.call("llvm.cttz.i64", I64.llvm, [mask_bits(e, first).llvm, ir.Constant(ir.IntType(1), 0)])
        got = [b.extract_element(v, lane) for v in got]
    b.call(recorder(e, len(values)), [record, ir.Constant(I64.llvm, site), at.llvm, *got])
    b.branch(after)
    b.position_at_end(after)


def recorder(e: Emitter, values: int = 1) -> Any:
    """`void record_failure(i64 *record, i64 site, i64 index, i64 value…)`, written at its first use."""
    module, name = e.builder.module, f"record_failure_{values}"
    if name in module.globals:
        return module.globals[name]
    word = I64.llvm
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [word.as_pointer(), *[word] * (2 + values)]), name)
    function.linkage = "private"
    function.attributes.add("noinline")
    _write_body(Emitter(ir.IRBuilder(function.append_basic_block("entry")), e.target, 0), function)
    return function


def _write_body(e: Emitter, function: Any) -> None:
    record, site, *words = function.args
    b = e.builder
    wait, owned = function.append_basic_block("wait"), function.append_basic_block("owned")
    write, leave = function.append_basic_block("write"), function.append_basic_block("leave")
    b.branch(wait)
    b.position_at_end(wait)
    before = Value(e, b.atomic_rmw("xchg", record, ir.Constant(I64.llvm, BUSY), "acquire"), I64, 0)
    b.cbranch(before.equals(BUSY).llvm, wait, owned)
    b.position_at_end(owned)
    slots = [b.gep(record, [ir.Constant(I64.llvm, i)]) for i in range(1, 1 + len(words))]
    index, known = Value(e, words[0], I64, 0), Value(e, b.load(slots[0]), I64, 0)
    earlier = (index < known) | (index.equals(known) & (Value(e, site, I64, 0) < before))
    b.cbranch((before.equals(0) | earlier).llvm, write, leave)
    b.position_at_end(write)
    for word, slot in zip(words, slots, strict=True):
        b.store(word, slot)
    b.branch(leave)
    b.position_at_end(leave)
    winner = b.phi(I64.llvm)
    winner.add_incoming(before.llvm, owned)
    winner.add_incoming(site, write)
    b.store_atomic(winner, record, "release", 8)
    b.ret_void()
