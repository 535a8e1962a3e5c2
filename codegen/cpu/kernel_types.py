"""The types of a kernel text, as Numba types: lanes of an element, pointers, literals, and the words that are its
globals.

A text holds nothing else. Numba's own number types appear only where Numba itself makes them, for integer literals;
they take the type of what stands beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from pelton.codegen.cpu.elements import F64, I64, MASK, Element
from pelton.codegen.cpu.emitter import Emitter, Value, as_index, vector_type
from pelton.codegen.cpu.seam import ir

types: Any = import_module("numba.core.types")
errors: Any = import_module("numba.core.errors")
templates: Any = import_module("numba.core.typing.templates")
datamodel: Any = import_module("numba.core.datamodel")


class Lanes(types.Type):
    """A register: a scalar (0 lanes) or a vector of `lanes` lanes of `element`."""

    def __init__(self, element: Element, lanes: int) -> None:
        self.element = element
        self.lanes = lanes
        types.Type.__init__(self, name=f"{element.name}x{lanes}" if lanes else element.name)

    def unify(self, typingctx: object, other: Any) -> Any:
        """A literal takes this type where both reach one variable."""
        fits = isinstance(other, types.Integer) or (isinstance(other, FloatLiteral) and self.element.is_float)
        return self if fits and not self.lanes else None


class Pointer(types.Type):
    """The address of storage elements."""

    def __init__(self, element: Element) -> None:
        self.element = element
        types.Type.__init__(self, name=f"pointer to {element.name}")


class FloatLiteral(types.Type):
    """A number written with a point, or `inf` or `nan`: it takes the type of what stands beside it, else f64."""

    def __init__(self, value: float) -> None:
        self.value = value
        types.Type.__init__(self, name=f"literal {value!r}")

    def unify(self, typingctx: object, other: Any) -> Any:
        """Two different literals in one variable make it f64."""
        return Lanes(F64, 0) if isinstance(other, FloatLiteral) else None


class Range(types.Type):
    """What `range(…)` gives."""

    def __init__(self, step: int) -> None:
        self.step = step
        types.Type.__init__(self, name=f"range by {step}")


class RangeIterator(types.Type):
    """A loop over a range, in progress."""

    def __init__(self, step: int) -> None:
        self.step = step
        types.Type.__init__(self, name=f"iterator of a range by {step}")


Rule = Callable[[int, Sequence[Any]], Any]
"""(lanes of the function, argument types) → result type; raises WordError."""


@dataclass(frozen=True)
class Call:
    """One use of a word while it is written: where to, the types, the LLVM arguments."""

    emitter: Emitter
    result: Any
    kinds: Sequence[Any]
    args: Sequence[Any]

    def value(self, i: int, to: Lanes | None = None) -> Value:
        """Argument `i`; a literal or a scalar takes the form of `to`."""
        element, lanes = shape_of(self.kinds[i])
        if element is None:
            to = to or common(self.kinds[i : i + 1])
            number = literal_of(self.kinds[i])
            return self.emitter.number(to.element, 0 if number is None else number, to.lanes)  # -0.0 is one, too
        value = Value(self.emitter, self.args[i], element, lanes)
        return self.emitter.splat(value, to.lanes) if to else value

    def index(self, i: int) -> Value:
        """Argument `i`, an integer or a vector of integers, as i64."""
        return as_index(self.value(i))

    def literal(self, i: int) -> Any:
        """The value of literal argument `i`."""
        return literal_of(self.kinds[i])


class WordError(Exception):
    """The arguments of a word do not fit it; the text says why."""


class Word(types.Callable):
    """One name of the vocabulary: `rule` types a call, `emit` writes it."""

    def __init__(self, name: str, rule: Rule, emit: Callable[[Call], Any]) -> None:
        self.word = name
        self.rule = rule
        self.emit = emit
        types.Callable.__init__(self, name=f"word {name}")

    def get_call_type(self, context: Any, args: Sequence[Any], kws: object) -> Any:
        """The signature of a call, or a typing error that names the word and the arguments."""
        try:
            result = self.rule(context.lanes, args)
        except WordError as error:
            raise errors.TypingError(f"{self.word}: {error}") from error
        return templates.signature(result, *args)

    def get_call_signatures(self) -> tuple[tuple[()], bool]:
        return (), False

    def get_impl_key(self, sig: object) -> Word:
        return self


SCALAR_I64 = Lanes(I64, 0)
SCALAR_MASK = Lanes(MASK, 0)
VOID = types.none


def shape_of(kind: Any) -> tuple[Element | None, int]:
    """(element, lanes) of an argument type; the element of a literal is None."""
    if isinstance(kind, Lanes):
        return kind.element, kind.lanes
    if isinstance(kind, types.Boolean | types.BooleanLiteral):
        return MASK, 0
    if isinstance(kind, types.Literal | FloatLiteral):
        return None, 0
    if isinstance(kind, types.Integer):
        return I64, 0
    raise WordError(f"{kind} is not a number, a vector or a mask")


def literal_of(kind: Any) -> int | float | None:
    """The value of a literal argument, or None."""
    if isinstance(kind, FloatLiteral):
        return kind.value
    return kind.literal_value if isinstance(kind, types.IntegerLiteral) else None


def common(kinds: Sequence[Any]) -> Lanes:
    """The register type that all arguments of an elementwise word take: literals and scalars follow the others."""
    shapes = [shape_of(kind) for kind in kinds]
    elements = {element for element, _ in shapes if element is not None}
    lanes = {n for _, n in shapes if n}
    if len(elements) > 1 or len(lanes) > 1:
        raise WordError("arguments of different types meet: " + ", ".join(str(kind) for kind in kinds))
    element = elements.pop() if elements else (F64 if any(isinstance(k, FloatLiteral) for k in kinds) else I64)
    if element.is_int and any(isinstance(k, FloatLiteral) for k in kinds):
        raise WordError("a float literal meets integers: " + ", ".join(str(kind) for kind in kinds))
    return Lanes(element, lanes.pop() if lanes else 0)


@datamodel.register_default(Lanes)
class LanesModel(datamodel.models.PrimitiveModel):
    """Held as the LLVM scalar or vector."""

    def __init__(self, dmm: Any, kind: Lanes) -> None:
        datamodel.models.PrimitiveModel.__init__(self, dmm, kind, vector_type(kind.element, kind.lanes))


@datamodel.register_default(Pointer)
class PointerModel(datamodel.models.PrimitiveModel):
    """Held as an LLVM pointer."""

    def __init__(self, dmm: Any, kind: Pointer) -> None:
        datamodel.models.PrimitiveModel.__init__(self, dmm, kind, kind.element.llvm.as_pointer())


@datamodel.register_default(FloatLiteral)
class FloatLiteralModel(datamodel.models.PrimitiveModel):
    """Held as the constant in f64, wherever it is held at all."""

    def __init__(self, dmm: Any, kind: FloatLiteral) -> None:
        datamodel.models.PrimitiveModel.__init__(self, dmm, kind, F64.llvm)


RANGE_LLVM: Any = ir.LiteralStructType([I64.llvm, I64.llvm])


@datamodel.register_default(Range)
class RangeModel(datamodel.models.PrimitiveModel):
    """{start, stop}"""

    def __init__(self, dmm: Any, kind: Range) -> None:
        datamodel.models.PrimitiveModel.__init__(self, dmm, kind, RANGE_LLVM)


@datamodel.register_default(RangeIterator)
class RangeIteratorModel(datamodel.models.PrimitiveModel):
    """The address of {next, stop} on the stack."""

    def __init__(self, dmm: Any, kind: RangeIterator) -> None:
        datamodel.models.PrimitiveModel.__init__(self, dmm, kind, RANGE_LLVM.as_pointer())
