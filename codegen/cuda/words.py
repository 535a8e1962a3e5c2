"""What a word of a CUDA text is: how a call is typed and how it is written as LLVM IR.

Enters: the number of arguments, a rule from argument types to the result's, and an emitter. Leaves: a Numba
intrinsic. In a CUDA text every value is one thread's scalar, so types are Numba's own scalar types.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pelton.codegen.cuda.seam import TypingError, intrinsic, ir, types

ELEMENTS: Mapping[str, Any] = {
    "i1": types.boolean, "f32": types.float32, "f64": types.float64,
    "i8": types.int8, "i16": types.int16, "i32": types.int32, "i64": types.int64,
    "u8": types.uint8, "u16": types.uint16, "u32": types.uint32, "u64": types.uint64,
}  # fmt: skip
STORAGE: Mapping[str, Any] = {**ELEMENTS, "i1": types.uint8, "f16": types.uint16, "bf16": types.uint16}
"""What a buffer of an element type points to."""


class WordError(TypeError):
    """A word used with arguments it does not take."""


@dataclass(frozen=True)
class Call:
    """One call being written: LLVM values and their Numba types."""

    builder: Any
    values: Sequence[Any]
    kinds: Sequence[Any]
    result: Any

    @property
    def module(self) -> Any:
        """The module being written."""
        return self.builder.module

    def function(self, name: str, result: Any, arguments: Sequence[Any]) -> Any:
        """Calls an external function, such as one of libdevice or an NVVM intrinsic."""
        kind = ir.FunctionType(result, [a.type for a in arguments])
        found = self.module.globals.get(name) or ir.Function(self.module, kind, name)
        return self.builder.call(found, arguments)

    def ptx(self, text: str, result: Any, constraints: str, arguments: Sequence[Any], *, effect: bool = False) -> Any:
        """One PTX instruction; `effect`: it may not be moved or dropped."""
        kind = ir.FunctionType(result, [a.type for a in arguments])
        return self.builder.asm(kind, text, constraints, arguments, effect)


Rule = Callable[..., tuple[Any, Sequence[Any]]]
"""Argument types → (result type, argument types as the emitter wants them)."""
Emit = Callable[[Call], Any]


def word(name: str, count: int, rule: Rule, emit: Emit) -> Any:
    """The intrinsic for a word of `count` arguments."""

    def typed(arguments: Sequence[Any]) -> tuple[Any, Any]:
        try:
            result, wanted = rule(*(types.unliteral(a) for a in arguments))
        except WordError as error:
            raise TypingError(f"{name}({', '.join(map(str, arguments))}): {error}") from None

        def write(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
            value = emit(Call(builder, values, signature.args, signature.return_type))
            return context.get_dummy_value() if value is None else value

        return result(*wanted), write

    typer = _typer(count, typed)
    typer.__name__ = typer.__qualname__ = name
    return intrinsic(typer)


def _typer(count: int, typed: Callable[[Sequence[Any]], Any]) -> Any:
    """A typing function of `count` arguments: Numba reads their number off the function's own signature."""

    def typer(context: Any, *arguments: Any) -> Any:
        return typed(arguments)

    names = ("context", *(f"argument{k}" for k in range(count)))
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    typer.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # pyright: ignore[reportFunctionMemberAccess]
    return typer


# ---- rules
def is_float(kind: Any) -> bool:
    """f32 or f64."""
    return isinstance(kind, types.Float)


def is_integer(kind: Any) -> bool:
    """Any integer; a boolean is none."""
    return isinstance(kind, types.Integer)


def same(*kinds: Any) -> Any:
    """The one type of all arguments."""
    if len(set(kinds)) != 1:
        raise WordError("the arguments differ in type")
    return kinds[0]


def elementwise(accepts: Callable[[Any], bool], result: Any = None) -> Rule:
    """All arguments of one type that is accepted; the result has it too, or is `result`."""

    def rule(*kinds: Any) -> tuple[Any, Sequence[Any]]:
        kind = same(*kinds)
        if not accepts(kind):
            raise WordError(f"does not take {kind}")
        return result or kind, kinds

    return rule


def constant(kind: Any, value: int | float) -> Any:
    """An LLVM constant of an LLVM type."""
    return ir.Constant(kind, value)
