"""The words that touch memory or the lanes of the function: `MEMORY_WORDS` leaves, to vocabulary.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pelton.codegen.cpu import check, convert, integers, memory, reduce
from pelton.codegen.cpu.elements import I64, INTEGER_OF, MASK, STORAGE, Element
from pelton.codegen.cpu.emitter import Value
from pelton.codegen.cpu.kernel_types import (
    SCALAR_I64,
    VOID,
    Call,
    Lanes,
    Pointer,
    Word,
    WordError,
    common,
    literal_of,
    shape_of,
)
from pelton.codegen.cpu.matmul_tile import matmul_tile
from pelton.codegen.cpu.seam import ir
from pelton.codegen.cpu.words import (
    FLOAT,
    NUMBER,
    Write,
    expect_count,
    expect_element,
    expect_kind,
    infix,
    pointer_element,
)


def _mask(call: Call, i: int) -> Value:
    return call.value(i, Lanes(MASK, call.emitter.lanes))


def _indices(call: Call, i: int) -> Value:
    return call.emitter.splat(call.index(i), call.emitter.lanes)


def _stored(call: Call, i: int) -> Value:
    """The argument that goes into memory, with a value for every lane."""
    return call.value(i, Lanes(pointer_element(call.kinds[0]), call.emitter.lanes))


def _reading(count: int, mask: int | None, fill: int | None) -> Any:
    """The rule of a load: pointer, place, and at positions `mask` and `fill` those two."""

    def rule(lanes: int, args: Sequence[Any]) -> Lanes:
        expect_count(args, count)
        element = pointer_element(args[0])
        if mask is not None and fill is not None:
            expect_element(args[mask], MASK)
            expect_element(args[fill], element)
        return Lanes(element, lanes)

    return rule


def _writing(count: int, value: int, mask: int | None) -> Any:
    """The rule of a store: pointer, place, and at positions `value` and `mask` those two."""

    def rule(lanes: int, args: Sequence[Any]) -> Any:
        expect_count(args, count)
        expect_element(args[value], pointer_element(args[0]))
        if mask is not None:
            expect_element(args[mask], MASK)
        return VOID

    return rule


def _load(call: Call) -> Any:
    return memory.load(call.emitter, call.args[0], call.index(1), call.result.element).llvm


def _load_masked(call: Call) -> Any:
    return memory.load_masked(
        call.emitter, call.args[0], call.index(1), _mask(call, 2), call.value(3, call.result)
    ).llvm


def _store(call: Call) -> None:
    memory.store(call.emitter, call.args[0], call.index(1), _stored(call, 2))


def _store_masked(call: Call) -> None:
    memory.store_masked(call.emitter, call.args[0], call.index(1), _stored(call, 2), _mask(call, 3))


def _gather(call: Call) -> Any:
    return memory.gather(call.emitter, call.args[0], _indices(call, 1), _mask(call, 2), call.value(3, call.result)).llvm


def _scatter(call: Call) -> None:
    memory.scatter(call.emitter, call.args[0], _indices(call, 1), _stored(call, 2), _mask(call, 3))


def _tile(name: str, element: Element) -> Word:
    def rule(lanes: int, args: Sequence[Any]) -> Pointer:
        if len(args) != 1 or not isinstance(literal_of(args[0]), int):
            raise WordError("the size of a tile is an integer literal")
        return Pointer(element)

    return Word(name, rule, lambda call: call.emitter.stack(element, call.literal(0)))


def _splat_rule(lanes: int, args: Sequence[Any]) -> Lanes:
    expect_count(args, 1)
    return Lanes(common(args).element, lanes)


def _iota_rule(lanes: int, args: Sequence[Any]) -> Lanes:
    expect_count(args, 2)
    if not isinstance(literal_of(args[1]), int):
        raise WordError("the step is an integer literal")
    return Lanes(I64, lanes)


def _below_rule(lanes: int, args: Sequence[Any]) -> Lanes:
    expect_count(args, 1)
    return Lanes(MASK, lanes)


def _full_rule(lanes: int, args: Sequence[Any]) -> Lanes:
    expect_count(args, 0)
    return Lanes(MASK, lanes)


def _where_rule(lanes: int, args: Sequence[Any]) -> Lanes:
    expect_count(args, 3)
    expect_element(args[0], MASK)
    shape = common(args[1:])
    return Lanes(shape.element, shape.lanes or shape_of(args[0])[1])


def _where(call: Call) -> Any:
    mask = call.value(0)
    return call.emitter.select(mask, call.value(1, call.result), call.value(2, call.result)).llvm


def _across(name: str, combine: Write) -> Word:
    def rule(lanes: int, args: Sequence[Any]) -> Lanes:
        expect_count(args, 1)
        shape = common(args)
        expect_kind(shape.element, NUMBER)
        return Lanes(shape.element, 0)

    return Word(name, rule, lambda call: reduce.across(call.emitter, call.value(0), combine).llvm)


def _bits_rule(lanes: int, args: Sequence[Any]) -> Lanes:
    expect_count(args, 1)
    expect_element(args[0], MASK)
    if shape_of(args[0])[1] > I64.bits:
        raise WordError("an integer has 64 bits, for as many lanes")
    return SCALAR_I64


def _word_rule(lanes: int, args: Sequence[Any]) -> Lanes:
    expect_count(args, 1)
    if common(args).lanes:
        raise WordError("takes a scalar")
    return SCALAR_I64


def _key_rule(lanes: int, args: Sequence[Any]) -> Lanes:
    expect_count(args, 1)
    shape = common(args)
    expect_kind(shape.element, NUMBER)
    return Lanes(INTEGER_OF[shape.element.bits] if shape.element.is_float else shape.element, shape.lanes)


def _check_rule(lanes: int, args: Sequence[Any]) -> Any:
    _judged_rule(args, 1)
    return VOID


def _check(call: Call) -> None:
    ok, mask, index, values = _judged(call, 1)
    check.check(call.emitter, ok, mask, index, values, call.args[4], call.literal(5))


def _report(count: int) -> Word:
    """The word that leaves a row of so many values: condition, lanes, index, values, rows, first word of the row."""

    def rule(lanes: int, args: Sequence[Any]) -> Any:
        _judged_rule(args, count)
        if pointer_element(args[3 + count]) is not I64:
            raise WordError("rows are words of 64 bits")
        return VOID

    def emit(call: Call) -> None:
        ok, mask, index, values = _judged(call, count)
        row = call.emitter.builder.gep(call.args[3 + count], [ir.Constant(I64.llvm, call.literal(4 + count))])
        check.check(call.emitter, ok, mask, index, values, row, 1)

    return Word(f"report_{count}", rule, emit)


def _judged_rule(args: Sequence[Any], values: int) -> None:
    expect_count(args, values + 5)
    expect_element(args[0], MASK)
    expect_element(args[1], MASK)
    expect_element(args[2], I64)
    for kind in args[3 : 3 + values]:
        common([kind])
    if not isinstance(literal_of(args[4 + values]), int):
        raise WordError("the number of a check is an integer literal")


def _judged(call: Call, values: int) -> tuple[Value, Value, Value, list[Value]]:
    """Condition, lanes, index and values as words, with as many lanes as the widest of them."""
    lanes = max(shape_of(kind)[1] for kind in call.kinds[: 3 + values])
    masks, numbers = Lanes(MASK, lanes), Lanes(I64, lanes)
    words = [call.emitter.splat(_word(call, 3 + k), lanes) for k in range(values)]
    return call.value(0, masks), call.value(1, masks), call.value(2, numbers), words


def _word(call: Call, i: int) -> Value:
    """An argument as a word: the bits of a float, an integer by its value."""
    literal = literal_of(call.kinds[i])
    value = call.value(i, Lanes(I64, 0)) if isinstance(literal, int) else call.value(i)
    return convert.to(call.emitter, value.bits() if value.element.is_float else value, I64)


def _matmul_tile_rule(lanes: int, args: Sequence[Any]) -> Any:
    expect_count(args, 10)
    element = pointer_element(args[0])
    expect_kind(element, FLOAT)
    if any(pointer_element(args[i]) is not element for i in (1, 5)):
        raise WordError("tile, a and b are of one type")
    if not all(isinstance(literal_of(args[i]), int) for i in (8, 9)):
        raise WordError("the number of rows and `accumulate` are integer literals")
    return VOID


def _matmul_tile(call: Call) -> None:
    tile, a, b = (call.args[i] for i in (0, 1, 5))
    a0, lda, rows, b0, depth = (call.index(i) for i in (2, 3, 4, 6, 7))
    element = pointer_element(call.kinds[0])
    count, accumulate = call.literal(8), bool(call.literal(9))
    matmul_tile(call.emitter, tile, a, a0, lda, rows, b, b0, depth, count, accumulate, element)


MEMORY_WORDS: dict[str, Word] = {
    word.word: word
    for word in (
        Word("load", _reading(2, None, None), _load),
        Word("load_masked", _reading(4, 2, 3), _load_masked),
        Word("store", _writing(3, 2, None), _store),
        Word("store_masked", _writing(4, 2, 3), _store_masked),
        Word("gather", _reading(4, 2, 3), _gather),
        Word("scatter", _writing(4, 2, 3), _scatter),
        Word("splat", _splat_rule, lambda call: call.value(0, call.result).llvm),
        Word("iota", _iota_rule, lambda call: memory.iota(call.emitter, call.index(0), call.literal(1)).llvm),
        Word("below", _below_rule, lambda call: memory.below(call.emitter, call.index(0)).llvm),
        Word("full", _full_rule, lambda call: memory.full(call.emitter).llvm),
        Word("where", _where_rule, _where),
        Word("check", _check_rule, _check),
        *(_report(count) for count in range(1, 9)),
        Word("matmul_tile", _matmul_tile_rule, _matmul_tile),
        Word("bits_of", _bits_rule, lambda call: reduce.bits_of(call.emitter, call.value(0)).llvm),
        Word("first_bit", _word_rule, lambda call: reduce.first_bit(call.emitter, call.index(0)).llvm),
        Word("count_bits", _word_rule, lambda call: reduce.count_bits(call.emitter, call.index(0)).llvm),
        Word("order_key", _key_rule, lambda call: integers.order_key(call.emitter, call.value(0)).llvm),
        _across("across_add", infix(Value.__add__)),
        _across("across_mul", infix(Value.__mul__)),
        _across("across_max", reduce.maximum),
        _across("across_min", reduce.minimum),
        *(_tile(f"tile_{name}", element) for name, element in STORAGE.items()),
    )
}
