"""A choice between kernels, with its reasons: the candidates for one op, what each would cost, why each other one lost.

Enters: an op, a target, and the descriptions of the hand schedules that could compute it (`Candidate`s, in order of
preference; `kernels/matmul.py` and its neighbours give them). Leaves: a `Choice`. `passes/choose_kernels.py` acts on it
and leaves it as an attribute at the op; `explain.py` reads it from there. No other pass looks at it, and no kernel's
text or cache key contains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Operation

from pelton.dialects.dims import Dim
from pelton.support.errors import CompileError

ATTRIBUTE = "choice"
"""The discardable attribute that holds a choice; set after the last cse, which it would keep from its work."""
UNITS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))


@dataclass(frozen=True)
class Estimate:
    """What a kernel has to do, by sizes alone: arithmetic, memory that it moves, items that threads can share."""

    flops: Dim
    bytes: Dim
    items: Dim

    def __str__(self) -> str:
        return f"{_amount(self.flops, 'FLOP')}, {_amount(self.bytes, 'B')}, {_amount(self.items, ' items')}"


def _amount(dim: Dim, unit: str) -> str:
    """`2.1 MFLOP` where the size is known, else as an expression."""
    if not isinstance(dim, int):
        return f"{dim} {unit.strip()}"
    for size, prefix in UNITS:
        if dim >= size and unit[0] != " ":
            return f"{dim / size:.3g} {prefix}{unit}"
    return f"{dim} {unit.strip()}"


@dataclass(frozen=True)
class Candidate:
    """One kernel that might compute an op: `refusal` says why it cannot or should not; empty where it can."""

    kernel: str
    cost: Estimate
    refusal: str
    reason: str
    """Why it is taken where it is; why it loses where an earlier one is taken."""


@dataclass(frozen=True)
class Loser:
    """A candidate that was not taken."""

    kernel: str
    cost: str
    why: str


@dataclass(frozen=True)
class Choice:
    """Which kernel computes `op` (a name), why, at which cost; and what else there was."""

    op: str
    kernel: str
    reason: str
    cost: str
    lost: tuple[Loser, ...] = ()

    def attribute(self) -> Attribute:
        """The choice as it stands in IR."""
        lost = [_dictionary(kernel=x.kernel, cost=x.cost, why=x.why) for x in self.lost]
        head = _dictionary(op=self.op, kernel=self.kernel, reason=self.reason, cost=self.cost)
        return DictionaryAttr({**head.data, "lost": ArrayAttr(lost)})


def choose(op: str, candidates: Sequence[Candidate], location: str = "") -> Choice:
    """The first candidate that does not refuse. Raises CompileError with every refusal where all do."""
    taken = next((c for c in candidates if not c.refusal), None)
    if taken is None:
        raise CompileError(
            f"no kernel computes this {op}",
            op=op,
            location=location,
            stage="choose-kernels",
            expected="one that takes it",
            got="; ".join(f"{c.kernel}: {c.refusal}" for c in candidates),
        )
    lost = [Loser(c.kernel, str(c.cost), c.refusal or c.reason) for c in candidates if c is not taken]
    return Choice(op, taken.kernel, taken.reason, str(taken.cost), tuple(lost))


def mark(op: Operation, choice: Choice) -> None:
    """Leave the choice at the op that came of it."""
    op.attributes[ATTRIBUTE] = choice.attribute()


def choice_of(op: Operation) -> Choice | None:
    """What `mark` left at an op."""
    found: Any = op.attributes.get(ATTRIBUTE)
    if not isinstance(found, DictionaryAttr):
        return None
    lost: Any = found.data["lost"]
    losers = tuple(Loser(_text(x, "kernel"), _text(x, "cost"), _text(x, "why")) for x in lost)
    return Choice(_text(found, "op"), _text(found, "kernel"), _text(found, "reason"), _text(found, "cost"), losers)


def _dictionary(**texts: str) -> DictionaryAttr:
    return DictionaryAttr({key: StringAttr(text) for key, text in texts.items()})


def _text(attribute: Any, key: str) -> str:
    text: str = attribute.data[key].data
    return text
