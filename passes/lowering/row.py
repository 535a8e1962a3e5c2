"""The loop nest of `row` groups: softmax, norms, every reduction along the last axis with what surrounds it.

One grid item is one row. Each reduction is a loop of the team over the row; values per row are computed between the
loops; the last loop stores the result. What two loops need is computed in both: rows are short of memory traffic, not
of arithmetic. The exception is an expensive value of the result's type: the first loop that computes it stores it in
the result's memory, where the later ones find it.
"""

from __future__ import annotations

from xdsl.ir import Block, Region, SSAValue

from pelton.dialects.kernel import INDEX, GridOp, LanesOp, ReduceOp, StoreOp
from pelton.dialects.kernel import YieldOp as KernelYieldOp
from pelton.dialects.op import NnOp, Pointwise, Reduction
from pelton.passes.lowering.nest import Nest

EXPENSIVE = frozenset(
    f"nn.{name}"
    for name in ("exp", "log", "log1p", "tanh", "erf", "pow", "sin", "cos", "tan", "atanh", "sigmoid", "silu", "gelu")
)  # fmt: skip


def lower_row(nest: Nest) -> None:
    """grid over the rows; per row the reductions in order, then the result."""
    ops = [op for op in nest.group.body.block.ops if isinstance(op, NnOp)]
    space = next(op.tensor().shape for op in ops if isinstance(op, Reduction))
    per_row = (*space[:-1], 1)
    kept = _kept(ops, nest) if nest.result.shape == space else None
    with nest.loop(GridOp, space[:-1]) as outer:
        for op in ops:
            result = op.results[0]
            if isinstance(op, Reduction):
                nest.bound[result] = _reduce(nest, op, outer, kept)
            elif isinstance(op, Pointwise) and op.result_type.shape == per_row != space and _ready(nest, op):
                nest.bound[result] = nest.read(result, (*outer, nest.zero))
        root = nest.root.results[0]
        if nest.result.shape == per_row:
            nest.store(
                nest.bound[root] if root in nest.bound else nest.read(root, (*outer, nest.zero)), (*outer, nest.zero)
            )
            return
        with nest.loop(LanesOp, space[-1:]) as inner:
            nest.finished = (*outer, *inner)
            nest.store(nest.read(root, nest.finished), nest.finished)


def _ready(nest: Nest, op: NnOp) -> bool:
    """Whether a per-row value can be computed before the last loop: it must not hang on what a lane alone knows."""
    return all(isinstance(v.owner, Block) or v in nest.bound or isinstance(v.owner, Pointwise) for v in op.operands)


def _reduce(nest: Nest, op: Reduction, outer: tuple[SSAValue, ...], kept: SSAValue | None) -> SSAValue:
    """One team reduction over the row; on the way it stores `kept` if it is the first to compute it."""
    wide = op.accumulator
    block = Block(arg_types=[INDEX])
    block.args[0].name_hint = "j"
    index = (*outer, block.args[0])
    with nest.inside(block):
        item = nest.read(op.operands[0], index)
        if kept is not None and kept not in nest.stored and kept in _needs(op.operands[0]):
            nest.b.builder.insert(StoreOp(nest.read(kept, index), nest.output(nest.result.shape), index))
            store_now = True
        else:
            store_now = False
        nest.b.builder.insert(KernelYieldOp(nest.b.cast(item, wide)))
    if store_now and kept is not None:
        nest.stored.add(kept)
    bound = nest.b.dim(op.tensor().shape[-1])
    reduce = nest.b.builder.insert(ReduceOp([op.kind], [bound], [wide], Region(block)))
    reduce.values[0].name_hint = op.name.removeprefix("nn.")
    return nest.b.cast(reduce.values[0], op.result_type.dtype)


def _kept(ops: list[NnOp], nest: Nest) -> SSAValue | None:
    """The value worth keeping: expensive, of the result's type, needed by more than one loop; the last such one."""
    loops = [_needs(op.operands[0]) for op in ops if isinstance(op, Reduction)] + [_needs(nest.root.results[0])]
    for op in reversed(ops):
        value = op.results[0]
        expensive = any(v.owner.name in EXPENSIVE for v in _needs(value) if isinstance(v.owner, NnOp))
        fits = value.type == nest.result and value is not nest.root.results[0]
        if fits and expensive and sum(value in loop for loop in loops) > 1:
            return value
    return None


def _needs(value: SSAValue) -> set[SSAValue]:
    """All values a lane computes for `value` in one loop; what a reduction gave is there already."""
    found: set[SSAValue] = set()
    todo = [value]
    while todo:
        v = todo.pop()
        if v not in found and isinstance(v.owner, Pointwise):
            found.add(v)
            todo.extend(v.owner.operands)
    return found
