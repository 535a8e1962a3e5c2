"""The reference pages of docs/api. Enters: a module of the API. Leaves: its page, as text, and what lacks a docstring.

Read off the sources, so that signatures stand there as they were written: classes with their attributes, properties and
methods in the order of definition; then functions.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

PAGES = ("engine", "driver", "dtype")
"""The modules that have a page."""
PROTOCOL = frozenset({"__call__", "__getitem__", "__setitem__", "__dlpack__", "__dlpack_device__", "__array__"})
"""Methods with underscores that are part of the API."""
INTERNAL = frozenset({"Buffer.over", "Buffer.is_plain", "TensorSpec.of"})
"""Members that only the package itself uses."""
HEAD = "{}\n\nMade from docstrings by `pytest tests/test_reference.py --update`: change them, not this page.\n"


@dataclass
class Entry:
    """A name of the API: how it is written down, what its docstring says, and what is inside."""

    name: str
    form: str
    text: str
    members: list[Entry] = field(default_factory=list["Entry"])

    def gaps(self) -> Iterator[str]:
        """The names without a docstring."""
        if not self.text:
            yield self.name
        for member in self.members:
            yield from (f"{self.name}.{name}" for name in member.gaps())


def entries(module: str) -> list[Entry]:
    """What a module offers."""
    loaded = importlib.import_module(f"pelton.{module}")
    names: list[str] = getattr(loaded, "__all__", None) or [
        name for name, value in vars(loaded).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == loaded.__name__ and callable(value)
    ]  # fmt: skip
    found = [(name, getattr(loaded, name)) for name in sorted(names)]
    classes = [_class(name, value) for name, value in found if isinstance(value, type)]
    functions = [_function(_tree(value)) for _, value in found if inspect.isfunction(value)]
    return [*classes, *functions]


def page(module: str) -> str:
    """The page of a module."""
    found = entries(module)
    loaded = importlib.import_module(f"pelton.{module}")
    first = (loaded.__doc__ or "").partition("\n\n")[0].strip()
    contents = ", ".join(f"[`{each.name}`](#{each.name.lower()})" for each in found)
    parts = [f"# pelton.{module}", HEAD.format(first.replace("\n", " ")), contents]
    return "\n\n".join([*parts, *(part for each in found for part in _shown(each))]) + "\n"


def _shown(entry: Entry) -> Iterator[str]:
    yield f"## {entry.name}"
    yield f"```\n{entry.form}\n```"
    yield entry.text
    for member in entry.members:
        yield f"**`{member.form}`**"
        yield member.text


def _tree(value: Any) -> Any:
    """The definition of a class or function, parsed."""
    return ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]


def _class(name: str, value: type) -> Entry:
    node: ast.ClassDef = _tree(value)
    text = ast.get_docstring(node) or ""
    form, members = f"class {name}", list[Entry]()
    for position, part in enumerate(node.body):
        after = node.body[position + 1] if position + 1 < len(node.body) else None
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            form = f"{name}({_arguments(part)})"
        elif (found := _member(part, after, value)) is not None and f"{name}.{found.name}" not in INTERNAL:
            members.append(found)
    if text and issubclass(value, Enum):
        text += "\n\n" + "\n".join(f"- `{each.name}` = {each.value!r}" for each in value)
    if text and (bases := [base.__name__ for base in value.__mro__[1:] if base.__module__.startswith("pelton.")]):
        text += "\n\n" + "\n".join(f"It has everything of [`{base}`](#{base.lower()}), too." for base in bases)
    return Entry(name, form, text, members)


def _member(part: ast.stmt, after: ast.stmt | None, owner: type) -> Entry | None:
    """A method, property, attribute or second name; None for what is not public."""
    match part:
        case ast.FunctionDef(name=name) if not name.startswith("_") or name in PROTOCOL:
            return _function(part)
        case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
            text = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                text = inspect.cleandoc(str(after.value.value))
            return Entry(name, f"{name}: {ast.unparse(part.annotation)}", text)
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)) if not issubclass(owner, Enum):
            return Entry(name, name, f"Another name of `{other}`.") if not name.startswith("_") else None
        case _:
            return None


def _function(node: ast.FunctionDef) -> Entry:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    if any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list):
        form = f"{node.name}: {returns.removeprefix(' -> ')}"
    else:
        form = f"{node.name}({_arguments(node)}){returns}"
    return Entry(node.name, form, ast.get_docstring(node) or "")


def _arguments(node: ast.FunctionDef) -> str:
    """The parameters as written, without the object itself."""
    text = ast.unparse(node.args)
    for own in ("self", "cls"):
        if text == own or text.startswith(f"{own}, "):
            return text[len(own) + 2 :]
    return text
