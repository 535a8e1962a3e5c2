"""Ops that say something and compute nothing: `nn.assert` and `nn.trace`.

They have an effect and no result, so nothing removes or merges them, and they keep their order. What is compiled of
them is decided by `apply-assert-level` and `apply-log-level`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, traits_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.checks import Checked, Failure
from pelton.dialects.effects import DeclaredEffects, Effects
from pelton.dialects.kernel.checks import MOST_VALUES
from pelton.dialects.op import Array, Canonical, NnOp, Sizes
from pelton.dialects.types import TensorType, is_bool
from pelton.support.levels import LOGGING

LEVELS = (*LOGGING, "print")
"""Of messages. `print` is above all others and goes to the standard output; the others are records of Python's
`logging`.
"""


SEEN = Effects(ordered=True)


@irdl_op_definition
class AssertOp(Checked, Canonical):
    """`nn.assert %ok, %x {message = "x is positive"} : (T, U) -> ()`: every element of the condition has to be true.

    Up to 8 further values, of the condition's shape, are shown at the first element that is not. What comes later in
    the program runs only where the condition holds. One that is known to hold disappears; one that is known not to
    fails when it runs, as any other does. `checks = "report"` logs a warning, once per run, in the place of an error.
    """

    name = "nn.assert"
    condition = operand_def(TensorType)
    values = var_operand_def(TensorType)
    message = prop_def(StringAttr)
    traits = traits_def(DeclaredEffects())

    @property
    def text(self) -> str:
        return self.message.data

    @property
    def recorded(self) -> Sequence[Attribute]:
        shown = self.operands[1:] or self.operands
        return [v.type.dtype for v in shown if isinstance(v.type, TensorType)]

    def infer(self) -> Sequence[TensorType]:
        condition = self.tensor()
        if not is_bool(condition.dtype):
            raise VerifyException(f"'nn.assert' expects a condition of i1, got {condition}; compare first")
        if len(self.operands) > 1 + MOST_VALUES:
            raise VerifyException(f"'nn.assert' shows at most {MOST_VALUES} values, got {len(self.operands) - 1}")
        for k in range(1, len(self.operands)):
            if self.tensor(k).shape != condition.shape or self.tensor(k).device != condition.device:
                raise VerifyException(
                    f"'nn.assert' shows values of its condition's shape and device, {condition}, got {self.tensor(k)}; "
                    "broadcast or trace it"
                )
        return []

    def effects(self) -> Effects:
        return SEEN

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        return []

    def failure(self, sizes: Sizes, *inputs: Array) -> Failure | None:
        import numpy as np

        condition = inputs[0].reshape(-1)
        if condition.all():
            return None
        first = int(np.argmin(condition))
        return Failure(first, tuple(x.reshape(-1)[first] for x in inputs[1:] or inputs))

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return None


@irdl_op_definition
class TraceOp(NnOp):
    """`nn.trace %x, %y {level = "info", message = "scores"} : (T, U) -> ()`: say so when the run comes here, with the
    values that the tensors have then.
    """

    name = "nn.trace"
    values = var_operand_def(TensorType)
    level = prop_def(StringAttr)
    message = prop_def(StringAttr)
    traits = traits_def(DeclaredEffects())
    FOLDS: ClassVar[bool] = False

    def infer(self) -> Sequence[TensorType]:
        if self.level.data not in LEVELS:
            raise VerifyException(f"'nn.trace' expects a level out of {', '.join(LEVELS)}, got {self.level.data}")
        return []

    def effects(self) -> Effects:
        return SEEN

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        return []
