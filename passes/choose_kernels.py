"""`choose-kernels`: which kernel computes what, why, and in which layout it wants its operands.

Before: `nn.matmul %a, %w`. After, on a CPU: the right operand packed in panels as wide as the target's register tile,
`nn.pack %w {width = 16}`, and `nn.packed_matmul`; panels of weights are packed once, by `split-init`. A GPU, where its
operands are, reads them as they are. Each op that has a hand schedule then carries its `choice`: the kernel, the
reason, what else there was and why that lost; `explain.py` collects them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern

from pelton.dialects.nn import MatmulOp, PackedMatmulOp, PackOp, SliceOp, TopKOp, TopKSelectOp, TopKSortOp
from pelton.dialects.op import NnOp, location_of
from pelton.dialects.types import DimsAttr, dtype_name, is_on_gpu
from pelton.kernels.choices import choose, mark
from pelton.kernels.products import product_candidates
from pelton.kernels.tiles import TILE
from pelton.kernels.top_k import KERNELS, SELECT, top_k_candidates
from pelton.passes import expect_option
from pelton.passes.choosing.partial_results import PRECISIONS, partial_type

CUDA = "cuda"
TARGETS = (*TILE, CUDA)


def target_of(op: NnOp, host: str) -> str:
    """What an op is compiled for, by where its first operand is."""
    return CUDA if is_on_gpu(op.operands[0]) else host


@dataclass(frozen=True)
class ChooseKernels(ModulePass):
    """`target` is what ops on the host are compiled for: a CPU target of `kernels/tiles.py`, or `cuda`, as those on a
    GPU are.

    `top-k` is the kernel that is preferred: `new` selects, `old` sorts.
    `split-k-precision` is how partial results of a long product are kept: `choosing/partial_results.py`.
    """

    name = "choose-kernels"
    target: str = "avx2"
    top_k: str = "new"
    split_k_precision: str = "accum"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expect_option(self.name, "choose-kernels has no such target", self.target, TARGETS)
        expect_option(self.name, "choose-kernels has no such top-k", self.top_k, tuple(KERNELS))
        expect_option(self.name, "choose-kernels has no such split-k-precision", self.split_k_precision, PRECISIONS)
        products = ChooseProduct(self.target, self.split_k_precision)
        PatternRewriteWalker(products, apply_recursively=False).rewrite_module(op)
        PatternRewriteWalker(ChooseTopK(self.target, self.top_k), apply_recursively=False).rewrite_module(op)


@dataclass(frozen=True)
class ChooseProduct(RewritePattern):
    """The schedule of a matmul; on a CPU its right operand in panels of the target's width."""

    target: str
    precision: str

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter, /) -> None:
        if (partial := partial_type(op, self.precision)) is not None:
            op.properties["partial"] = partial
        target = target_of(op, self.target)
        choice = choose(op.name, product_candidates(op, target), location_of(op) or "")
        if target == CUDA:
            mark(op, choice)
            return
        _, columns = TILE[target][dtype_name(op.result_type.dtype)]
        pack = PackOp.make(op.operands[1], location=op.location, width=IntegerAttr(columns, i64))
        n = DimsAttr((op.result_type.shape[-1],))
        given: dict[str, Attribute] = {"partial": partial} if partial is not None else {}
        packed = PackedMatmulOp.make(op.operands[0], pack.results[0], location=op.location, n=n, **given)
        packed.results[0].name_hint = op.results[0].name_hint
        mark(packed, choice)
        rewriter.replace(op, (pack, packed))


@dataclass(frozen=True)
class ChooseTopK(RewritePattern):
    """The schedule of a top_k; where that sorts, a slice takes the first k."""

    target: str
    preferred: str

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TopKOp, rewriter: PatternRewriter, /) -> None:
        choice = choose(
            op.name, top_k_candidates(op, target_of(op, self.target), self.preferred), location_of(op) or ""
        )
        x, count, largest = op.operands[0], op.count, op.largest_attr
        if choice.kernel == SELECT:
            taken = TopKSelectOp.make(x, location=op.location, k=op.k, largest=largest)
        else:
            taken = TopKSortOp.make(x, location=op.location, largest=largest)
        mark(taken, choice)
        made: list[Operation] = [taken]
        shape = taken.result_type.shape
        if shape[-1] != count:
            zeros, ones = DimsAttr((0,) * len(shape)), DimsAttr((1,) * len(shape))
            stops = DimsAttr((*shape[:-1], count))
            made.append(SliceOp.make(taken.results[0], location=op.location, starts=zeros, stops=stops, steps=ones))
        made[-1].results[0].name_hint = op.results[0].name_hint
        rewriter.replace(op, made)
