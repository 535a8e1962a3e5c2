"""Words that move four neighbours between memory and a thread's registers: `load_4` and `store_4`.

Where all four are there and the first stands at a multiple of their bytes (of 16 at most), it is one instruction, or
two for elements of 8 bytes; else one for each of those that are there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pelton.codegen.cuda.seam import ir, types
from pelton.codegen.cuda.tile import VECTOR_BYTES, bytes_of_pointer, place
from pelton.codegen.cuda.words import Call, Emit, Rule, WordError
from pelton.dialects.kernel.neighbours import FOUR

I64 = ir.IntType(64)


def _load_rule(registers: Any, buffer: Any, at: Any, left: Any) -> tuple[Any, tuple[Any, Any, Any, Any]]:
    if not isinstance(buffer, types.CPointer) or registers != buffer:
        raise WordError("takes registers, a buffer of their type, a place in it and how many elements are left there")
    return types.void, (registers, buffer, types.int64, types.int64)


def _load(call: Call) -> None:
    """`load_4(registers, buffer, at, left)`: registers behind the last element keep what they hold."""
    registers, buffer, at, left = call.values
    b, first = call.builder, call.builder.gep(buffer, [at])

    def whole(vector: Any, lanes: int) -> None:
        for k in range(0, FOUR, lanes):
            source = b.bitcast(place(call, first, k), vector.as_pointer())
            found = b.load(source, align=lanes * bytes_of_pointer(first))
            for lane in range(lanes):
                b.store(b.extract_element(found, ir.Constant(ir.IntType(32), lane)), place(call, registers, k + lane))

    def single(k: int) -> None:
        b.store(b.load(place(call, first, k)), place(call, registers, k))

    _moved(call, first, left, whole, single)


def _store_rule(buffer: Any, at: Any, registers: Any, left: Any) -> tuple[Any, tuple[Any, Any, Any, Any]]:
    result, _ = _load_rule(registers, buffer, at, left)
    return result, (buffer, types.int64, registers, types.int64)


def _store(call: Call) -> None:
    """`store_4(buffer, at, registers, left)`."""
    buffer, at, registers, left = call.values
    b, first = call.builder, call.builder.gep(buffer, [at])

    def whole(vector: Any, lanes: int) -> None:
        for k in range(0, FOUR, lanes):
            value = ir.Constant(vector, ir.Undefined)
            for lane in range(lanes):
                element = b.load(place(call, registers, k + lane))
                value = b.insert_element(value, element, ir.Constant(ir.IntType(32), lane))
            target = b.bitcast(place(call, first, k), vector.as_pointer())
            b.store(value, target, align=lanes * bytes_of_pointer(first))

    def single(k: int) -> None:
        b.store(b.load(place(call, registers, k)), place(call, first, k))

    _moved(call, first, left, whole, single)


def _moved(call: Call, first: Any, left: Any, whole: Callable[[Any, int], None], single: Callable[[int], None]) -> None:
    """All at once where that can be, else one by one."""
    b, size = call.builder, bytes_of_pointer(first)
    lanes = min(FOUR, VECTOR_BYTES // size)
    rest = b.and_(b.ptrtoint(first, I64), ir.Constant(I64, lanes * size - 1))
    aligned = b.icmp_unsigned("==", rest, ir.Constant(I64, 0))
    enough = b.icmp_signed(">=", left, ir.Constant(I64, FOUR))
    with b.if_else(b.and_(aligned, enough)) as (then, otherwise):
        with then:
            whole(ir.VectorType(first.type.pointee, lanes), lanes)
        with otherwise:
            for k in range(FOUR):
                with b.if_then(b.icmp_signed(">", left, ir.Constant(I64, k))):
                    single(k)


WORDS: dict[str, tuple[int, Rule, Emit]] = {
    "load_4": (4, _load_rule, _load),
    "store_4": (4, _store_rule, _store),
}
