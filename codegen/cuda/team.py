"""Words by which the threads of a block work together: shuffles, a row of shared memory, barriers, tiles, and
recorded checks.

Leaves: `words(threads)`, name → (number of arguments, rule, emitter) for blocks of that many threads. A reduction's
tree is fixed by the number of threads: within a warp lane i meets lane i ^ 16, 8, 4, 2, 1; then the warps' results
meet in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pelton.codegen.cuda.numeric import extreme
from pelton.codegen.cuda.seam import ir, types
from pelton.codegen.cuda.words import STORAGE, Call, Emit, Rule, WordError, elementwise, is_float, is_integer

WARP = 32
I1, I32, I64, VOID = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.VoidType()
SHARED = 3
"""NVVM's number for the address space of shared memory."""
Combine = Callable[[Call, Any, Any, Any], Any]


def barrier(call: Call) -> None:
    """All threads of the block wait for each other."""
    call.function("llvm.nvvm.barrier0", VOID, [])


# ---- reductions
def _partner(call: Call, value: Any, distance: int) -> Any:
    """The value of the lane whose number differs by the bit `distance`."""
    b = call.builder
    if is_float(call.result):
        bits = I32 if value.type == ir.FloatType() else I64
        return b.bitcast(_partner_bits(call, b.bitcast(value, bits), distance), value.type)
    return _partner_bits(call, value, distance)


def _partner_bits(call: Call, value: Any, distance: int) -> Any:
    b = call.builder
    if value.type.width == 64:
        low = _partner_bits(call, b.trunc(value, I32), distance)
        high = _partner_bits(call, b.trunc(b.lshr(value, ir.Constant(I64, 32)), I32), distance)
        return b.or_(b.zext(low, I64), b.shl(b.zext(high, I64), ir.Constant(I64, 32)))
    if value.type.width < 32:
        return b.trunc(_partner_bits(call, b.zext(value, I32), distance), value.type)
    everyone, clamp = ir.Constant(I32, -1), ir.Constant(I32, WARP - 1)
    return call.function("llvm.nvvm.shfl.sync.bfly.i32", I32, [everyone, value, ir.Constant(I32, distance), clamp])


def _meet(call: Call, value: Any, first: int, combine: Combine) -> Any:
    """Lanes `first`, `first / 2`, … 1 apart combine; the lower lane's value always stands left."""
    while first:
        value = combine(call, value, _partner(call, value, first), call.result)
        first //= 2
    return value


def _across(threads: int, combine: Combine) -> Emit:
    """One value per thread to one for the block: warps by shuffles, then their results through the row."""

    def emit(call: Call) -> Any:
        b, warps = call.builder, threads // WARP
        value = _meet(call, call.values[0], WARP // 2, combine)
        if warps == 1:
            return value
        thread = call.function("llvm.nvvm.read.ptx.sreg.tid.x", I32, [])
        lane, warp = b.and_(thread, ir.Constant(I32, WARP - 1)), b.lshr(thread, ir.Constant(I32, 5))
        row = call.values[1]
        with b.if_then(b.icmp_unsigned("==", lane, ir.Constant(I32, 0))):
            b.store(value, b.gep(row, [warp]))
        barrier(call)
        value = b.load(b.gep(row, [b.and_(lane, ir.Constant(I32, warps - 1))]))
        barrier(call)
        return _meet(call, value, warps // 2, combine)

    return emit


def _across_rule(value: Any, row: Any) -> tuple[Any, tuple[Any, Any]]:
    if not isinstance(row, types.CPointer) or row.dtype != value:
        raise WordError("takes a value and a shared row of its type")
    return value, (value, row)


def _add(call: Call, x: Any, y: Any, kind: Any) -> Any:
    return call.builder.fadd(x, y) if is_float(kind) else call.builder.add(x, y)


def _multiply(call: Call, x: Any, y: Any, kind: Any) -> Any:
    return call.builder.fmul(x, y) if is_float(kind) else call.builder.mul(x, y)


COMBINE: dict[str, Combine] = {
    "add": _add,
    "mul": _multiply,
    "max": lambda call, x, y, kind: extreme(call, x, y, kind, largest=True),
    "min": lambda call, x, y, kind: extreme(call, x, y, kind, largest=False),
}


# ---- shared memory
def _tile(element: Any) -> tuple[int, Rule, Emit]:
    """`tile_f32(n)`: n elements of shared memory as a pointer; n is a literal."""

    def rule(size: Any) -> tuple[Any, tuple[Any]]:
        return types.CPointer(element), (size,)

    def emit(call: Call) -> Any:
        size = call.values[0]
        if not isinstance(size, ir.Constant):
            raise WordError("the size of a tile is a literal")
        kind = (
            ir.FloatType()
            if element == types.float32
            else ir.DoubleType()
            if element == types.float64
            else ir.IntType(element.bitwidth)
        )
        name = f"tile_{sum(g.startswith('tile_') for g in call.module.globals)}"
        tile = ir.GlobalVariable(call.module, ir.ArrayType(kind, size.constant), name, addrspace=SHARED)
        tile.linkage, tile.align, tile.initializer = "internal", 16, ir.Constant(tile.value_type, ir.Undefined)
        generic = call.builder.addrspacecast(tile, tile.value_type.as_pointer())
        return call.builder.bitcast(generic, kind.as_pointer())

    return 1, rule, emit


def _claim_rule(counter: Any) -> tuple[Any, tuple[Any]]:
    if counter != types.CPointer(types.int32):
        raise WordError("takes a shared counter")
    return types.int64, (counter,)


def _claim(call: Call) -> Any:
    """What a counter holds; it then holds one more. No two threads get the same number."""
    before = call.builder.atomic_rmw("add", call.values[0], ir.Constant(I32, 1), "monotonic")
    return call.builder.sext(before, I64)


# ---- checks
def _check_rule(ok: Any, index: Any, value: Any, ctx: Any, site: Any) -> tuple[Any, tuple[Any, ...]]:
    return types.void, (*_judged(ok, index, value), ctx, types.int64)


def _check(call: Call) -> None:
    """A failing thread locks the first status word (-1), keeps the failure of lowest index, and unlocks it."""
    ok, index, value, ctx, site = call.values
    with call.builder.if_then(call.builder.not_(ok), likely=False):
        _record(call, index, [_word(call, value)], ctx, site)


def _report(count: int) -> tuple[int, Rule, Emit]:
    """The word that leaves a row of so many values: condition, index, values, rows, first word of the row."""

    def rule(ok: Any, index: Any, *rest: Any) -> tuple[Any, tuple[Any, ...]]:
        return types.void, (*_judged(ok, index, *rest[:count]), rest[count], types.int64)

    def emit(call: Call) -> None:
        ok, index, *values, rows, row = call.values
        with call.builder.if_then(call.builder.not_(ok), likely=False):
            words = [_word(call, value) for value in values]
            _record(call, index, words, call.builder.gep(rows, [row]), ir.Constant(I64, 1))

    return 4 + count, rule, emit


def _judged(ok: Any, index: Any, *values: Any) -> tuple[Any, ...]:
    """Condition, index and values as the emitters want them. Raises WordError for anything else."""
    if ok != types.boolean or not is_integer(index) or not all(is_integer(v) or is_float(v) for v in values):
        raise WordError("takes a condition, an index, numbers, words and a number")
    return (ok, types.int64, *(types.int64 if is_integer(v) else v for v in values))


def _word(call: Call, value: Any) -> Any:
    """The bits of a float as a word; an integer is one."""
    if isinstance(value.type, ir.IntType):
        return value
    bits = I32 if value.type == ir.FloatType() else I64
    return (
        call.builder.zext(call.builder.bitcast(value, bits), I64) if bits is I32 else call.builder.bitcast(value, I64)
    )


def _record(call: Call, index: Any, values: list[Any], record: Any, site: Any) -> None:
    """Indices in the record only ever fall, so whoever sees a lower one there is done without the lock."""
    words = [call.builder.gep(record, [ir.Constant(I64, k)]) for k in range(2 + len(values))]
    b, busy = call.builder, ir.Constant(I64, -1)
    again, take, locked, done = (b.append_basic_block(f"check.{n}") for n in ("again", "take", "locked", "done"))
    b.branch(again)
    b.position_at_end(again)
    call.ptx("nanosleep.u32 20;", VOID, "~{memory}", [], effect=True)
    first = _volatile_load(call, words[0])
    recorded = b.icmp_signed(">", first, ir.Constant(I64, 0))
    b.cbranch(b.and_(recorded, b.not_(_lower(call, words, index, site, first))), done, take)
    b.position_at_end(take)
    before = b.atomic_rmw("xchg", words[0], busy, "monotonic")
    b.cbranch(b.icmp_signed("==", before, busy), again, locked)
    b.position_at_end(locked)
    call.function("llvm.nvvm.membar.gl", VOID, [])
    none = b.icmp_signed("==", before, ir.Constant(I64, 0))
    better = b.or_(none, _lower(call, words, index, site, before))
    with b.if_then(better):
        for word, value in zip(words[1:], [index, *values], strict=True):
            _volatile_store(call, value, word)
    call.function("llvm.nvvm.membar.gl", VOID, [])
    b.atomic_rmw("xchg", words[0], b.select(better, site, before), "monotonic")
    b.branch(done)
    b.position_at_end(done)


def _lower(call: Call, words: list[Any], index: Any, site: Any, recorded_site: Any) -> Any:
    """Whether this failure comes before the recorded one: by index, then by site."""
    b, known = call.builder, _volatile_load(call, words[1])
    tie = b.and_(b.icmp_signed("==", index, known), b.icmp_signed("<", site, recorded_site))
    return b.or_(b.icmp_signed("<", index, known), tie)


def _volatile_load(call: Call, pointer: Any) -> Any:
    address = call.builder.ptrtoint(pointer, I64)
    return call.ptx("ld.volatile.s64 $0, [$1];", I64, "=l,l,~{memory}", [address], effect=True)


def _volatile_store(call: Call, value: Any, pointer: Any) -> None:
    address = call.builder.ptrtoint(pointer, I64)
    call.ptx("st.volatile.s64 [$0], $1;", VOID, "l,l,~{memory}", [address, value], effect=True)


def words(threads: int) -> dict[str, tuple[int, Rule, Emit]]:
    """The words of a block of `threads` threads, a power of two of whole warps."""
    return {
        **{f"across_{kind}": (2, _across_rule, _across(threads, combine)) for kind, combine in COMBINE.items()},
        **{
            f"warp_{kind}": (1, elementwise(lambda k: is_float(k) or is_integer(k)), _warp(combine))
            for kind, combine in COMBINE.items()
        },
        **{f"tile_{name}": _tile(element) for name, element in STORAGE.items()},
        "claim": (1, _claim_rule, _claim),
        "check": (5, _check_rule, _check),
        **{f"report_{count}": _report(count) for count in range(1, 9)},
    }


def _warp(combine: Combine) -> Emit:
    return lambda call: _meet(call, call.values[0], WARP // 2, combine)
