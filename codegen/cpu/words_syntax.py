"""What Python's syntax means in a kernel text: indexing, loops, truth and negation. `SYNTAX_WORDS` leaves, to
vocabulary.py.

The keys are the Python objects (or names) that Numba's analysis of the bytecode gives for each construct.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from pelton.codegen.cpu.elements import F64, I64, MASK
from pelton.codegen.cpu.emitter import Value, constant
from pelton.codegen.cpu.kernel_types import (
    RANGE_LLVM,
    SCALAR_I64,
    SCALAR_MASK,
    VOID,
    Call,
    FloatLiteral,
    Lanes,
    Range,
    RangeIterator,
    Word,
    WordError,
    common,
    literal_of,
    types,
)
from pelton.codegen.cpu.seam import ir
from pelton.codegen.cpu.words import NUMBER, elementwise, expect_count, expect_element, infix, pointer_element


def _get_rule(lanes: int, args: Sequence[Any]) -> Lanes:
    return Lanes(pointer_element(args[0]), 0)


def _get(call: Call) -> Any:
    address = call.emitter.offset(call.args[0], call.index(1).llvm)
    return call.emitter.builder.load(address, align=call.result.element.bits // 8)


def _set_rule(lanes: int, args: Sequence[Any]) -> Any:
    expect_element(args[2], pointer_element(args[0]))
    return VOID


def _set(call: Call) -> None:
    element = pointer_element(call.kinds[0])
    address = call.emitter.offset(call.args[0], call.index(1).llvm)
    call.emitter.builder.store(call.value(2, Lanes(element, 0)).llvm, address, align=element.bits // 8)


def _range_rule(lanes: int, args: Sequence[Any]) -> Range:
    expect_count(args, 1, 2, 3)
    step = literal_of(args[2]) if len(args) > 2 else 1
    if not isinstance(step, int) or step <= 0:
        raise WordError("the step is a positive literal")
    return Range(step)


def _range(call: Call) -> Any:
    b, zero = call.emitter.builder, call.emitter.number(I64, 0)
    start, stop = (zero, call.index(0)) if len(call.kinds) == 1 else (call.index(0), call.index(1))
    return b.insert_value(b.insert_value(ir.Constant(RANGE_LLVM, ir.Undefined), start.llvm, 0), stop.llvm, 1)


def _iterate(call: Call) -> Any:
    b = call.emitter.builder
    with b.goto_entry_block():
        iterator = b.alloca(RANGE_LLVM)
    b.store(call.args[0], iterator)
    return iterator


def _next(call: Call) -> Any:
    b, iterator = call.emitter.builder, call.args[0]
    zero, one = ir.Constant(ir.IntType(32), 0), ir.Constant(ir.IntType(32), 1)
    next_slot = b.gep(iterator, [zero, zero], inbounds=True)
    index = Value(call.emitter, b.load(next_slot), I64, 0)
    stop = Value(call.emitter, b.load(b.gep(iterator, [zero, one], inbounds=True)), I64, 0)
    b.store((index + call.kinds[0].step).llvm, next_slot)
    pair = ir.Constant(ir.LiteralStructType([I64.llvm, MASK.llvm]), ir.Undefined)
    return b.insert_value(b.insert_value(pair, index.llvm, 0), (index < stop).llvm, 1)


def _truth_rule(lanes: int, args: Sequence[Any]) -> Any:
    if common(args).lanes:
        raise WordError("a vector is neither true nor false: use where, or across_max of as_bytes")
    return SCALAR_MASK


def _truth(call: Call) -> Any:
    x = call.value(0)
    return (x if x.element is MASK else x.differs(0)).llvm


def _not(call: Call) -> Any:
    x = call.value(0)
    return (~x if x.element is MASK else x.equals(0)).llvm


NEGATION = elementwise("negation", 1, NUMBER, infix(Value.__neg__))


def _negative_rule(lanes: int, args: Sequence[Any]) -> Any:
    """The negative of a literal is a literal."""
    number = literal_of(args[0])
    if number is None:
        return NEGATION.rule(lanes, args)
    return FloatLiteral(-number) if isinstance(number, float) else types.literal(-number)


def _negative(call: Call) -> Any:
    number = literal_of(call.result)
    return NEGATION.emit(call) if number is None else constant(I64 if isinstance(number, int) else F64, 0, number)


TRUTH = Word("truth", _truth_rule, _truth)

SYNTAX_WORDS: dict[Any, Word] = {
    operator.getitem: Word("element", _get_rule, _get),
    operator.setitem: Word("assignment to an element", _set_rule, _set),
    operator.neg: Word("minus", _negative_rule, _negative),
    operator.not_: Word("not", _truth_rule, _not),
    operator.truth: TRUTH,
    bool: TRUTH,
    range: Word("range", _range_rule, _range),
    "getiter": Word("for", lambda lanes, args: RangeIterator(args[0].step), _iterate),
    "iternext": Word("next", lambda lanes, args: types.Pair(SCALAR_I64, types.boolean), _next),
}
