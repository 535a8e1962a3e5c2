"""Which values are the same in all lanes of a team, and how the others move from lane to lane.

Enters: a kernel function and the indices that run over lanes (a CPU: the last index of a loop; a GPU: all of them).
Leaves: a step per value, for the printers:

| step | meaning |
|---|---|
| `0` | uniform: the same in all lanes |
| another number | an index that grows by it from lane to lane; its value in lane 0 says all |
| `None` | anything else that differs from lane to lane |

A value carried by `scf.for` starts from its initial step and falls to `None` when the loop changes it: a fixpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from pelton.dialects.kernel.loops import CallOp, DimOp, FuncOp, LanesOp, Loop, ReduceOp
from pelton.dialects.kernel.memory import LoadOp, StoreOp
from pelton.dialects.kernel.types import BufType
from pelton.dialects.types import bytes_of, is_int, is_unsigned

Step: TypeAlias = int | None


def constant_of(value: SSAValue) -> int | None:
    """The number an `arith.constant` of an integer type gives, if `value` is one."""
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def is_index(t: Attribute) -> bool:
    """`index` or `i64`: wide enough that lane 0 and a step say all lanes, wrapping included."""
    return isinstance(t, IndexType) or (is_int(t) and bytes_of(t) == 8 and not is_unsigned(t))


def buffer_type(value: SSAValue) -> BufType:
    """The type of a buffer."""
    assert isinstance(value.type, BufType)
    return value.type


def yielded(block: Block) -> Sequence[SSAValue]:
    """What a block of `scf` hands to its op."""
    return last.operands if isinstance(last := block.last_op, scf.YieldOp) else ()


class Steps:
    """The steps of all values of one function; `lane_args` picks the indices of a loop that run over lanes."""

    def __init__(self, func: FuncOp, lane_args: Callable[[Sequence[BlockArgument]], Sequence[BlockArgument]]) -> None:
        self._steps: dict[SSAValue, Step] = {}
        self._lane_args = lane_args
        self._divergent = 0
        self._block(func.body.block)

    def __getitem__(self, value: SSAValue) -> Step:
        return self._steps.get(value, 0)

    def is_varying(self, value: SSAValue) -> bool:
        """Whether `value` may differ from lane to lane."""
        return self[value] != 0

    def span(self, op: LoadOp | StoreOp) -> Step:
        """By how many elements the address of a load or store moves from lane to lane."""
        whole = 0
        for value, stride in zip(op.index, buffer_type(op.buf).element_strides(), strict=True):
            if stride == 0 or (step := self[value]) == 0:
                continue
            if step is None or not isinstance(stride, int):
                return None
            whole += step * stride
        return whole

    def _join(self, value: SSAValue, *steps: Step) -> bool:
        """Give `value` the common step of all; whether that is news."""
        joined = steps[0] if len(set(steps)) == 1 else None
        old, self._steps[value] = self._steps.get(value, 0), joined
        return old != joined

    def _block(self, block: Block) -> None:
        for op in block.ops:
            self._op(op)

    def _op(self, op: Operation) -> None:
        match op:
            case arith.ConstantOp() | DimOp():
                return
            case LanesOp() | ReduceOp():
                self._lanes(op.body.block, op.body.block.args)
            case CallOp() if op.body.block.args:
                self._steps[op.body.block.args[0]] = None
                self._lanes(op.body.block, op.body.block.args[1:])
            case Loop():
                self._block(op.body.block)
            case scf.ForOp():
                self._for(op)
            case scf.IfOp():
                self._if(op)
            case LoadOp():
                loose = self._divergent or (op.guard is not None and self.is_varying(op.guard))
                if op.fill is not None and self.is_varying(op.fill):
                    loose = True
                self._join(op.value, None if loose or self.span(op) != 0 else 0)
            case _:
                for result in op.results:
                    self._join(result, self._step_of(op))

    def _lanes(self, block: Block, indices: Sequence[BlockArgument]) -> None:
        for arg in self._lane_args(indices):
            self._steps[arg] = 1
        self._block(block)

    def _for(self, op: scf.ForOp) -> None:
        bounds = [self[b] for b in (op.lb, op.ub, op.step)]
        diverges = any(b != 0 for b in bounds)
        index, *carried = op.body.block.args
        self._join(index, None if diverges else 0)
        for arg, start in zip(carried, op.iter_args, strict=True):
            self._join(arg, None if diverges else self[start])
        self._divergent += diverges
        while True:
            self._block(op.body.block)
            news = [self._join(a, self[a], self[y]) for a, y in zip(carried, yielded(op.body.block), strict=True)]
            if not any(news):
                break
        self._divergent -= diverges
        for result, arg in zip(op.results, carried, strict=True):
            self._join(result, self[arg])

    def _if(self, op: scf.IfOp) -> None:
        diverges = self.is_varying(op.cond)
        self._divergent += diverges
        regions = [r for r in (op.true_region, op.false_region) if r.blocks]
        for region in regions:
            self._block(region.block)
        self._divergent -= diverges
        for k, result in enumerate(op.results):
            steps = [self[yielded(r.block)[k]] for r in regions]
            self._join(result, *([None] if diverges else steps))

    def _step_of(self, op: Operation) -> Step:
        steps = [self[o] for o in op.operands]
        if all(s == 0 for s in steps):
            return 0
        if None in steps or not is_index(op.results[0].type):
            return None
        known = [s for s in steps if s is not None]
        step: Step = None
        match op:
            case arith.AddiOp():
                step = known[0] + known[1]
            case arith.SubiOp():
                step = known[0] - known[1]
            case arith.MuliOp():
                step = _scaled(known, [constant_of(o) for o in op.operands])
            case arith.IndexCastOp() if is_index(op.input.type):
                step = known[0]
            case _:
                pass
        return step


def _scaled(steps: list[int], constants: list[int | None]) -> Step:
    match constants:
        case [_, int() as by]:
            return steps[0] * by
        case [int() as by, _]:
            return steps[1] * by
        case _:
            return None
