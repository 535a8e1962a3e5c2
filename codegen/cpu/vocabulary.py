"""The names a kernel text can use. Nothing enters; `WORDS` leaves: for each name, how a call is typed and how it is written.

An elementwise word is a row: its emitter, the kinds it takes and what it gives. It takes scalars and vectors alike; a scalar
beside a vector goes into every lane, a literal takes the type of the others. The rest of the words look at their arguments.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from pelton.codegen.cpu import math_exp, memory, reduce
from pelton.codegen.cpu.elements import F32, F64, I64, MASK, REGISTERS, STORAGE, Element
from pelton.codegen.cpu.emitter import Emitter, Value, constant
from pelton.codegen.cpu.kernel_types import (
    RANGE_LLVM,
    SCALAR_I64,
    SCALAR_MASK,
    VOID,
    Call,
    FloatLiteral,
    Lanes,
    Pointer,
    Range,
    RangeIterator,
    Word,
    WordError,
    common,
    literal_of,
    shape_of,
    types,
)
from pelton.codegen.cpu.seam import ir

FLOAT = ("float",)
INTEGER = ("int", "uint")
NUMBER = ("float", "int", "uint")
ANY = ("float", "int", "uint", "mask")
BITS = ("int", "uint", "mask")

Write = Callable[..., Value]


def elementwise(name: str, count: int, kinds: tuple[str, ...], write: Write, gives: Element | None = None) -> Word:
    """A word of `count` arguments of one common type; the result has it too, or is of element `gives`."""

    def rule(lanes: int, args: Sequence[Any]) -> Lanes:
        expect_count(args, count)
        shape = common(args)
        if shape.element.kind not in kinds:
            raise WordError(f"does not take {shape.element}")
        return Lanes(gives, shape.lanes) if gives else shape

    def emit(call: Call) -> Any:
        to = common(call.kinds)
        return write(call.emitter, *(call.value(i, to) for i in range(count))).llvm

    return Word(name, rule, emit)


def expect_count(args: Sequence[Any], count: int) -> None:
    """Raises WordError unless there are `count` arguments."""
    if len(args) != count:
        raise WordError(f"takes {count} arguments, got {len(args)}")


def pointer_element(kind: Any) -> Element:
    """What a pointer argument points to."""
    if not isinstance(kind, Pointer):
        raise WordError(f"{kind} is not a buffer or a tile")
    return kind.element


def expect_element(kind: Any, element: Element) -> None:
    """Raises WordError unless the argument is a literal or holds `element`."""
    got = shape_of(kind)[0]
    if got is not None and got is not element:
        raise WordError(f"{kind} where {element} is stored or loaded")


# ---- memory


def _load(call: Call) -> Any:
    return memory.load(call.emitter, call.args[0], call.index(1), call.result.element).llvm


def _load_rule(lanes: int, args: Sequence[Any]) -> Any:
    expect_count(args, 2)
    return Lanes(pointer_element(args[0]), lanes)


def _load_masked_rule(lanes: int, args: Sequence[Any]) -> Any:
    expect_count(args, 4)
    element = pointer_element(args[0])
    expect_element(args[2], MASK)
    expect_element(args[3], element)
    return Lanes(element, lanes)


def _load_masked(call: Call) -> Any:
    mask = call.value(2, Lanes(MASK, call.emitter.lanes))
    return memory.load_masked(call.emitter, call.args[0], call.index(1), mask, call.value(3, call.result)).llvm


def _store_rule(lanes: int, args: Sequence[Any]) -> Any:
    expect_count(args, 3)
    expect_element(args[2], pointer_element(args[0]))
    return VOID


def _stored(call: Call, i: int = 2) -> Value:
    return call.value(i, Lanes(pointer_element(call.kinds[0]), call.emitter.lanes))


def _store(call: Call) -> None:
    memory.store(call.emitter, call.args[0], call.index(1), _stored(call))


def _store_masked_rule(lanes: int, args: Sequence[Any]) -> Any:
    expect_count(args, 4)
    expect_element(args[2], pointer_element(args[0]))
    expect_element(args[3], MASK)
    return VOID


def _store_masked(call: Call) -> None:
    mask = call.value(3, Lanes(MASK, call.emitter.lanes))
    memory.store_masked(call.emitter, call.args[0], call.index(1), _stored(call), mask)


def _getitem_rule(lanes: int, args: Sequence[Any]) -> Any:
    return Lanes(pointer_element(args[0]), 0)


def _getitem(call: Call) -> Any:
    address = call.emitter.offset(call.args[0], call.index(1).llvm)
    return call.emitter.builder.load(address, align=call.result.element.bits // 8)


def _setitem(call: Call) -> None:
    element = pointer_element(call.kinds[0])
    address = call.emitter.offset(call.args[0], call.index(1).llvm)
    call.emitter.builder.store(call.value(2, Lanes(element, 0)).llvm, address, align=element.bits // 8)


def _tile(name: str, element: Element) -> Word:
    def rule(lanes: int, args: Sequence[Any]) -> Any:
        if len(args) != 1 or not isinstance(literal_of(args[0]), int):
            raise WordError("the size of a tile is a literal")
        return Pointer(element)

    return Word(name, rule, lambda call: call.emitter.stack(element, call.literal(0)))


# ---- lanes and masks


def _splat_rule(lanes: int, args: Sequence[Any]) -> Any:
    expect_count(args, 1)
    return Lanes(common(args).element, lanes)


def _iota_rule(lanes: int, args: Sequence[Any]) -> Any:
    expect_count(args, 2)
    if not isinstance(literal_of(args[1]), int):
        raise WordError("the step is a literal")
    return Lanes(I64, lanes)


def _where_rule(lanes: int, args: Sequence[Any]) -> Any:
    expect_count(args, 3)
    expect_element(args[0], MASK)
    shape = common(args[1:])
    return Lanes(shape.element, shape.lanes or shape_of(args[0])[1])


def _where(call: Call) -> Any:
    mask = call.value(0)
    return call.emitter.select(mask, call.value(1, call.result), call.value(2, call.result)).llvm


def _across(name: str, combine: Write, kinds: tuple[str, ...]) -> Word:
    def rule(lanes: int, args: Sequence[Any]) -> Any:
        expect_count(args, 1)
        shape = common(args)
        if shape.element.kind not in kinds:
            raise WordError(f"does not take {shape.element}")
        return Lanes(shape.element, 0)

    return Word(name, rule, lambda call: reduce.across(call.emitter, call.value(0), combine).llvm)


# ---- loops and branches


def _range_rule(lanes: int, args: Sequence[Any]) -> Any:
    step = literal_of(args[2]) if len(args) == 3 else 1
    if not isinstance(step, int) or step <= 0:
        raise WordError("the step is a positive literal")
    return Range(step)


def _range(call: Call) -> Any:
    b, zero = call.emitter.builder, call.emitter.number(I64, 0)
    first, last = (zero, call.index(0)) if len(call.kinds) == 1 else (call.index(0), call.index(1))
    return b.insert_value(b.insert_value(ir.Constant(RANGE_LLVM, ir.Undefined), first.llvm, 0), last.llvm, 1)


def _getiter(call: Call) -> Any:
    b = call.emitter.builder
    with b.goto_entry_block():
        iterator = b.alloca(RANGE_LLVM)
    b.store(call.args[0], iterator)
    return iterator


def _iternext(call: Call) -> Any:
    e, iterator = call.emitter, call.args[0]
    zero, one = ir.Constant(ir.IntType(32), 0), ir.Constant(ir.IntType(32), 1)
    next_slot = e.builder.gep(iterator, [zero, zero], inbounds=True)
    stop_slot = e.builder.gep(iterator, [zero, one], inbounds=True)
    index = Value(e, e.builder.load(next_slot), I64, 0)
    more = index < Value(e, e.builder.load(stop_slot), I64, 0)
    e.builder.store((index + call.kinds[0].step).llvm, next_slot)
    pair = ir.Constant(ir.LiteralStructType([I64.llvm, MASK.llvm]), ir.Undefined)
    return e.builder.insert_value(e.builder.insert_value(pair, index.llvm, 0), more.llvm, 1)


def _neg_rule(lanes: int, args: Sequence[Any]) -> Any:
    number = literal_of(args[0])
    if number is not None:
        return FloatLiteral(-number) if isinstance(number, float) else types.literal(-number)
    return NEGATION.rule(lanes, args)


def _neg(call: Call) -> Any:
    number = literal_of(call.result)
    return NEGATION.emit(call) if number is None else constant(I64 if isinstance(number, int) else F64, 0, number)


def _truth_rule(lanes: int, args: Sequence[Any]) -> Any:
    if common(args).lanes:
        raise WordError("a vector has no truth of its own: use where, or across_max of as_bytes")
    return SCALAR_MASK


def _truth(call: Call) -> Any:
    x = call.value(0)
    return (x if x.element is MASK else x.differs(0)).llvm


def _not(call: Call) -> Any:
    x = call.value(0)
    return (~x if x.element is MASK else x.equals(0)).llvm


ELEMENTWISE: dict[str, tuple[int, tuple[str, ...], Write, Element | None]] = {
    "maximum": (2, NUMBER, reduce.maximum, None),
    "minimum": (2, NUMBER, reduce.minimum, None),
    "maxnum": (2, NUMBER, reduce.maxnum, None),
    "minnum": (2, NUMBER, reduce.minnum, None),
    "exp": (1, FLOAT, math_exp.exp, None),
}
"""name: (arguments, kinds, emitter, element of the result if it is another)"""

OPERATORS: dict[Any, tuple[int, tuple[str, ...], Write, Element | None]] = {
    operator.add: (2, NUMBER, lambda e, x, y: x + y, None),
    operator.sub: (2, NUMBER, lambda e, x, y: x - y, None),
    operator.mul: (2, NUMBER, lambda e, x, y: x * y, None),
    operator.truediv: (2, FLOAT, lambda e, x, y: x / y, None),
    operator.and_: (2, BITS, lambda e, x, y: x & y, None),
    operator.or_: (2, BITS, lambda e, x, y: x | y, None),
    operator.xor: (2, BITS, lambda e, x, y: x ^ y, None),
    operator.pos: (1, NUMBER, lambda e, x: x, None),
    operator.invert: (1, BITS, lambda e, x: ~x, None),
    operator.lt: (2, NUMBER, lambda e, x, y: x < y, MASK),
    operator.le: (2, NUMBER, lambda e, x, y: x <= y, MASK),
    operator.gt: (2, NUMBER, lambda e, x, y: x > y, MASK),
    operator.ge: (2, NUMBER, lambda e, x, y: x >= y, MASK),
    operator.eq: (2, ANY, lambda e, x, y: x.equals(y), MASK),
    operator.ne: (2, ANY, lambda e, x, y: x.differs(y), MASK),
}

IN_PLACE = {
    operator.add: operator.iadd,
    operator.sub: operator.isub,
    operator.mul: operator.imul,
    operator.truediv: operator.itruediv,
    operator.and_: operator.iand,
    operator.or_: operator.ior,
    operator.xor: operator.ixor,
}


def _word_table() -> dict[str, Word]:
    special = {
        "load": Word("load", _load_rule, _load),
        "load_masked": Word("load_masked", _load_masked_rule, _load_masked),
        "store": Word("store", _store_rule, _store),
        "store_masked": Word("store_masked", _store_masked_rule, _store_masked),
        "splat": Word("splat", _splat_rule, lambda call: call.value(0, call.result).llvm),
        "iota": Word("iota", _iota_rule, lambda c: memory.iota(c.emitter, c.index(0), c.literal(1)).llvm),
        "below": Word("below", lambda lanes, args: Lanes(MASK, lanes), lambda c: memory.below(c.emitter, c.index(0)).llvm),
        "full": Word("full", lambda lanes, args: Lanes(MASK, lanes), lambda call: memory.full(call.emitter).llvm),
        "where": Word("where", _where_rule, _where),
        "across_add": _across("across_add", lambda e, x, y: x + y, NUMBER),
        "across_mul": _across("across_mul", lambda e, x, y: x * y, NUMBER),
        "across_max": _across("across_max", reduce.maximum, NUMBER),
        "across_min": _across("across_min", reduce.minimum, NUMBER),
    }
    rows = {name: elementwise(name, *row) for name, row in ELEMENTWISE.items()}
    tiles = {f"tile_{name}": _tile(f"tile_{name}", element) for name, element in STORAGE.items()}
    return {**special, **rows, **tiles, **{name: _cast(name, element) for name, element in REGISTERS.items()}}


def _cast(name: str, element: Element) -> Word:
    def rule(lanes: int, args: Sequence[Any]) -> Any:
        expect_count(args, 1)
        return Lanes(element, common(args).lanes)

    def emit(call: Call) -> Any:
        return call.value(0, call.result).llvm

    return Word(name, rule, emit)


WORDS = _word_table()
"""The words a text names."""


NEGATION = elementwise("negation", 1, NUMBER, lambda e, x: -x)


def _syntax_table() -> dict[Any, Word]:
    table: dict[Any, Word] = {}
    for op, row in OPERATORS.items():
        table[op] = elementwise(op.__name__, *row)
        if op in IN_PLACE:
            table[IN_PLACE[op]] = table[op]
    getitem = Word("indexing", _getitem_rule, _getitem)
    setitem = Word("assignment to an element", _store_rule, _setitem)
    truth = Word("truth", _truth_rule, _truth)
    return table | {
        operator.getitem: getitem,
        operator.setitem: setitem,
        operator.neg: Word("neg", _neg_rule, _neg),
        operator.not_: Word("not", _truth_rule, _not),
        bool: truth,
        operator.truth: truth,
        range: Word("range", _range_rule, _range),
        "getiter": Word("for", lambda lanes, args: RangeIterator(args[0].step), _getiter),
        "iternext": Word("next", lambda lanes, args: types.Pair(SCALAR_I64, types.boolean), _iternext),
        min: WORDS["minimum"],
        max: WORDS["maximum"],
    }


SYNTAX = _syntax_table()
"""What operators, indexing, loops and built-in functions mean, by the Python object Numba's analysis gives for each."""


def names(lanes: int) -> dict[str, Any]:
    """The globals of a kernel text whose vectors have `lanes` lanes."""
    return {**WORDS, "W": lanes, "inf": math.inf, "nan": math.nan}
