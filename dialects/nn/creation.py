"""Ops that make tensors from no tensor: constant, weight, iota, dim, range, shape_to_tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.builtin import BytesAttr, IntegerAttr, StringAttr, UnknownLoc, i64
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.dense import LIMIT, DenseAttr, parse_elements
from pelton.dialects.nn.shapes import axis_of, shape_text
from pelton.dialects.op import Array, Index, NnOp, Pointwise, Read, Sizes
from pelton.dialects.types import DimsAttr, TensorType, dtype_name, is_bool

if TYPE_CHECKING:
    from xdsl.builder import Builder

    from pelton.dialects.scalars import Scalars


class Declared(NnOp):
    """An op without operands whose result type is given, not inferred: `WeightOp.declare(type, key=StringAttr("w"))`."""

    result = result_def(TensorType)

    @classmethod
    def declare(cls, t: TensorType, location: Any = None, **properties: Attribute) -> Any:
        """A new op with result type `t`."""
        return cls.create(properties=properties, result_types=[t], location=location or UnknownLoc())

    def infer(self) -> Sequence[TensorType]:
        return [self.result_type]


@irdl_op_definition
class ConstantOp(Declared, Pointwise, HasCanonicalizationPatternsInterface):
    """`nn.constant [1.0, 2.0] : !nn.tensor<[2], f32>`: a small tensor inside the IR, its elements row by row; `1.0` at rank 0."""

    name = "nn.constant"
    value = prop_def(DenseAttr)
    traits = traits_def(Pure(), ConstantLike())

    @classmethod
    def of(cls, values: Sequence[Any], t: TensorType, location: Any = None) -> ConstantOp:
        """From Python numbers, row by row; `t` has known sizes."""
        shape = [d for d in t.shape if isinstance(d, int)]
        return cls.declare(t, location, value=DenseAttr.of(values, shape, t.dtype))

    @classmethod
    def scalar(cls, value: float | int | bool, dtype: Attribute, device: str = "cpu:0", location: Any = None) -> ConstantOp:
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
        """A chain of selects over the elements: lowerings put a long constant into memory instead."""
        values, dtype = self.value.values(), self.value.dtype
        found = b.constant(values[0] if values else 0, dtype)
        if len(set(map(repr, values))) > 1:
            linear = b.flatten(tuple(index), self.value.dims.data)
            for k, v in enumerate(values[1:], 1):
                found = b.select(b.compare("ge", linear, b.index(k)), b.constant(v, dtype), found)
        return found

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from pelton.dialects.nn.patterns import patterns_for

        return patterns_for(cls)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        elements = parse_elements(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        t = parser.parse_type()
        if not isinstance(t, TensorType):
            parser.raise_error(f"expected a !nn.tensor type, got {t}")
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
