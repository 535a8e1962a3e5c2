"""Words of a thread's register tile: accumulators that LLVM keeps in registers, and what a step of k adds to them.

Each writes its whole body unrolled, so that a text of a few lines becomes hundreds of instructions without Numba
reading them one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pelton.codegen.cuda.seam import ir, types
from pelton.codegen.cuda.words import ELEMENTS, Call, Emit, Rule, WordError, is_float

I16, I32 = ir.IntType(16), ir.IntType(32)
VECTOR_BYTES = 16


def _literal(value: Any) -> int:
    if not isinstance(value, ir.Constant):
        raise WordError("the sizes of a tile are literals")
    return int(value.constant)


def place(call: Call, pointer: Any, number: int) -> Any:
    """The place so many elements behind a pointer."""
    return call.builder.gep(pointer, [ir.Constant(I32, number)])


# ---- accumulators
def _all(element: Any, value: float) -> tuple[int, Rule, Emit]:
    """`zeros_f32(n)`: n accumulators of the thread, all 0. `sums_f32(n)`: such that a sum begins with its first
    term, a -0 included.
    """

    def rule(size: Any) -> tuple[Any, tuple[Any]]:
        return types.CPointer(element), (size,)

    def emit(call: Call) -> Any:
        b, count = call.builder, _literal(call.values[0])
        kind = _llvm(element)
        with b.goto_entry_block():
            slots = b.alloca(kind, size=ir.Constant(I32, count))
        for k in range(count):
            b.store(ir.Constant(kind, value if is_float(element) else 0), place(call, slots, k))
        return slots

    return 1, rule, emit


def _llvm(element: Any) -> Any:
    if is_float(element):
        return ir.FloatType() if element.bitwidth == 32 else ir.DoubleType()
    return ir.IntType(element.bitwidth)


# ---- steps
def _add_rule(
    acc: Any, high: Any, wide: Any, tiles: Any, left: Any, right: Any
) -> tuple[Any, tuple[Any, Any, Any, Any, Any, Any]]:
    if not isinstance(acc, types.CPointer) or acc != tiles:
        raise WordError("takes accumulators, their two numbers, a shared tile of their type and two places in it")
    return types.void, (acc, high, wide, tiles, types.int64, types.int64)


def _add_products(call: Call) -> None:
    """`tile_madd(acc, high, wide, tiles, left, right)`: every accumulator takes one product; of floats in one
    rounding.
    """
    b, (acc, high, wide, tiles, left, right) = call.builder, call.values
    element, (rows, columns) = call.kinds[0].dtype, (_literal(high), _literal(wide))
    xs, ys = _loaded(call, tiles, left, rows), _loaded(call, tiles, right, columns)
    for i, x in enumerate(xs):
        for j, y in enumerate(ys):
            slot = place(call, acc, i * columns + j)
            old = b.load(slot)
            new = b.fma(x, y, old) if is_float(element) else b.add(old, b.mul(x, y))
            b.store(new, slot)


def _loaded(call: Call, tiles: Any, at: Any, count: int) -> list[Any]:
    """Neighbours in shared memory, in as few loads as there can be. The first stands at a multiple of their number."""
    b, first = call.builder, call.builder.gep(tiles, [at])
    lanes = min(count, VECTOR_BYTES // bytes_of_pointer(first))
    if lanes == 1:
        return [b.load(place(call, first, k)) for k in range(count)]
    vector = ir.VectorType(first.type.pointee, lanes)
    found: list[Any] = []
    for k in range(0, count, lanes):
        whole = b.load(b.bitcast(place(call, first, k), vector.as_pointer()), align=lanes * bytes_of_pointer(first))
        found += [b.extract_element(whole, ir.Constant(I32, lane)) for lane in range(lanes)]
    return found


def bytes_of_pointer(pointer: Any) -> int:
    """Bytes of the elements that it points to."""
    kind = pointer.type.pointee
    return kind.width // 8 if isinstance(kind, ir.IntType) else 4 if kind == ir.FloatType() else 8


def _fold_rule(sums: Any, acc: Any, count: Any) -> tuple[Any, tuple[Any, Any, Any]]:
    if not isinstance(acc, types.CPointer) or acc != sums:
        raise WordError("takes sums, accumulators of their type, and their number")
    return types.void, (sums, acc, count)


def _fold(rounded: Callable[[Call, Any], Any]) -> tuple[int, Rule, Emit]:
    """`tile_fold(sums, acc, n)`: the accumulators are added to the sums, and are 0 again. `tile_fold_f16` rounds what
    it adds.
    """

    def emit(call: Call) -> None:
        b, (sums, acc, count) = call.builder, call.values
        add = b.fadd if is_float(call.kinds[0].dtype) else b.add
        for k in range(_literal(count)):
            total, part = place(call, sums, k), place(call, acc, k)
            b.store(add(b.load(total), rounded(call, b.load(part))), total)
            b.store(ir.Constant(part.type.pointee, 0), part)

    return 3, _fold_rule, emit


def _through_f16(call: Call, x: Any) -> Any:
    half = call.ptx("cvt.rn.f16.f32 $0, $1;", I16, "=h,f", [x])
    return call.ptx("cvt.f32.f16 $0, $1;", x.type, "=f,h", [half])


def _through_bf16(call: Call, x: Any) -> Any:
    half = call.ptx("cvt.rn.bf16.f32 $0, $1;", I16, "=h,f", [x])
    b = call.builder
    return b.bitcast(b.shl(b.zext(half, I32), ir.Constant(I32, 16)), x.type)


def _put_rule(
    acc: Any, high: Any, wide: Any, tiles: Any, at: Any, pitch: Any
) -> tuple[Any, tuple[Any, Any, Any, Any, Any, Any]]:
    if not isinstance(acc, types.CPointer) or acc != tiles:
        raise WordError("takes accumulators, their two numbers, a shared tile of their type, a place and a pitch")
    return types.void, (acc, high, wide, tiles, types.int64, pitch)


def _put(call: Call) -> None:
    """`tile_put(acc, high, wide, tiles, at, pitch)`: the accumulators to shared memory, row by row."""
    b, (acc, high, wide, tiles, at, pitch) = call.builder, call.values
    columns, first = _literal(wide), call.builder.gep(tiles, [at])
    for i in range(_literal(high)):
        for j in range(columns):
            b.store(b.load(place(call, acc, i * columns + j)), place(call, first, i * _literal(pitch) + j))


WORDS: dict[str, tuple[int, Rule, Emit]] = {
    **{f"zeros_{name}": _all(element, 0.0) for name, element in ELEMENTS.items() if name != "i1"},
    **{f"sums_{name}": _all(element, -0.0) for name, element in ELEMENTS.items() if name != "i1"},
    "tile_fold": _fold(lambda call, x: x),
    "tile_fold_f16": _fold(_through_f16),
    "tile_fold_bf16": _fold(_through_bf16),
    "tile_madd": (6, _add_rule, _add_products),
    "tile_put": (6, _put_rule, _put),
}
