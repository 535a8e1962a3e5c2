"""The one op that moves a tensor between devices: all others compute where their operands are."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.op import Array, NnOp, Sizes
from pelton.dialects.types import TensorType, is_device


@irdl_op_definition
class TransferOp(NnOp):
    """`nn.transfer %x {device = "gpu:0"} : (!nn.tensor<[n], f32>) -> !nn.tensor<[n], f32, "gpu:0">`: the same tensor in
    the memory of another device.
    """

    name = "nn.transfer"
    x = operand_def(TensorType)
    device = prop_def(StringAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def infer(self) -> Sequence[TensorType]:
        t, device = self.tensor(), self.device.data
        if not is_device(device):
            raise VerifyException(f"'nn.transfer' expects a device such as cpu:0 or gpu:1, got {device!r}")
        return [TensorType(t.shape, t.dtype, device)]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        return [inputs[0]]
