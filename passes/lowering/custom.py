"""The kernel of a custom op: buffers and their sizes, and a call of the user's body in the place of loops.

Operands come first, then results, as in every kernel; each size is a symbol of the function.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, SymbolRefAttr, i64
from xdsl.ir import Block, Region

from pelton.dialects.dims import Dim
from pelton.dialects.kernel import BufType, CallOp, FuncOp
from pelton.dialects.nn import CustomOp
from pelton.dialects.types import DimsAttr, ShapedValueType
from pelton.kernels.custom import CALLEE


def lower_custom(op: CustomOp) -> tuple[FuncOp, Sequence[Dim]]:
    """The kernel function of `op`, and the sizes that a launch binds to its symbols."""
    symbols: dict[Dim, str] = {}

    def buffer(t: ShapedValueType) -> BufType:
        return BufType(
            [d if isinstance(d, int) else symbols.setdefault(d, f"n{len(symbols)}") for d in t.shape], t.dtype
        )

    body = Block(arg_types=[buffer(t) for t in op.shaped])
    for k, argument in enumerate(body.args):
        argument.name_hint = f"x{k}" if k < len(op.operands) else f"out{k - len(op.operands)}"
    call = CallOp.create(
        operands=list(body.args),
        properties={
            "callee": SymbolRefAttr(CALLEE),
            "parameters": DictionaryAttr(
                {
                    **({"unchecked": op.unchecked} if op.unchecked else {}),
                    "op": op.op,
                    "body": op.body,
                    "results": IntegerAttr(len(op.results), i64),
                    "looped": op.looped,
                    "changed": DimsAttr(op.changed),
                    "parameters": op.parameters,
                }
            ),
        },
        regions=[Region(Block())],
    )
    body.add_op(call)
    function = FuncOp.create(
        properties={"sym_name": StringAttr(op.op.data), "sizes": DimsAttr(tuple(symbols.values()))},
        regions=[Region(body)],
    )
    function.location = op.location
    call.location = op.location
    return function, tuple(symbols)
