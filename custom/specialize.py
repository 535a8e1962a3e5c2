"""Parameters and constants into a function: what they decide is decided, before the body is compiled or read.

Enters: the `def` of a body and what some of its names stand for. Leaves: a `def` without these names: `n * 2` is a
number, `if mode == "tanh":` one of its arms. Everything else stays as it was written.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from pelton.custom.operators import ARITHMETIC, COMPARISONS, operator
from pelton.dtype import DType

SIMPLE = (bool, int, float, str, type(None))

FOLDED: Mapping[type[ast.AST], Callable[..., Any]] = {
    **ARITHMETIC,
    **COMPARISONS,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
"""Operators that are computed where all operands are constants."""
MISSING = object()
LARGEST = 1 << 64


def specialize(text: str, parameters: Mapping[str, Any]) -> str:
    """The text of a `Closure` with its constants, and the parameters of its last function, put in."""
    return ast.unparse(specialized(ast.parse(text), parameters)) + "\n"


def specialized(tree: ast.Module, parameters: Mapping[str, Any]) -> ast.Module:
    """The same on syntax, which changes."""
    types = {name for n in tree.body for name in _dtype_names(n)}
    constants: dict[str, Any] = {}
    kept: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and (value := _simple(node.value)) is not MISSING:
            constants.update((t.id, value) for t in node.targets if isinstance(t, ast.Name))
        elif not _dtype_names(node):
            kept.append(node)
    main = kept[-1]
    assert isinstance(main, ast.FunctionDef)
    main.args.kwonlyargs, main.args.kw_defaults = [], []
    done: list[ast.stmt] = []
    for node in kept:
        bound = _bound(node)
        known = {k: v for k, v in constants.items() if k not in bound} | (dict(parameters) if node is main else {})
        done.append(Specializer(known, types).visit(node) if isinstance(node, ast.FunctionDef) else node)
    tree.body = done
    return ast.fix_missing_locations(tree)


def _dtype_names(node: ast.stmt) -> list[str]:
    """What an import of DType calls it."""
    if not isinstance(node, ast.ImportFrom) or node.module != "pelton.dtype":
        return []
    return [alias.asname or alias.name for alias in node.names]


def _simple(node: ast.expr) -> Any:
    """The value of a literal that folds; MISSING for another expression."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as value)]):
            return float(value)
        case ast.Attribute(value=ast.Name(id="DType"), attr=name):
            return DType[name]
        case _:
            return MISSING


def _bound(node: ast.AST) -> set[str]:
    """The names that a function gives a meaning of its own."""
    nodes = list(ast.walk(node))
    names = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return names | {n.arg for n in nodes if isinstance(n, ast.arg)}


class Specializer(ast.NodeTransformer):
    """Replaces known names, and what follows from them."""

    def __init__(self, known: Mapping[str, Any], dtypes: set[str]) -> None:
        self.known = known
        self.dtypes = dtypes

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.known:
            return ast.copy_location(ast.Constant(self.known[node.id]), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id in self.dtypes and node.attr in DType.__members__:
            dtype: Any = DType[node.attr]  # no constant of Python's, but what it is compared with is none either
            return ast.copy_location(ast.Constant(dtype), node)
        return self._rest(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return self._folded(self._rest(node), FOLDED.get(type(node.op)), node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        return self._folded(self._rest(node), FOLDED.get(type(node.op)), node.operand)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self._rest(node)
        if len(node.ops) != 1:
            return node
        return self._folded(node, FOLDED.get(type(node.ops[0])), node.left, node.comparators[0])

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self._rest(node)
        deciding = isinstance(node.op, ast.Or)
        values = list(node.values)
        while len(values) > 1 and isinstance(first := values[0], ast.Constant):
            if bool(first.value) is deciding:
                return first
            values = values[1:]
        node.values = values
        return values[0] if len(values) == 1 else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self._rest(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        test = self.visit(node.test)
        if isinstance(test, ast.Constant):
            chosen = node.body if test.value else node.orelse
            kept = [part for statement in chosen for part in self._statement(statement)]
            return kept or ast.copy_location(ast.Pass(), node)
        node.test = test
        node.body = [part for statement in node.body for part in self._statement(statement)]
        node.orelse = [part for statement in node.orelse for part in self._statement(statement)]
        return node

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        found: list[ast.stmt] | ast.stmt = self.visit(node)
        return found if isinstance(found, list) else [found]

    def _rest(self, node: Any) -> Any:
        return self.generic_visit(node)

    def _folded(self, node: ast.expr, compute: Callable[..., Any] | None, *operands: ast.expr) -> ast.expr:
        """The constant that `node` is, where all its operands are; the node where one is not, or has no such value."""
        values = [o.value for o in operands if isinstance(o, ast.Constant)]
        if compute is None or len(values) != len(operands):
            return node
        if compute in (operator.mul, operator.mod) and any(isinstance(v, str) for v in values):
            return node  # a text as long as one likes
        try:
            value: Any = compute(*values)
        except (ArithmeticError, TypeError, ValueError):
            return node
        fits = type(value) in SIMPLE and not (isinstance(value, int) and abs(value) >= LARGEST)
        return ast.copy_location(ast.Constant(value), node) if fits else node
