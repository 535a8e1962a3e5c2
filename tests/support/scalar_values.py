"""Runs the scalar code of an elementwise op on NumPy arrays: what `element` says, one array operation per scalar op."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.builder import Builder, InsertPoint
from xdsl.dialects import arith
from xdsl.ir import Attribute, Block, Operation, SSAValue

from pelton.dialects.nn import formulas, reference
from pelton.dialects.op import Pointwise
from pelton.dialects.scalars import Scalars
from pelton.dialects.types import is_bool, is_float

Array = Any


def element_values(op: Pointwise, *inputs: Array) -> Array:
    """The result's elements, computed by the op's scalar code; operands and result have one shape."""
    block = Block(arg_types=[op.tensor(k).dtype for k in range(len(op.operands))])
    b = Scalars(Builder(InsertPoint.at_end(block)))
    result = op.element(b, (), lambda k, index: block.args[k])
    known: dict[SSAValue, Array] = dict(zip(block.args, inputs, strict=True))
    with np.errstate(all="ignore"):
        for scalar in block.ops:
            operands = [known[v] for v in scalar.operands]
            known[scalar.results[0]] = evaluate(scalar, scalar.results[0].type, *operands)
    return np.broadcast_to(known[result], inputs[0].shape)


def evaluate(op: Operation, dtype: Attribute, *x: Array) -> Array:
    """One scalar op in the precision of its type."""
    match op:
        case arith.ConstantOp():
            value: Any = op.value
            number = value.value.data
            return np.asarray(bool(number) if is_bool(dtype) else number, reference.numpy_dtype(dtype))
        case arith.CmpfOp():
            return FLOAT_PREDICATES[arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]](*x)
        case arith.CmpiOp():
            return INT_PREDICATES[arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]](*x)
        case arith.FPToSIOp():
            return saturated(x[0], reference.numpy_dtype(dtype))
        case _:
            return reference.rounded(OPERATIONS[op.name](*map(exact, x) if op.name in WIDE else x), dtype)


def exact(x: Array) -> Array:
    """Wide enough that a function's own error does not show."""
    return x.astype(np.longdouble if x.dtype == np.float64 else np.float64) if reference.is_float(x) else x


def saturated(x: Array, to: Any) -> Array:
    """A float as an integer of NumPy type `to`: truncated, within its limits, 0 for NaN."""
    limits = np.iinfo(to)
    number = [0 if v != v else max(min(v, 2.0**70), -(2.0**70)) for v in x.astype(np.float64).ravel().tolist()]
    return np.array([min(max(int(v), limits.min), limits.max) for v in number], to).reshape(x.shape)


def _trunc_mod(x: Array, y: Array) -> Array:
    return np.where(y == 0, 0, np.fmod(x, np.where(y == 0, 1, y)))


FLOAT_PREDICATES: Mapping[str, Callable[..., Array]] = {
    "oeq": np.equal, "une": np.not_equal, "olt": np.less, "ole": np.less_equal, "ogt": np.greater, "oge": np.greater_equal,
    "uno": lambda x, y: np.isnan(x) | np.isnan(y),
}  # fmt: skip
INT_PREDICATES: Mapping[str, Callable[..., Array]] = {
    "eq": np.equal, "ne": np.not_equal, "slt": np.less, "sle": np.less_equal, "sgt": np.greater, "sge": np.greater_equal,
}  # fmt: skip
FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    "math.exp": np.exp, "math.log": np.log, "math.log1p": np.log1p, "math.rsqrt": lambda x: 1 / np.sqrt(x), "math.sin": np.sin,
    "math.cos": np.cos, "math.tan": np.tan, "math.asin": np.arcsin, "math.acos": np.arccos, "math.atan": np.arctan,
    "math.atanh": np.arctanh, "math.tanh": np.tanh, "math.erf": reference.erf, "math.powf": np.power,
}  # fmt: skip
WIDE = frozenset(FUNCTIONS)
OPERATIONS: Mapping[str, Callable[..., Array]] = {
    **FUNCTIONS,
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply, "arith.divf": np.divide, "arith.negf": np.negative,
    "arith.maximumf": formulas.maximum_value, "arith.minimumf": formulas.minimum_value,
    "arith.addi": np.add, "arith.subi": np.subtract, "arith.muli": np.multiply, "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
    "arith.floordivsi": np.floor_divide, "arith.remsi": _trunc_mod,
    "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor, "arith.select": np.where,
    "arith.extf": exact, "arith.truncf": lambda x: x, "arith.sitofp": lambda x: x, "arith.extui": lambda x: x,
    "arith.extsi": lambda x: x, "arith.trunci": lambda x: x,
    "math.absf": np.abs, "math.absi": np.abs, "math.sqrt": np.sqrt, "math.floor": np.floor, "math.ceil": np.ceil,
    "math.roundeven": np.rint, "math.trunc": np.trunc, "math.copysign": np.copysign,
}  # fmt: skip
"""What each scalar op computes; halves never reach arithmetic, they are widened first."""
