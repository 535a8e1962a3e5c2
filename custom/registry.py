"""`pelton.register`: a Python function enters, an op that `ops.custom` finds by its name leaves.

The function itself comes back unchanged, with the op among its `__pelton_ops__`, so that it can be called, tested and
given as a custom extension. Importing this loads neither the compiler nor Numba.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from textwrap import dedent
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

from pelton.custom.patterns import Types, parse_types
from pelton.dtype import DType
from pelton.support.errors import GraphError, GraphTypeError
from pelton.support.texts import escaped, require_unicode

F = TypeVar("F", bound=Callable[..., Any])

KINDS: Mapping[str, type] = {"bool": bool, "int": int, "float": float, "str": str, "DType": DType}
"""What a parameter can be, by the annotation."""
UNSUITABLE: Mapping[int, str] = {
    inspect.CO_GENERATOR: "a generator",
    inspect.CO_COROUTINE: "a coroutine (async def)",
    inspect.CO_ASYNC_GENERATOR: "an asynchronous generator",
}
"""Functions whose call only makes an object, by the flag of their code."""
MARK = "__pelton_ops__"

REGISTERED: dict[str, CustomOp] = {}
"""What was registered in this process, by name; of two ops of one name the later."""
_LOADING: ContextVar[list[CustomOp] | None] = ContextVar("pelton_loading", default=None)
"""What the extension that is being loaded registers."""


class Body(NamedTuple):
    """A function of the user, with its source as it was when it was registered."""

    function: Any
    source: str


class Parameter(NamedTuple):
    """A keyword-only argument of a body: its type (None: any that parameters can have) and its default."""

    name: str
    kind: type | None
    default: Any = inspect.Parameter.empty

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


class CustomOp(NamedTuple):
    """One registered op. `place` is where its function stands; `arguments` are the names of outputs and values."""

    name: str
    place: str
    body: Body
    scalar: bool
    types: Types | None
    shape: Callable[..., Any] | None
    cuda: Body | None
    arguments: tuple[str, ...]
    parameters: Mapping[str, Parameter]


def register(
    name: str,
    *,
    types: str | None = None,
    scalar: bool = False,
    shape: Callable[..., Any] | None = None,
    cuda: Callable[..., Any] | None = None,
) -> Callable[[F], F]:
    """Make a function the body of the custom op `name`; `ops.custom` calls it by that name.

    A kernel body takes arrays, the results first, then the values, and writes the results; it is compiled by Numba.
    With `scalar=True` the body takes one element of each value and returns that of each result; it becomes ops of the
    graph and fuses with its neighbours. Keyword-only arguments are parameters, fixed when a graph is built; their
    annotations (int, float, bool, str, DType) and defaults are checked there.

    `types` says what the op takes and gives, such as `"f32[..., n], f32[n] -> f32[..., n]"`: dtypes, sizes by number or
    by name. Where a kernel body's types begin with `...`, the body is called once per index of those dims, in parallel,
    and sees only the others. `shape` is a function from the types of the values (and the parameters, by keyword) to
    those of the results. `cuda` is a body of the same arguments for a GPU: every thread of a block of 128 runs it, one
    block per call.

    A body is a `def`: it may use helpers, numbers and texts from around it, but it is no lambda, class, method of an
    object, partial, generator or coroutine, and no decorator stands between it and `register`.

    Raises TypeError for what is no such function, ValueError for a name, types or parameters that cannot be, for
    `*args`, `**kwargs` and for a positional argument with a default.

    >>> @pelton.register("double", scalar=True)
    ... def double(x):
    ...     return x + x
    >>> double(2.0)
    4.0
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphTypeError(
            "pelton.register: the name is not a str", got=repr(name), remedy='@pelton.register("name")'
        )
    if not name.strip():
        raise GraphError("pelton.register: the name is empty")
    require_unicode("pelton.register: the name", name)

    def decorate(function: F) -> F:
        op = _op(name, function, types, scalar, shape, cuda)
        setattr(function, MARK, (*getattr(function, MARK, ()), op))
        REGISTERED[name] = op
        if (loading := _LOADING.get()) is not None:
            loading.append(op)
        return function

    return decorate


def _op(name: str, function: Any, types: str | None, scalar: bool, shape: Any, cuda: Any) -> CustomOp:
    body = body_of(name, function)
    where = place_of(body.function)
    for each in (body.function, None if cuda is None else getattr(cuda, "py_func", cuda)):
        _expect_plain(name, "body", each)
    arguments, parameters = _signature(name, body.function, where)
    if scalar and (cuda is not None or shape is not None):
        raise GraphError(
            f"custom op {name!r}: a scalar body needs no {'cuda body' if shape is None else 'shape function'}",
            location=where,
            remedy="leave it out: the ops it becomes run everywhere, on the shape its values broadcast to",
        )
    if shape is not None and not callable(shape):
        raise GraphTypeError(f"custom op {name!r}: shape is no function", location=where, got=repr(shape))
    _expect_plain(name, "shape function", shape)
    device = None if cuda is None else body_of(name, cuda)
    if device is not None and _signature(name, device.function, where) != (arguments, parameters):
        raise GraphError(
            f"custom op {name!r}: the cuda body has other arguments than the CPU body",
            location=place_of(device.function),
            expected=str(inspect.signature(body.function)),
            got=str(inspect.signature(device.function)),
        )
    known = None if types is None else parse_types(name, types, where)
    if known is not None and len(arguments) != (wanted := len(known.inputs) + (0 if scalar else len(known.outputs))):
        raise GraphError(
            f"custom op {name!r}: types and body do not agree",
            location=where,
            expected=f"{wanted} arguments for {known}",
            got=f"({', '.join(arguments)})",
        )
    return CustomOp(name, where, body, scalar, known, shape, device, arguments, parameters)


def body_of(name: str, function: Any) -> Body:
    """A function and its source. Raises GraphTypeError for what is none, or one whose source nobody has."""
    plain = getattr(function, "py_func", function)  # a function that Numba wraps
    if type(plain) is not FunctionType:
        raise GraphTypeError(
            f"custom op {name!r}: the body is not a Python function",
            expected="a def",
            got=f"{function!r}",
            remedy="register a def that calls it; what it fixes becomes a keyword-only parameter"
            if callable(plain)
            else "",
        )
    if plain.__code__.co_name == "<lambda>":
        raise GraphTypeError(f"custom op {name!r}: the body is a lambda", location=place_of(plain), remedy="use a def")
    try:
        return Body(plain, dedent(inspect.getsource(plain)))
    except (OSError, TypeError, IndentationError) as error:
        raise GraphTypeError(
            f"custom op {name!r}: the source of its body cannot be read",
            location=place_of(plain),
            got=str(error),
            remedy="define it in a file or in a cell of a notebook",
        ) from error


def _expect_plain(name: str, what: str, function: Any) -> None:
    """Raises GraphTypeError for a function whose call does not run it, or one around another, whose source it shows."""
    if type(function) is not FunctionType:
        return
    flags = function.__code__.co_flags
    kind = next((kind for flag, kind in UNSUITABLE.items() if flags & flag), "")
    if not kind and what == "body" and hasattr(function, "__wrapped__"):
        kind = "wrapped by a decorator, which would be left out"
    if kind:
        raise GraphTypeError(
            f"custom op {name!r}: the {what} {function.__name__} is {kind}",
            location=place_of(function),
            expected="a def that returns or writes its results",
            remedy="register it before it is wrapped: the decorator above @pelton.register"
            if hasattr(function, "__wrapped__")
            else "leave out async, await and yield",
        )


def place_of(function: FunctionType) -> str:
    """`file.py:12`, where the function starts."""
    return f"{escaped(function.__code__.co_filename)}:{function.__code__.co_firstlineno}"


def _signature(name: str, function: FunctionType, where: str) -> tuple[tuple[str, ...], dict[str, Parameter]]:
    """The arguments for tensors, and the parameters."""
    arguments: list[str] = []
    parameters: dict[str, Parameter] = {}
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.KEYWORD_ONLY:
            parameters[p.name] = _parameter(name, p, where)
        elif p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or p.default is not p.empty:
            raise GraphError(
                f"custom op {name!r}: {p} is neither a tensor nor a parameter",
                location=where,
                expected="tensors by position, then *, then parameters",
                got=f"{function.__name__}{inspect.signature(function)}",
            )
        else:
            arguments.append(p.name)
    return tuple(arguments), parameters


def _parameter(name: str, p: inspect.Parameter, where: str) -> Parameter:
    annotation = p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", "")
    kind = KINDS.get(annotation.rpartition(".")[2])
    if p.annotation is not p.empty and kind is None:
        raise GraphError(
            f"custom op {name!r}: parameter {p.name} has a type that parameters cannot have",
            location=where,
            expected=", ".join(KINDS),
            got=annotation or repr(p.annotation),
        )
    if p.default is not p.empty and not fits(p.default, kind):
        raise GraphError(
            f"custom op {name!r}: the default of parameter {p.name} does not fit",
            location=where,
            expected=", ".join(KINDS) if kind is None else kind.__name__,
            got=repr(p.default),
        )
    return Parameter(p.name, kind, p.default)


def fits(value: object, kind: type | None) -> bool:
    """Whether a parameter of that type takes the value: an int serves as a float, a bool as nothing else."""
    allowed = tuple(KINDS.values()) if kind is None else (float, int) if kind is float else (kind,)
    return type(value) in allowed


@contextmanager
def collecting() -> Generator[list[CustomOp]]:
    """What is registered inside, in order."""
    found: list[CustomOp] = []
    token = _LOADING.set(found)
    try:
        yield found
    finally:
        _LOADING.reset(token)
