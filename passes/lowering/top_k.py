"""The loop nest of `top_k` groups: a hand schedule that writes its result itself, rows of all leading dims as one."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, SymbolRefAttr, i64
from xdsl.ir import Block, Region

from pelton.dialects.dims import product
from pelton.dialects.kernel import CallOp
from pelton.dialects.nn import TopKSelectOp, TopKSortOp
from pelton.passes.lowering.nest import Nest


def lower_top_k(nest: Nest) -> None:
    """`kernel.call @top_k_…`; a sort works between its result and memory of its own."""
    op = nest.root
    assert isinstance(op, TopKSelectOp | TopKSortOp)
    *lead, size = op.tensor().shape
    x = nest.buffer(op.operands[0], (product(lead), size))
    x.in_place = False
    bufs = [x.buffer, nest.output((product(lead), op.count))]
    if isinstance(op, TopKSortOp):
        bufs.append(nest.workspace((product(lead), size), i64))
    call = CallOp.create(
        operands=bufs,
        properties={
            "callee": SymbolRefAttr(op.name.removeprefix("nn.")),
            "parameters": DictionaryAttr({"largest": op.largest_attr}),
        },
        regions=[Region(Block())],
    )
    nest.b.builder.insert(call)
