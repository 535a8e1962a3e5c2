"""Writing expansions: `Expansion` inserts nn ops at one place, so that an op's `expand` reads like its formula."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue

from pelton.dialects.dims import Dim
from pelton.dialects.op import NnOp
from pelton.dialects.types import DimsAttr, TensorType


def type_of(value: SSAValue) -> TensorType:
    """The tensor type of a value."""
    assert isinstance(value.type, TensorType)
    return value.type


class Expansion:
    """Inserts nn ops through `builder`; each method returns the new op's value.

    Ops are named as in the text: `e.op("exp", x)`.
    """

    def __init__(self, builder: Builder) -> None:
        self.builder = builder

    def op(self, name: str, *operands: SSAValue, **properties: Attribute) -> SSAValue:
        """Any nn op of one result."""
        from pelton.dialects.nn import BY_NAME

        made: NnOp = BY_NAME[name].make(*operands, **properties)
        return self.builder.insert(made).results[0]

    def reshape(self, x: SSAValue, shape: Sequence[Dim]) -> SSAValue:
        return x if type_of(x).shape == tuple(shape) else self.op("reshape", x, shape=DimsAttr(tuple(shape)))

    def broadcast(self, x: SSAValue, shape: Sequence[Dim]) -> SSAValue:
        return x if type_of(x).shape == tuple(shape) else self.op("broadcast_to", x, shape=DimsAttr(tuple(shape)))

    def permute(self, x: SSAValue, order: Sequence[int]) -> SSAValue:
        return self.op("permute", x, order=DimsAttr(tuple(order)))

    def cast(self, x: SSAValue, dtype: Attribute) -> SSAValue:
        return x if type_of(x).dtype == dtype else self.op("cast", x, dtype=dtype)

    def matmul(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.op("matmul", x, y)

    def sum(self, x: SSAValue, axis: int) -> SSAValue:
        return self.reduce("sum", x, axis)

    def reduce(self, name: str, x: SSAValue, axis: int) -> SSAValue:
        return self.op(name, x, axis=IntegerAttr(axis, i64))

    def binary(self, name: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """An elementwise op of two operands; the one that is smaller is broadcast to the other."""
        shape = max((type_of(x).shape, type_of(y).shape), key=lambda s: (len(s), sum(d != 1 for d in s)))
        return self.op(name, self.broadcast(x, shape), self.broadcast(y, shape))

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.binary("add", x, y)

    def sub(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.binary("sub", x, y)

    def mul(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.binary("mul", x, y)

    def div(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.binary("div", x, y)

    def like(self, value: float | int | bool, x: SSAValue, dtype: Attribute | None = None) -> SSAValue:
        """A constant broadcast to the shape of `x`, in its dtype."""
        return self.broadcast(self.constant(value, dtype or type_of(x).dtype, type_of(x).device.data), type_of(x).shape)

    def constant(self, value: float | int | bool, dtype: Attribute, device: str) -> SSAValue:
        from pelton.dialects.nn.creation import ConstantOp

        return self.builder.insert(ConstantOp.scalar(value, dtype, device)).results[0]

    def size(self, size: Dim, like: SSAValue) -> SSAValue:
        """A size as a number, in the dtype and shape of `like`."""
        t = type_of(like)
        if isinstance(size, int):
            return self.like(size, like)
        number = self.declare("dim", TensorType((), i64, t.device.data), value=DimsAttr((size,)))
        return self.broadcast(self.cast(number, t.dtype), t.shape)

    def declare(self, name: str, t: TensorType, **properties: Any) -> SSAValue:
        """An op whose result type is given."""
        from pelton.dialects.nn import BY_NAME
        from pelton.dialects.nn.creation import Declared

        kind = BY_NAME[name]
        assert issubclass(kind, Declared)
        return self.builder.insert(kind.declare(t, **properties)).results[0]
