"""What the words of the vocabulary are made of: a row or two functions enter, a `Word` leaves, to the tables of
vocabulary.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pelton.codegen.cpu import convert
from pelton.codegen.cpu.elements import Element
from pelton.codegen.cpu.emitter import Emitter, Value
from pelton.codegen.cpu.kernel_types import Call, Lanes, Pointer, Word, WordError, common, literal_of, shape_of

FLOAT = ("float",)
INTEGER = ("int", "uint")
BITS = ("int", "uint", "mask")
NUMBER = ("float", "int", "uint")
ANY = ("float", "int", "uint", "mask")

Write = Callable[..., Value]


def infix(operation: Callable[..., Value]) -> Write:
    """The emitter of an operator that values have themselves."""

    def write(e: Emitter, *args: Value) -> Value:
        return operation(*args)

    return write


def expect_count(args: Sequence[Any], *counts: int) -> None:
    """Raises WordError unless the number of arguments is one of `counts`."""
    if len(args) not in counts:
        raise WordError(f"takes {' or '.join(map(str, counts))} arguments, got {len(args)}")


def expect_kind(element: Element, kinds: Sequence[str]) -> None:
    """Raises WordError unless the element is of one of `kinds`."""
    if element.kind not in kinds:
        raise WordError(f"does not take {element}")


def expect_element(kind: Any, element: Element) -> None:
    """Raises WordError unless the argument is a literal or holds `element`."""
    got = shape_of(kind)[0]
    if got is not None and got is not element:
        raise WordError(f"got {kind} where {element} is needed")


def pointer_element(kind: Any) -> Element:
    """What a pointer argument points to."""
    if not isinstance(kind, Pointer):
        raise WordError(f"{kind} is not a buffer or a tile")
    return kind.element


def elementwise(name: str, count: int, kinds: tuple[str, ...], write: Write, gives: Element | None = None) -> Word:
    """A word of `count` arguments of one common type; the result has it too, or is of element `gives`."""

    def rule(lanes: int, args: Sequence[Any]) -> Lanes:
        expect_count(args, count)
        shape = common(args)
        expect_kind(shape.element, kinds)
        return Lanes(gives, shape.lanes) if gives else shape

    def emit(call: Call) -> Any:
        to = common(call.kinds)
        return write(call.emitter, *(call.value(i, to) for i in range(count))).llvm

    return Word(name, rule, emit)


def conversion(name: str, element: Element) -> Word:
    """`to_f32(x)`, also spelled `f32(x)`: a literal becomes a constant."""

    def rule(lanes: int, args: Sequence[Any]) -> Lanes:
        expect_count(args, 1)
        return Lanes(element, common(args).lanes)

    def emit(call: Call) -> Any:
        number = literal_of(call.kinds[0])
        if number is not None:
            return call.emitter.number(element, number).llvm
        return convert.to(call.emitter, call.value(0), element).llvm

    return Word(name, rule, emit)


def reinterpretation(name: str, source: Element, write: Write, gives: Element) -> Word:
    """A conversion from one element only, as `bf16_to_f32`."""

    def rule(lanes: int, args: Sequence[Any]) -> Lanes:
        expect_count(args, 1)
        expect_element(args[0], source)
        return Lanes(gives, shape_of(args[0])[1])

    def emit(call: Call) -> Any:
        return write(call.emitter, call.value(0, Lanes(source, shape_of(call.kinds[0])[1]))).llvm

    return Word(name, rule, emit)
