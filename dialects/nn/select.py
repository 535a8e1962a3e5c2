"""Elementwise ops that are no row of the table: cast changes the dtype, where has a condition, gelu has a variant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.nn import formulas
from pelton.dialects.nn.elementwise import Elementwise, expect_kind, mismatch_remedy
from pelton.dialects.op import Array, Index, Read, Sizes
from pelton.dialects.types import TensorType

if TYPE_CHECKING:
    from pelton.dialects.scalars import Scalars


@irdl_op_definition
class CastOp(Elementwise):
    """`nn.cast %x {dtype = f16}`: each element in another dtype.

    Floats round to nearest even. Float to integer drops the fraction, saturates, and makes 0 of NaN. Integers wrap. A
    bool becomes 0 or 1; whatever is not 0 becomes true.
    """

    name = "nn.cast"
    x = operand_def(TensorType)
    dtype = prop_def(Attribute)
    result = result_def(TensorType)

    def infer(self) -> Sequence[TensorType]:
        t = self.tensor()
        for dtype in (t.dtype, self.dtype):
            expect_kind(self, "any", dtype)
        return [t.with_dtype(self.dtype)]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        from pelton.dialects.nn import reference

        (x,), to = inputs, reference.numpy_dtype(self.dtype)
        if x.dtype == to:
            return [x]
        if not reference.is_float(x):
            wide = x if (to.kind in "iufb" and to.itemsize > 2) or to.kind in "iub" else x.astype(np.float64)
            return [reference.rounded(wide, self.dtype)]
        x = reference.wide(x)
        if to.kind == "b":
            return [x != 0]
        if to.kind not in "iu":
            return [reference.rounded(x, self.dtype)]
        limits = np.iinfo(to)
        low, high = float(limits.min), float(int(limits.max) + 1)
        with reference.quiet():
            inside = np.where((x >= low) & (x < high), np.trunc(x), 0).astype(to)
        return [np.where(x >= high, limits.max, np.where(x < low, limits.min, inside)).astype(to)]

    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        return b.cast(read(0, index), self.dtype)


@irdl_op_definition
class WhereOp(Elementwise):
    """`nn.where %condition, %x, %y`: x's element where the condition (i1) holds, else y's. Any dtype."""

    name = "nn.where"
    condition = operand_def(TensorType)
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    result = result_def(TensorType)

    def infer(self) -> Sequence[TensorType]:
        condition, x, y = (self.tensor(k) for k in range(3))
        expect_kind(self, "bool", condition.dtype)
        if x != y:
            raise VerifyException(
                f"'nn.where' expects two values of one type, got {x} and {y}; {mismatch_remedy(x, y)}"
            )
        if condition.with_dtype(x.dtype) != x:
            remedy = mismatch_remedy(condition.with_dtype(x.dtype), x)
            raise VerifyException(f"'nn.where' expects a condition like its values, got {condition} for {x}; {remedy}")
        return [x]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        return [np.where(*inputs)]

    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        return b.select(*(read(k, index) for k in range(3)))


GELUS = ("none", "tanh", "quick")
TANH_SCALE, CUBIC, QUICK = 2 * math.sqrt(2 / math.pi), 0.044715, 1.702


@irdl_op_definition
class GeluOp(Elementwise):
    """`nn.gelu %x {approximate = "none"}`: x times the normal distribution's share below x.

    none: x/2 (1 + erf(x / √2)). tanh: x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))), written as x / (1 + exp(-2 …)), in
    which nothing cancels. quick: x / (1 + exp(-1.702 x)). Hendrycks and Gimpel, arXiv:1606.08415.
    """

    name = "nn.gelu"
    x = operand_def(TensorType)
    approximate = prop_def(StringAttr, default_value=StringAttr("none"))
    result = result_def(TensorType)

    def infer(self) -> Sequence[TensorType]:
        t = self.tensor()
        expect_kind(self, "float", t.dtype)
        if self.approximate.data not in GELUS:
            raise VerifyException(
                f"'nn.gelu' expects approximate to be one of {', '.join(GELUS)}, got {self.approximate.data}"
            )
        return [t]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        from pelton.dialects.nn import reference

        x = reference.wide(inputs[0], beyond=True)
        with reference.quiet():
            match self.approximate.data:
                case "none":
                    y = x * reference.erfc(-x / np.sqrt(x.dtype.type(2))) / 2
                case _:
                    y = x * formulas.sigmoid_value(self._argument(x))
        return [reference.rounded(y, self.result_type.dtype)]

    def _argument(self, x: Array) -> Array:
        """What the logistic function is applied to."""
        return QUICK * x if self.approximate.data == "quick" else TANH_SCALE * (x + CUBIC * x * x * x)

    def tolerance(self, results: Sequence[Array], sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        """none: 1 + erf cancels below 0, so the share errs by units of 1.

        The others: exp magnifies the error of its argument.
        """
        import numpy as np

        from pelton.dialects.nn import reference

        x, y = inputs[0], results[0]
        wide, unit = np.abs(reference.wide(x)), reference.unit(x.dtype)
        with reference.quiet():
            if self.approximate.data == "none":
                error = 4 * reference.spacing(y) * (x.dtype.itemsize > 2) + 6 * unit * wide
            else:
                error = unit * np.abs(reference.wide(y)) * (12 + 4 * np.abs(self._argument(reference.wide(x))))
                error = error + 128 * float(
                    np.finfo(np.float32 if x.dtype.itemsize < 8 else np.float64).smallest_subnormal
                )
        return [np.nan_to_num(error + reference.half_step(y), nan=0.0, posinf=0.0)]

    def scalar(self, b: Scalars, *operands: SSAValue) -> SSAValue:
        (x,) = operands
        match self.approximate.data:
            case "none":
                share = b.unary("erf", b.mul(x, b.constant(math.sqrt(0.5), x.type)))
                half = b.mul(x, b.constant(0.5, x.type))
                return b.mul(half, b.add(share, b.constant(1.0, x.type)))
            case "quick":
                return formulas.sigmoid_of(b, b.mul(x, b.constant(QUICK, x.type)), x)
            case _:
                cubic = b.mul(b.mul(b.mul(x, x), x), b.constant(CUBIC, x.type))
                return formulas.sigmoid_of(b, b.mul(b.add(x, cubic), b.constant(TANH_SCALE, x.type)), x)
