"""Elementwise ops of one operand and of two: a table of rows, a class per row.

Operands have equal shapes and dtypes; broadcasting is an op of its own (`nn.broadcast_to`), which the graph API
inserts. f16 and bf16 are computed in f32 and rounded once per op, so that fusing ops into one kernel never changes
bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.op import Array, Canonical, Index, NnOp, Pointwise, Read, Sizes
from pelton.dialects.types import TensorType, bytes_of, is_bool, is_float, is_int

if TYPE_CHECKING:
    from pelton.dialects.scalars import Scalars

CLOSE: Mapping[str, float] = {"f32": 2, "f64": 4, "f16": 1, "bf16": 1}
"""Functions that no machine instruction computes.

A half is computed in f32, so it can only fall to the other side of a tie.
"""


KINDS: Mapping[str, tuple[Callable[[Attribute], bool], str]] = {
    "float": (is_float, "f16, bf16, f32 or f64"),
    "number": (lambda t: is_float(t) or is_int(t), "a float or an integer"),
    "bits": (lambda t: is_bool(t) or is_int(t), "an integer or i1"),
    "bool": (is_bool, "i1"),
    "any": (lambda t: is_float(t) or is_bool(t) or is_int(t), "a float, an integer or i1"),
}
"""What dtypes a row takes: the test and its words."""


@dataclass(frozen=True)
class Row:
    """One op.

    `code` makes one element from widened scalars, `value` the same from NumPy arrays in float64 or wider. Without `ulp`
    both give the same bits; `subnormals` allows an error of that many smallest numbers where an intermediate result
    underflows.
    """

    name: str
    meaning: str
    kind: str
    code: Callable[..., SSAValue]
    value: Callable[..., Any]
    ulp: Mapping[str, float] = field(default_factory=dict[str, float])
    subnormals: int = 0
    gives_bool: bool = False
    commutes: bool = False


class Elementwise(Pointwise, Canonical):
    """Each result element is a function of the operands' elements at the same index."""

    def infer(self) -> Sequence[TensorType]:
        first = self.tensor(0)
        for k in range(1, len(self.operands)):
            if (other := self.tensor(k)) != first:
                remedy = mismatch_remedy(first, other)
                raise VerifyException(f"'{self.name}' expects operands of one type, got {first} and {other}; {remedy}")
        return [first]

    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        wide = [b.widen(read(k, index)) for k in range(len(self.operands))]
        return b.cast(self.scalar(b, *wide), self.result_type.dtype)

    def scalar(self, b: Scalars, *operands: SSAValue) -> SSAValue:
        """The element from the operands' elements, halves widened to f32; `element` rounds it to the result's dtype."""
        raise TypeError(f"'{self.name}' has an element of its own")


def mismatch_remedy(x: TensorType, y: TensorType) -> str:
    """How to make two tensors of different types fit."""
    if x.device != y.device:
        return "move one to the other's device"
    return "broadcast with nn.broadcast_to" if x.dtype == y.dtype else "convert with nn.cast"


def expect_kind(op: NnOp, kind: str, dtype: Attribute) -> None:
    """Raises unless `dtype` is of that kind."""
    test, words = KINDS[kind]
    if not test(dtype):
        remedy = {"float": "; convert with nn.cast", "bool": "; compare with nn.not_equal"}.get(kind, "")
        raise VerifyException(f"'{op.name}' expects elements of {words}, got {dtype}{remedy}")


class RowOp(Elementwise):
    """An op that a row of the table describes."""

    ROW: ClassVar[Row]
    result = result_def(TensorType)

    def infer(self) -> Sequence[TensorType]:
        (same,) = super().infer()
        expect_kind(self, self.ROW.kind, same.dtype)
        return [same.with_dtype(i1)] if self.ROW.gives_bool else [same]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        from pelton.dialects.nn import reference

        with reference.quiet():  # what is exact in float64 would be rounded twice through a wider type
            y = self.ROW.value(*(reference.wide(x, beyond=bool(self.ROW.ulp)) for x in inputs))
        return [reference.rounded(y, self.result_type.dtype)]

    def tolerance(self, results: Sequence[Array], sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        (steps,) = super().tolerance(results, sizes, *inputs)
        if not self.ROW.subnormals or bytes_of(self.result_type.dtype) < 4:  # a half's underflow is no f32's
            return [steps]
        from pelton.dialects.nn.reference import info

        return [steps + self.ROW.subnormals * float(info(results[0].dtype).smallest_subnormal)]

    def scalar(self, b: Scalars, *operands: SSAValue) -> SSAValue:
        return self.ROW.code(b, *operands)


class Unary(RowOp):
    """An elementwise op of one operand."""

    x = operand_def(TensorType)


class Binary(RowOp):
    """An elementwise op of two operands."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)


def op_of(base: type[RowOp], row: Row) -> type[RowOp]:
    """The op class of a row."""
    title = "".join(part.capitalize() for part in row.name.split("_"))
    doc = f"`nn.{row.name}`: {row.meaning}. Takes {KINDS[row.kind][1]}" + ("; gives i1." if row.gives_bool else ".")
    fields: dict[str, Any] = {
        "name": f"nn.{row.name}",
        "__doc__": doc,
        "__module__": __name__,
        "ROW": row,
        "ULP": row.ulp,
    }
    fields["__annotations__"] = {"ROW": ClassVar[Row], "ULP": ClassVar[Mapping[str, float]]}
    return irdl_op_definition(type(f"{title}Op", (base,), fields))
