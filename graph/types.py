"""What a graph says about its values before there are any: dtype, shape and device enter, a `TensorType` leaves, and
becomes an IR type.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute

from pelton.dialects import types as ir
from pelton.dialects.dims import product
from pelton.dtype import DType
from pelton.graph.check import check_bytes
from pelton.graph.device_ref import DeviceRef
from pelton.graph.dims import Dim, Shape, ShapeLike, StaticDim
from pelton.support.errors import GraphError, GraphTypeError

_FLOATS: dict[DType, Attribute] = {
    DType.float16: Float16Type(),
    DType.bfloat16: BFloat16Type(),
    DType.float32: Float32Type(),
    DType.float64: Float64Type(),
}
_INTEGERS: dict[DType, Attribute] = {
    d: IntegerType(d.size_in_bits, Signedness.UNSIGNED if d.is_unsigned_integral() else Signedness.SIGNLESS)
    for d in DType
    if d is DType.bool or (d.is_integral() and d.size_in_bits >= 8)
}
ELEMENTS = {**_INTEGERS, **_FLOATS}
"""The element type in IR of every dtype that a graph can compute with."""
_DTYPES = {attribute: dtype for dtype, attribute in ELEMENTS.items()}


class _ValueType:
    """Dtype, shape and device: what tensors and buffers have in common."""

    __slots__ = ("_dims", "device", "dtype")

    def __init__(self, dtype: DType, shape: ShapeLike, device: DeviceRef) -> None:
        what = type(self).__name__
        if not isinstance(dtype, DType):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphTypeError(f"{what}: dtype is not a DType", expected="such as DType.float32", got=repr(dtype))
        if isinstance(shape, str) or not isinstance(shape, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphTypeError(f"{what}: shape is not a sequence of sizes", got=repr(shape), remedy=f"[{shape!r}]")
        self.dtype = dtype
        self._dims = tuple(Shape(shape))
        self.device = DeviceRef.from_device(device)
        for k, d in enumerate(self._dims):
            if isinstance(d, StaticDim) and d.dim < 0:
                raise GraphError(f"{what}: dim {k} is negative", expected="a size >= 0", got=str(Shape(self._dims)))
        check_bytes(f"{what}: the shape", self.shape.raw, dtype.size_in_bytes)

    @property
    def shape(self) -> Shape:
        """The sizes, as a new list."""
        return Shape(self._dims)

    @property
    def rank(self) -> int:
        return len(self._dims)

    def num_elements(self) -> int:
        """The product of the sizes. RuntimeError where one is not static."""
        count = product(self.shape.raw)
        if not isinstance(count, int):
            raise RuntimeError(f"the number of elements of {self} depends on symbols: {count}")
        return count

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (self.dtype, self._dims, self.device) == (other.dtype, other._dims, other.device)

    def __hash__(self) -> int:
        return hash((type(self), self.dtype, self._dims, self.device))

    def __str__(self) -> str:
        return f"{self.dtype.name}{Shape(self._dims)} on {self.device}"

    def __repr__(self) -> str:
        shape = ", ".join(str(d) if isinstance(d, StaticDim) else repr(str(d)) for d in self._dims)
        return f"{type(self).__name__}({self.dtype!r}, [{shape}], {self.device!r})"


class TensorType(_ValueType):
    """The type of a tensor value: `TensorType(DType.float32, ["batch", 128], DeviceRef.CPU())`.

    `shape` may hold ints ≥ 0, symbols and Dims. TypeError for a dtype that is no DType or a size that is none,
    ValueError for a negative size.
    """

    __slots__ = ()

    def as_buffer(self) -> BufferType:
        """The mutable buffer of the same dtype, shape and device."""
        return BufferType(self.dtype, self._dims, self.device)


class BufferType(_ValueType):
    """The type of a mutable buffer; arguments as for `TensorType`."""

    __slots__ = ()

    def as_tensor(self) -> TensorType:
        """The tensor of the same dtype, shape and device."""
        return TensorType(self.dtype, self._dims, self.device)


def element_type(dtype: Any) -> Attribute:
    """The IR element type of `dtype`.

    TypeError where it is no DType, ValueError where tensors of it cannot be computed with.
    """
    if (found := ELEMENTS.get(dtype)) is not None:
        return found
    if not isinstance(dtype, DType):
        raise GraphTypeError("not a DType", expected="such as DType.float32", got=repr(dtype))
    raise GraphError(
        f"graphs do not compute with {dtype.name}", expected=", ".join(d.name for d in ELEMENTS), got=dtype.name
    )


def dtype_of(element: Attribute) -> DType:
    """The dtype of an IR element type."""
    return _DTYPES[element]


@overload
def to_ir(t: TensorType) -> ir.TensorType: ...
@overload
def to_ir(t: BufferType) -> ir.BufferType: ...
def to_ir(t: TensorType | BufferType) -> ir.TensorType | ir.BufferType:
    """The IR type of values of type `t`."""
    kind = ir.TensorType if isinstance(t, TensorType) else ir.BufferType
    return kind(t.shape.raw, element_type(t.dtype), str(t.device))


def from_ir(t: ir.TensorType) -> TensorType:
    """The type whose IR type is `t`."""
    return TensorType(dtype_of(t.dtype), [Dim(d) for d in t.shape], DeviceRef.parse(t.device.data))


def buffer_from_ir(t: ir.BufferType) -> BufferType:
    """The type whose IR type is `t`."""
    return from_ir(t.as_tensor()).as_buffer()
