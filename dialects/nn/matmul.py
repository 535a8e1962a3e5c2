"""Matrix products: `nn.matmul`, and the packed form that lowering gives its right-hand side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.nn.elementwise import mismatch_remedy
from pelton.dialects.nn.expansion import Expansion
from pelton.dialects.nn.reduce import finite
from pelton.dialects.nn.shapes import shape_text
from pelton.dialects.op import Array, Index, NnOp, Pointwise, Read, Sizes
from pelton.dialects.scalars import F32
from pelton.dialects.types import DimsAttr, TensorType, bytes_of, is_bool, is_float

if TYPE_CHECKING:
    from xdsl.builder import Builder

    from pelton.dialects.scalars import Scalars


PART = 1024
"""How much of K is one chain of sums; a longer product adds the sums of its parts in their order."""


class Product(NnOp):
    """What both forms of a matrix product share: the error bound, and half types through f32."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    partial = opt_prop_def(Attribute)
    """The half type to which the sum of each part of K is rounded; without it they are kept as they are."""
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def tolerance(self, results: Sequence[Array], sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        """A sum of k products in any order, each rounded or not: k units of the sum of the products' magnitudes."""
        from pelton.dialects.nn import reference

        a, b = inputs
        if not reference.is_float(a):
            return [0 * reference.spacing(results[0])]
        with reference.quiet():
            magnitude = self.multiply(abs(reference.wide(a)), abs(reference.wide(b)), sizes)
            error = (a.shape[-1] + 1) * reference.unit(a.dtype) * magnitude + reference.half_step(results[0])
            if self.partial is not None:
                half, parts = reference.info(reference.numpy_dtype(self.partial)), len(self._starts(a))
                error += half.eps * magnitude + parts * float(half.smallest_subnormal)
        return [finite(error)]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        from pelton.dialects.nn import reference

        with reference.quiet():
            a, b = (reference.wide(x) for x in inputs)
            y = self.multiply(a, b, sizes) if self.partial is None else self._in_parts(a, b, sizes)
        return [reference.rounded(y, self.result_type.dtype)]

    def _in_parts(self, a: Array, b: Array, sizes: Sizes) -> Array:
        """The sum of what `partial` keeps of each part."""
        from pelton.dialects.nn import reference

        assert self.partial is not None
        parts = [self.multiply(a[..., k : k + PART], b[..., k : k + PART, :], sizes) for k in self._starts(a)]
        kept = [reference.wide(reference.rounded(y, self.partial)) for y in parts]
        return sum(kept[1:], start=kept[0])

    def _starts(self, a: Array) -> range:
        return range(0, max(a.shape[-1], 1), PART)

    def expect_partial(self) -> None:
        """Partial results of f32 alone are rounded, and to a half."""
        given = self.partial
        if given is None or (is_float(given) and bytes_of(given) == 2 and self.tensor().dtype == F32):
            return
        raise VerifyException(f"'{self.name}' rounds partial results of f32 to f16 or bf16, got {given}")

    def multiply(self, a: Array, b: Array, sizes: Sizes) -> Array:
        """The product in NumPy."""
        raise TypeError(f"'{self.name}' has no NumPy meaning")


@irdl_op_definition
class MatmulOp(Product):
    """`nn.matmul %a, %b`: [..., m, k] × [..., k, n] → [..., m, n]; the leading sizes are equal, or b has none and is
    shared.
    """

    name = "nn.matmul"

    def infer(self) -> Sequence[TensorType]:
        a, b = self.tensor(0), self.tensor(1)
        if (a.dtype, a.device) != (b.dtype, b.device):
            raise VerifyException(f"'nn.matmul' expects one dtype and device, got {a} and {b}; {mismatch_remedy(a, b)}")
        if is_bool(a.dtype):
            raise VerifyException("'nn.matmul' expects numbers, got i1; convert with nn.cast")
        if a.rank < 2 or b.rank < 2 or a.shape[-1] != b.shape[-2] or b.shape[:-2] not in ((), a.shape[:-2]):
            raise VerifyException(
                f"'nn.matmul' expects [..., m, k] and [..., k, n] with equal leading sizes, or [k, n], got "
                f"{shape_text(a.shape)} and {shape_text(b.shape)}; broadcast or reshape first"
            )
        self.expect_partial()
        return [a.with_shape((*a.shape[:-1], b.shape[-1]))]

    def multiply(self, a: Array, b: Array, sizes: Sizes) -> Array:
        return a @ b

    def expand(self, builder: Builder) -> Sequence[SSAValue] | None:
        """Halves: in f32. Integers: products, then their sum. f32 and f64 have a kernel of their own."""
        a, b = self.tensor(0), self.tensor(1)
        e = Expansion(builder)
        if is_float(a.dtype):
            if bytes_of(a.dtype) > 2:
                return None
            y = e.matmul(e.cast(self.lhs, F32), e.cast(self.rhs, F32))
            return [e.cast(y, a.dtype)]
        lead, m, k, n = a.shape[:-2], a.shape[-2], a.shape[-1], b.shape[-1]
        swapped = [*range(b.rank - 2), b.rank - 1, b.rank - 2]
        columns = e.permute(self.rhs, swapped)
        space: tuple[Dim, ...] = (*lead, m, n, k)
        left = e.broadcast(e.reshape(self.lhs, (*lead, m, 1, k)), space)
        right = e.broadcast(e.reshape(columns, (*b.shape[:-2], 1, n, k)), space)
        return [e.reshape(e.sum(e.mul(left, right), len(space) - 1), (*lead, m, n))]


@irdl_op_definition
class PackOp(Pointwise):
    """`nn.pack %b {width = 16}`: [..., k, n] → [..., ⌈n / width⌉, k, width]: panels of columns, the last one filled
    with 0.

    The order in which a matmul kernel reads its right-hand side.
    """

    name = "nn.pack"
    x = operand_def(TensorType)
    width_attr = prop_def(IntegerAttr, prop_name="width")
    result = result_def(TensorType)

    @property
    def width(self) -> int:
        return self.width_attr.value.data

    def infer(self) -> Sequence[TensorType]:
        t = self.tensor()
        if t.rank < 2 or self.width < 1:
            raise VerifyException(f"'nn.pack' expects a matrix and a width of 1 or more, got {t} and {self.width}")
        k, n = t.shape[-2:]
        return [t.with_shape((*t.shape[:-2], dims.ceildiv(n, self.width), k, self.width))]

    def evaluate(self, sizes: Sizes, *inputs: Array) -> Sequence[Array]:
        import numpy as np

        x, width = inputs[0], self.width
        *lead, k, n = x.shape
        panels = -(-n // width)
        padded = np.zeros((*lead, k, panels * width), x.dtype)
        padded[..., :n] = x
        return [np.ascontiguousarray(padded.reshape(*lead, k, panels, width).swapaxes(-3, -2))]

    def element(self, b: Scalars, index: Index, read: Read) -> SSAValue:
        *lead, panel, k, lane = index
        n = self.tensor().shape[-1]
        column = b.add(b.mul(panel, b.index(self.width)), lane)
        if isinstance(n, int) and n % self.width == 0:
            return read(0, [*lead, k, column])
        inside = b.compare("lt", column, b.dim(n))
        with b.where(inside):
            value = read(0, [*lead, k, column])
        return b.select(inside, value, b.constant(0, value.type))


@irdl_op_definition
class PackedMatmulOp(Product):
    """`nn.packed_matmul %a, %packed {n = #nn.dims[n]}`: `nn.matmul` by a right-hand side that `nn.pack` has packed."""

    name = "nn.packed_matmul"
    columns_attr = prop_def(DimsAttr, prop_name="n")

    @property
    def columns(self) -> Dim:
        return self.columns_attr.data[0]

    def infer(self) -> Sequence[TensorType]:
        a, b = self.tensor(0), self.tensor(1)
        if (a.dtype, a.device) != (b.dtype, b.device) or not is_float(a.dtype) or bytes_of(a.dtype) < 4:
            raise VerifyException(f"'nn.packed_matmul' expects f32 or f64 on one device, got {a} and {b}")
        if a.rank < 2 or b.rank < 3 or len(self.columns_attr.data) != 1:
            raise VerifyException(
                f"'nn.packed_matmul' expects [..., m, k], packed [..., k, n] and one n, got {a} and {b}"
            )
        panels, k, width = b.shape[-3:]
        fits = isinstance(width, int) and dims.ceildiv(self.columns, width) == panels
        if not fits or a.shape[-1] != k or b.shape[:-3] not in ((), a.shape[:-2]):
            raise VerifyException(
                f"'nn.packed_matmul' expects the panels of [..., k, {self.columns}] for {a}, got {shape_text(b.shape)}"
            )
        self.expect_partial()
        return [a.with_shape((*a.shape[:-1], self.columns))]

    def multiply(self, a: Array, b: Array, sizes: Sizes) -> Array:
        *lead, panels, k, width = b.shape
        n = dims.evaluate(self.columns, sizes)
        return a @ b.swapaxes(-3, -2).reshape(*lead, k, panels * width)[..., :n]
