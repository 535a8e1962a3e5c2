"""A function becomes a text that stands alone: with every helper, constant and import that it uses.

Enters: a `Body`. Leaves: Python text whose last definition is the function, ready to be kept, hashed, specialised and
compiled in another process. What a text cannot hold (an array, an object of the user's) is refused by name.
"""

from __future__ import annotations

import ast
import builtins
import importlib
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any, cast

from pelton.custom.bodies import BodyText
from pelton.custom.operators import MOST_BITS
from pelton.custom.registry import Body, CustomOp, body_of, place_of
from pelton.dtype import DType
from pelton.support.errors import GraphError

MODULES = ("math", "cmath", "operator", "numpy", "numba")
"""Modules that a body may name; Numba knows what is in them."""
DTYPE = "from pelton.dtype import DType"
NUMBERS = (bool, int, float, str, type(None))


@dataclass(eq=False)
class Closure:
    """One body's text in the making."""

    op: str
    imports: dict[str, str] = field(default_factory=dict[str, str])
    constants: dict[str, str] = field(default_factory=dict[str, str])
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict[str, ast.FunctionDef])
    known: dict[str, Any] = field(default_factory=dict[str, Any])
    files: dict[str, str] = field(default_factory=dict[str, str])
    """Where each function stands; its nodes have the lines of that file."""
    running: list[FunctionType] = field(default_factory=list[FunctionType])

    def text(self) -> str:
        """Imports, constants, functions, each after those it calls."""
        lines = [*self.imports.values(), *(f"{name} = {value}" for name, value in self.constants.items())]
        definitions = ["\n".join(lines), *(ast.unparse(d) for d in self.functions.values())]
        return "\n\n\n".join(part for part in definitions if part) + "\n"

    def tree(self) -> ast.Module:
        """The same, as syntax."""
        lines = [*self.imports.values(), *(f"{name} = {value}" for name, value in self.constants.items())]
        return ast.Module([*ast.parse("\n".join(lines)).body, *self.functions.values()], type_ignores=[])

    def add(self, body: Body) -> str:
        """The name under which a function stands in the text."""
        function = body.function
        definition = definition_of(self.op, body)
        stored = {n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for node in ast.walk(definition):
            if isinstance(node, ast.Import | ast.ImportFrom):
                remedy = "import it in front of the function"
                raise self.refused(f"imports something inside: {ast.unparse(node)}", function, "", remedy)
            if isinstance(node, ast.Raise) and _computes_text(node):
                expected = "a text that is a constant; the values are not known when it is written"
                raise self.refused(
                    f"makes the text of an exception as it runs: {ast.unparse(node)}", function, expected
                )
        if not self.running and (taken := [p.arg for p in definition.args.kwonlyargs if p.arg in stored]):
            raise self.refused(f"assigns to its parameter {taken[0]}", function, "", "use another name")
        self.running.append(function)
        renamed: dict[str, str] = {}
        for name in free_names(definition):
            if (found := self.value(name, function)) is not name:
                renamed[name] = found
        self.running.pop()
        name = self.claim(definition.name, function)
        definition.name = name
        self.files[name] = function.__code__.co_filename
        self.functions[name] = _Renaming(renamed).visit(definition) if renamed else definition
        return name

    def claim(self, name: str, value: Any) -> str:
        """`name`, or a like one where it stands for something else already."""
        wanted, count = name, 1
        while name in self.known and self.known[name] is not value:
            count += 1
            name = f"{wanted}_{count}"
        self.known[name] = value
        return name

    def value(self, name: str, function: FunctionType) -> str:
        """The name in the text for what `name` means in `function`."""
        value = looked_up(name, function)
        if value is MISSING:
            raise self.refused(f"uses {name}, which is not defined", function)
        if getattr(builtins, name, MISSING) is value:
            return name
        plain = getattr(value, "py_func", value)
        if type(plain) is FunctionType:
            return self.helper(name, plain, function)
        new = self.claim(name, value)
        if isinstance(value, ModuleType):
            if value.__name__.partition(".")[0] not in MODULES:
                raise self.refused(
                    f"uses the module {name}", function, f"{', '.join(MODULES)}", "import the function itself"
                )
            self.imports[new] = f"import {value.__name__} as {new}" if value.__name__ != new else f"import {new}"
        elif value is DType:
            self.imports[new] = DTYPE if new == "DType" else f"{DTYPE} as {new}"
        elif is_constant(value):
            if has_long_integer(value):
                raise self.refused(f"uses {name}, an integer of more than {MOST_BITS} bits", function)
            if isinstance(value, DType):
                self.imports[self.claim("DType", DType)] = DTYPE
            self.constants[new] = literal(value)
        elif (home := home_of(value)) is not None:
            self.imports[new] = f"from {home[0]} import {home[1]} as {new}"
        else:
            arrays = "give it to the op as a value"
            raise self.refused(
                f"uses {name}, {_article(type(value).__name__)}",
                function,
                "functions, numbers, texts, tuples of them, and what math and numpy offer",
                arrays if hasattr(value, "__array_interface__") else f"make it a parameter, or {arrays}",
            )
        return new

    def helper(self, name: str, plain: FunctionType, caller: FunctionType) -> str:
        """A function that the body calls."""
        if plain in self.running:
            raise self.refused(f"calls itself through {name}", caller, "no recursion", "write a loop")
        for known, value in self.known.items():
            if value is plain:
                return known
        if (home := home_of(plain)) is not None:
            new = self.claim(name, plain)
            self.imports[new] = f"from {home[0]} import {home[1]} as {new}"
            return new
        return self.add(body_of(self.op, plain))

    def refused(self, what: str, function: FunctionType, expected: str = "", remedy: str = "") -> GraphError:
        return GraphError(
            f"custom op {self.op!r}: {function.__name__} {what}",
            location=place_of(function),
            expected=expected,
            remedy=remedy,
        )


MISSING = object()


def closure_of(op: str, body: Body) -> Closure:
    """A body with all it uses. Raises GraphError naming what it uses that a text cannot hold."""
    closure = Closure(op)
    closure.add(body)
    return closure


def text_of(op: CustomOp) -> BodyText:
    """The texts of a kernel op, to be kept."""
    cuda = "" if op.cuda is None else closure_of(op.name, op.cuda).text()
    return BodyText(op.name, op.place, closure_of(op.name, op.body).text(), cuda)


def definition_of(op: str, body: Body) -> ast.FunctionDef:
    """The `def` of a body, without decorators and annotations."""
    tree = ast.parse(body.source).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise GraphError(f"custom op {op!r}: the body is no plain def", location=place_of(body.function))
    ast.increment_lineno(tree, body.function.__code__.co_firstlineno - 1)
    tree.decorator_list = []
    tree.returns = None
    for argument in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs):
        argument.annotation = None
    return tree


def _computes_text(node: ast.Raise) -> bool:
    """Whether the arguments of the exception can only be known as the body runs."""
    arguments = node.exc.args if isinstance(node.exc, ast.Call) else []
    return any(isinstance(n, ast.JoinedStr | ast.Call | ast.Subscript) for a in arguments for n in ast.walk(a))


def free_names(definition: ast.FunctionDef) -> list[str]:
    """The names that a function reads and does not bind, in order."""
    nodes = list(ast.walk(definition))
    bound = {n.arg for n in nodes if isinstance(n, ast.arg)}
    bound |= {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    bound |= {n.name for n in nodes if isinstance(n, ast.FunctionDef) and n is not definition}
    defaults = [d for d in definition.args.kw_defaults if d is not None]
    inside = {id(n) for d in defaults for n in ast.walk(d)}  # they were evaluated when it was registered
    read = (n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and id(n) not in inside)
    return list(dict.fromkeys(name for name in read if name not in bound))


def looked_up(name: str, function: FunctionType) -> Any:
    """What a name means in a function: a variable around it, a global or a built-in."""
    free = function.__code__.co_freevars
    if name in free and function.__closure__ is not None:
        try:
            return function.__closure__[free.index(name)].cell_contents
        except ValueError:  # not assigned yet
            return MISSING
    return function.__globals__.get(name, getattr(builtins, name, MISSING))


def is_constant(value: Any) -> bool:
    """Whether a literal can stand for it."""
    if isinstance(value, tuple):
        return all(is_constant(v) for v in cast("tuple[Any, ...]", value))
    return type(value) in NUMBERS or isinstance(value, DType)


def has_long_integer(value: Any) -> bool:
    """Whether it is, or holds, an integer that no dtype has and whose text could be of any length."""
    if isinstance(value, tuple):
        return any(has_long_integer(v) for v in cast("tuple[Any, ...]", value))
    return isinstance(value, int) and value.bit_length() > MOST_BITS


def literal(value: Any) -> str:
    """Python text for a constant."""
    match value:
        case float() if value != value or abs(value) == float("inf"):
            return f"float('{value}')"
        case DType():
            return f"DType.{value.name}"
        case tuple():
            return "".join(["(", *(f"{literal(v)}, " for v in cast("tuple[Any, ...]", value)), ")"])
        case _:
            return repr(value)


def home_of(value: Any) -> tuple[str, str] | None:
    """(module, name) of what one of the known modules offers."""
    name = getattr(value, "__name__", None)
    if not isinstance(name, str):
        name = str(value)  # a type of Numba
    for module in MODULES:
        if module == "numba" and not type(value).__module__.startswith("numba"):
            continue
        if getattr(importlib.import_module(module), name, MISSING) is value:
            return module, name
    return None


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


class _Renaming(ast.NodeTransformer):
    """Names that mean something else in this text."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node
