"""Normalisations, in terms of primitive ops: softmax, logsoftmax, layer_norm, rms_norm. f16 and bf16 are computed in
f32 throughout.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import BoolAttr, FloatAttr, IntegerAttr, f64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.nn.elementwise import expect_kind
from pelton.dialects.nn.expansion import Expansion
from pelton.dialects.nn.reduce import accumulator_of, chain, finite
from pelton.dialects.nn.statistics import AlongAxis
from pelton.dialects.op import Array, NnOp, Sizes
from pelton.dialects.types import TensorType


class Softmaxes(AlongAxis):
    """What softmax and its logarithm share. A row with +inf or NaN, or of -inf only, is NaN."""

    def infer(self) -> Sequence[TensorType]:
        t = self.tensor()
        expect_kind(self, "float", t.dtype)
        return [t] if self.axis_index >= 0 else []

    def roundings(self, x: Array) -> int:
        """How many roundings stand behind the sum of exponentials."""
        return chain(x.shape[self.axis_index], self.axis_index == x.ndim - 1)

    def shifted(self, e: Expansion) -> SSAValue:
        """x less its largest element, so that nothing overflows."""
        x = e.cast(self.x, accumulator_of(self.tensor().dtype))
        return e.sub(x, e.reduce("max", x, self.axis_index))


@irdl_op_definition
class SoftmaxOp(Softmaxes):
    """`nn.softmax %x {axis = 1}`: exp(x - max x) / Σ exp(x - max x) along an axis."""

    name = "nn.softmax"

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        from pelton.dialects.nn import reference

        x = reference.wide(inputs[0], beyond=True)
        with reference.quiet():
            y = np.exp(x - x.max(self.axis_index, keepdims=True, initial=-np.inf))
            y = y / y.sum(self.axis_index, keepdims=True)
        return [reference.rounded(y, self.result_type.dtype)]

    def tolerance(self, results: Sequence[Array], sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        """Relative: the difference's rounding times its size, two exponentials' errors, the sum's and the division's
        roundings.
        """
        import numpy as np

        from pelton.dialects.nn import reference

        x, y, axis = reference.wide(inputs[0]), reference.wide(results[0]), self.axis_index
        unit = reference.unit(inputs[0].dtype)
        with reference.quiet():
            distance = abs(x - x.max(axis, keepdims=True, initial=-float("inf")))
            spread = np.where(y > 0, y * distance, 0).sum(axis, keepdims=True)
            error = unit * y * (12 + self.roundings(x) + distance + spread)
        return [finite(error + reference.spacing(results[0]))]

    def expand(self, builder: Builder) -> Sequence[SSAValue] | None:
        e = Expansion(builder)
        powers = e.op("exp", self.shifted(e))
        return [e.cast(e.div(powers, e.sum(powers, self.axis_index)), self.tensor().dtype)]


@irdl_op_definition
class LogsoftmaxOp(Softmaxes):
    """`nn.logsoftmax %x {axis = 1}`: x - max x - log Σ exp(x - max x) along an axis."""

    name = "nn.logsoftmax"

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        from pelton.dialects.nn import reference

        x = reference.wide(inputs[0], beyond=True)
        with reference.quiet():
            shifted = x - x.max(self.axis_index, keepdims=True, initial=-np.inf)
            y = shifted - np.log(np.exp(shifted).sum(self.axis_index, keepdims=True))
        return [reference.rounded(y, self.result_type.dtype)]

    def tolerance(self, results: Sequence[Array], sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        """The difference's rounding, and the relative error of the sum of exponentials, which is its logarithm's
        absolute error.
        """
        import numpy as np

        from pelton.dialects.nn import reference

        x, y, axis = reference.wide(inputs[0]), reference.wide(results[0]), self.axis_index
        unit = reference.unit(inputs[0].dtype)
        with reference.quiet():
            distance = abs(x - x.max(axis, keepdims=True, initial=-np.inf))
            shares = np.exp(y)
            spread = np.where(shares > 0, shares * distance, 0).sum(axis, keepdims=True)
            logarithm = abs(y + distance)
            error = unit * (distance + 8 + self.roundings(x) + spread + 4 * logarithm)
        return [finite(error + reference.spacing(results[0]))]

    def expand(self, builder: Builder) -> Sequence[SSAValue] | None:
        e = Expansion(builder)
        shifted = self.shifted(e)
        total = e.sum(e.op("exp", shifted), self.axis_index)
        return [e.cast(e.sub(shifted, e.op("log", total)), self.tensor().dtype)]


class RowNorm(NnOp):
    """A normalisation along the last axis, with a vector of weights of its size."""

    epsilon = prop_def(FloatAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def infer(self) -> Sequence[TensorType]:
        t = self.tensor()
        expect_kind(self, "float", t.dtype)
        if t.rank < 1:
            raise VerifyException(f"'{self.name}' expects at least one axis, got {t}")
        for k in range(1, len(self.operands)):
            if self.tensor(k) != t.with_shape(t.shape[-1:]):
                raise VerifyException(
                    f"'{self.name}' expects weights of {t.with_shape(t.shape[-1:])}, got {self.tensor(k)}"
                )
        return [t]

    @property
    def last(self) -> int:
        return self.tensor().rank - 1

    def mean(self, e: Expansion, x: SSAValue) -> SSAValue:
        """The mean of each row."""
        total = e.sum(x, self.last)
        return e.div(total, e.size(self.tensor().shape[-1], total))

    def scale(self, e: Expansion, square: SSAValue) -> SSAValue:
        """1 / √(mean of squares + epsilon) of each row."""
        mean = self.mean(e, square)
        return e.op("rsqrt", e.add(mean, e.like(self.epsilon.value.data, mean)))


@irdl_op_definition
class LayerNormOp(RowNorm):
    """`nn.layer_norm %x, %gamma, %beta {epsilon = 1e-5}`: (x - mean) / √(variance + epsilon) * gamma + beta along the
    last axis.
    """

    name = "nn.layer_norm"
    input = operand_def(TensorType)
    gamma = operand_def(TensorType)
    beta = operand_def(TensorType)

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        from pelton.dialects.nn import reference

        x, gamma, beta = (reference.wide(v, beyond=True) for v in inputs)
        count = x.dtype.type(x.shape[-1])
        with reference.quiet():
            centred = x - x.sum(-1, keepdims=True) / count
            variance = (centred * centred).sum(-1, keepdims=True) / count
            y = centred / np.sqrt(variance + x.dtype.type(self.epsilon.value.data)) * gamma + beta
        return [reference.rounded(y, self.result_type.dtype)]

    def tolerance(self, results: Sequence[Array], sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        """Centring errs by units of the row's magnitude; that error, the variance's and the last roundings reach the
        result scaled.
        """
        import numpy as np

        from pelton.dialects.nn import reference

        x, gamma, beta = (reference.wide(v) for v in inputs)
        unit, roundings = reference.unit(inputs[0].dtype), chain(x.shape[-1], last=True)
        count = max(x.shape[-1], 1)
        with reference.quiet():
            magnitude = abs(x).sum(-1, keepdims=True) / count
            centred = x - x.sum(-1, keepdims=True) / count
            scale = 1 / np.sqrt((centred * centred).sum(-1, keepdims=True) / count + self.epsilon.value.data)
            shift = unit * (abs(x) + (roundings + 3) * magnitude)
            normal = abs(centred) * scale
            error = scale * shift + normal * (unit * (roundings + 12) + scale * unit * (roundings + 4) * magnitude)
            error = abs(gamma) * error + unit * (2 * abs(gamma) * normal + abs(beta))
        return [finite(error + reference.spacing(results[0]))]

    def expand(self, builder: Builder) -> Sequence[SSAValue] | None:
        e, dtype = Expansion(builder), self.tensor().dtype
        x, gamma, beta = (e.cast(v, accumulator_of(dtype)) for v in self.operands)
        centred = e.sub(x, self.mean(e, x))
        normal = e.mul(centred, self.scale(e, e.mul(centred, centred)))
        return [e.cast(e.add(e.mul(normal, gamma), beta), dtype)]


@irdl_op_definition
class RmsNormOp(RowNorm):
    """`nn.rms_norm %x, %weight {epsilon = 1e-6}`: x / √(mean of x² + epsilon) * (weight + weight_offset) along the last
    axis.

    f16 and bf16: with `multiply_before_cast` the weight multiplies in f32, else the normalised row is rounded first (as
    Llama does).
    """

    name = "nn.rms_norm"
    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    weight_offset = prop_def(FloatAttr, default_value=FloatAttr(0.0, f64))
    multiply_before_cast = prop_def(IntegerAttr, default_value=BoolAttr.from_bool(False))

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        from pelton.dialects.nn import reference

        dtype = self.result_type.dtype
        x, weight = (reference.wide(v, beyond=True) for v in inputs)
        kind = x.dtype.type
        with reference.quiet():
            mean = (x * x).sum(-1, keepdims=True) / kind(x.shape[-1])
            normal = x / np.sqrt(mean + kind(self.epsilon.value.data))
            weight = weight + kind(self.weight_offset.value.data)
            if self._rounds_first():
                normal, weight = (reference.wide(reference.rounded(v, dtype)) for v in (normal, weight))
            return [reference.rounded(normal * weight, dtype)]

    def _rounds_first(self) -> bool:
        """Whether the normalised row is rounded to the result's dtype before the weight multiplies it."""
        dtype = self.tensor().dtype
        return accumulator_of(dtype) != dtype and not self.multiply_before_cast.value.data

    def tolerance(self, results: Sequence[Array], sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        """Relative: the mean's roundings and those after it; where the row is rounded first, a step there as well."""
        from pelton.dialects.nn import reference

        unit, y = reference.unit(inputs[0].dtype), results[0]
        steps = 4 if self._rounds_first() else 1
        with reference.quiet():
            error = unit * (chain(inputs[0].shape[-1], last=True) + 12) * abs(reference.wide(y))
        return [finite(error + steps * reference.spacing(y))]

    def expand(self, builder: Builder) -> Sequence[SSAValue] | None:
        e, dtype = Expansion(builder), self.tensor().dtype
        x, weight = (e.cast(v, accumulator_of(dtype)) for v in (self.input, self.weight))
        normal = e.mul(x, self.scale(e, e.mul(x, x)))
        if self.weight_offset.value.data:
            weight = e.add(weight, e.like(self.weight_offset.value.data, weight))
        if self._rounds_first():
            normal, weight = e.cast(normal, dtype), e.cast(weight, dtype)
        return [e.cast(e.mul(normal, weight), dtype)]
