"""`place-on`: all of a module to one device.

Before: values wherever the graph has them. After: every tensor, buffer, input, weight and result on `device`, and no
`nn.transfer` is left. So a model that was made for the host becomes one for a GPU. Comes before everything else.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from pelton.dialects.nn import TransferOp
from pelton.dialects.types import BufferType, ShapedValueType, TensorType, is_device
from pelton.support.errors import KnobError


@dataclass(frozen=True)
class PlaceOn(ModulePass):
    """`device` is a kind and a number: `gpu:0`."""

    name = "place-on"
    device: str = "gpu:0"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not is_device(self.device):
            raise KnobError(f"{self.name}: no such device", expected="such as gpu:0", got=self.device)
        for transfer in [o for o in op.walk() if isinstance(o, TransferOp)]:
            transfer.result.replace_all_uses_with(transfer.x)
            transfer.detach()
            transfer.erase()
        for inner in op.walk():
            for value in (*inner.results, *(a for r in inner.regions for b in r.blocks for a in b.args)):
                self._move(value)
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp):
                t = function.function_type
                inputs, outputs = ([self._moved(each) for each in types] for types in (t.inputs, t.outputs))
                function.properties["function_type"] = FunctionType.from_lists(inputs, outputs)

    def _move(self, value: SSAValue) -> None:
        value._type = self._moved(value.type)  # pyright: ignore[reportPrivateUsage]  # its users see the same value

    def _moved(self, t: Attribute) -> Attribute:
        if not isinstance(t, ShapedValueType):
            return t
        return (BufferType if isinstance(t, BufferType) else TensorType)(t.shape, t.dtype, self.device)
