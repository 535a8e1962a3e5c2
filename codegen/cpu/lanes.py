"""Lane by lane: what vector registers cannot do is done in a loop over the lanes of a mask, through the stack.

A loop is short to compile; LLVM's own expansion of such operations is a branch per lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pelton.codegen.cpu.elements import I64, MASK, U64
from pelton.codegen.cpu.emitter import STACK_ALIGNMENT, Emitter, Value, vector_type
from pelton.codegen.cpu.seam import ir


def mask_bits(e: Emitter, mask: Value) -> Value:
    """Lane i of the mask as bit i."""
    if not mask.lanes:
        return mask.convert("zext", U64)
    bits = e.builder.bitcast(mask.llvm, ir.IntType(mask.lanes))
    return Value(e, e.builder.zext(bits, U64.llvm) if mask.lanes < U64.bits else bits, U64, 0)


def each_lane(e: Emitter, mask: Value, body: Callable[[Any], None]) -> None:
    """`body(lane)` for every true lane, the lowest first; `lane` is an LLVM i64."""
    b = e.builder
    start = mask_bits(e, mask)
    before, loop = b.block, b.append_basic_block("lane")
    after = b.append_basic_block("lanes_done")
    b.cbranch(start.differs(0).llvm, loop, after)
    b.position_at_end(loop)
    left = Value(e, b.phi(U64.llvm), U64, 0)
    left.llvm.add_incoming(start.llvm, before)
    body(e.call("llvm.cttz.i64", I64.llvm, [left.llvm, ir.Constant(MASK.llvm, 1)]))
    rest = left & (left - 1)
    left.llvm.add_incoming(rest.llvm, b.block)
    b.cbranch(rest.differs(0).llvm, loop, after)
    b.position_at_end(after)


def spill(e: Emitter, value: Value) -> Any:
    """The lanes of a vector (or a scalar as one lane) on the stack; the address of the first."""
    address = e.stack(value.element, max(value.lanes, 1))
    e.builder.store(value.llvm, e.builder.bitcast(address, value.llvm.type.as_pointer()), align=STACK_ALIGNMENT)
    return address


def reload(e: Emitter, address: Any, like: Value) -> Value:
    """The lanes that lie on the stack as a value of the type of `like`."""
    kind = vector_type(like.element, like.lanes)
    return like.like(e.builder.load(e.builder.bitcast(address, kind.as_pointer()), align=STACK_ALIGNMENT))


def when_any(e: Emitter, mask: Value, values: Sequence[Value], otherwise: Callable[[], Sequence[Value]]) -> list[Value]:
    """`values`, unless a lane of the mask is true: then what `otherwise` computes in a branch of its own."""
    b = e.builder
    before, slow, after = b.block, b.append_basic_block("rare"), b.append_basic_block("rare_done")
    b.cbranch(mask_bits(e, mask).differs(0).llvm, slow, after)
    b.position_at_end(slow)
    others = otherwise()
    slow_end = b.block
    b.branch(after)
    b.position_at_end(after)
    merged: list[Value] = []
    for value, other in zip(values, others, strict=True):
        phi = b.phi(value.llvm.type)
        phi.add_incoming(value.llvm, before)
        phi.add_incoming(other.llvm, slow_end)
        merged.append(value.like(phi))
    return merged


def lanewise(e: Emitter, values: Sequence[Value], write: Callable[..., Value]) -> Value:
    """`write` of scalars for every lane of some vectors, in a loop; the result has the type of the first."""
    first = values[0]
    if not first.lanes:
        return write(e, *values)
    sources = [spill(e, value) for value in values]
    result = e.stack(first.element, first.lanes)

    def one(lane: Any) -> None:
        scalars = [
            Value(e, e.builder.load(e.offset(s, lane)), v.element, 0) for s, v in zip(sources, values, strict=True)
        ]
        e.builder.store(write(e, *scalars).llvm, e.offset(result, lane))

    each_lane(e, e.number(MASK, 1, first.lanes), one)
    return reload(e, result, first)
