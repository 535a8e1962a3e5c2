"""Reductions in terms of others: mean, argmax, argmin."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.nn.elementwise import expect_kind
from pelton.dialects.nn.expansion import Expansion
from pelton.dialects.nn.reduce import accumulator_of, chain, finite
from pelton.dialects.nn.shapes import HasAxis, replaced
from pelton.dialects.op import Array, Sizes
from pelton.dialects.types import TensorType, is_float


class AlongAxis(HasAxis):
    """An op of one tensor along one axis."""

    x = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())


@irdl_op_definition
class MeanOp(AlongAxis):
    """`nn.mean %x {axis = 1}`: the sum along an axis divided by its size; NaN over an empty one."""

    name = "nn.mean"

    def infer(self) -> Sequence[TensorType]:
        t = self.tensor()
        expect_kind(self, "float", t.dtype)
        return [replaced(t, self.axis_index, 1)]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        from pelton.dialects.nn import reference

        x = reference.wide(inputs[0], beyond=True)
        with reference.quiet():
            y = x.sum(self.axis_index, keepdims=True) / x.dtype.type(x.shape[self.axis_index])
        return [reference.rounded(y, self.result_type.dtype)]

    def tolerance(self, results: Sequence[Array], sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        """The sum's, divided, and the rounding of the division."""
        from pelton.dialects.nn import reference

        x, axis = inputs[0], self.axis_index
        count = max(x.shape[axis], 1)
        with reference.quiet():
            magnitude = abs(reference.wide(x)).sum(axis, keepdims=True) / count
            error = (chain(count, axis == x.ndim - 1) + 1) * reference.unit(x.dtype) * magnitude
        return [finite(error + reference.half_step(results[0]))]

    def expand(self, builder: Builder) -> Sequence[SSAValue] | None:
        e, t, axis = Expansion(builder), self.tensor(), self.axis_index
        wide = accumulator_of(t.dtype)
        total = e.sum(e.cast(self.x, wide), axis)
        return [e.cast(e.div(total, e.size(t.shape[axis], total)), t.dtype)]


class ArgExtreme(AlongAxis):
    """The index of an extreme: the lowest of equal ones, and of the first NaN where there is one, as NumPy's."""

    def infer(self) -> Sequence[TensorType]:
        t, axis = self.tensor(), self.axis_index
        expect_kind(self, "number", t.dtype)
        if t.shape[axis] == 0:
            raise VerifyException(f"'{self.name}' expects at least one element along axis {axis}, got {t}")
        return [replaced(t, axis, 1).with_dtype(i64)]

    def indices(self, extreme: str, builder: Builder) -> SSAValue:
        """The smallest index whose element is the extreme one, or is NaN (then the extreme is, and equals none)."""
        e, t, axis = Expansion(builder), self.tensor(), self.axis_index
        hit = e.op("equal", self.x, e.broadcast(e.reduce(extreme, self.x, axis), t.shape))
        if is_float(t.dtype):
            hit = e.op("logical_or", hit, e.op("is_nan", self.x))
        size = t.shape[axis]
        dtype = i32 if isinstance(size, int) and size < 2**31 else i64
        places = t.with_dtype(dtype)
        index = e.declare("iota", places, axis=IntegerAttr(axis, i64))
        none = e.like(2 ** (dtype.width.data - 1) - 1, index)
        found = e.cast(e.reduce("min", e.op("where", hit, index, none), axis), i64)
        return found if isinstance(one := dims.minimum(size, 1), int) else self._checked(e, found, one)

    def _checked(self, e: Expansion, found: SSAValue, one: Dim) -> SSAValue:
        """`found`, behind a check that there was an element to find: views that call its size 1 what is 1 if it was."""
        shape = replaced(self.result_type, self.axis_index, one).dims
        message = StringAttr(f"{self.name} expects at least one element along axis {self.axis_index}")
        same = e.op("rebind", found, shape=shape, message=message)
        return e.op("rebind", same, shape=self.result_type.dims, message=message)


@irdl_op_definition
class ArgmaxOp(ArgExtreme):
    """`nn.argmax %x {axis = 1}`: the index of the largest element along an axis, as i64."""

    name = "nn.argmax"

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        from pelton.dialects.nn import reference

        return [reference.wide(inputs[0]).argmax(self.axis_index, keepdims=True)]

    def expand(self, builder: Builder) -> Sequence[SSAValue] | None:
        return [self.indices("max", builder)]


@irdl_op_definition
class ArgminOp(ArgExtreme):
    """`nn.argmin %x {axis = 1}`: the index of the smallest element along an axis, as i64."""

    name = "nn.argmin"

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        from pelton.dialects.nn import reference

        return [reference.wide(inputs[0]).argmin(self.axis_index, keepdims=True)]

    def expand(self, builder: Builder) -> Sequence[SSAValue] | None:
        return [self.indices("min", builder)]
