"""Constants, sizes as tensors, and casts, which operands are made with: numbers and arrays enter, tensors leave.

What is small stands in the IR; an array of more than a kilobyte stays beside it, in `graph.constants`, under the name
of a weight. `pelton.graph.ops` gives these functions to users.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pelton.dialects import dims
from pelton.dialects import types as ir
from pelton.dialects.dense import LIMIT, DenseAttr
from pelton.dialects.types import DimsAttr
from pelton.dtype import DType
from pelton.graph.build import Body, Value, declare, emit
from pelton.graph.check import wrong, wrong_type
from pelton.graph.device_ref import DeviceRef
from pelton.graph.dims import ShapeLike, StaticDim, shape_of
from pelton.graph.promotion import fit
from pelton.graph.types import element_type

if TYPE_CHECKING:
    from pelton.graph.value import TensorValue

NUMBERS = {bool: DType.bool, int: DType.int64, float: DType.float32}
"""The dtypes that Python's numbers have by themselves."""


def constant(value: Any, dtype: DType | None = None, device: Any = None) -> TensorValue:
    """A tensor of known contents: a bool, int or float, nested lists of them, or an array (NumPy, or anything that
    speaks DLPack).

    `dtype` defaults to the array's own, or to bool, int64 and float32 for Python's bools, ints and floats. `device`
    defaults to the CPU. The array is copied. Raises ValueError where `dtype` cannot hold a number or lists are ragged,
    TypeError for other objects.

    >>> with Graph("g") as g:
    ...     g.output(ops.constant([[1, 2], [3, 4]], DType.float32))
    """
    place = DeviceRef.CPU() if device is None else DeviceRef.from_device(device)
    if isinstance(value, StaticDim):
        value = value.dim
    if type(value) in NUMBERS:
        chosen = dtype or NUMBERS[type(value)]
        element = element_type(chosen)
        return _inline(DenseAttr.of([fit("ops.constant", value, chosen, explicit=True)], (), element), place)
    array = _as_array(value)
    chosen = dtype or _own_dtype(array, isinstance(value, list | tuple))
    return _of_array(fit("ops.constant", array, chosen, explicit=True), chosen, place)


def _of_array(array: Any, dtype: DType, device: DeviceRef) -> TensorValue:
    """A constant from an array that holds `dtype`."""
    element = element_type(dtype)
    if array.nbytes <= LIMIT:
        return _inline(DenseAttr.from_array(array, element), device)
    body = Body.open("ops.constant")
    return body.wrap(body.declare_constant(array.copy(), ir.TensorType(array.shape, element, str(device))))


def _inline(value: DenseAttr, device: DeviceRef) -> TensorValue:
    return declare("ops.constant", "constant", ir.TensorType(value.shape, value.dtype, str(device)), value=value)


def _as_array(value: Any) -> Any:
    import numpy as np

    if is_array(value):
        return np.asarray(value)
    if isinstance(value, list | tuple):
        return _array_of_lists(value)
    if hasattr(value, "__dlpack__") and not isinstance(value, Value):
        return np.from_dlpack(value)
    kinds = "a bool, an int, a float, nested lists of them or an array"
    raise wrong_type("ops.constant: value has no numbers", kinds, f"{value!r} ({type(value).__name__})")


def _array_of_lists(value: Any) -> Any:
    import numpy as np

    if _contains_value(value):
        raise wrong_type("ops.constant: value holds tensors", "numbers", repr(value), "ops.stack joins tensors")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise wrong("ops.constant: value is ragged", "lists of equal lengths", repr(value)) from error
    if array.dtype.kind not in "biuf":
        raise wrong_type(
            "ops.constant: value has no numbers", "lists of bools, ints or floats that fit 64 bits", repr(value)
        )
    return array


def _contains_value(value: Any) -> bool:
    return isinstance(value, Value) or (isinstance(value, list | tuple) and any(map(_contains_value, value)))  # pyright: ignore[reportUnknownArgumentType]


def is_array(x: object) -> bool:
    """Whether `x` is a NumPy array or scalar; asks without importing NumPy."""
    numpy: Any = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, (numpy.ndarray, numpy.generic))


def _own_dtype(array: Any, is_list: bool) -> DType:
    """The dtype an array has by itself; lists of floats are float32, an empty one too."""
    if is_list and array.dtype.kind == "f":
        return DType.float32
    try:
        return DType.from_numpy(array.dtype)
    except ValueError as error:
        raise wrong_type(f"ops.constant: NumPy's {array.dtype} is no dtype of tensors", got=str(error)) from error


def shape_to_tensor(shape: ShapeLike) -> TensorValue:
    """The sizes as an int64 tensor of shape [rank], on the CPU; symbols take the values they have when the model runs.

    Raises ValueError for a symbol that no input of the graph binds.

    >>> with Graph("g", input_types=[TensorType(DType.float32, ["n", 3], DeviceRef.CPU())]) as g:
    ...     g.output(ops.shape_to_tensor(g.inputs[0].shape))
    """
    op = "ops.shape_to_tensor"
    sizes = shape_of(shape, op, "shape").raw
    Body.open(op).check_symbols(op, sizes)
    return emit(op, "shape_to_tensor", shape=DimsAttr(sizes))


def size(op: str, dim: dims.Dim, device: DeviceRef) -> TensorValue:
    """One size as an int64 tensor of rank 0."""
    Body.open(op).check_symbols(op, (dim,))
    t = ir.TensorType((), element_type(DType.int64), str(device))
    return declare(op, "dim", t, value=DimsAttr((dim,)))


def cast_to(op: str, x: Any, dtype: DType) -> TensorValue:
    """A tensor in `dtype`; itself where it has that."""
    element = element_type(dtype)
    return x if x.ir_type.dtype == element else emit(op, "cast", x, dtype=element)
