"""The types of the `nn` dialect, and dims as IR text.

`!nn.tensor<[batch, 128], f32>` is a tensor value: symbolic dims, element type, device (`"cpu:0"` is not written);
`!nn.buffer<…>` is mutable memory for one.
`DimsAttr` holds the canonical dims of `dialects.dims` in one Python tuple, so that hashing and comparing run at C
speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    StringAttr,
)
from xdsl.ir import Attribute, Data, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pelton.dialects import dims
from pelton.dialects.dims import Dim

HOST = "cpu:0"
GPU = "gpu"
"""The kind of device that kernels are made into PTX for; `gpu:1` is the second."""
FLOAT_TYPES = (Float16Type, BFloat16Type, Float32Type, Float64Type)


def parse_dim(parser: AttrParser) -> Dim:
    """One dim: `128`, `batch`, `2*n + 1`, `(n + 1) floordiv 2`, `min(a, b)`."""
    negative = parser.parse_optional_punctuation("-") is not None
    total = _parse_term(parser)
    total = dims.mul(-1, total) if negative else total
    while True:
        if parser.parse_optional_punctuation("+"):
            total = dims.add(total, _parse_term(parser))
        elif parser.parse_optional_punctuation("-"):
            total = dims.sub(total, _parse_term(parser))
        else:
            return total


def _parse_term(parser: AttrParser) -> Dim:
    value = _parse_factor(parser)
    while True:
        if parser.parse_optional_punctuation("*"):
            value = dims.mul(value, _parse_factor(parser))
        elif parser.parse_optional_keyword("floordiv"):
            divisor = _parse_factor(parser)
            if divisor == 0:
                parser.raise_error("expected a divisor other than 0")
            value = dims.floordiv(value, divisor)
        else:
            return value


def _parse_factor(parser: AttrParser) -> Dim:
    if parser.parse_optional_punctuation("("):
        value = parse_dim(parser)
        parser.parse_punctuation(")")
        return value
    if (number := parser.parse_optional_integer(allow_boolean=False, allow_negative=False)) is not None:
        return number
    if (name := parser.parse_optional_identifier()) is None:
        parser.raise_error("expected a dim: a number, a symbol or an expression of them")
    if name not in dims.FUNCTIONS or not parser.parse_optional_punctuation("("):
        return name
    lhs = parse_dim(parser)
    parser.parse_punctuation(",")
    rhs = parse_dim(parser)
    parser.parse_punctuation(")")
    return dims.FUNCTIONS[name](lhs, rhs)


@irdl_attr_definition
class DimsAttr(Data[tuple[Dim, ...]]):
    """`[batch, 2*n + 1, 128]`; in generic form `#nn.dims[batch, 2*n + 1, 128]`."""

    name = "nn.dims"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Dim, ...]:
        return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_dim(parser)))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"[{', '.join(map(str, self.data))}]")


@dataclass(frozen=True, init=False)
class ShapedValueType(ParametrizedAttribute, TypeAttribute):
    """What tensors and buffers have in common: dims, element type, device."""

    dims: DimsAttr
    dtype: Attribute
    device: StringAttr

    def verify(self) -> None:
        for dim in self.dims.data:
            if isinstance(dim, int) and dim < 0:
                raise VerifyException(f"a tensor's sizes are 0 or more, got {dim}")

    @property
    def shape(self) -> tuple[Dim, ...]:
        return self.dims.data

    @property
    def rank(self) -> int:
        return len(self.dims.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape = DimsAttr(DimsAttr.parse_parameter(parser))
            parser.parse_punctuation(",")
            dtype = parser.parse_type()
            device = parser.parse_str_literal() if parser.parse_optional_punctuation(",") else HOST
            return shape, dtype, StringAttr(device)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.dims.print_parameter(printer)
            printer.print_string(", ")
            printer.print_attribute(self.dtype)
            if self.device.data != HOST:
                printer.print_string(f', "{self.device.data}"')


@irdl_attr_definition
class TensorType(ShapedValueType):
    """`!nn.tensor<[batch, 128], f32>`, `!nn.tensor<[n], i64, "gpu:0">`: a tensor value and the device that holds it."""

    name = "nn.tensor"

    def __init__(self, shape: Sequence[Dim], dtype: Attribute, device: str = HOST) -> None:
        super().__init__(DimsAttr(tuple(shape)), dtype, StringAttr(device))

    def get_shape(self) -> tuple[int, ...]:
        """Upstream's view of the dims: whatever is not a number is dynamic."""
        return tuple(d if isinstance(d, int) else DYNAMIC_INDEX for d in self.dims.data)

    def with_shape(self, shape: Sequence[Dim]) -> TensorType:
        return TensorType(shape, self.dtype, self.device.data)

    def with_dtype(self, dtype: Attribute) -> TensorType:
        return TensorType(self.shape, dtype, self.device.data)


@irdl_attr_definition
class BufferType(ShapedValueType):
    """`!nn.buffer<[batch, 128], f32>`: mutable memory for such a tensor, on a device."""

    name = "nn.buffer"

    def __init__(self, shape: Sequence[Dim], dtype: Attribute, device: str = HOST) -> None:
        super().__init__(DimsAttr(tuple(shape)), dtype, StringAttr(device))

    def as_tensor(self) -> TensorType:
        """The type of what it holds."""
        return TensorType(self.shape, self.dtype, self.device.data)


def is_device(name: str) -> bool:
    """Whether it is the name of a device: `cpu:0`, `gpu:3`."""
    kind, _, number = name.partition(":")
    return kind in ("cpu", GPU) and number.isascii() and number.isdecimal()


def is_on_gpu(value: SSAValue) -> bool:
    """Whether a tensor, or a buffer, is in a GPU's memory."""
    return isinstance(value.type, ShapedValueType) and value.type.device.data.partition(":")[0] == GPU


def is_float(dtype: Attribute) -> bool:
    """f16, bf16, f32 or f64."""
    return isinstance(dtype, FLOAT_TYPES)


def width_of(dtype: Attribute) -> int:
    """Bits of an integer type; 0 for any other type."""
    integer: Any = dtype  # xDSL's integer type is generic, which says nothing here
    return integer.width.data if isinstance(dtype, IntegerType) else 0


def is_bool(dtype: Attribute) -> bool:
    """i1."""
    return width_of(dtype) == 1


def is_int(dtype: Attribute) -> bool:
    """A signed or unsigned integer other than i1."""
    return width_of(dtype) > 1


def is_unsigned(dtype: Attribute) -> bool:
    """`ui8` … `ui64`."""
    integer: Any = dtype
    return isinstance(dtype, IntegerType) and integer.signedness.data is Signedness.UNSIGNED


def limits_of(dtype: Attribute) -> tuple[int, int]:
    """The smallest and the largest number of an integer type."""
    bits = width_of(dtype)
    return (0, 2**bits - 1) if is_unsigned(dtype) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def bytes_of(dtype: Attribute) -> int:
    """Bytes one element takes in memory; a bool takes one."""
    match dtype:
        case IntegerType():
            return max(width_of(dtype) // 8, 1)
        case Float16Type() | BFloat16Type():
            return 2
        case Float32Type():
            return 4
        case Float64Type():
            return 8
        case _:
            raise TypeError(f"{dtype} has no size in memory")


def dtype_name(dtype: Attribute) -> str:
    """The short spelling that the printers and the artifact use: `f32`, `bf16`, `i64`, `u8`, `i1`."""
    text = str(dtype)
    return text.removeprefix("u").replace("i", "u") if text.startswith("ui") else text
