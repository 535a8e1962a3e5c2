"""`kernel.call @custom`: the body of a user's op as a hand schedule, which has no hole.

Enters: the call. Leaves: which body, with which parameters, and how many grid items it has: one per index of the dims
that the body does not see. Next: `codegen/kernels/custom_cpu.py` writes the text around the body.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import BufType, CallOp
from pelton.dialects.types import DimsAttr
from pelton.support.errors import CompileError

CALLEE = "custom"


class CustomCall(NamedTuple):
    """What a call says: the op's name, the body's digest, its parameters, and per buffer its leading dims."""

    op: str
    body: str
    parameters: DictionaryAttr
    values: int
    """How many of the buffers are given; the rest are results."""
    looped: tuple[int, ...]
    written: frozenset[int]
    """The buffers that the body may write."""
    space: tuple[Dim, ...]
    checked: bool
    """Whether the body checks its indices."""

    @property
    def items(self) -> Dim:
        """Grid items."""
        return dims.product(self.space)


def is_custom(call: CallOp) -> bool:
    """Whether a call runs a user's body."""
    return call.callee.string_value() == CALLEE


def custom_call(call: CallOp) -> CustomCall:
    """What `kernel.call @custom` says. Raises CompileError where it does not say all of it."""
    given: Mapping[str, Any] = call.parameters.data if isinstance(call.parameters, DictionaryAttr) else {}
    op, body, looped, parameters = (given.get(k) for k in ("op", "body", "looped", "parameters"))
    results, changed = given.get("results"), given.get("changed")
    if (
        isinstance(op, StringAttr)
        and isinstance(body, StringAttr)
        and isinstance(looped, DimsAttr)
        and isinstance(parameters, DictionaryAttr)
        and isinstance(results, IntegerAttr)
        and isinstance(changed, DimsAttr)
    ):
        counts = tuple(n for n in looped.data if isinstance(n, int))
        first = len(counts) - results.value.data
        if len(counts) == len(call.bufs) and first >= 0:
            written = frozenset(n for n in (*changed.data, *range(first, len(counts))) if isinstance(n, int))
            return CustomCall(
                op.data, body.data, parameters, first, counts, written, _space(call, counts), "unchecked" not in given
            )
    raise CompileError(
        "a call of a custom op does not say what it calls",
        op=call.name,
        expected="op, body, looped (a number per buffer), results, changed and parameters",
        got=str(call.parameters),
    )


def _space(call: CallOp, looped: tuple[int, ...]) -> tuple[Dim, ...]:
    for buffer, count in zip(call.bufs, looped, strict=True):
        if count and isinstance(buffer.type, BufType):
            return buffer.type.shape[:count]
    return ()
