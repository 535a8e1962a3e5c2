"""A mutable buffer in a graph, as users hold it: an IR value enters, an object that can be indexed leaves.

Reading it makes a tensor, at this place in program order; assigning to it stores there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Self

from pelton.dialects import types as ir
from pelton.graph.graph_value import GraphValue
from pelton.graph.location import place
from pelton.graph.ops import buffers, indexing
from pelton.graph.types import BufferType, buffer_from_ir
from pelton.support.errors import GraphTypeError

if TYPE_CHECKING:
    from pelton.graph.operands import TensorLike
    from pelton.graph.value import TensorValue

LOAD = "buffer[...] loads what it holds"


class BufferValue(GraphValue):
    """Memory that a model reads and writes: an input of a `BufferType`, or what `ops.buffer_create` makes.

    `b[...]` is what it holds at this place of the program, as a tensor; `b[1:3]` a slice of that. `b[...] = x` and
    `b[1:3] = x` store: a tensor of the buffer's dtype, a number or an array, broadcast to the place. Indices are those
    of tensors; those that store take no tensors. A tensor that was loaded does not change when something is stored.
    """

    __slots__ = ()
    __array_ufunc__ = None  # NumPy must not take it for a scalar

    @property
    def ir_type(self) -> ir.BufferType:
        t = self._ssa.type
        assert isinstance(t, ir.BufferType)
        return t

    @property
    def type(self) -> BufferType:
        """Dtype, shape and device."""
        return buffer_from_ir(self.ir_type)

    @property
    def buffer(self) -> Self:
        """Itself."""
        return self

    @property
    def tensor(self) -> NoReturn:
        raise GraphTypeError("this value is a mutable buffer, not a tensor", got=repr(self), remedy=LOAD)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.type})"

    def __getitem__(self, index: Any) -> TensorValue:
        loaded = buffers.buffer_load(self)  # pyright: ignore[reportArgumentType]  # a checker may read this file twice
        return indexing.get_item(loaded, index)

    def __setitem__(self, index: Any, value: TensorLike) -> None:
        buffers.set_item(self, index, value)  # pyright: ignore[reportArgumentType]  # as above

    def __bool__(self) -> NoReturn:
        raise self._no("truth value")

    def __iter__(self) -> NoReturn:
        raise self._no("elements to iterate over")

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise self._no("numbers, so it is no NumPy array")

    def _no(self, what: str) -> GraphTypeError:
        return GraphTypeError(f"a BufferValue has no {what}", location=place(), remedy=LOAD)
