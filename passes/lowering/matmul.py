"""The loop nest of `matmul` groups: a hand schedule, and the elementwise tail of the group in its hole.

The schedule sees a plain product: rows are all leading dims of the left operand as one where the right one is shared,
else the leading dims are one batch. The tail is computed per finished element, so bias, activation and residual cost
no pass over memory.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, SymbolRefAttr, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from pelton.dialects.dims import Dim, product
from pelton.dialects.kernel import INDEX, CallOp, StoreOp
from pelton.dialects.nn import MatmulOp, PackedMatmulOp
from pelton.passes.lowering.nest import Flat, Nest


def lower_matmul(nest: Nest) -> int | None:
    """`kernel.call @matmul` with the group's tail as its epilogue; returns the lanes the schedule wants."""
    op = next(o for o in nest.group.body.block.ops if isinstance(o, MatmulOp | PackedMatmulOp))
    a, b = op.operands
    packed = isinstance(op, PackedMatmulOp)
    left, right = op.tensor(0).shape, op.tensor(1).shape
    batch = len(right) - (3 if packed else 2)
    rows = left[:-1] if not batch else left[batch:-1]
    short = [product(left[:batch])] if batch else []
    space = (*short, product(rows), op.result_type.shape[-1])
    bufs = [
        nest.buffer(a, (*space[:-1], left[-1])),
        nest.buffer(b, (*short, *right[batch:])),
    ]
    for argument in bufs:
        argument.in_place = False
    block = Block(arg_types=[op.result_type.dtype, *[INDEX] * len(space)])
    labels = ["acc", *(["item"] if batch else []), "i", "j"]
    for k, label in enumerate(labels):
        block.args[k].name_hint = label
    parameters: dict[str, Attribute] = {}
    if packed:
        parameters["width"] = IntegerAttr(width(right), i64)
    if op.partial is not None:
        parameters["partial"] = op.partial
    call = CallOp.create(
        operands=[argument.buffer for argument in bufs],
        properties={"callee": SymbolRefAttr("matmul"), "parameters": DictionaryAttr(parameters)},
        regions=[Region(block)],
    )
    nest.b.builder.insert(call)
    nest.bound[op.results[0]] = block.args[0]
    with nest.inside(block):
        _tail(nest, block, left[:batch], rows, space)
    return width(right) if packed else None


def width(packed: tuple[Dim, ...]) -> int:
    """The columns of one panel of a packed operand."""
    assert isinstance(packed[-1], int)
    return packed[-1]


def _tail(nest: Nest, block: Block, batch: tuple[Dim, ...], rows: tuple[Dim, ...], space: tuple[Dim, ...]) -> None:
    """What becomes of one accumulator: the group's result at its index."""
    *lead, i, j = block.args[1:]
    index: list[SSAValue] = []
    if lead:
        index += nest.b.unflatten(lead[0], batch)
    index += nest.b.unflatten(i, rows)
    index.append(j)
    flat = (*lead, i, j)
    nest.flat = Flat(nest.result.shape, tuple(index), space, flat)
    nest.finished = flat
    value = nest.read(nest.root.results[0], index)
    out = nest.output(space)
    nest.b.builder.insert(StoreOp(value, out, flat))
