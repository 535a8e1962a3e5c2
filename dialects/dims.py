"""The algebra of sizes: what a tensor's dims are made of, from the graph API down to the plan.

A `Dim` is an `int`, a symbol (`str`) or an `Expr`, always in canonical form, so that equal sizes compare equal with
`==` and hash equal. An `Expr` is a polynomial with integer coefficients over *atoms*: symbols, and calls (`floordiv`,
`min`, `max`, `broadcast`) whose arguments are dims again. Every symbol stands for a size ≥ 0.

Plain Python, no IR: `dialects.types` prints dims inside types, `graph.dims` shows them to users, `passes` turn them
into arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Call:
    """A function of dims that no polynomial expresses: `floordiv`, `min`, `max` or `broadcast` of two dims."""

    name: str
    lhs: Dim
    rhs: Dim

    def __str__(self) -> str:
        if self.name == "floordiv":
            return f"{_bracket(self.lhs)} floordiv {_bracket(self.rhs)}"
        return f"{self.name}({self.lhs}, {self.rhs})"


@dataclass(frozen=True, slots=True)
class Expr:
    """A sum of terms `(atoms, coefficient)`, sorted by falling degree, then by name; never a lone number or symbol."""

    terms: tuple[tuple[tuple[Atom, ...], int], ...]

    def __str__(self) -> str:
        text = ""
        for atoms, coefficient in self.terms:
            factors = [_factor(a) for a in atoms]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            sign = " - " if coefficient < 0 else " + "
            text += (sign if text else sign.strip(" +")) + "*".join(factors)
        return text


Atom: TypeAlias = str | Call
Dim: TypeAlias = int | str | Expr
_Terms: TypeAlias = dict[tuple[Atom, ...], int]


def _factor(atom: Atom) -> str:
    return f"({atom})" if isinstance(atom, Call) and atom.name == "floordiv" else str(atom)


def _bracket(dim: Dim) -> str:
    return f"({dim})" if isinstance(dim, Expr) else str(dim)


def terms_of(dim: Dim) -> _Terms:
    """`dim` as a mapping from products of atoms to coefficients; `()` is the constant's product."""
    match dim:
        case int():
            return {(): dim} if dim else {}
        case str():
            return {(dim,): 1}
        case Expr():
            return dict(dim.terms)


def _dim(terms: _Terms) -> Dim:
    kept = {atoms: c for atoms, c in terms.items() if c}
    match list(kept.items()):
        case []:
            return 0
        case [((), number)]:
            return number
        case [((str() as symbol,), 1)]:
            return symbol
        case _:
            return Expr(tuple(sorted(kept.items(), key=lambda t: (-len(t[0]), [str(a) for a in t[0]]))))


def add(x: Dim, y: Dim) -> Dim:
    """x + y."""
    terms = terms_of(x)
    for atoms, c in terms_of(y).items():
        terms[atoms] = terms.get(atoms, 0) + c
    return _dim(terms)


def mul(x: Dim, y: Dim) -> Dim:
    """x * y."""
    terms: _Terms = {}
    for a, c in terms_of(x).items():
        for b, d in terms_of(y).items():
            key = tuple(sorted(a + b, key=str))
            terms[key] = terms.get(key, 0) + c * d
    return _dim(terms)


def sub(x: Dim, y: Dim) -> Dim:
    """x - y."""
    return add(x, mul(-1, y))


def floordiv(x: Dim, y: Dim) -> Dim:
    """x // y, rounded down. What divides every term is divided out: `6*n // 2` is `3*n`, `a*b // b` is `a`.

    Raises ZeroDivisionError where `y` is 0.
    """
    if y == 0:
        raise ZeroDivisionError(f"the size {x} is divided by zero")
    if isinstance(x, int) and isinstance(y, int):
        return x // y
    if (exact := _exact_quotient(x, y)) is not None:
        return exact
    return _dim({(Call("floordiv", x, y),): 1})


def _exact_quotient(x: Dim, y: Dim) -> Dim | None:
    divisor = terms_of(y)
    if len(divisor) != 1:
        return 1 if x == y else None
    ((by, number),) = divisor.items()
    quotient: _Terms = {}
    for atoms, c in terms_of(x).items():
        left = list(atoms)
        for atom in by:
            if atom not in left:
                return None
            left.remove(atom)
        if c % number:
            return None
        quotient[tuple(left)] = c // number
    return _dim(quotient)


def minimum(x: Dim, y: Dim) -> Dim:
    """The smaller of x and y."""
    return _extreme("min", min, x, y)


def maximum(x: Dim, y: Dim) -> Dim:
    """The larger of x and y."""
    return _extreme("max", max, x, y)


def _extreme(name: str, pick: Callable[[int, int], int], x: Dim, y: Dim) -> Dim:
    difference = sub(x, y)
    if isinstance(difference, int):
        return x if pick(difference, 0) == difference else y
    if _never_negative(difference):
        return x if name == "max" else y
    if _never_negative(mul(-1, difference)):
        return y if name == "max" else x
    first, second = sorted((x, y), key=str)
    return _dim({(Call(name, first, second),): 1})


def _never_negative(dim: Dim) -> bool:
    """Whether every term shows that it is ≥ 0: symbols are, a call may be of differences."""
    return all(c >= 0 and all(map(_is_size, atoms)) for atoms, c in terms_of(dim).items())


def _is_size(atom: Atom) -> bool:
    if isinstance(atom, str):
        return True
    sides = (_never_negative(side) for side in (atom.lhs, atom.rhs))
    return any(sides) if atom.name == "max" else all(sides)


def broadcast(x: Dim, y: Dim) -> Dim:
    """The size two dims broadcast to: the other one where one of them is 1.

    Raises ValueError where both are known and differ.
    """
    if x == y or y == 1:
        return x
    if x == 1:
        return y
    if isinstance(x, int) and isinstance(y, int):
        raise ValueError(f"sizes {x} and {y} do not broadcast")
    first, second = sorted((x, y), key=str)
    return _dim({(Call("broadcast", first, second),): 1})


FUNCTIONS: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    "floordiv": floordiv,
    "min": minimum,
    "max": maximum,
    "broadcast": broadcast,
}


def product(dims: tuple[Dim, ...] | list[Dim]) -> Dim:
    """The number of elements of a shape."""
    return reduce(mul, dims, 1)


def ceildiv(x: Dim, y: Dim) -> Dim:
    """x / y, rounded up."""
    return floordiv(add(x, sub(y, 1)), y)


def symbols(dim: Dim) -> Iterator[str]:
    """Every symbol in `dim`, in the order of its text, repeated ones too."""
    for atoms in terms_of(dim):
        for atom in atoms:
            if isinstance(atom, Call):
                yield from symbols(atom.lhs)
                yield from symbols(atom.rhs)
            else:
                yield atom


def substitute(dim: Dim, known: Mapping[str, Dim]) -> Dim:
    """`dim` with symbols replaced; ones that `known` lacks stay."""
    total: Dim = 0
    for atoms, c in terms_of(dim).items():
        total = add(total, reduce(mul, (_substitute_atom(a, known) for a in atoms), c))
    return total


def _substitute_atom(atom: Atom, known: Mapping[str, Dim]) -> Dim:
    if isinstance(atom, str):
        return known.get(atom, atom)
    return FUNCTIONS[atom.name](substitute(atom.lhs, known), substitute(atom.rhs, known))


def evaluate(dim: Dim, sizes: Mapping[str, int]) -> int:
    """The number `dim` stands for. Raises KeyError naming a symbol that `sizes` lacks."""
    value = substitute(dim, sizes)
    if not isinstance(value, int):
        raise KeyError(next(symbols(value)))
    return value
