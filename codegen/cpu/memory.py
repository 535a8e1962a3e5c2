"""Loads, stores, gathers and scatters of vectors: pointers, offsets and masks enter; values leave.

Where the target has no instruction for an element width, a loop over the true lanes does it: nothing else is touched.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pelton.codegen.cpu.elements import I32, I64, MASK, Element
from pelton.codegen.cpu.emitter import Emitter, Splat, Value, vector_type
from pelton.codegen.cpu.lanes import each_lane, reload, spill
from pelton.codegen.cpu.seam import ir


def _alignment(element: Element) -> int:
    return element.bits // 8


def load(e: Emitter, pointer: Any, index: Value, element: Element) -> Value:
    """The lanes from `index` on."""
    kind = vector_type(element, e.lanes)
    address = e.builder.bitcast(e.offset(pointer, index.llvm), kind.as_pointer())
    return Value(e, e.builder.load(address, align=_alignment(element)), element, e.lanes)


def store(e: Emitter, pointer: Any, index: Value, value: Value) -> None:
    """The lanes of `value` from `index` on."""
    address = e.builder.bitcast(e.offset(pointer, index.llvm), value.llvm.type.as_pointer())
    e.builder.store(value.llvm, address, align=_alignment(value.element))


def load_masked(e: Emitter, pointer: Any, index: Value, mask: Value, fill: Value) -> Value:
    """The lanes from `index` on where the mask is true, else those of `fill`; nothing else is read."""
    element = fill.element
    address = e.offset(pointer, index.llvm)
    if element.bits in e.target.masked_bits:
        width = min(e.target.vector_bits // element.bits, fill.lanes)
        pieces = [_load_piece(e, address, first, width, mask, fill) for first in range(0, fill.lanes, width)]
        return fill.like(_joined(e, pieces))
    tile = spill(e, fill)
    each_lane(e, mask, lambda lane: e.builder.store(e.builder.load(e.offset(address, lane)), e.offset(tile, lane)))
    return reload(e, tile, fill)


def _load_piece(e: Emitter, address: Any, first: int, width: int, mask: Value, fill: Value) -> Any:
    """One register of a masked load. LLVM 22 cuts longer ones itself, but on AVX2 reads all of a register of which it
    knows that the mask is false.
    """
    place, element = ir.Constant(I64.llvm, first), fill.element
    alignment, kind = ir.Constant(I32.llvm, _alignment(element)), vector_type(element, width)
    parts = [_part(e, v.llvm, first, width) for v in (mask, fill)]
    args = [e.offset(address, place), alignment, *parts]
    return e.call(f"llvm.masked.load.v{width}{element.code}.p0", kind, args)


def _part(e: Emitter, vector: Any, first: int, width: int) -> Any:
    """Some of a vector's lanes."""
    return vector if vector.type.count == width else _shuffled(e, vector, vector, range(first, first + width))


def _joined(e: Emitter, parts: list[Any]) -> Any:
    """Vectors of one length, a power of two of them, one after another."""
    while len(parts) > 1:
        parts = [_shuffled(e, a, b, range(2 * a.type.count)) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _shuffled(e: Emitter, a: Any, b: Any, lanes: Iterable[int]) -> Any:
    places = list(lanes)
    return e.builder.shuffle_vector(a, b, ir.Constant(vector_type(I32, len(places)), places))


def store_masked(e: Emitter, pointer: Any, index: Value, value: Value, mask: Value) -> None:
    """The lanes of `value` from `index` on where the mask is true; nothing else is touched."""
    element = value.element
    address = e.offset(pointer, index.llvm)
    if element.bits in e.target.masked_bits:
        args = [value.llvm, address, ir.Constant(I32.llvm, _alignment(element)), mask.llvm]
        e.call(f"llvm.masked.store.v{value.lanes}{element.code}.p0", ir.VoidType(), args)
        return
    tile = spill(e, value)
    each_lane(e, mask, lambda lane: e.builder.store(e.builder.load(e.offset(tile, lane)), e.offset(address, lane)))


def gather(e: Emitter, pointer: Any, indices: Value, mask: Value, fill: Value) -> Value:
    """Lane i is element indices[i] where the mask is true, else that of `fill`."""
    element = fill.element
    if element.bits in e.target.gather_bits:
        args = [_addresses(e, pointer, indices), ir.Constant(I32.llvm, _alignment(element)), mask.llvm, fill.llvm]
        name = f"llvm.masked.gather.v{fill.lanes}{element.code}.v{fill.lanes}p0"
        return fill.like(e.call(name, fill.llvm.type, args))
    if is_full(mask):
        return _gather_all(e, pointer, indices, fill)
    offsets, tile = spill(e, indices), spill(e, fill)

    def one(lane: Any) -> None:
        address = e.offset(pointer, e.builder.load(e.offset(offsets, lane)))
        e.builder.store(e.builder.load(address), e.offset(tile, lane))

    each_lane(e, mask, one)
    return reload(e, tile, fill)


def is_full(mask: Value) -> bool:
    """Whether the mask is known to be true in every lane."""
    return isinstance(mask.llvm, Splat) and bool(mask.llvm.scalar.constant)


def _gather_all(e: Emitter, pointer: Any, indices: Value, fill: Value) -> Value:
    """A load per lane, without a branch: where indices have a known step, each is one instruction."""
    result = ir.Constant(fill.llvm.type, ir.Undefined)
    for lane in range(fill.lanes):
        place = ir.Constant(I32.llvm, lane)
        address = e.offset(pointer, e.builder.extract_element(indices.llvm, place))
        result = e.builder.insert_element(result, e.builder.load(address, align=_alignment(fill.element)), place)
    return fill.like(result)


def scatter(e: Emitter, pointer: Any, indices: Value, value: Value, mask: Value) -> None:
    """Element indices[i] becomes lane i where the mask is true; of lanes with one index the highest wins."""
    element = value.element
    if element.bits in e.target.gather_bits:
        args = [value.llvm, _addresses(e, pointer, indices), ir.Constant(I32.llvm, _alignment(element)), mask.llvm]
        e.call(f"llvm.masked.scatter.v{value.lanes}{element.code}.v{value.lanes}p0", ir.VoidType(), args)
        return
    offsets, tile = spill(e, indices), spill(e, value)

    def one(lane: Any) -> None:
        address = e.offset(pointer, e.builder.load(e.offset(offsets, lane)))
        e.builder.store(e.builder.load(e.offset(tile, lane)), address)

    each_lane(e, mask, one)


class _PointerVector(ir.Type):
    """<n x ptr>, which llvmlite cannot spell."""

    def __init__(self, count: int) -> None:
        self.count = count

    def _to_string(self) -> str:
        return f"<{self.count} x ptr>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _PointerVector) and other.count == self.count

    def __hash__(self) -> int:
        return hash(("pointers", self.count))


class _Addresses(ir.Instruction):
    """getelementptr with a vector of indices, which llvmlite's builder refuses."""

    def __init__(self, block: Any, pointer: Any, indices: Value) -> None:
        ir.Instruction.__init__(
            self, block, _PointerVector(indices.lanes), "getelementptr", [pointer, indices.llvm], ""
        )

    def descr(self, buf: list[str]) -> None:
        """The text of the instruction."""
        pointer, indices = self.operands
        element = pointer.type.pointee
        buf.append(
            f"getelementptr {element}, ptr {pointer.get_reference()}, {indices.type} {indices.get_reference()}\n"
        )


def _addresses(e: Emitter, pointer: Any, indices: Value) -> Any:
    instruction = _Addresses(e.builder.block, pointer, indices)
    e.builder._insert(instruction)
    return instruction


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
