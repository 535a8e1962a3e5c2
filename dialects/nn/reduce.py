"""Reductions along one axis, which stays with size 1: sum, prod, max, min; and mean, argmax, argmin in terms of them.

f16 and bf16 are combined in f32 and rounded once. Over an empty axis the result is the identity: 0, 1, -inf, +inf
(integers: the smallest, the largest).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from pelton.dialects.nn.elementwise import expect_kind
from pelton.dialects.nn.shapes import HasAxis, replaced
from pelton.dialects.op import Array, Reduction, Sizes
from pelton.dialects.scalars import F32
from pelton.dialects.types import TensorType, bytes_of, is_float


def accumulator_of(dtype: Attribute) -> Attribute:
    """f32 for f16 and bf16, else the dtype itself."""
    return F32 if is_float(dtype) and bytes_of(dtype) == 2 else dtype


PART = 512
"""How many elements of a column are summed one after another; the sums of longer ones are summed in turn."""


def chain(count: int, last: bool) -> int:
    """How many roundings stand behind one sum of `count` numbers: a row is summed on 32 lanes, a column in parts."""
    return math.ceil(count / 32) + 6 if last else min(count, PART) + math.ceil(count / PART)


class AxisReduction(HasAxis, Reduction):
    """What the four primitive reductions share."""

    x = operand_def(TensorType)
    result = result_def(TensorType)

    @property
    def accumulator(self) -> Attribute:
        return accumulator_of(self.tensor().dtype)

    def infer(self) -> Sequence[TensorType]:
        t = self.tensor()
        expect_kind(self, "number", t.dtype)
        return [replaced(t, self.axis_index, 1)]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        from pelton.dialects.nn import reference

        with reference.quiet():
            y = self.combine(reference.wide(inputs[0], beyond=True), self.axis_index)
        return [reference.rounded(y, self.result_type.dtype)]

    def combine(self, x: Array, axis: int) -> Array:
        """The reduction in NumPy, of wide numbers."""
        raise TypeError(f"'{self.name}' has no NumPy meaning")

    def roundings(self, x: Array) -> int:
        """How many roundings stand behind one result."""
        return chain(x.shape[self.axis_index], self.axis_index == x.ndim - 1)


@irdl_op_definition
class SumOp(AxisReduction):
    """`nn.sum %x {axis = 1}`: the sum along an axis. Integers wrap."""

    name = "nn.sum"

    @property
    def kind(self) -> str:
        return "add"

    def combine(self, x: Array, axis: int) -> Array:
        return x.sum(axis, keepdims=True, dtype=x.dtype)

    def tolerance(self, results: Sequence[Array], sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        """Each rounding errs by a unit of a partial sum, which is at most the sum of the magnitudes."""
        from pelton.dialects.nn import reference

        x, y = inputs[0], results[0]
        if not reference.is_float(x):
            return [0 * reference.spacing(y)]
        with reference.quiet():
            magnitude = abs(reference.wide(x)).sum(self.axis_index, keepdims=True)
            error = self.roundings(x) * reference.unit(x.dtype) * magnitude + reference.half_step(y)
        return [finite(error)]


def finite(error: Array) -> Array:
    """An error bound without NaN and infinity: tiny there, so that an infinite result has to be met; a sum's zero has
    either sign.
    """
    import numpy as np

    return np.nan_to_num(error, nan=0.0, posinf=0.0) + np.finfo(np.float64).tiny


@irdl_op_definition
class ProdOp(AxisReduction):
    """`nn.prod %x {axis = 1}`: the product along an axis. Integers wrap."""

    name = "nn.prod"

    @property
    def kind(self) -> str:
        return "mul"

    def combine(self, x: Array, axis: int) -> Array:
        return x.prod(axis, keepdims=True, dtype=x.dtype)

    def tolerance(self, results: Sequence[Array], sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        """Each multiplication errs by half a step of the result."""
        from pelton.dialects.nn import reference

        x, y = inputs[0], results[0]
        if not reference.is_float(x):
            return [0 * reference.spacing(y)]
        with reference.quiet():
            error = x.shape[self.axis_index] * reference.unit(x.dtype) * abs(reference.wide(y)) + reference.spacing(y)
        return [finite(error)]


class Extreme(AxisReduction):
    """A reduction that only chooses, so exact; it sees halves as f32, which loses nothing."""

    def extreme(self, x: Array, axis: int, sign: int) -> Array:
        """The largest of sign * x, times sign; NaN where there is one; -0 is smaller than +0."""
        import numpy as np

        floating = x.dtype.kind == "f"
        if x.shape[axis] == 0:
            lowest = -sign * np.inf if floating else getattr(np.iinfo(x.dtype), "min" if sign > 0 else "max")
            return np.full((*x.shape[:axis], 1, *x.shape[axis + 1 :]), lowest, x.dtype)
        y: Array = (x.max if sign > 0 else x.min)(axis, keepdims=True)
        if not floating:
            return y
        has_larger_zero = ((x == 0) & (np.signbit(x) == (sign < 0))).any(axis, keepdims=True)  # NumPy takes either
        return np.where(y == 0, np.copysign(0.0, np.where(has_larger_zero, sign, -sign)), y)


@irdl_op_definition
class MaxOp(Extreme):
    """`nn.max %x {axis = 1}`: the largest along an axis; NaN where there is one."""

    name = "nn.max"

    @property
    def kind(self) -> str:
        return "max"

    def combine(self, x: Array, axis: int) -> Array:
        return self.extreme(x, axis, 1)


@irdl_op_definition
class MinOp(Extreme):
    """`nn.min %x {axis = 1}`: the smallest along an axis; NaN where there is one."""

    name = "nn.min"

    @property
    def kind(self) -> str:
        return "min"

    def combine(self, x: Array, axis: int) -> Array:
        return self.extreme(x, axis, -1)
