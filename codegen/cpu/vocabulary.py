"""The names a kernel text can use. A lane count enters; the globals of a text leave, and `SYNTAX` for its operators.

An elementwise word is a row: how many arguments, of which kinds, the function that writes it, and the element of the
result where that is another. It takes scalars and vectors alike; a scalar beside a vector goes into every lane, a
literal takes the type of the others.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

from pelton.codegen.cpu import (
    convert,
    integers,
    math_arc,
    math_exp,
    math_log,
    math_mod,
    math_round,
    math_trig,
    reduce,
)
from pelton.codegen.cpu.elements import F32, F64, MASK, REGISTERS, U8, U16, Element
from pelton.codegen.cpu.emitter import Emitter, Value
from pelton.codegen.cpu.kernel_types import Word
from pelton.codegen.cpu.words import (
    ANY,
    BITS,
    FLOAT,
    INTEGER,
    NUMBER,
    Write,
    conversion,
    elementwise,
    infix,
    reinterpretation,
)
from pelton.codegen.cpu.words_memory import MEMORY_WORDS
from pelton.codegen.cpu.words_syntax import SYNTAX_WORDS

operator: Any = import_module("operator")

Row = tuple[int, tuple[str, ...], Write, Element | None]


def by_kind(of_floats: Write, of_integers: Write) -> Write:
    """One word for both kinds of number."""

    def write(e: Emitter, *args: Value) -> Value:
        return (of_floats if args[0].element.is_float else of_integers)(e, *args)

    return write


FUNCTIONS: dict[str, Row] = {
    "maximum": (2, NUMBER, reduce.maximum, None),
    "minimum": (2, NUMBER, reduce.minimum, None),
    "maxnum": (2, NUMBER, reduce.maxnum, None),
    "minnum": (2, NUMBER, reduce.minnum, None),
    "exp": (1, FLOAT, math_exp.exp, None),
    "tanh": (1, FLOAT, math_exp.tanh, None),
    "erf": (1, FLOAT, math_exp.erf, None),
    "log": (1, FLOAT, math_log.log, None),
    "log1p": (1, FLOAT, math_log.log1p, None),
    "atanh": (1, FLOAT, math_log.atanh, None),
    "pow": (2, FLOAT, math_log.pow, None),
    "sin": (1, FLOAT, math_trig.sin, None),
    "cos": (1, FLOAT, math_trig.cos, None),
    "tan": (1, FLOAT, math_trig.tan, None),
    "asin": (1, FLOAT, math_arc.asin, None),
    "acos": (1, FLOAT, math_arc.acos, None),
    "atan": (1, FLOAT, math_arc.atan, None),
    "sqrt": (1, FLOAT, math_round.sqrt, None),
    "rsqrt": (1, FLOAT, math_round.rsqrt, None),
    "floor": (1, FLOAT, math_round.floor, None),
    "ceil": (1, FLOAT, math_round.ceil, None),
    "trunc": (1, FLOAT, math_round.trunc, None),
    "roundeven": (1, FLOAT, math_round.roundeven, None),
    "absolute": (1, NUMBER, math_round.absolute, None),
    "copysign": (2, FLOAT, math_round.copysign, None),
    "floordiv": (2, INTEGER, integers.floordiv, None),
    "floormod": (2, INTEGER, integers.floormod, None),
    "truncdiv": (2, INTEGER, integers.truncdiv, None),
    "truncmod": (2, NUMBER, by_kind(math_mod.fmod, integers.truncmod), None),
    "ult": (2, INTEGER, integers.ult, MASK),
    "ule": (2, INTEGER, integers.ule, MASK),
}

OPERATORS: dict[Any, Row] = {
    operator.add: (2, NUMBER, infix(Value.__add__), None),
    operator.sub: (2, NUMBER, infix(Value.__sub__), None),
    operator.mul: (2, NUMBER, infix(Value.__mul__), None),
    operator.truediv: (2, FLOAT, infix(Value.__truediv__), None),
    operator.floordiv: (2, INTEGER, integers.floordiv, None),
    operator.mod: (2, INTEGER, integers.floormod, None),
    operator.and_: (2, BITS, infix(Value.__and__), None),
    operator.or_: (2, BITS, infix(Value.__or__), None),
    operator.xor: (2, BITS, infix(Value.__xor__), None),
    operator.lshift: (2, INTEGER, integers.shift_left, None),
    operator.rshift: (2, INTEGER, integers.shift_right, None),
    operator.invert: (1, BITS, infix(Value.__invert__), None),
    operator.lt: (2, NUMBER, infix(Value.__lt__), MASK),
    operator.le: (2, NUMBER, infix(Value.__le__), MASK),
    operator.gt: (2, NUMBER, infix(Value.__gt__), MASK),
    operator.ge: (2, NUMBER, infix(Value.__ge__), MASK),
    operator.eq: (2, ANY, infix(Value.equals), MASK),
    operator.ne: (2, ANY, infix(Value.differs), MASK),
}

IN_PLACE: dict[Any, Any] = {
    operator.iadd: operator.add,
    operator.isub: operator.sub,
    operator.imul: operator.mul,
    operator.itruediv: operator.truediv,
    operator.ifloordiv: operator.floordiv,
    operator.imod: operator.mod,
    operator.iand: operator.and_,
    operator.ior: operator.or_,
    operator.ixor: operator.xor,
    operator.ilshift: operator.lshift,
    operator.irshift: operator.rshift,
}

REINTERPRETATIONS: dict[str, tuple[Element, Write, Element]] = {
    "f16_to_f32": (U16, convert.f16_to_f32, F32),
    "bf16_to_f32": (U16, convert.bf16_to_f32, F32),
    "f16_to_f64": (U16, convert.f16_to_f64, F64),
    "bf16_to_f64": (U16, convert.bf16_to_f64, F64),
    "f32_to_f16": (F32, convert.f32_to_f16, U16),
    "f32_to_bf16": (F32, convert.f32_to_bf16, U16),
    "f64_to_f16": (F64, convert.f64_to_f16, U16),
    "f64_to_bf16": (F64, convert.f64_to_bf16, U16),
    "as_mask": (U8, convert.as_mask, MASK),
    "as_bytes": (MASK, convert.as_bytes, U8),
}

WORDS: dict[str, Word] = {
    **MEMORY_WORDS,
    **{name: elementwise(name, *row) for name, row in FUNCTIONS.items()},
    **{name: conversion(name, element) for name, element in REGISTERS.items()},
    **{f"to_{name}": conversion(f"to_{name}", element) for name, element in REGISTERS.items()},
    **{name: reinterpretation(name, *row) for name, row in REINTERPRETATIONS.items()},
}
"""The words a text calls by name."""


def _syntax() -> dict[Any, Word]:
    operators = {op: elementwise(f"operator {op.__name__}", *row) for op, row in OPERATORS.items()}
    in_place = {op: operators[plain] for op, plain in IN_PLACE.items()}
    return {**SYNTAX_WORDS, **operators, **in_place, min: WORDS["minimum"], max: WORDS["maximum"]}


SYNTAX = _syntax()
"""The words behind operators, indexing, loops and built-in functions."""


def names(lanes: int) -> dict[str, Any]:
    """The globals of a kernel text whose vectors have `lanes` lanes."""
    return {**WORDS, "W": lanes, "inf": math.inf, "nan": math.nan}
