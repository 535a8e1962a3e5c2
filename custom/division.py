"""Division in bodies of custom ops: a text's syntax enters, the same leaves with its divisions as calls of words that
mean one thing in compiled code and in plain Python.

An integer divided by 0, with `//`, `%` or `divmod`, raises ZeroDivisionError, whoever made the integers: Python has
that of its own ints, NumPy gives 0. Any other division by 0 is infinite or NaN, as floats are: NumPy has that, Python
raises. Next: `codegen/cpu/user_body.py` compiles the words; `plain` is what they are in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from pelton.custom.operators import operator

WORD = "_divided_"
"""What words begin with."""
OPERATORS: Mapping[str, Callable[..., Any]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "truediv": operator.truediv,
    "ifloordiv": operator.ifloordiv,
    "imod": operator.imod,
    "itruediv": operator.itruediv,
    "divmod": divmod,
}
"""What a word can stand for."""
SYNTAX: Mapping[type[ast.operator], str] = {ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Div: "truediv"}
BY_ZERO = "integer division or modulo by zero"


def said(place: str) -> str:
    """What the error of a division says."""
    return f"{BY_ZERO} in {place}"


def places(tree: ast.Module) -> list[str]:
    """The divisions of a text that can raise, as they are written."""
    found: list[Any] = [n for n in ast.walk(tree) if "truediv" not in (_name(n) or "truediv")]
    return list(dict.fromkeys(ast.unparse(n) for n in sorted(found, key=lambda n: (n.lineno, n.col_offset))))


def _name(node: ast.AST) -> str | None:
    """Which of `OPERATORS` an expression or a statement is."""
    match node:
        case ast.BinOp(op=op):
            return SYNTAX.get(type(op))
        case ast.AugAssign(op=op) if type(op) in SYNTAX:
            return f"i{SYNTAX[type(op)]}"
        case ast.Call(func=ast.Name(id="divmod"), args=[_, _], keywords=[]):
            return "divmod"
        case _:
            return None


def with_words(tree: ast.Module) -> dict[str, tuple[Callable[..., Any], str]]:
    """Puts a word in the place of each division, called with both its sides.

    Gives the words: the function each stands for, and the text of its place.
    """
    words = _Words()
    words.visit(tree)
    ast.fix_missing_locations(tree)
    return words.found


class _Words(ast.NodeTransformer):
    """Puts the calls in."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[Callable[..., Any], str]] = {}

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return self._expression(node, lambda: [node.left, node.right])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        return self._expression(node, lambda: node.args)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt | list[ast.stmt]:
        word = self._word(node)
        self.generic_visit(node)
        if word is None:
            return node
        before, target = _settled(node.target)
        read = ast.parse(ast.unparse(target), mode="eval").body
        done = ast.Assign([target], ast.Call(word, [read, node.value], []))
        return [ast.copy_location(statement, node) for statement in (*before, done)]

    def _expression(self, node: ast.expr, sides: Callable[[], list[ast.expr]]) -> ast.expr:
        word = self._word(node)
        self.generic_visit(node)
        return node if word is None else ast.copy_location(ast.Call(word, sides(), []), node)

    def _word(self, node: ast.AST) -> ast.Name | None:
        if (name := _name(node)) is None:
            return None
        word = f"{WORD}{len(self.found)}"
        self.found[word] = OPERATORS[name], ast.unparse(node)
        return ast.Name(word, ast.Load())


def _settled(target: Any) -> tuple[list[ast.stmt], Any]:
    """A target that may stand twice, and what is computed before it: the indices of an array."""
    if not isinstance(target, ast.Subscript) or isinstance(target.slice, ast.Name | ast.Constant):
        return [], target
    if any(isinstance(n, ast.Slice) for n in ast.walk(target.slice)):
        return [], target  # a view of an array, whose indices are numbers
    name = f"{WORD}at_{target.lineno}_{target.col_offset}"
    before = ast.Assign([ast.Name(name, ast.Store())], target.slice)
    return [before], ast.Subscript(target.value, ast.Name(name, ast.Load()), ast.Store())


def plain(function: Callable[..., Any], place: str) -> Callable[..., Any]:
    """A word for plain Python."""
    import numpy as np

    integers, numbers = (int, np.integer, np.bool_), (int, float)
    raises = "truediv" not in function.__name__

    def divided(x: Any, y: Any) -> Any:
        if raises and isinstance(x, integers) and isinstance(y, integers) and not y:
            raise ZeroDivisionError(said(place))
        if isinstance(x, numbers) and isinstance(y, numbers) and not y:
            result = function(np.float64(x), np.float64(y))
            return (float(result[0]), float(result[1])) if function is divmod else float(result)
        return function(x, y)

    return divided
