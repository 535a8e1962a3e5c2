"""The loop nest of `check` groups: an assert over the elements of its condition, with what computes them.

Nothing is stored: each lane judges one element by itself, and a failing one records itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from pelton.dialects.kernel import GridOp, LanesOp
from pelton.dialects.nn import AssertOp
from pelton.passes.lowering.elementwise import few_lanes
from pelton.passes.lowering.nest import Nest


def lower_check(nest: Nest) -> int | None:
    """grid over all dims but the last, lanes over the last; a single condition is judged once per launch."""
    op = nest.root
    assert isinstance(op, AssertOp)
    shape = op.tensor().shape
    with nest.loop(GridOp, shape[:-1]) as outer:
        if not shape:
            _judge(nest, op, ())
            return None
        with nest.loop(LanesOp, shape[-1:]) as inner:
            _judge(nest, op, (*outer, *inner))
    return few_lanes(shape[-1])


def _judge(nest: Nest, op: AssertOp, index: Sequence[SSAValue]) -> None:
    """The check of one element: the condition, then the values to show, or the condition itself."""
    read = [nest.read(v, index) for v in op.operands]
    if op.mode != "off":
        nest.b.check(op, read[0], nest.b.flatten(tuple(index), op.tensor().shape), *(read[1:] or read))
