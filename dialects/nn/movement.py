"""Ops that move elements and change none: reshape, permute, broadcast_to, rebind.

Transpose, squeeze and the like are made of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from pelton.dialects import dims
from pelton.dialects.nn.shapes import broadcasts, shape_text
from pelton.dialects.op import Array, Canonical, Index, Pointwise, Read, Requirement, Sizes
from pelton.dialects.types import DimsAttr, TensorType

if TYPE_CHECKING:
    from pelton.dialects.scalars import Scalars


class Movement(Pointwise, Canonical):
    """One operand, whose elements the result has in other places. Any dtype."""

    x = operand_def(TensorType)
    result = result_def(TensorType)


@irdl_op_definition
class ReshapeOp(Movement):
    """`nn.reshape %x {shape = #nn.dims[…]}`: the same elements, row by row, in another shape of as many elements.

    A view.
    """

    name = "nn.reshape"
    shape = prop_def(DimsAttr)

    def infer(self) -> Sequence[TensorType]:
        t, shape = self.tensor(), self.shape.data
        before, after = dims.product(t.shape), dims.product(shape)
        if isinstance(dims.sub(before, after), int) and before != after:
            raise VerifyException(
                f"'nn.reshape' expects a shape of {before} elements as {t} has, got {shape_text(shape)} of {after}"
            )
        return [t.with_shape(shape)]

    def requires(self) -> Sequence[Requirement]:
        before, after = dims.product(self.tensor().shape), dims.product(self.shape.data)
        if before == after:
            return ()
        shapes = f"{shape_text(self.tensor().shape)} to {shape_text(self.shape.data)}"
        text = f"reshape of {shapes} keeps the number of elements"
        return (Requirement("eq", before, after, text),)

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        from pelton.dialects.nn import reference

        return [inputs[0].reshape(reference.shape_of(self.result_type, sizes))]

    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        linear = b.flatten(tuple(index), self.shape.data)
        return read(0, b.unflatten(linear, self.tensor().shape))


@irdl_op_definition
class PermuteOp(Movement):
    """`nn.permute %x {order = #nn.dims[1, 0]}`: axis k of the result is axis order[k] of the operand."""

    name = "nn.permute"
    axes = prop_def(DimsAttr, prop_name="order")

    @property
    def order(self) -> tuple[int, ...]:
        return tuple(d for d in self.axes.data if isinstance(d, int))

    def infer(self) -> Sequence[TensorType]:
        t = self.tensor()
        if sorted(self.order) != list(range(t.rank)) or len(self.axes.data) != t.rank:
            raise VerifyException(
                f"'nn.permute' expects each axis of {t} once as its order, got {shape_text(self.axes.data)}"
            )
        return [t.with_shape([t.shape[k] for k in self.order])]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        return [np.ascontiguousarray(inputs[0].transpose(self.order)).reshape([inputs[0].shape[k] for k in self.order])]

    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        return read(0, [index[self.order.index(k)] for k in range(len(self.order))])


@irdl_op_definition
class BroadcastToOp(Movement):
    """`nn.broadcast_to %x {shape = #nn.dims[batch, 4]}`: sizes match from the last on; missing ones and 1 stretch."""

    name = "nn.broadcast_to"
    FOLDS: ClassVar[bool] = False
    shape = prop_def(DimsAttr)

    def infer(self) -> Sequence[TensorType]:
        t, shape = self.tensor(), self.shape.data
        fit = len(shape) >= t.rank and all(map(broadcasts, t.shape[::-1], shape[::-1]))
        if not fit:
            raise VerifyException(
                f"'nn.broadcast_to' expects sizes that are 1 or those of {shape_text(shape)}, counted from the last, "
                f"got {t}"
            )
        return [t.with_shape(shape)]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        from pelton.dialects.nn import reference

        shape = reference.shape_of(self.result_type, sizes)
        return [np.broadcast_to(inputs[0], shape).copy()]

    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        t = self.tensor()
        places: list[SSAValue] = []
        for i, size, to in zip(
            index[len(index) - t.rank :], t.shape, self.shape.data[len(index) - t.rank :], strict=True
        ):
            if size == to:
                places.append(i)
            elif size == 1:
                places.append(b.index(0))
            else:  # one of the two; min(i, size - 1) is right for both
                places.append(b.binary("min", i, b.sub(b.dim(size), b.index(1))))
        return read(0, places)


@irdl_op_definition
class RebindOp(Movement):
    """`nn.rebind %x {shape = #nn.dims[n, 4]}`: the same tensor under other names of its sizes, which a run checks.

    A view.
    """

    name = "nn.rebind"
    shape = prop_def(DimsAttr)
    message = opt_prop_def(StringAttr)

    def infer(self) -> Sequence[TensorType]:
        t, shape = self.tensor(), self.shape.data
        differ = [isinstance(d := dims.sub(x, y), int) and d != 0 for x, y in zip(t.shape, shape, strict=False)]
        if len(shape) != t.rank or any(differ):
            raise VerifyException(f"'nn.rebind' expects a shape that {t} can have, got {shape_text(shape)}")
        return [t.with_shape(shape)]

    def requires(self) -> Sequence[Requirement]:
        text = (
            self.message.data
            if self.message
            else f"rebind of {shape_text(self.tensor().shape)} to {shape_text(self.shape.data)}"
        )
        pairs = zip(self.tensor().shape, self.shape.data, strict=True)
        known_last = ((y, x) if isinstance(x, int) else (x, y) for x, y in pairs)  # that is what is expected
        return [Requirement("eq", x, y, text) for x, y in known_last if x != y]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        return [inputs[0]]

    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        return read(0, index)
