"""pelton.dtype.DType.

| promise | test |
|---|---|
| which types there are | test_the_types |
| `DType("f32")` takes the MLIR spelling | test_spellings, test_what_is_no_type |
| `is_float`, `is_integral` | test_kinds |
| `size_in_bytes` | test_kinds, test_numpy_and_back |
| `to_numpy`, `from_numpy` | test_numpy_and_back, test_numpy_types_without_counterpart, test_what_names_no_numpy_type |
| `finfo` | test_finfo, test_finfo_of_an_integer |
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pelton.dtype import DType, finfo

SPELLINGS = {
    "i1": DType.bool, "i4": DType.int4, "i8": DType.int8, "i16": DType.int16, "i32": DType.int32, "i64": DType.int64,
    "ui4": DType.uint4, "ui8": DType.uint8, "ui16": DType.uint16, "ui32": DType.uint32, "ui64": DType.uint64,
    "u8": DType.uint8, "si32": DType.int32, "f16": DType.float16, "bf16": DType.bfloat16, "f32": DType.float32,
    "f64": DType.float64, "f8E4M3FN": DType.float8_e4m3fn, "f8E4M3FNUZ": DType.float8_e4m3fnuz,
    "f8E5M2": DType.float8_e5m2, "f8E5M2FNUZ": DType.float8_e5m2fnuz, "f8E8M0FNU": DType.float8_e8m0fnu,
    "float32": DType.float32, "bool": DType.bool, "bfloat16": DType.bfloat16,
}  # fmt: skip


def test_the_types() -> None:
    integers = {f"{sign}int{bits}" for sign in ("", "u") for bits in (4, 8, 16, 32, 64)}
    floats = {"float16", "bfloat16", "float32", "float64"}
    eights = {f"float8_{kind}" for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")}
    assert {d.name for d in DType} == {"bool"} | integers | floats | eights


@pytest.mark.parametrize(("text", "dtype"), SPELLINGS.items())
def test_spellings(text: str, dtype: DType) -> None:
    assert DType(text) is dtype


@pytest.mark.parametrize("bad", ["f31", "", "F32", "int", None, 3, np.float32])
def test_what_is_no_type(bad: Any) -> None:
    with pytest.raises(ValueError, match="is not an element type"):
        DType(bad)


@pytest.mark.parametrize("dtype", DType, ids=lambda d: d.name)
def test_numpy_and_back(dtype: DType) -> None:
    real = dtype.to_numpy()
    assert real.name == dtype.name
    assert DType.from_numpy(real) is dtype and DType.from_numpy(real.type) is dtype
    assert real.itemsize == dtype.size_in_bytes
    assert DType(dtype.mlir) is dtype and DType(dtype) is dtype
    assert repr(dtype) == f"DType.{dtype.name}"


def test_kinds() -> None:
    floats = [d for d in DType if d.is_float()]
    integers = [d for d in DType if d.is_integral()]
    assert len(floats) == 9 and len(integers) == 10 and set(DType) - set(floats) - set(integers) == {DType.bool}
    assert [d.size_in_bytes for d in (DType.bool, DType.int4, DType.bfloat16, DType.float64)] == [1, 1, 2, 8]
    assert [d.size_in_bits for d in (DType.bool, DType.int4, DType.float8_e5m2, DType.float64)] == [1, 4, 8, 64]
    assert DType.uint8.is_unsigned_integral() and not DType.int8.is_unsigned_integral()
    assert DType.int8.is_signed_integral() and not DType.bool.is_signed_integral()


@pytest.mark.parametrize("bad", [np.complex64, object, "datetime64[s]", np.dtype(">f4"), np.dtype([("a", "f4")]), str])
def test_numpy_types_without_counterpart(bad: Any) -> None:
    with pytest.raises(ValueError, match="has no DType"):
        DType.from_numpy(bad)


@pytest.mark.parametrize("bad", [None, "f33", 3, [1], object(), b"\xff"])
def test_what_names_no_numpy_type(bad: Any) -> None:
    with pytest.raises(TypeError):
        DType.from_numpy(bad)


@pytest.mark.parametrize("dtype", [d for d in DType if d.is_float()], ids=lambda d: d.name)
def test_finfo(dtype: DType) -> None:
    info = finfo(dtype)
    truth: Any = ml_dtypes.finfo(dtype.to_numpy())
    assert (info.bits, info.eps, info.max, info.min) == (truth.bits, truth.eps, truth.max, truth.min)
    assert info.tiny == info.smallest_normal == float(truth.smallest_normal)
    assert dtype.finfo().max == info.max and str(dtype.name) in repr(info)


@pytest.mark.parametrize("bad", [DType.int32, DType.bool, "f32", 3, None])
def test_finfo_of_an_integer(bad: Any) -> None:
    with pytest.raises(TypeError, match="finfo takes a floating-point type"):
        finfo(bad)


def test_ml_dtypes_is_imported_only_when_needed() -> None:
    code = (
        "import sys; from pelton.dtype import DType; assert 'numpy' not in sys.modules; DType('f32').to_numpy();"
        "assert 'ml_dtypes' not in sys.modules; DType('bf16').to_numpy(); assert 'ml_dtypes' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
