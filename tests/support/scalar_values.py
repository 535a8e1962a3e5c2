"""Runs the scalar code of a pointwise op on NumPy arrays: what `element` says, all elements of the result at once.

Reads are checked: an index out of bounds fails unless the code guards it, so what compiled code would read beyond a
buffer shows here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from pelton.dialects.kernel import INDEX, CheckOp, DimOp
from pelton.dialects.nn import formulas, reference
from pelton.dialects.op import Pointwise
from pelton.dialects.scalars import Scalars
from pelton.dialects.types import is_bool

Array = Any


@dataclass
class Trace:
    """One run: the arrays, what each scalar is at every element of the result, and the checks that failed."""

    inputs: Sequence[Array]
    sizes: Mapping[str, int]
    shape: tuple[int, ...]
    reads: dict[Operation, tuple[int, SSAValue | None]] = field(default_factory=dict[Operation, Any])
    known: dict[SSAValue, Array] = field(default_factory=dict[SSAValue, Any])
    failed: list[int] = field(default_factory=list[int])

    def read(self, op: Operation) -> Array:
        k, guard = self.reads[op]
        x = self.inputs[k]
        places = [np.broadcast_to(self.known[i], self.shape) for i in op.operands]
        wanted = np.ones(self.shape, bool) if guard is None else np.broadcast_to(self.known[guard], self.shape)
        inside = np.ones(self.shape, bool)
        for place, size in zip(places, x.shape, strict=True):
            inside &= (place >= 0) & (place < size)
        assert (inside | ~wanted).all(), f"operand {k} of shape {x.shape} is read out of bounds"
        if not x.size:
            return np.zeros(self.shape, x.dtype)
        safe = tuple(np.where(wanted & inside, place, 0) for place in places)
        return np.where(wanted, x[safe] if safe else x[()], np.zeros((), x.dtype))

    def run(self, op: Operation) -> None:
        operands = [self.known[v] for v in op.operands]
        match op:
            case CheckOp():
                if not np.all(np.broadcast_to(operands[0], self.shape)):
                    self.failed.append(op.site.data)
            case DimOp():
                self.known[op.value] = np.asarray(self.sizes[op.dim.data], np.int64)
            case TestOp():
                self.known[op.results[0]] = self.read(op)
            case _:
                self.known[op.results[0]] = evaluate(op, op.results[0].type, *operands)


def trace(op: Pointwise, sizes: Mapping[str, int], *inputs: Array) -> tuple[Array, list[int]]:
    """The result's elements by the op's scalar code, and the numbers of failed checks."""
    shape = reference.shape_of(op.result_type, sizes)
    block = Block(arg_types=[INDEX] * len(shape))
    b, run = Scalars(Builder(InsertPoint.at_end(block))), Trace(inputs, sizes, shape)

    def read(k: int, index: Sequence[SSAValue]) -> SSAValue:
        made = b.builder.insert(TestOp(operands=list(index), result_types=[op.tensor(k).dtype]))
        run.reads[made] = (k, b.guard)
        return made.results[0]

    result = op.element(b, block.args, read)
    run.known.update(zip(block.args, np.indices(shape, np.int64), strict=True))
    with np.errstate(all="ignore"):
        for scalar in block.ops:
            run.run(scalar)
    return np.broadcast_to(run.known[result], shape), run.failed


def element_values(op: Pointwise, *inputs: Array) -> Array:
    """The result's elements, of an op on static tensors."""
    return trace(op, {}, *inputs)[0]


def numpy_type(dtype: Attribute) -> Any:
    return np.dtype(np.int64) if isinstance(dtype, IndexType) else reference.numpy_dtype(dtype)


def evaluate(op: Operation, dtype: Attribute, *x: Array) -> Array:
    """One scalar op in the precision of its type."""
    match op:
        case arith.ConstantOp():
            value: Any = op.value
            number = value.value.data
            return np.asarray(bool(number) if is_bool(dtype) else number, numpy_type(dtype))
        case arith.CmpfOp():
            return FLOAT_PREDICATES[arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]](*x)
        case arith.CmpiOp():
            return INT_PREDICATES[arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]](*x)
        case arith.FPToSIOp() | arith.FPToUIOp():
            return saturated(x[0], numpy_type(dtype))
        case _:
            y = OPERATIONS[op.name](*map(exact, x) if op.name in WIDE else x)
            return y.astype(np.int64) if isinstance(dtype, IndexType) else reference.rounded(y, dtype)


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
    "oeq": np.equal, "une": np.not_equal, "olt": np.less, "ole": np.less_equal, "ogt": np.greater,
    "oge": np.greater_equal, "uno": lambda x, y: np.isnan(x) | np.isnan(y),
}  # fmt: skip
INT_PREDICATES: Mapping[str, Callable[..., Array]] = {
    "ult": lambda x, y: x.astype(np.uint64) < y.astype(np.uint64), "ule": lambda x, y: x <= y,
    "ugt": lambda x, y: x > y, "uge": lambda x, y: x >= y, "eq": np.equal, "ne": np.not_equal, "slt": np.less,
    "sle": np.less_equal, "sgt": np.greater, "sge": np.greater_equal,
}  # fmt: skip
FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    "math.exp": np.exp, "math.log": np.log, "math.log1p": np.log1p, "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "math.sin": np.sin, "math.cos": np.cos, "math.tan": np.tan, "math.asin": np.arcsin, "math.acos": np.arccos,
    "math.atan": np.arctan, "math.atanh": np.arctanh, "math.tanh": np.tanh, "math.erf": reference.erf,
    "math.powf": np.power,
}  # fmt: skip
WIDE = frozenset(FUNCTIONS)
OPERATIONS: Mapping[str, Callable[..., Array]] = {
    **FUNCTIONS, "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply, "arith.divf": np.divide,
    "arith.negf": np.negative, "arith.maximumf": formulas.maximum_value, "arith.minimumf": formulas.minimum_value,
    "arith.addi": np.add, "arith.subi": np.subtract, "arith.muli": np.multiply, "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum, "arith.floordivsi": np.floor_divide, "arith.remsi": _trunc_mod,
    "kernel.fmod": np.fmod,
    "arith.divui": np.floor_divide, "arith.remui": np.remainder, "arith.maxui": np.maximum, "arith.minui": np.minimum,
    "arith.uitofp": lambda x: x, "arith.bitcast": lambda x: x,
    "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor, "arith.select": np.where,
    "arith.extf": exact, "arith.truncf": lambda x: x, "arith.sitofp": lambda x: x, "arith.extui": lambda x: x,
    "arith.index_cast": lambda x: x, "arith.extsi": lambda x: x, "arith.trunci": lambda x: x, "math.absf": np.abs,
    "math.absi": np.abs, "math.sqrt": np.sqrt, "math.floor": np.floor, "math.ceil": np.ceil, "math.roundeven": np.rint,
    "math.trunc": np.trunc, "math.copysign": np.copysign,
}  # fmt: skip
"""What each scalar op computes; halves never reach arithmetic, they are widened first."""
