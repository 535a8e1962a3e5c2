"""Loads, stores, gathers and scatters of vectors: pointers, offsets and masks enter; values leave."""

from __future__ import annotations

from typing import Any

from pelton.codegen.cpu.elements import I32, I64, MASK, Element
from pelton.codegen.cpu.emitter import Emitter, Value, vector_type
from pelton.codegen.cpu.seam import ir


def load(e: Emitter, pointer: Any, index: Value, element: Element) -> Value:
    """The lanes from `index` on."""
    address = e.offset(pointer, index.llvm)
    kind = vector_type(element, e.lanes)
    loaded = e.builder.load(e.builder.bitcast(address, kind.as_pointer()), align=element.bits // 8)
    return Value(e, loaded, element, e.lanes)


def store(e: Emitter, pointer: Any, index: Value, value: Value) -> None:
    """The lanes of `value` from `index` on."""
    address = e.offset(pointer, index.llvm)
    e.builder.store(value.llvm, e.builder.bitcast(address, value.llvm.type.as_pointer()), align=value.element.bits // 8)


def load_masked(e: Emitter, pointer: Any, index: Value, mask: Value, fill: Value) -> Value:
    """The lanes from `index` on where the mask is true, else those of `fill`; nothing else is read."""
    element = fill.element
    address = e.offset(pointer, index.llvm)
    shape = f"v{fill.lanes}{element.code}"
    args = [address, ir.Constant(I32.llvm, element.bits // 8), mask.llvm, fill.llvm]
    return fill.like(e.call(f"llvm.masked.load.{shape}.p0", fill.llvm.type, args))


def store_masked(e: Emitter, pointer: Any, index: Value, value: Value, mask: Value) -> None:
    """The lanes of `value` where the mask is true; nothing else is touched."""
    address = e.offset(pointer, index.llvm)
    shape = f"v{value.lanes}{value.element.code}"
    args = [value.llvm, address, ir.Constant(I32.llvm, value.element.bits // 8), mask.llvm]
    e.call(f"llvm.masked.store.{shape}.p0", ir.VoidType(), args)


def below(e: Emitter, n: Value) -> Value:
    """The mask of the lanes whose number is less than `n`."""
    limit = e.select(n < e.lanes, n, e.lanes)
    limit = e.select(limit > 0, limit, 0).convert("trunc", I32)
    lane = Value(e, ir.Constant(vector_type(I32, e.lanes), list(range(e.lanes))), I32, e.lanes)
    return lane < limit


def iota(e: Emitter, start: Value, step: int) -> Value:
    """start, start + step, start + 2 step, …"""
    steps = Value(e, ir.Constant(vector_type(I64, e.lanes), [i * step for i in range(e.lanes)]), I64, e.lanes)
    return steps + start if step else e.splat(start, e.lanes)


def full(e: Emitter) -> Value:
    """The mask of all lanes."""
    return e.number(MASK, 1, e.lanes)
