"""Scalar ops that xDSL's `arith` and `math` have not, beside which they stand in kernels. Printed by `codegen/`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, VarConstraint, base, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class FmodOp(IRDLOperation):
    """`kernel.fmod %x, %y : f32`: x - trunc(x / y) * y without any rounding, with the sign of x; NaN by 0.

    Upstream this is `arith.remf`.
    """

    T: ClassVar = VarConstraint("T", base(Float32Type) | base(Float64Type))

    name = "kernel.fmod"
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])
