"""TensorType, BufferType, DeviceRef: values, text, conversion to IR, refusals."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from pelton.driver import CPU
from pelton.dtype import DType
from pelton.graph import BufferType, DeviceKind, DeviceRef, Dim, TensorType
from pelton.graph.types import ELEMENTS, dtype_of, element_type, from_ir, to_ir

HOST = DeviceRef.CPU()


def test_type_knows_its_parts() -> None:
    t = TensorType(DType.float32, ["n", Dim("n") + 1, 3], DeviceRef.GPU(1))
    assert (t.dtype, t.rank, t.device) == (DType.float32, 3, DeviceRef.GPU(1)) and t.shape == ["n", Dim("n") + 1, 3]
    assert str(t) == "float32[n, n + 1, 3] on gpu:1"
    assert repr(t) == "TensorType(DType.float32, ['n', 'n + 1', 3], DeviceRef.GPU(1))"
    assert eval(repr(TensorType(DType.bool, ["n", 2], HOST))) == TensorType(DType.bool, ["n", 2], HOST)


def test_shape_of_a_type_cannot_change_it() -> None:
    t = TensorType(DType.float32, [2], HOST)
    t.shape.append(Dim(3))
    assert t.shape == [2]


def test_types_compare_and_hash() -> None:
    a, b = (TensorType(DType.int8, ["n"], HOST) for _ in range(2))
    assert a == b and hash(a) == hash(b) and len({a, b}) == 1
    assert a != TensorType(DType.int8, ["m"], HOST) and a != TensorType(DType.int16, ["n"], HOST)
    assert a != TensorType(DType.int8, ["n"], DeviceRef.GPU()) and a != a.as_buffer()
    assert a.as_buffer() == BufferType(DType.int8, ["n"], HOST) and a.as_buffer().as_tensor() == a
    assert pickle.loads(pickle.dumps(a)) == a and copy.deepcopy(a) == a


def test_number_of_elements() -> None:
    assert TensorType(DType.int8, [2, 3], HOST).num_elements() == 6
    assert TensorType(DType.int8, [], HOST).num_elements() == 1
    assert TensorType(DType.int8, ["n", 0], HOST).num_elements() == 0
    with pytest.raises(RuntimeError, match=r"depends on symbols: 3\*n"):
        TensorType(DType.int8, ["n", 3], HOST).num_elements()


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        (("f32", [1], HOST), TypeError, "dtype is not a DType"),
        ((DType.int8, [-1], HOST), ValueError, "dim 0 is negative"),
        ((DType.int8, "nm", HOST), TypeError, "not a sequence of sizes"),
        ((DType.int8, [1.5], HOST), TypeError, "not a size"),
        ((DType.int8, [1], "cpu"), TypeError, "not a device"),
        ((DType.int8, 3, HOST), TypeError, "shape is not a sequence of sizes"),
    ],
)
def test_types_refuse(arguments: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        TensorType(*arguments)


@pytest.mark.parametrize("dtype", ELEMENTS, ids=lambda d: d.name)
def test_ir_types_round_trip(dtype: DType) -> None:
    t = TensorType(dtype, ["n", 3], DeviceRef.GPU(1))
    assert from_ir(to_ir(t)) == t and dtype_of(element_type(dtype)) is dtype
    assert str(element_type(dtype)) == dtype.mlir


def test_dtypes_that_graphs_do_not_compute_with() -> None:
    with pytest.raises(ValueError, match="graphs do not compute with float8_e5m2"):
        element_type(DType.float8_e5m2)
    with pytest.raises(TypeError, match="not a DType"):
        element_type("float32")


def test_device_references() -> None:
    assert DeviceRef.CPU() == DeviceRef(DeviceKind.CPU, 0) == DeviceRef.parse("cpu:0")
    assert DeviceRef.GPU(2) == DeviceRef.parse("gpu:2") and str(DeviceRef.GPU(2)) == "gpu:2"
    assert DeviceRef.CPU().is_cpu() and not DeviceRef.CPU().is_gpu() and DeviceRef.GPU().is_gpu()
    assert len({DeviceRef.CPU(), DeviceRef.CPU(0), DeviceRef.GPU()}) == 2
    assert DeviceRef.from_device(CPU()) == DeviceRef.CPU() and DeviceRef.CPU().to_device() == CPU()


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [(("tpu", 0), ValueError, "not a kind"), (("cpu", -1), ValueError, "from 0"), (("cpu", "0"), TypeError, "an int")],
)
def test_device_references_refuse(arguments: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        DeviceRef(*arguments)
