"""What tensors and buffers in a graph have in common for users: an IR value enters, dtype, shape and device leave.

Next: `value.py` and `buffer_value.py` say what can be done with each.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from pelton.dtype import DType
from pelton.graph.build import AnyValue, Body
from pelton.graph.device_ref import DeviceRef
from pelton.graph.dims import Shape
from pelton.graph.types import dtype_of


class GraphValue(AnyValue):
    """A value of a graph: an input, or the result of an op."""

    __slots__ = ("_body", "_ssa")

    def __init__(self, ssa: SSAValue, body: Body) -> None:
        self._ssa = ssa
        self._body = body

    def ssa_in(self, body: Body, op: str) -> SSAValue:
        return self.owned(self._ssa, self._body, body, op)

    @property
    def dtype(self) -> DType:
        """The element type."""
        return dtype_of(self.ir_type.dtype)

    @property
    def shape(self) -> Shape:
        """The sizes: numbers, symbols, or expressions over symbols."""
        return Shape(self.ir_type.shape)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return self.ir_type.rank

    @property
    def device(self) -> DeviceRef:
        """Where it lies."""
        return DeviceRef.parse(self.ir_type.device.data)
