"""Python expressions as text with a binding strength, so that printers write the parentheses a reader would.

Enters: numbers, dims and SSA name hints. Leaves: `Term` values, which `codegen.spelling` combines and the printers
place on lines.
"""

from __future__ import annotations

import keyword
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pelton.dialects import dims
from pelton.dialects.dims import Dim

CONDITION, NOT, COMPARE, OR, XOR, AND, SHIFT, ADD, MUL, UNARY, ATOM = range(11)

LEVELS: Mapping[str, int] = {
    "+": ADD, "-": ADD, "*": MUL, "/": MUL, "//": MUL, "%": MUL, "&": AND, "|": OR, "^": XOR, "<<": SHIFT, ">>": SHIFT,
    "==": COMPARE, "!=": COMPARE, "<": COMPARE, "<=": COMPARE, ">": COMPARE, ">=": COMPARE,
}  # fmt: skip


@dataclass(frozen=True)
class Term:
    """An expression and how strongly its outermost operator binds."""

    text: str
    level: int = ATOM

    def __str__(self) -> str:
        return self.text

    def at(self, level: int) -> str:
        """The text, in parentheses where it binds more loosely than `level`."""
        return self.text if self.level >= level else f"({self.text})"


def infix(operator: str, lhs: Term, rhs: Term) -> Term:
    """`lhs operator rhs`; comparisons never chain."""
    level = LEVELS[operator]
    return Term(f"{lhs.at(level + (level == COMPARE))} {operator} {rhs.at(level + 1)}", level)


def prefix(operator: str, x: Term) -> Term:
    """`-x`, `~x`, `not x`."""
    if operator == "not":
        return Term(f"not {x.at(UNARY)}", NOT)
    return Term(f"{operator}{x.at(UNARY + (x.text[:1] == operator))}", UNARY)


def call(function: str, *args: Term | str) -> Term:
    """`function(args)`."""
    return Term(f"{function}({', '.join(map(str, args))})")


def total(terms: Sequence[Term]) -> Term:
    """The sum of `terms`, `0` of none."""
    return reduce(lambda x, y: infix("+", x, y), terms) if terms else number(0)


def product(terms: Sequence[Term]) -> Term:
    """The product of one term or more."""
    return reduce(lambda x, y: infix("*", x, y), terms)


def number(x: int | float, bits: int = 64) -> Term:
    """A Python literal. A float has the fewest digits that read back as the same value of `bits` bits."""
    text = str(x) if isinstance(x, int) else _float_text(x, bits)
    return Term(text, UNARY if text[0] == "-" else ATOM)


def _float_text(x: float, bits: int) -> str:
    if x != x or x in (float("inf"), float("-inf")) or bits == 64:
        return repr(x)
    texts = (f"{x:.{digits}g}" for digits in range(1, 18))
    text = next(t for t in texts if _as_f32(float(t)) == _as_f32(x))
    return text if any(c in text for c in ".en") else text + ".0"


def _as_f32(x: float) -> bytes:
    try:
        return struct.pack("<f", x)
    except OverflowError:
        return b"inf" if x > 0 else b"-inf"


def dim_term(dim: Dim, symbol: Callable[[str], Term]) -> Term:
    """A size as an expression over its symbols."""
    match dim:
        case int():
            return number(dim)
        case str():
            return symbol(dim)
        case dims.Expr():
            whole: Term | None = None
            for atoms, factor in dim.terms:
                product = _product(atoms, abs(factor), symbol)
                if whole is None:
                    whole = product if factor > 0 else prefix("-", product)
                else:
                    whole = infix("+" if factor > 0 else "-", whole, product)
            return whole or number(0)


def _product(atoms: tuple[dims.Atom, ...], factor: int, symbol: Callable[[str], Term]) -> Term:
    factors = [_atom(a, symbol) for a in atoms]
    if factor != 1 or not factors:
        factors.insert(0, number(factor))
    return reduce(lambda x, y: infix("*", x, y), factors)


_DIM_FUNCTIONS = {"floordiv": "floordiv({0}, {1})", "min": "minimum({0}, {1})", "max": "maximum({0}, {1})",
                  "broadcast": "where({0} == 1, {1}, {0})"}  # fmt: skip


def _atom(atom: dims.Atom, symbol: Callable[[str], Term]) -> Term:
    if isinstance(atom, str):
        return symbol(atom)
    lhs, rhs = dim_term(atom.lhs, symbol), dim_term(atom.rhs, symbol)
    return Term(_DIM_FUNCTIONS[atom.name].format(lhs.at(ADD), rhs))


class Names:
    """Unique Python names for the values of one function."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self._taken = set(reserved)
        self._next: dict[str, int] = {}
        self._free: dict[str, list[str]] = {}

    def reserve(self, name: str) -> None:
        """Keep `name` from being given out."""
        self._taken.add(name)

    def fresh(self, hint: str | None, default: str) -> str:
        """`hint` (or `default`) if that name is still free, else with the lowest free number behind it."""
        base = _base(hint, default)
        name, count = base, self._next.get(base, 0)
        while name in self._taken or keyword.iskeyword(name):
            count += 1
            name = f"{base}_{count}" if base[-1].isdigit() else f"{base}{count}"
        self._next[base] = count
        self._taken.add(name)
        return name

    def index(self, hint: str | None, default: str) -> str:
        """Like `fresh`, for variables of one type (loop indices, masks of tails): a released name is taken again."""
        free = self._free.get(_base(hint, default))
        return free.pop() if free else self.fresh(hint, default)

    def release(self, name: str, hint: str | None, default: str) -> None:
        """Let the next `index` with the same hint take `name`."""
        self._free.setdefault(_base(hint, default), []).append(name)


def _base(hint: str | None, default: str) -> str:
    base = re.sub(r"\W", "_", hint or "", flags=re.ASCII)
    return base if base.isidentifier() and base.strip("_") else default
