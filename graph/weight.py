"""A named tensor whose bytes are given when the model is loaded: name, dtype and shape enter, an `nn.weight` stands
where it is used.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from pelton.dialects import types as ir
from pelton.dtype import DType
from pelton.graph.build import Body
from pelton.graph.device_ref import DeviceRef
from pelton.graph.dims import ShapeLike, StaticDim
from pelton.graph.types import TensorType, to_ir
from pelton.graph.value import TensorValue
from pelton.support.errors import GraphError, GraphTypeError
from pelton.support.texts import require_unicode


class Weight(TensorValue):
    """A weight, usable as a tensor in any number of graphs: `Weight("embed", DType.float32, [30522, 384],
    DeviceRef.CPU())`.

    Needs no graph to be made; a graph that uses it gets it under its name once. The session takes its contents from
    `weights_registry[name]`. `align` is the alignment in bytes that kernels may expect of the contents.

    Raises TypeError for a name that is no str, ValueError for an empty name, a size that is not static, an alignment
    that is no power of two, or a quantization encoding (quantized contents are uint8 weights).
    """

    __slots__ = ("_type", "align", "name", "quantization_encoding")

    def __init__(
        self,
        name: str,
        dtype: DType,
        shape: ShapeLike,
        device: DeviceRef,
        quantization_encoding: object = None,
        align: int | None = None,
    ) -> None:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphTypeError("Weight: name is not a str", got=repr(name))
        if not name:
            raise GraphError("Weight: name is empty", expected="the name in weights_registry")
        require_unicode("Weight: name", name)
        if quantization_encoding is not None:
            raise GraphError(
                f"Weight {name!r}: no quantization encoding is known here",
                expected="None",
                got=repr(quantization_encoding),
                remedy="declare the packed bytes as a uint8 weight",
            )
        if align is not None and (align <= 0 or align & (align - 1)):
            raise GraphError(f"Weight {name!r}: align is no power of two", got=str(align))
        given = TensorType(dtype, shape, device)
        if any(not isinstance(d, StaticDim) for d in given.shape):
            raise GraphError(
                f"Weight {name!r}: its shape is not static",
                expected="ints",
                got=str(given.shape),
                remedy="pass it as an input",
            )
        self.name = name
        self.align = align
        self.quantization_encoding = quantization_encoding
        self._type = to_ir(given)

    @property
    def ir_type(self) -> ir.TensorType:
        return self._type

    def ssa_in(self, body: Body, op: str) -> SSAValue:
        return body.declare_weight(self.name, self, self._type)

    def __repr__(self) -> str:
        return f"Weight({self.name!r}, {self.type})"
