"""Ops on mutable memory: buffer_create, load, store, store_slice.

A buffer is an argument of the function or made inside it. Tensors stay values: what a load gives is what the buffer
held there, whatever is stored later. `evaluate` of a store changes the array that stands for the buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import UnknownLoc
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.effects import DeclaredEffects, Effects
from pelton.dialects.nn.ranges import Ranges
from pelton.dialects.op import Array, Canonical, NnOp, Requirement, Sizes
from pelton.dialects.types import BufferType, DimsAttr, TensorType


@irdl_op_definition
class BufferCreateOp(NnOp):
    """`nn.buffer_create : !nn.buffer<[n, 4], f32>`: new memory of the function's own; its contents are undefined."""

    name = "nn.buffer_create"
    result = result_def(BufferType)
    traits = traits_def(DeclaredEffects())

    @classmethod
    def declare(cls, t: BufferType, location: Any = None) -> BufferCreateOp:
        """A new op with result type `t`."""
        return cls.create(result_types=[t], location=location or UnknownLoc())

    def infer(self) -> Sequence[BufferType]:
        t = self.result.type
        assert isinstance(t, BufferType)
        return [t]

    def effects(self) -> Effects:
        return Effects(makes=(self.result,))

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        from pelton.dialects.nn import reference

        (t,) = self.infer()
        return [np.zeros(reference.sizes_of(t.shape, sizes), reference.numpy_dtype(t.dtype))]


class OnBuffer(Canonical):
    """An op that reads or writes a buffer."""


@irdl_op_definition
class LoadOp(OnBuffer):
    """`nn.load %b : (!nn.buffer<[n, 4], f32>) -> !nn.tensor<[n, 4], f32>`: what a buffer holds here, as a tensor."""

    name = "nn.load"
    source = operand_def(BufferType)
    result = result_def(TensorType)
    traits = traits_def(DeclaredEffects())

    def infer(self) -> Sequence[TensorType]:
        return [self.buffer(0).as_tensor()]

    def effects(self) -> Effects:
        return Effects(reads=(self.source,))

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        return [inputs[0].copy()]


class Storing(OnBuffer):
    """An op that puts a tensor into a buffer: operands `source`, `target`; no results."""

    source = operand_def(TensorType)
    target = operand_def(BufferType)

    def effects(self) -> Effects:
        return Effects(writes=(self.target,))

    def expect(self, wanted: TensorType) -> None:
        """Raises VerifyException unless the source is of that type."""
        if self.tensor() != wanted:
            raise VerifyException(f"'{self.name}' expects a source of type {wanted}, got {self.tensor()}")


@irdl_op_definition
class StoreOp(Storing):
    """`nn.store %x, %b : (!nn.tensor<[n, 4], f32>, !nn.buffer<[n, 4], f32>) -> ()`: the buffer holds x from here on."""

    name = "nn.store"
    traits = traits_def(DeclaredEffects())

    def infer(self) -> Sequence[TensorType]:
        self.expect(self.buffer(1).as_tensor())
        return []

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        inputs[1][...] = inputs[0]
        return []


@irdl_op_definition
class StoreSliceOp(Storing):
    """`nn.store_slice %x, %b {starts = #nn.dims[p, 0], stops = #nn.dims[p + 1, 4], steps = #nn.dims[1, 1]}`: the
    elements that `nn.slice` would take out of the buffer become those of x.
    """

    name = "nn.store_slice"
    starts = prop_def(DimsAttr)
    stops = prop_def(DimsAttr)
    steps = prop_def(DimsAttr)
    traits = traits_def(DeclaredEffects())

    @property
    def ranges(self) -> Ranges:
        return Ranges.of(self.name, self.starts, self.stops, self.steps, self.buffer(1).shape)

    def infer(self) -> Sequence[TensorType]:
        self.expect(self.buffer(1).as_tensor().with_shape(self.ranges.sizes()))
        return []

    def requires(self) -> Sequence[Requirement]:
        return self.ranges.requires()

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        inputs[1][self.ranges.places(sizes)] = inputs[0]
        return []
