"""Ops that make tensors from no tensor: constant, weight, iota, dim, range, shape_to_tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.builtin import BytesAttr, IntegerAttr, StringAttr, UnknownLoc, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.dense import LIMIT, DenseAttr, parse_elements
from pelton.dialects.nn.elementwise import expect_kind
from pelton.dialects.nn.expansion import Expansion
from pelton.dialects.nn.shapes import shape_text
from pelton.dialects.op import Array, Canonical, Index, NnOp, Pointwise, Read, Sizes
from pelton.dialects.scalars import F64
from pelton.dialects.types import DimsAttr, TensorType, is_float

if TYPE_CHECKING:
    from xdsl.builder import Builder

    from pelton.dialects.scalars import Scalars


class Declared(NnOp):
    """An op without operands whose result type is given, not inferred: `WeightOp.declare(t, key=StringAttr("w"))`."""

    result = result_def(TensorType)

    @classmethod
    def declare(cls, t: TensorType, location: Any = None, **properties: Attribute) -> Any:
        """A new op with result type `t`."""
        return cls.create(properties=properties, result_types=[t], location=location or UnknownLoc())

    def infer(self) -> Sequence[TensorType]:
        return [self.result_type]


@irdl_op_definition
class ConstantOp(Declared, Pointwise, Canonical):
    """`nn.constant [1.0, 2.0] : !nn.tensor<[2], f32>`: a small tensor inside the IR, its elements row by row; `1.0` at
    rank 0.
    """

    name = "nn.constant"
    value = prop_def(DenseAttr)
    traits = traits_def(Pure(), ConstantLike())

    @classmethod
    def of(cls, values: Sequence[Any], t: TensorType, location: Any = None) -> ConstantOp:
        """From Python numbers, row by row; `t` has known sizes."""
        shape = [d for d in t.shape if isinstance(d, int)]
        return cls.declare(t, location, value=DenseAttr.of(values, shape, t.dtype))

    @classmethod
    def scalar(
        cls, value: float | int | bool, dtype: Attribute, device: str = "cpu:0", location: Any = None
    ) -> ConstantOp:
        """A constant of rank 0."""
        return cls.of([value], TensorType((), dtype, device), location)

    def infer(self) -> Sequence[TensorType]:
        t = self.result_type
        if (t.dims, t.dtype) != (self.value.dims, self.value.dtype):
            got = f"{shape_text(self.value.dims.data)} of {self.value.dtype}"
            raise VerifyException(f"'nn.constant' expects elements for {t}, got {got}")
        if len(self.value.data.data) > LIMIT:
            raise VerifyException(
                f"'nn.constant' expects at most {LIMIT} bytes, got {len(self.value.data.data)}; make it an nn.weight"
            )
        return [t]

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return [self.value]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        return [self.value.array()]

    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        """A chain of selects, one where the elements change: for constants of few elements."""
        values, dtype = self.value.values(), self.value.dtype
        found = b.constant(values[0] if values else 0, dtype)
        changes = [k for k in range(1, len(values)) if repr(values[k]) != repr(values[k - 1])]
        linear = b.flatten(tuple(index), self.value.dims.data) if changes else b.index(0)
        for k in changes:
            found = b.select(b.compare("ge", linear, b.index(k)), b.constant(values[k], dtype), found)
        return found

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        elements = parse_elements(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start, t = parser.pos, parser.parse_type()
        if not isinstance(t, TensorType):
            parser.raise_error(f"expected a !nn.tensor type, got {t}", start, parser.pos)
        value = DenseAttr.new([t.dims, t.dtype, BytesAttr(b"".join(elements.packed(t.dtype, parser)))])
        return cls.create(properties={"value": value}, attributes=attributes, result_types=[t])

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.value.elements_text()}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result_type)


class Materialize(ConstantMaterializationInterface):
    """How a folded value becomes an op."""

    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation | None:
        if isinstance(value, DenseAttr) and isinstance(type, TensorType):
            return ConstantOp.declare(type, value=value)
        return None


@irdl_op_definition
class WeightOp(Declared):
    """`nn.weight {key = "w"}`: a tensor whose bytes stand beside the IR, under that name."""

    name = "nn.weight"
    key = prop_def(StringAttr)
    traits = traits_def(Pure())

    def infer(self) -> Sequence[TensorType]:
        if not all(isinstance(d, int) for d in self.result_type.shape):
            raise VerifyException(f"'nn.weight' expects known sizes, got {self.result_type}")
        return [self.result_type]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        raise TypeError(f"the weight {self.key.data!r} has its value in the weights registry")


@irdl_op_definition
class IotaOp(Declared, Pointwise):
    """`nn.iota {axis = 1} : !nn.tensor<[n, m], i64>`: each element is its own index along the axis."""

    name = "nn.iota"
    axis = prop_def(IntegerAttr)
    traits = traits_def(Pure())

    @property
    def axis_index(self) -> int:
        rank = self.result_type.rank
        if not 0 <= self.axis.value.data < rank:
            raise VerifyException(
                f"'nn.iota' expects an axis from 0 to {rank - 1} for {self.result_type}, got {self.axis.value.data}"
            )
        return self.axis.value.data

    def infer(self) -> Sequence[TensorType]:
        expect_kind(self, "number", self.result_type.dtype)
        return [self.result_type] if self.axis_index >= 0 else []

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        from pelton.dialects.nn import reference

        shape, axis = reference.shape_of(self.result_type, sizes), self.axis_index
        along = np.arange(shape[axis]).reshape([-1 if k == axis else 1 for k in range(len(shape))])
        return [np.broadcast_to(reference.rounded(along, self.result_type.dtype), shape).copy()]

    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        return b.cast(index[self.axis_index], self.result_type.dtype)


@irdl_op_definition
class DimOp(Declared, Pointwise):
    """`nn.dim {value = #nn.dims[batch*seq]} : !nn.tensor<[], i64>`: a size as a number; `make` gives it on the host."""

    name = "nn.dim"
    value = prop_def(DimsAttr)

    def infer(self) -> Sequence[TensorType]:
        if len(self.value.data) != 1:
            raise VerifyException(f"'nn.dim' expects one size, got {shape_text(self.value.data)}")
        return [TensorType((), i64, self.result_type.device.data)]

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        (size,) = self.value.data
        return [DenseAttr.of([size], (), i64)] if isinstance(size, int) else None

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        from pelton.dialects.nn import reference

        return [np.asarray(reference.sizes_of(self.value.data, sizes)[0], np.int64)]

    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        return b.cast(b.dim(self.value.data[0]), i64)


@irdl_op_definition
class RangeOp(Pointwise):
    """`nn.range %start, %step {length = #nn.dims[n]}`: start + i * step for i below the length; start and step have
    rank 0.

    Floats are computed in float64 and rounded once; integers wrap.
    """

    name = "nn.range"
    FOLDS: ClassVar[bool] = False
    start = operand_def(TensorType)
    step = operand_def(TensorType)
    length = prop_def(DimsAttr)
    result = result_def(TensorType)

    def infer(self) -> Sequence[TensorType]:
        start, step = self.tensor(0), self.tensor(1)
        if start != step or start.rank:
            raise VerifyException(
                f"'nn.range' expects a start and a step of one type and rank 0, got {start} and {step}"
            )
        expect_kind(self, "number", start.dtype)
        if len(self.length.data) != 1:
            raise VerifyException(f"'nn.range' expects one length, got {shape_text(self.length.data)}")
        return [start.with_shape(self.length.data)]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        from pelton.dialects.nn import reference

        start, step = (reference.wide(x) for x in inputs)
        count = np.arange(reference.shape_of(self.result_type, sizes)[0]).astype(start.dtype)
        with reference.quiet():
            return [reference.rounded(start + count * step, self.result_type.dtype)]

    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        dtype = self.result_type.dtype
        wide = F64 if is_float(dtype) else dtype
        start, step = (b.cast(read(k, ()), wide) for k in (0, 1))
        return b.cast(b.add(start, b.mul(b.cast(index[0], wide), step)), dtype)


@irdl_op_definition
class ShapeToTensorOp(NnOp):
    """`nn.shape_to_tensor {shape = #nn.dims[batch, 4]} : !nn.tensor<[2], i64>`: sizes as a vector of numbers, on the
    host.
    """

    name = "nn.shape_to_tensor"
    shape = prop_def(DimsAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def infer(self) -> Sequence[TensorType]:
        return [TensorType((len(self.shape.data),), i64)]

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        sizes = [d for d in self.shape.data if isinstance(d, int)]
        if len(sizes) < len(self.shape.data) or 8 * len(sizes) > LIMIT:
            return None
        return [DenseAttr.of(sizes, (len(sizes),), i64)]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        from pelton.dialects.nn import reference

        return [np.asarray(reference.sizes_of(self.shape.data, sizes), np.int64)]

    def expand(self, builder: Builder) -> Sequence[SSAValue] | None:
        e = Expansion(builder)
        if not self.shape.data:
            return [builder.insert(ConstantOp.of([], self.result_type)).results[0]]
        sizes = [e.reshape(e.op("dim", value=DimsAttr((d,))), (1,)) for d in self.shape.data]
        return [e.op("concat", *sizes, axis=IntegerAttr(0, i64))]
