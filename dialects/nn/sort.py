"""Ops that rank elements: top_k and the two forms that its kernels take, and take_along_axis, which reads by rank.

The order is total, so every kernel gives the same result: of equal elements the one of lowest index comes first (0
and -0 are equal), and NaN counts as larger than any number, all NaNs alike. Indices are the only result; values are
read with them. `passes/choose_kernels.py` turns `nn.top_k` into one of the forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerAttr, i1, i32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.nn.elementwise import expect_kind
from pelton.dialects.nn.expansion import Expansion
from pelton.dialects.nn.shapes import HasAxis, replaced
from pelton.dialects.op import Array, Index, NnOp, Pointwise, Read, Requirement, Sizes
from pelton.dialects.types import DimsAttr, TensorType

if TYPE_CHECKING:
    from xdsl.builder import Builder

    from pelton.dialects.scalars import Scalars


class Ranking(NnOp):
    """Indices along the last axis, the best element's first."""

    x = operand_def(TensorType)
    largest_attr = prop_def(IntegerAttr, prop_name="largest")
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def largest(self) -> bool:
        """Whether the largest element is the best, else the smallest."""
        return bool(self.largest_attr.value.data)

    @property
    def count(self) -> Dim:
        """How many indices there are per row."""
        return self.tensor().shape[-1]

    def infer(self) -> Sequence[TensorType]:
        t, count = self.tensor(), self.count
        if t.rank < 1:
            raise VerifyException(f"'{self.name}' expects at least one dim, got {t}")
        expect_kind(self, "number", t.dtype)
        if self.largest_attr.type != i1:
            raise VerifyException(f"'{self.name}' expects largest to be true or false, got {self.largest_attr}")
        size = t.shape[-1]
        if isinstance(count, int) and (count < 0 or (isinstance(size, int) and count > size)):
            raise VerifyException(f"'{self.name}' expects a k from 0 to {size}, got {count}")
        return [replaced(t, t.rank - 1, count).with_dtype(i64)]

    def requires(self) -> Sequence[Requirement]:
        size, count = self.tensor().shape[-1], self.count
        if count == size or (isinstance(size, int) and isinstance(count, int)):
            return ()
        return [Requirement("le", count, size, f"top_k expects a k of at most {size}")]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        from pelton.dialects.nn import reference

        x, count = reference.wide(inputs[0]), dims.evaluate(self.count, sizes)
        if self.largest:  # backwards twice: ties then stay in order, and NaN, which NumPy puts last, comes first
            order = x.shape[-1] - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        else:
            order = np.argsort(x, axis=-1, kind="stable")
        return [np.ascontiguousarray(order[..., :count].astype(np.int64))]


class Counted(Ranking):
    """A ranking of which only the first `k` are wanted."""

    k = prop_def(DimsAttr)

    @property
    def count(self) -> Dim:
        if len(self.k.data) != 1:
            raise VerifyException(f"'{self.name}' expects one k, got {len(self.k.data)}")
        return self.k.data[0]


@irdl_op_definition
class TopKOp(Counted):
    """`nn.top_k %x {largest = true, k = #nn.dims[5]}`: the indices of the k largest (or smallest) elements along the
    last axis, best first.
    """

    name = "nn.top_k"

    def expand(self, builder: Builder) -> Sequence[SSAValue] | None:
        """Of none, no index."""
        if self.count != 0:
            return None
        last = IntegerAttr(self.result_type.rank - 1, i64)
        return [Expansion(builder).declare("iota", self.result_type, axis=last)]


@irdl_op_definition
class TopKSelectOp(Counted):
    """`nn.top_k_select %x {largest = true, k = #nn.dims[5]}`: `nn.top_k` by scans that keep the k best; k is a
    number.
    """

    name = "nn.top_k_select"

    def infer(self) -> Sequence[TensorType]:
        if not isinstance(self.count, int) or self.count < 1:
            raise VerifyException(f"'nn.top_k_select' expects a known k of 1 or more, got {self.count}")
        return super().infer()


@irdl_op_definition
class TopKSortOp(Ranking):
    """`nn.top_k_sort %x {largest = true}`: `nn.top_k` with the whole axis as k, by sorting it."""

    name = "nn.top_k_sort"


@irdl_op_definition
class TakeAlongAxisOp(HasAxis, Pointwise):
    """`nn.take_along_axis %x, %indices {axis = 1}`: for each index, the element at that place of its own row.

    For indices that ops made: nothing is checked, and one that is out of range reads the nearest element.
    """

    name = "nn.take_along_axis"
    x = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)

    def infer(self) -> Sequence[TensorType]:
        t, indices, axis = self.tensor(0), self.tensor(1), self.axis_index
        if indices.dtype not in (i32, i64) or indices.device != t.device:
            raise VerifyException(f"'{self.name}' expects indices of i32 or i64 on one device, got {t} and {indices}")
        if indices.rank != t.rank or replaced(indices, axis, 0).shape != replaced(t, axis, 0).shape:
            raise VerifyException(
                f"'{self.name}' expects indices that differ along axis {axis} only, got {t} and {indices}"
            )
        return [t.with_shape(indices.shape)]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        x, indices = inputs
        size = x.shape[self.axis_index]
        if size == 0:
            return [np.zeros(indices.shape, x.dtype)]
        return [np.take_along_axis(x, indices.clip(0, size - 1), self.axis_index)]

    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        axis, zero = self.axis_index, b.index(0)
        size = b.dim(self.tensor(0).shape[axis])
        place = b.cast(read(1, index), zero.type)
        inside = b.binary("max", b.binary("min", place, b.sub(size, b.index(1))), zero)
        with b.where(b.compare("gt", size, zero)):
            return read(0, [*index[:axis], inside, *index[axis + 1 :]])
