"""`place-on`: everything on one device, and no op left that moves something."""

from __future__ import annotations

import pytest

from pelton.dialects.check import check_module
from pelton.dialects.context import new_context
from pelton.dialects.signature import describe, devices_of
from pelton.dtype import DType
from pelton.graph import DeviceRef, Graph, TensorType, Weight, ops
from pelton.passes.place_on import PlaceOn
from pelton.support.errors import KnobError

HOST, GPU = DeviceRef.CPU(), DeviceRef.GPU(0)


def mixed() -> Graph:
    weight = Weight("w", DType.float32, [4], HOST)
    with Graph("mixed", input_types=[TensorType(DType.float32, ["n", 4], HOST)]) as graph:
        x = graph.inputs[0].tensor
        graph.output(ops.exp((x.to(GPU) * ops.transfer_to(weight, GPU)).to(HOST)))
    return graph


@pytest.mark.parametrize("device", ["gpu:1", "cpu:0"])
def test_all_is_on_the_device(device: str) -> None:
    graph = mixed()
    assert devices_of(graph.module) == ("cpu:0", "gpu:0")
    module = graph.module.clone()
    PlaceOn(device).apply(new_context(), module)
    check_module(module)
    signature = describe(module, {})
    assert devices_of(module) == (device,) and "nn.transfer" not in str(module)
    assert {i.device for i in (*signature.inputs, *signature.outputs, *signature.weights)} == {device}


@pytest.mark.parametrize("device", ["", "gpu", "gpu:-1", "tpu:0", "gpu:x"])
def test_devices_that_are_none(device: str) -> None:
    with pytest.raises(KnobError, match="no such device"):
        PlaceOn(device).apply(new_context(), mixed().module.clone())
