"""Split-K, the part of `choose-kernels` that cuts a long matrix product into parts that run side by side.

Before: `nn.matmul %a, %b` of a long K and few columns, which is one grid item per block of rows. After: K in parts of
`PART`, a product of a batch (an item per part and block), and the sum of the partial results over the parts in their
order; what K leaves over is a product of its own, which is added last.

Whether and where K is cut depends on K and N alone, both known, and never on the rows or the target: a row has the
same bits alone and in a batch, on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from pelton.dialects.dims import Dim, product
from pelton.dialects.nn import CastOp, MatmulOp
from pelton.dialects.nn.expansion import Expansion, type_of
from pelton.dialects.types import DimsAttr, bytes_of
from pelton.kernels.products import PART, why_whole

PRECISIONS = ("accum", "output")
"""`accum` keeps partial results as they are computed, `output` rounds each to the type of the user's result."""


@dataclass(frozen=True)
class SplitProduct(RewritePattern):
    """Cuts what `why_whole` has nothing against."""

    precision: str

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter, /) -> None:
        if op.split is not None or why_whole(op):
            return
        before, block = op.prev_op, op.parent
        result = self._parts(op, Builder(InsertPoint.before(op)))
        new = before.next_op if before is not None else block.first_op if block is not None else None
        while new is not None and new is not op:
            new.location = op.location
            new = new.next_op
        result.name_hint = op.results[0].name_hint
        rewriter.replace(op, (), [result])

    def _parts(self, op: MatmulOp, builder: Builder) -> SSAValue:
        e, (a, b) = Expansion(builder), op.operands
        *lead, depth = op.tensor(0).shape
        columns = op.result_type.shape[-1]
        assert isinstance(depth, int)
        rows, count = product(lead), depth // PART
        whole = count * PART
        narrow = narrow_type(op)
        flat = e.reshape(a, (rows, depth))
        left = e.permute(e.reshape(_columns(e, flat, 0, whole), (rows, count, PART)), (1, 0, 2))
        right = e.reshape(_rows(e, b, 0, whole), (count, PART, columns))
        total = e.reshape(e.sum(self._product(e, left, right, narrow), 0), (rows, columns))
        if whole < depth:
            rest = self._product(e, _columns(e, flat, whole, depth), _rows(e, b, whole, depth), narrow)
            total = e.add(total, rest)
        return e.reshape(total, op.result_type.shape)

    def _product(self, e: Expansion, a: SSAValue, b: SSAValue, narrow: Attribute | None) -> SSAValue:
        y = e.op("matmul", a, b, split=StringAttr(self.precision))
        if narrow is None or self.precision == "accum":
            return y
        return e.cast(e.cast(y, narrow), type_of(y).dtype)


def narrow_type(op: MatmulOp) -> Attribute | None:
    """The half type of the user's product, of which `op` is the form in f32; None where that is the user's."""
    operands = [v.owner.tensor().dtype for v in op.operands if isinstance(v.owner, CastOp)]
    users = [use.operation for use in op.results[0].uses]
    kinds = {user.result_type.dtype if isinstance(user, CastOp) else None for user in users}
    kind = kinds.pop() if len(kinds) == 1 else None
    return kind if kind is not None and kind in operands and bytes_of(kind) < 4 else None


def _columns(e: Expansion, x: SSAValue, start: int, stop: int) -> SSAValue:
    return _slice(e, x, (0, start), (type_of(x).shape[0], stop))


def _rows(e: Expansion, x: SSAValue, start: int, stop: int) -> SSAValue:
    return _slice(e, x, (start, 0), (stop, type_of(x).shape[1]))


def _slice(e: Expansion, x: SSAValue, starts: tuple[Dim, ...], stops: tuple[Dim, ...]) -> SSAValue:
    if starts == (0, 0) and stops == type_of(x).shape:
        return x
    return e.op("slice", x, starts=DimsAttr(starts), stops=DimsAttr(stops), steps=DimsAttr((1, 1)))
