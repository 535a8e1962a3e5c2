"""`#nn.dense`: the elements of a small tensor inside the IR, exact for every dtype.

xDSL's own `dense` reads back infinities and NaNs as other numbers, so this attribute keeps little-endian bytes as they
lie in memory (a bool is one byte) and prints each element in the fewest digits that read back as the same bits.
`nn.constant` holds one; constant folding makes and reads them.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import BytesAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.types import DimsAttr, bytes_of, dtype_name, is_float

LIMIT = 1024
"""Bytes; larger values are weights."""
FORMATS = {
    "i1": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q", "f16": "e",
    "f32": "f", "f64": "d",
}  # fmt: skip
BITS = {2: "H", 4: "I", 8: "Q"}
"""Unsigned integers as wide as a float."""


@irdl_attr_definition
class DenseAttr(ParametrizedAttribute):
    """`#nn.dense<[2, 2], f32, [1.0, 2.0, inf, nan]>`: shape, dtype, and the elements row by row."""

    name = "nn.dense"
    dims: DimsAttr
    dtype: Attribute
    data: BytesAttr

    def __init__(self, shape: Sequence[int], dtype: Attribute, data: bytes) -> None:
        super().__init__(DimsAttr(tuple(shape)), dtype, BytesAttr(data))

    @classmethod
    def of(cls, values: Sequence[float | int | bool], shape: Sequence[int], dtype: Attribute) -> DenseAttr:
        """From Python numbers, row by row, each rounded to nearest even.

        Raises OverflowError where an integer does not fit.
        """
        return cls(shape, dtype, b"".join(_pack(v, dtype) for v in values))

    @classmethod
    def from_array(cls, array: Any, dtype: Attribute) -> DenseAttr:
        """From a NumPy array whose elements are stored as `dtype` is."""
        return cls(array.shape, dtype, array.tobytes())

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(d for d in self.dims.data if isinstance(d, int))

    def array(self) -> Any:
        """A read-only NumPy array over the bytes."""
        import numpy as np

        from pelton.dialects.nn.reference import numpy_dtype

        return np.frombuffer(self.data.data, numpy_dtype(self.dtype)).reshape(self.shape)

    def values(self) -> list[Any]:
        """The elements as Python numbers, row by row."""
        size = bytes_of(self.dtype)
        return [_unpack(self.data.data[i : i + size], self.dtype) for i in range(0, len(self.data.data), size)]

    def splat(self) -> DenseAttr | None:
        """The one element, as a tensor of rank 0, where all elements have the same bits."""
        data, size = self.data.data, bytes_of(self.dtype)
        if not data or data != data[:size] * (len(data) // size):
            return None
        return DenseAttr((), self.dtype, data[:size])

    def verify(self) -> None:
        if not all(isinstance(d, int) and d >= 0 for d in self.dims.data):
            raise VerifyException(f"'nn.dense' expects sizes that are numbers, got {self.dims.data}")
        expected, got = math.prod(self.shape), len(self.data.data) / bytes_of(self.dtype)
        if expected != got:
            raise VerifyException(f"'nn.dense' expects {expected} elements for its shape, got {got:g}")

    def elements_text(self) -> str:
        """`[1.0, 2.0]`; of rank 0, `1.0`."""
        size = bytes_of(self.dtype)
        data = self.data.data
        texts = [_text(data[i : i + size], self.dtype) for i in range(0, len(data), size)]
        return f"[{', '.join(texts)}]" if self.dims.data else texts[0]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.dims.print_parameter(printer)
            printer.print_string(", ")
            printer.print_attribute(self.dtype)
            printer.print_string(f", {self.elements_text()}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            dims = DimsAttr(DimsAttr.parse_parameter(parser))
            parser.parse_punctuation(",")
            dtype = parser.parse_type()
            parser.parse_punctuation(",")
            return dims, dtype, BytesAttr(b"".join(parse_elements(parser).packed(dtype, parser)))


class Elements:
    """Elements as read, before their dtype is known, and where they stand."""

    def __init__(self, values: list[bool | int | float | str], start: int, end: int) -> None:
        self.values = values
        self.start, self.end = start, end

    def packed(self, dtype: Attribute, parser: AttrParser) -> list[bytes]:
        """Each element's bytes; an error at their place where one does not fit."""
        try:
            return [_pack(v, dtype) for v in self.values]
        except (OverflowError, ValueError, struct.error) as error:
            parser.raise_error(f"expected elements that fit {dtype}: {error}", self.start, self.end)


def parse_elements(parser: AttrParser) -> Elements:
    """`[1.0, -inf, nan, bits(0x7fc00001)]`, or one element without brackets."""
    start = parser.pos
    many = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _element(parser))
    values = [_element(parser)] if many is None else many
    return Elements(values, start, parser.pos)


def _element(parser: AttrParser) -> bool | int | float | str:
    for word, value in (("true", True), ("false", False), ("inf", math.inf), ("nan", math.nan)):
        if parser.parse_optional_keyword(word):
            return value
    if parser.parse_optional_keyword("bits"):
        parser.parse_punctuation("(")
        bits = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_punctuation(")")
        return f"{bits:x}"
    sign = -1 if parser.parse_optional_punctuation("-") else 1
    if sign < 0 and parser.parse_optional_keyword("inf"):
        return -math.inf
    return sign * parser.parse_number(allow_boolean=False)


def _pack(value: bool | int | float | str, dtype: Attribute) -> bytes:
    """One element's bytes; text is the bits of a float in hexadecimal."""
    name, size = dtype_name(dtype), bytes_of(dtype)
    if isinstance(value, str):
        if not is_float(dtype):
            raise ValueError("bits() is for floats")
        return int(value, 16).to_bytes(size, "little")
    if name == "bf16":
        return _round_to_bf16(float(value))
    if is_float(dtype):
        return _pack_float(float(value), FORMATS[name])
    if isinstance(value, float):
        raise ValueError(f"{value} is not an integer")
    if name == "i1" and value not in (0, 1):
        raise OverflowError(f"{value} is not a bool")
    try:
        return struct.pack("<" + FORMATS[name], value)
    except struct.error:
        raise OverflowError(f"{value} is out of range") from None


def _pack_float(value: float, code: str) -> bytes:
    try:
        return struct.pack("<" + code, value)
    except OverflowError:  # Python refuses what rounds to infinity
        return struct.pack("<" + code, math.copysign(math.inf, value))


def _round_to_bf16(value: float) -> bytes:
    """Rounds a float64 once: first to a float32 whose last bit records what was cut off, then to the upper half of
    that.
    """
    if math.isnan(value):
        return (0x7FC0 | (0x8000 if math.copysign(1, value) < 0 else 0)).to_bytes(2, "little")
    near = _pack_float(value, "f")
    (single,) = struct.unpack("<f", near)
    bits = int.from_bytes(near, "little")
    if single != value:
        if abs(single) > abs(value):
            bits -= 1
        bits |= 1
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return rounded.to_bytes(2, "little")


def _unpack(data: bytes, dtype: Attribute) -> Any:
    if dtype_name(dtype) == "bf16":
        return struct.unpack("<f", b"\0\0" + data)[0]
    return struct.unpack("<" + FORMATS[dtype_name(dtype)], data)[0]


def _text(data: bytes, dtype: Attribute) -> str:
    """An element in the fewest digits that give the same bytes."""
    value = _unpack(data, dtype)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if math.isnan(value):
        return "nan" if data == _pack(math.nan, dtype) else f"bits(0x{data[::-1].hex()})"
    if value == int(value) and abs(value) < 1e6 and data == _pack(value, dtype):
        return f"{value:.1f}"
    texts = (f"{value:.{digits}g}" for digits in range(1, 18))
    text = next(t for t in texts if _pack(float(t), dtype) == data)
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}"
    return text if "." in text else text + ".0"
