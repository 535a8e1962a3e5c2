"""Sizes as users write them: an int, a symbol or an expression enters, a `Dim` leaves; tensor types and shape arguments
are made of them.

A `Dim` is a thin object over the algebra of `pelton.dialects.dims`, which keeps every size in canonical form, so `==`
is structural. Dims need no graph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from typing import Any, SupportsIndex, TypeAlias, cast, overload

from pelton.dialects import dims
from pelton.support.errors import GraphError, GraphTypeError

_SYMBOL = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LIMIT = 2**63


class Dim:
    """One size: `Dim(3)` is a `StaticDim`, `Dim("batch")` a `SymbolicDim`, `Dim("batch") + 1` an `AlgebraicDim`.

    Takes an int, a symbol's name or a Dim. Dims add, subtract, multiply and divide (`//`) with each other, with ints
    and with names; what folds is folded. Two dims are equal when their canonical forms are, and equal to the int or the
    str they stand for. Symbols have no order and no remainder.

    Raises TypeError for other types, ValueError for a name that is no identifier or a number outside 64 bits.

    >>> Dim("x") + 1 + 1 == Dim("x") + 2
    True
    >>> str(Dim("batch") * 2 // 2)
    'batch'
    """

    __slots__ = ("_value",)
    _value: dims.Dim

    def __new__(cls, value: DimLike | dims.Expr) -> Dim:
        raw = raw_dim(value)
        kind = StaticDim if isinstance(raw, int) else SymbolicDim if isinstance(raw, str) else AlgebraicDim
        if cls is not Dim and cls is not kind:
            raise GraphTypeError(
                f"{cls.__name__} is not the kind of this size", expected=kind.__name__, got=repr(value)
            )
        self = object.__new__(kind)
        self._value = raw
        return self

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dim):
            return self._value == other._value
        return self._value == other if isinstance(other, _OPERANDS) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._value)

    def __str__(self) -> str:
        return str(self._value)

    def __repr__(self) -> str:
        return f"Dim({str(self._value)!r})" if not isinstance(self._value, int) else f"Dim({self._value})"

    def __reduce__(self) -> tuple[type[Dim], tuple[dims.Dim]]:
        return Dim, (self._value,)

    def __add__(self, other: DimLike) -> Dim:
        return _combined(dims.add, self, other)

    def __radd__(self, other: DimLike) -> Dim:
        return _combined(dims.add, other, self)

    def __sub__(self, other: DimLike) -> Dim:
        return _combined(dims.sub, self, other)

    def __rsub__(self, other: DimLike) -> Dim:
        return _combined(dims.sub, other, self)

    def __mul__(self, other: DimLike) -> Dim:
        return _combined(dims.mul, self, other)

    def __rmul__(self, other: DimLike) -> Dim:
        return _combined(dims.mul, other, self)

    def __floordiv__(self, other: DimLike) -> Dim:
        return _combined(dims.floordiv, self, other)

    def __rfloordiv__(self, other: DimLike) -> Dim:
        return _combined(dims.floordiv, other, self)

    def __neg__(self) -> Dim:
        return _combined(dims.mul, -1, self)

    def __truediv__(self, other: object) -> Any:
        return _refused(self, "/", other, "use // for a size that divides evenly")

    def __mod__(self, other: object) -> Any:
        return _refused(self, "%", other, "use d - d // k * k for a remainder")

    def __lt__(self, other: DimLike) -> bool:
        return _ordered(self, "<", other)

    def __le__(self, other: DimLike) -> bool:
        return _ordered(self, "<=", other)

    def __gt__(self, other: DimLike) -> bool:
        return _ordered(self, ">", other)

    def __ge__(self, other: DimLike) -> bool:
        return _ordered(self, ">=", other)

    def __int__(self) -> int:
        raise GraphTypeError(
            f"the size {self} is not known while the graph is built", expected="a static dim", got=repr(self)
        )


class StaticDim(Dim):
    """A known size; `dim` is the number. Serves wherever Python takes an integer."""

    __slots__ = ()

    @property
    def dim(self) -> int:
        assert isinstance(self._value, int)
        return self._value

    def __int__(self) -> int:
        return self.dim

    def __index__(self) -> int:
        return self.dim


class SymbolicDim(Dim):
    """A size that becomes known when the model runs; `name` is its symbol."""

    __slots__ = ()

    @property
    def name(self) -> str:
        assert isinstance(self._value, str)
        return self._value


class AlgebraicDim(Dim):
    """An expression of symbols, such as `2*n + 1`.

    Not allowed in a graph's inputs: sizes are bound there, not solved for.
    """

    __slots__ = ()


DimLike: TypeAlias = Dim | str | SupportsIndex
"""What a size may be given as."""
ShapeLike: TypeAlias = Iterable[DimLike]
"""What a shape may be given as."""


class Shape(list[Dim]):
    """The sizes of a tensor, outermost first; compares with lists and tuples of ints, names and Dims."""

    def __init__(self, dims: Iterable[DimLike | dims.Expr] = ()) -> None:
        super().__init__(Dim(d) for d in dims)

    @property
    def rank(self) -> int:
        return len(self)

    @property
    def static_dims(self) -> list[int]:
        """The sizes that are known, as ints."""
        return [d.dim for d in self if isinstance(d, StaticDim)]

    @property
    def raw(self) -> tuple[dims.Dim, ...]:
        """The sizes as `pelton.dialects.dims` has them."""
        return tuple(raw_dim(d) for d in self)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Dim: ...
    @overload
    def __getitem__(self, index: slice[Any, Any, Any]) -> Shape: ...
    def __getitem__(self, index: SupportsIndex | slice[Any, Any, Any]) -> Dim | Shape:
        found = super().__getitem__(index)
        return found if isinstance(found, Dim) else Shape(found)

    def __eq__(self, other: object) -> bool:
        return (
            list(self) == list(cast("Sequence[object]", other)) if isinstance(other, list | tuple) else NotImplemented
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # as any list

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self))}]"

    def __repr__(self) -> str:
        return f"Shape({self})"


def raw_dim(value: object) -> dims.Dim:
    """What `pelton.dialects.dims` calls the size `value`: an int, a symbol's name or an Expr."""
    match value:
        case Dim():
            return value._value  # pyright: ignore[reportPrivateUsage]
        case str():
            if not _SYMBOL.fullmatch(value):
                raise GraphError("a symbol's name is an identifier", expected="letters, digits and _", got=repr(value))
            return value
        case dims.Expr():
            return value
        case bool():
            raise GraphTypeError("a bool is not a size", expected="an int, a symbol's name or a Dim", got=repr(value))
        case int() | SupportsIndex():
            number = value.__index__()
            if not -_LIMIT <= number < _LIMIT:
                raise GraphError("a size must fit 64 bits", got=str(number))
            return number
        case _:
            raise GraphTypeError(
                "not a size", expected="an int, a symbol's name or a Dim", got=f"{value!r} ({type(value).__name__})"
            )


def shape_of(value: object, op: str, argument: str) -> Shape:
    """The shape an argument stands for; a lone size is a shape of one. Errors name the op and the argument."""
    if isinstance(value, Shape):
        return value
    if isinstance(value, Dim | int | str):
        return Shape((value,))
    if not isinstance(value, Iterable):
        raise GraphTypeError(f"{op}: {argument} is not a shape", expected="a sequence of sizes", got=repr(value))
    return Shape(cast("Iterable[DimLike]", value))


def _combined(operation: Callable[[dims.Dim, dims.Dim], dims.Dim], x: DimLike, y: DimLike) -> Dim:
    if not isinstance(x, _OPERANDS) or not isinstance(y, _OPERANDS):
        return NotImplemented
    return Dim(operation(raw_dim(x), raw_dim(y)))


def _ordered(x: Dim, sign: str, y: DimLike) -> bool:
    if not isinstance(y, _OPERANDS):
        return NotImplemented
    a, b = raw_dim(x), raw_dim(y)
    if not isinstance(a, int) or not isinstance(b, int):
        raise GraphTypeError(
            f"sizes have no order while they are unknown: {a} {sign} {b}",
            remedy="compare with ==, or the ints of static dims",
        )
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[sign]


def _refused(x: Dim, sign: str, y: object, remedy: str) -> Any:
    if not isinstance(y, _OPERANDS):
        return NotImplemented  # Python then asks the other operand
    raise GraphTypeError(f"sizes know + - * and //, not {sign}: {x} {sign} {y}", remedy=remedy)


_OPERANDS = (Dim, int, str, Integral)
