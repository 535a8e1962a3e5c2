"""Arrays and files: `.npy`, `.npz` and `.safetensors` enter, arrays for a model leave; its results go back to `.npy`.

Nothing in a file is ever run: pickled objects are refused. NumPy's formats do not know bfloat16, the 8-bit floats and
4-bit integers: such elements are stored as raw bytes (`V2`, `V1`), and read as what the model wants there.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pelton.artifact import TensorInfo
from pelton.dtype import DType
from pelton.support.errors import ReadError, WeightError, shortened
from pelton.support.files import open_regular, read_file, write_atomically

if TYPE_CHECKING:
    from numpy.typing import NDArray

NPY_MAGIC = b"\x93NUMPY"


def read_npy(path: Path, info: TensorInfo) -> NDArray[Any]:
    """The array in a `.npy` file for the input `info`: in C order and in this machine's byte order."""
    return usable(_content(path), info.dtype)


def read_any_npy(path: Path) -> NDArray[Any]:
    """The same, of whatever type; raw elements stay raw."""
    array = _content(path)
    native: NDArray[Any] = array.astype(array.dtype.newbyteorder("="), order="C", copy=False)
    return native


def _content(path: Path) -> NDArray[Any]:
    data = read_file(path)
    if not data.startswith(NPY_MAGIC):
        raise ReadError(f"{path} is no .npy file", expected=f"{NPY_MAGIC!r} at its begin", got=repr(data[:8]))
    return _parsed(data, str(path))


def _parsed(data: bytes, source: str) -> NDArray[Any]:
    """An array out of the bytes of a `.npy`. Whatever is wrong with them is a ReadError."""
    import numpy as np

    try:
        array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except Exception as error:  # NumPy raises whatever its parser of headers stumbles over
        objects = "Object arrays" in str(error)
        what = "holds Python objects, which are not read: they could run code" if objects else f"is damaged: {error}"
        raise ReadError(f"{source} {what}", expected="an array of numbers") from error
    return array


def usable(array: NDArray[Any], wanted: DType) -> NDArray[Any]:
    """The array in C order and native byte order, raw elements taken for `wanted` where they have its size."""
    import numpy as np

    raw = array.dtype.kind == "V" and array.dtype.names is None and array.dtype.itemsize == wanted.size_in_bytes
    if raw and wanted.to_numpy().isbuiltin != 1:
        array = np.ascontiguousarray(array).view(wanted.to_numpy()).reshape(array.shape)
    native: NDArray[Any] = array.astype(array.dtype.newbyteorder("="), order="C", copy=False)
    return native if native.flags.aligned else native.copy()


def write_npy(path: Path, array: NDArray[Any]) -> None:
    """Write the file, whole or not at all. Raises OSError."""
    import numpy as np

    foreign = array.dtype.isbuiltin == 2  # 0 is said of void, and of a type whose bytes were once swapped
    bare = array.view(f"V{array.dtype.itemsize}") if foreign else array
    content = io.BytesIO()
    np.lib.format.write_array(content, bare, allow_pickle=False)
    write_atomically(path, content.getvalue())


# weights
def read_weights(paths: Iterable[Path], wanted: Iterable[TensorInfo]) -> dict[str, NDArray[Any]]:
    """The arrays in `.npz` and `.safetensors` files by name, those that are `wanted`.

    Raises ReadError for a file that is damaged or of another kind, WeightError where two files hold one name.
    """
    infos = {info.name: info for info in wanted}
    found: dict[str, NDArray[Any]] = {}
    origin: dict[str, Path] = {}
    for path in paths:
        reader = READERS.get(path.suffix)
        if reader is None:
            raise ReadError(
                f"{path} is of no kind that weights are read from",
                expected=f"a file of {' or '.join(READERS)}",
                got=path.suffix or "no suffix",
            )
        for name, array in reader(path, infos).items():
            if name in found:
                raise WeightError(f"weight {name!r} is in two files", got=f"{origin[name]} and {path}")
            found[name], origin[name] = usable(array, infos[name].dtype), path
    return found


def _read_npz(path: Path, wanted: Mapping[str, TensorInfo]) -> dict[str, NDArray[Any]]:
    """`numpy.savez` writes a zip of `NAME.npy` files."""
    found: dict[str, NDArray[Any]] = {}
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            for entry in archive.namelist():
                name = entry.removesuffix(".npy")
                if name in wanted:
                    found[name] = _parsed(archive.read(entry), f"{path}: {entry}")
    except ReadError:
        raise
    except Exception as error:  # zipfile and zlib raise whatever they stumble over
        raise ReadError(f"{path} is no .npz file: {error}", expected="what numpy.savez writes") from error
    return found


def _read_safetensors(path: Path, wanted: Mapping[str, TensorInfo]) -> dict[str, NDArray[Any]]:
    """The file is mapped: a weight is read where it is used. Format: 8 bytes of length, a JSON header, all tensors."""
    import numpy as np

    with open_regular(path) as file:
        if not os.fstat(file.fileno()).st_size:
            raise ReadError(f"{path} is damaged: it is empty", expected="a .safetensors file")
        mapped: NDArray[Any] = np.asarray(np.memmap(file, np.uint8, "r"))
    try:
        header, content = _header(mapped)
        return {name: _tensor(content, name, header[name]) for name in wanted if name in header}
    except (ValueError, KeyError, TypeError, OverflowError, AttributeError, RecursionError) as error:
        raise ReadError(f"{path} is damaged: {error}", expected="a .safetensors file") from error


def _header(mapped: NDArray[Any]) -> tuple[dict[str, Any], NDArray[Any]]:
    """What the header of a `.safetensors` says of each tensor, and the bytes of all. Raises ValueError."""
    if len(mapped) < 8:
        raise ValueError(f"it has {len(mapped)} bytes, not even the 8 with the length of a header")
    end = 8 + int.from_bytes(mapped[:8].tobytes(), "little")
    if end > len(mapped):
        raise ValueError(f"its header should have {end - 8} bytes, and the whole file has {len(mapped)}")
    header = json.loads(mapped[8:end].tobytes().decode("utf-8"), object_pairs_hook=_each_once)
    if not isinstance(header, dict):
        raise ValueError(f"its header is {type(header).__name__} in JSON, not an object")
    for name, entry in cast("dict[str, Any]", header).items():
        if not isinstance(entry, dict):
            raise ValueError(f"its header says of {name} no more than {shortened(json.dumps(entry), 40)}")
    return cast("dict[str, Any]", header), mapped[end:]


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for k, (name, _) in enumerate(pairs) if name in dict(pairs[:k]))
        raise ValueError(f"its header says {twice} twice")
    return found


def _tensor(content: NDArray[Any], name: str, entry: Mapping[str, Any]) -> NDArray[Any]:
    begin, end = entry["data_offsets"]
    shape, dtype = tuple(entry["shape"]), SAFETENSORS.get(entry["dtype"])
    if dtype is None:
        raise ValueError(f"{name} has elements of the unknown type {entry['dtype']!r}")
    if any(type(n) is not int or n < 0 for n in (begin, end, *shape)) or end > len(content):
        raise ValueError(f"{name} lies at {begin}:{end} with shape {shape}, of {len(content)} bytes")
    if end - begin != prod(shape) * dtype.size_in_bytes:
        raise ValueError(f"{name} has {end - begin} bytes, not those of {entry['dtype']} {shape}")
    raw = content[begin:end]
    aligned = raw if begin % dtype.size_in_bytes == 0 else raw.copy()
    return aligned.view(dtype.to_numpy()).reshape(shape)


SAFETENSORS = {
    "F64": DType.float64, "F32": DType.float32, "F16": DType.float16, "BF16": DType.bfloat16,
    "F8_E4M3": DType.float8_e4m3fn, "F8_E5M2": DType.float8_e5m2, "F8_E8M0": DType.float8_e8m0fnu,
    "I64": DType.int64, "I32": DType.int32, "I16": DType.int16, "I8": DType.int8,
    "U64": DType.uint64, "U32": DType.uint32, "U16": DType.uint16, "U8": DType.uint8, "BOOL": DType.bool,
}  # fmt: skip
"""Element types by the names that the format has for them."""
READERS = {".npz": _read_npz, ".safetensors": _read_safetensors}


# arrays from nothing
def random_array(dtype: DType, shape: tuple[int, ...], seed: int) -> NDArray[Any]:
    """The same numbers for the same seed: floats normal, bools either, integers 0 or 1, which are indices and masks."""
    import numpy as np

    rng = np.random.default_rng(seed)
    if dtype.is_float():
        normal = rng.standard_normal(shape, np.float32)
        return np.abs(normal).astype(dtype.to_numpy()) if "e8m0" in dtype.name else normal.astype(dtype.to_numpy())
    return rng.integers(0, 2, shape).astype(dtype.to_numpy())


def summary(array: NDArray[Any]) -> tuple[str, str, str]:
    """The least, the greatest and the mean of the elements, as text; dashes where there are none."""
    if array.size == 0:
        return "-", "-", "-"
    wide = array.astype("f8") if array.dtype.isbuiltin != 1 or array.dtype.kind in "fb" else array
    return tuple(f"{value:.6g}" for value in (wide.min(), wide.max(), wide.mean(dtype="f8")))  # pyright: ignore[reportReturnType]
