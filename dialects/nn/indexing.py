"""Ops that pick elements: slice, concat, gather."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from pelton.dialects import dims
from pelton.dialects.checks import Checked, Failure
from pelton.dialects.dims import Dim
from pelton.dialects.nn.elementwise import mismatch_remedy
from pelton.dialects.nn.movement import Movement
from pelton.dialects.nn.ranges import Ranges
from pelton.dialects.nn.shapes import HasAxis, replaced
from pelton.dialects.op import Array, Canonical, Index, Pointwise, Read, Requirement, Sizes
from pelton.dialects.types import DimsAttr, TensorType

if TYPE_CHECKING:
    from pelton.dialects.scalars import Scalars


@irdl_op_definition
class SliceOp(Movement):
    """`nn.slice %x {starts = #nn.dims[0, 1], stops = #nn.dims[n, 4], steps = #nn.dims[1, 2]}`: start, start + step, …
    before stop.

    One start, stop and step per axis; steps are numbers other than 0. Going up, 0 ≤ start ≤ stop ≤ size; going down, -1
    ≤ stop ≤ start < size, where stop -1 means "down to the first". Counting from the end and clamping, as Python does,
    is the graph API's.
    """

    name = "nn.slice"
    starts = prop_def(DimsAttr)
    stops = prop_def(DimsAttr)
    steps = prop_def(DimsAttr)

    @property
    def ranges(self) -> Ranges:
        return Ranges.of(self.name, self.starts, self.stops, self.steps, self.tensor().shape)

    @property
    def step_numbers(self) -> tuple[int, ...]:
        return self.ranges.steps

    def infer(self) -> Sequence[TensorType]:
        return [self.tensor().with_shape(self.ranges.sizes())]

    def requires(self) -> Sequence[Requirement]:
        return self.ranges.requires()

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        picked = inputs[0][self.ranges.places(sizes)]
        return [np.ascontiguousarray(picked).reshape(picked.shape)]

    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        return read(0, self.ranges.index(b, index))


@irdl_op_definition
class ConcatOp(HasAxis, Pointwise, Canonical):
    """`nn.concat %a, %b, %c {axis = 0}`: the operands one after another along an axis; their other sizes are equal."""

    name = "nn.concat"
    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)

    def infer(self) -> Sequence[TensorType]:
        if not self.operands:
            raise VerifyException("'nn.concat' expects at least one operand")
        first, axis = self.tensor(), self.axis_index
        total: Dim = first.shape[axis]
        for k in range(1, len(self.operands)):
            t = self.tensor(k)
            if t.rank != first.rank or replaced(t, axis, 0) != replaced(first, axis, 0):
                same_form = t.rank == first.rank and (t.dtype, t.device) == (first.dtype, first.device)
                remedy = "broadcast or slice first" if same_form or t.rank != first.rank else mismatch_remedy(first, t)
                raise VerifyException(
                    f"'nn.concat' expects operands that differ along axis {axis} only, got {first} and {t}; {remedy}"
                )
            total = dims.add(total, t.shape[axis])
        return [replaced(first, axis, total)]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        return [np.concatenate(inputs, self.axis_index)]

    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        axis, place = self.axis_index, index[self.axis_index]
        pieces: list[tuple[SSAValue, SSAValue]] = []
        start: Dim = 0
        for k in range(len(self.operands)):
            size, local = self.tensor(k).shape[axis], b.sub(place, b.dim(start))
            start = dims.add(start, size)
            if size == 0:
                continue
            mine = b.compare("below", local, b.dim(size))
            with b.where(mine):
                pieces.append((mine, read(k, [*index[:axis], local, *index[axis + 1 :]])))
        if not pieces:
            return read(0, index)
        found = pieces[-1][1]
        for mine, value in reversed(pieces[:-1]):
            found = b.select(mine, value, found)
        return found


@irdl_op_definition
class GatherOp(HasAxis, Pointwise, Checked):
    """`nn.gather %x, %indices {axis = 0}`: for each index, the slice of x at that place of the axis.

    The result has x's shape with the indices' shape in place of the axis. A negative index counts from the end. One
    that is out of range fails a check, which shows its place among the indices; whatever the assert level, the place
    that is read is clamped into x.
    """

    name = "nn.gather"
    x = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)
    GUARDS_MEMORY: ClassVar[bool] = True

    @property
    def text(self) -> str:
        return "gather: index out of range"

    @property
    def recorded(self) -> Sequence[Attribute]:
        return (self.tensor(1).dtype,)

    def infer(self) -> Sequence[TensorType]:
        t, indices, axis = self.tensor(0), self.tensor(1), self.axis_index
        if indices.dtype not in (i32, i64):
            raise VerifyException(f"'nn.gather' expects indices of i32 or i64, got {indices}; convert with nn.cast")
        if indices.device != t.device:
            raise VerifyException(
                f"'nn.gather' expects one device, got {t} and {indices}; {mismatch_remedy(t, indices)}"
            )
        return [t.with_shape((*t.shape[:axis], *indices.shape, *t.shape[axis + 1 :]))]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        x, indices = inputs
        axis, size = self.axis_index, x.shape[self.axis_index]
        shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
        if size == 0 or 0 in shape:
            return [np.zeros(shape, x.dtype)]
        return [np.take(x, (indices + size * (indices < 0)).clip(0, size - 1), axis)]

    def failure(self, sizes: Sizes, *inputs: Array) -> Failure | None:
        import numpy as np

        x, indices = inputs
        size = x.shape[self.axis_index]
        others = (*x.shape[: self.axis_index], *x.shape[self.axis_index + 1 :])
        wrong = ((indices < -size) | (indices >= size)).reshape(-1)
        if 0 in others or not wrong.any():  # of a result without elements nobody computes one
            return None
        first = int(np.argmax(wrong))
        return Failure(first, (indices.reshape(-1)[first],))

    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        axis, count = self.axis_index, self.tensor(1).rank
        size = b.dim(self.tensor(0).shape[axis])
        zero, one = b.index(0), b.index(1)
        at = tuple(index[axis : axis + count])
        given = b.cast(read(1, at), zero.type)
        place = b.select(b.compare("lt", given, zero), b.add(given, size), given)
        if self.mode != "off":
            b.check(self, b.compare("below", place, size), b.flatten(at, self.tensor(1).shape), given)
        inside = b.binary("max", b.binary("min", place, b.sub(size, one)), zero)
        with b.where(b.compare("gt", size, zero)):
            return read(0, [*index[:axis], inside, *index[axis + count :]])
