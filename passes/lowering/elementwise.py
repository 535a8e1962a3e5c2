"""Loop nests of groups without team cooperation: a lane computes one result element by itself.

`elementwise` and `column` groups are one nest: a column reduction is a sequential loop inside the lane, so that
neighbouring lanes read neighbouring columns.
"""

from __future__ import annotations

from pelton.dialects.dims import Dim
from pelton.dialects.kernel import GridOp, LanesOp
from pelton.passes.lowering.nest import Nest

WIDE = 32
COLUMNS = 64
"""Lanes of a column reduction: a step down touches this many neighbours, all sums in registers."""


def lower_elementwise(nest: Nest) -> int | None:
    """grid over all dims but the last, lanes over the last: one store each. A single number is one uniform store.

    Returns how many lanes a step should have: fewer than usual where the last dim is known to be short, more
    where each runs down a column.
    """
    shape = nest.result.shape
    with nest.loop(GridOp, shape[:-1]) as outer:
        if not shape:
            nest.store(nest.read(nest.value, ()), ())
            return None
        with nest.loop(LanesOp, shape[-1:]) as inner:
            index = (*outer, *inner)
            nest.finished = index if nest.ranges is None else ()
            nest.store(nest.read(nest.value, index), index)
    return few_lanes(shape[-1]) or (COLUMNS if nest.group.kind.data == "column" else None)


def few_lanes(last: Dim) -> int | None:
    """How many lanes a step needs for a last dim that is known to be short; None for one that is not."""
    return max(2, 1 << (last - 1).bit_length()) if isinstance(last, int) and 0 < last < WIDE else None
