"""A tensor in a graph, as users hold it: an IR value enters, an object with operators, indexing and methods leaves.

Every method is a short form of a function in `pelton.graph.ops`, where its rules are described.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Self

from pelton.dialects import types as ir
from pelton.dtype import DType
from pelton.graph.build import Value
from pelton.graph.device_ref import DeviceRef
from pelton.graph.dims import ShapeLike
from pelton.graph.graph_value import GraphValue
from pelton.graph.location import place
from pelton.graph.ops import creation, elementwise, functions, indexing, messages, movement, product, reduction
from pelton.graph.types import TensorType, from_ir
from pelton.support.errors import GraphTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pelton.graph.operands import TensorLike
    from pelton.graph.value import TensorValue as Tensor  # what importers see; a checker may read this file twice


class TensorValue(GraphValue, Value):
    """A tensor that will exist when the model runs. Made by ops and as a graph's inputs, never by hand.

    Operators work element by element, broadcast and promote as `ops.add` does; `==` too, so a value is no truth value
    and is found in a dict or a set by identity. `x[...]` takes ints, slices (negative steps too), `None`, `...` and one
    integer tensor, which gathers.
    """

    __slots__ = ()
    __array_ufunc__ = None  # NumPy leaves `array + tensor` to __radd__

    # what it is
    @property
    def ir_type(self) -> ir.TensorType:
        t = self._ssa.type
        assert isinstance(t, ir.TensorType)
        return t

    @property
    def type(self) -> TensorType:
        """Dtype, shape and device."""
        return from_ir(self.ir_type)

    @property
    def tensor(self) -> Self:
        """Itself."""
        return self

    @property
    def buffer(self) -> NoReturn:
        remedy = "declare the input as a BufferType"
        raise GraphTypeError("this value is a tensor, not a mutable buffer", got=repr(self), remedy=remedy)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.type})"

    # what it refuses
    def __bool__(self) -> NoReturn:
        raise GraphTypeError(
            "a TensorValue has no truth value: its contents are not known while the graph is built",
            location=place(),
            remedy="choose per element with ops.where, or compare shapes and dtypes",
        )

    def __iter__(self) -> NoReturn:
        raise GraphTypeError(
            "a TensorValue cannot be iterated over",
            location=place(),
            remedy="ops.split for pieces of known sizes, or x[i] for i in range(...)",
        )

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise GraphTypeError(
            "a TensorValue holds no numbers, so it is no NumPy array",
            location=place(),
            remedy="use pelton.graph.ops, or run the model and convert its outputs",
        )

    # arithmetic
    def __add__(self, other: TensorLike) -> Tensor:
        return elementwise.add(self, other)

    def __radd__(self, other: TensorLike) -> Tensor:
        return elementwise.add(other, self)

    def __sub__(self, other: TensorLike) -> Tensor:
        return elementwise.sub(self, other)

    def __rsub__(self, other: TensorLike) -> Tensor:
        return elementwise.sub(other, self)

    def __mul__(self, other: TensorLike) -> Tensor:
        return elementwise.mul(self, other)

    def __rmul__(self, other: TensorLike) -> Tensor:
        return elementwise.mul(other, self)

    def __truediv__(self, other: TensorLike) -> Tensor:
        return elementwise.div(self, other)

    def __rtruediv__(self, other: TensorLike) -> Tensor:
        return elementwise.div(other, self)

    def __floordiv__(self, other: TensorLike) -> Tensor:
        return elementwise.floor_div(self, other)

    def __rfloordiv__(self, other: TensorLike) -> Tensor:
        return elementwise.floor_div(other, self)

    def __mod__(self, other: TensorLike) -> Tensor:
        return elementwise.mod(self, other)

    def __rmod__(self, other: TensorLike) -> Tensor:
        return elementwise.mod(other, self)

    def __pow__(self, other: TensorLike) -> Tensor:
        return elementwise.pow(self, other)

    def __rpow__(self, other: TensorLike) -> Tensor:
        return elementwise.pow(other, self)

    def __matmul__(self, other: TensorLike) -> Tensor:
        return product.matmul(self, other)

    def __rmatmul__(self, other: TensorLike) -> Tensor:
        return product.matmul(other, self)

    def __neg__(self) -> Tensor:
        return functions.negate(self)

    def __abs__(self) -> Tensor:
        return functions.abs(self)

    # logic and comparison
    def __and__(self, other: TensorLike) -> Tensor:
        return elementwise.bitwise_and(self, other)

    def __rand__(self, other: TensorLike) -> Tensor:
        return elementwise.bitwise_and(other, self)

    def __or__(self, other: TensorLike) -> Tensor:
        return elementwise.bitwise_or(self, other)

    def __ror__(self, other: TensorLike) -> Tensor:
        return elementwise.bitwise_or(other, self)

    def __xor__(self, other: TensorLike) -> Tensor:
        return elementwise.bitwise_xor(self, other)

    def __rxor__(self, other: TensorLike) -> Tensor:
        return elementwise.bitwise_xor(other, self)

    def __invert__(self) -> Tensor:
        return elementwise.bitwise_not(self)

    def __eq__(self, other: Any) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return elementwise.equal(self, other)

    def __ne__(self, other: Any) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return elementwise.not_equal(self, other)

    def __lt__(self, other: TensorLike) -> Tensor:
        return elementwise.greater(other, self)

    def __le__(self, other: TensorLike) -> Tensor:
        return elementwise.greater_equal(other, self)

    def __gt__(self, other: TensorLike) -> Tensor:
        return elementwise.greater(self, other)

    def __ge__(self, other: TensorLike) -> Tensor:
        return elementwise.greater_equal(self, other)

    __hash__ = object.__hash__

    # movement
    def __getitem__(self, index: Any) -> Tensor:
        return indexing.get_item(self, index)

    def reshape(self, shape: ShapeLike) -> Tensor:
        return movement.reshape(self, shape)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        return movement.flatten(self, start_dim, end_dim)

    def permute(self, dims: Sequence[int]) -> Tensor:
        return movement.permute(self, dims)

    def transpose(self, dim_1: int, dim_2: int) -> Tensor:
        return movement.transpose(self, dim_1, dim_2)

    @property
    def T(self) -> Tensor:  # noqa: N802  (named as in NumPy)
        """The last two dims exchanged. ValueError below rank 2."""
        return movement.transpose(self, -1, -2)

    def broadcast_to(self, shape: ShapeLike) -> Tensor:
        return movement.broadcast_to(self, shape)

    def rebind(self, shape: ShapeLike, message: str = "") -> Tensor:
        return movement.rebind(self, shape, message)

    def to(self, device: DeviceRef) -> Tensor:
        return creation.transfer_to(self, device)

    def cast(self, dtype: DType) -> Tensor:
        return elementwise.cast(self, dtype)

    # reductions
    def argmax(self, axis: int = -1) -> Tensor:
        return reduction.argmax(self, axis)

    def max(self, axis: int | Sequence[int] = -1) -> Tensor:
        return reduction.max(self, axis=axis)

    def min(self, axis: int | Sequence[int] = -1) -> Tensor:
        return reduction.min(self, axis=axis)

    def sum(self, axis: int | Sequence[int] = -1) -> Tensor:
        return reduction.sum(self, axis)

    def mean(self, axis: int | Sequence[int] = -1) -> Tensor:
        return reduction.mean(self, axis)

    def var(self, axis: int | Sequence[int] = -1) -> Tensor:
        """The mean square of the distance from the mean along `axis`, which stays with size 1."""
        distance = self - reduction.mean(self, axis)
        return reduction.mean(distance * distance, axis)

    def stdev(self, axis: int | Sequence[int] = -1) -> Tensor:
        """The square root of `var`."""
        return functions.sqrt(self.var(axis))

    # messages
    def print(self, label: str = "debug_tensor") -> None:
        messages.print(self, label)
