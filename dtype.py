"""Element types, shared by every layer.

Enters: a name (`DType("f32")`, `DType("float32")`) or a NumPy dtype. Leaves: a `DType`, which knows its MLIR spelling,
size and NumPy counterpart. NumPy and ml_dtypes are imported when first asked for. Every layer above speaks in these.
"""

from __future__ import annotations

from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


MOST_BYTES = 2**62
"""What a tensor may take, whatever it is made of: places in it, and in what it is rounded up to, fit 64 bits."""


class DType(Enum):
    """An element type. `DType("f32")` takes the MLIR spelling, `DType("float32")` the name; `value` is the former.

    Raises ValueError, listing the types, for anything else; TypeError for what cannot even be compared with a text,
    such as an array of records.
    """

    bool = "i1"
    int4 = "i4"
    int8 = "i8"
    int16 = "i16"
    int32 = "i32"
    int64 = "i64"
    uint4 = "ui4"
    uint8 = "ui8"
    uint16 = "ui16"
    uint32 = "ui32"
    uint64 = "ui64"
    float8_e4m3fn = "f8E4M3FN"
    float8_e4m3fnuz = "f8E4M3FNUZ"
    float8_e5m2 = "f8E5M2"
    float8_e5m2fnuz = "f8E5M2FNUZ"
    float8_e8m0fnu = "f8E8M0FNU"
    float16 = "f16"
    bfloat16 = "bf16"
    float32 = "f32"
    float64 = "f64"

    @classmethod
    def _missing_(cls, value: object) -> DType:
        found = _SPELLINGS.get(value) if isinstance(value, str) else None
        if found is None:
            raise ValueError(f"{value!r} is not an element type; known: {', '.join(d.value for d in cls)}")
        return found

    # By identity: a member is one object in a process, and Enum would hash its name, in Python, at every look-up.
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"DType.{self.name}"

    @property
    def mlir(self) -> str:
        """The MLIR spelling, such as "f32"."""
        return self.value

    @property
    def size_in_bits(self) -> int:
        """Bits that carry the value: 1 for bool, 4 for the 4-bit integers."""
        return _BITS[self]

    @property
    def size_in_bytes(self) -> int:
        """Bytes of one element in memory: at least one (bool and 4-bit integers take a byte each)."""
        return max(_BITS[self] // 8, 1)

    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return "float" in self.name

    def is_integral(self) -> bool:
        """Whether it is an integer; bool is not."""
        return "int" in self.name

    def is_signed_integral(self) -> bool:
        """Whether it is a signed integer."""
        return self.name.startswith("int")

    def is_unsigned_integral(self) -> bool:
        """Whether it is an unsigned integer."""
        return self.name.startswith("uint")

    def to_numpy(self) -> np.dtype[Any]:
        """The NumPy dtype; for bfloat16, float8 and the 4-bit integers that of ml_dtypes.

        Raises ImportError for these where ml_dtypes is not installed.
        """
        found = _TO_NUMPY.get(self)
        if found is None:
            import numpy

            if hasattr(numpy, self.name):
                found = numpy.dtype(getattr(numpy, self.name))
            else:
                found = numpy.dtype(getattr(import_module("ml_dtypes"), self.name))
            _TO_NUMPY[self] = found
            _FROM_NUMPY[found] = self
        return found

    @classmethod
    def from_numpy(cls, dtype: Any) -> DType:
        """The type of a NumPy dtype, or of anything that `numpy.dtype` takes but None.

        Raises ValueError where NumPy's type has none here, TypeError for what names no type of NumPy's.
        """
        if (found := _FROM_NUMPY.get(dtype)) is not None:
            return found
        import numpy

        if dtype is None:  # NumPy takes it for float64
            raise TypeError("None names no NumPy dtype")
        given = numpy.dtype(dtype)
        if (found := _BY_NAME.get(given.name)) is None or not given.isnative:
            why = "its byte order is foreign" if found else f"supported: {', '.join(_BY_NAME)}"
            raise ValueError(f"the NumPy dtype {given.str if found else given} has no DType; {why}")
        found.to_numpy()
        return found

    def finfo(self) -> finfo:
        """Limits of a floating-point type. Raises TypeError for others."""
        return finfo(self)


class finfo:  # noqa: N801  (named as in NumPy and PyTorch)
    """Limits of a floating-point type: bits, eps, max, min, tiny, smallest_normal, smallest_subnormal, as floats.

    Raises TypeError for another type.
    """

    def __init__(self, dtype: DType) -> None:
        if not isinstance(dtype, DType) or not dtype.is_float():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"finfo takes a floating-point type, got {dtype!r}")
        info: Any = import_module("ml_dtypes").finfo(dtype.to_numpy())
        self.dtype = dtype
        self.bits = dtype.size_in_bits
        self.eps = float(info.eps)
        self.max = float(info.max)
        self.min = float(info.min)
        self.smallest_normal = self.tiny = float(info.smallest_normal)
        self.smallest_subnormal = float(info.smallest_subnormal)

    def __repr__(self) -> str:
        return f"finfo({self.dtype!r}, eps={self.eps:g}, min={self.min:g}, max={self.max:g})"


def _bits(dtype: DType) -> int:
    if dtype is DType.bool:
        return 1
    digits = dtype.name.removeprefix("b").removeprefix("u").lstrip("intfloa").partition("_")[0]
    return int(digits)


_BITS = {dtype: _bits(dtype) for dtype in DType}
_BY_NAME = {dtype.name: dtype for dtype in DType}
# NumPy's names, and the spellings of signedness that other dialects use: "u8", "si8".
_SPELLINGS: dict[str, DType] = (
    _BY_NAME
    | {"u" + d.value[2:]: d for d in DType if d.is_unsigned_integral()}
    | {"s" + d.value: d for d in DType if d.is_signed_integral()}
)
_TO_NUMPY: dict[DType, Any] = {}
_FROM_NUMPY: dict[Any, DType] = {}
