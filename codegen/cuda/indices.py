"""`//` and `%` of a CUDA text: division of indices, which are never negative.

Enters: a text. Leaves: its syntax, with words for the two operators, and those words. What data are divided by stands
in the text by name (`floordiv`, `truncmod`); indices need no care for signs, nor for 0, by which no index is divided.
"""

from __future__ import annotations

import ast
from typing import Any

from pelton.codegen.cuda.seam import types
from pelton.codegen.cuda.words import Call, Emit, Rule, WordError, is_integer

_WORDS: dict[type[ast.operator], str] = {ast.FloorDiv: "_index_quotient", ast.Mod: "_index_rest"}


class _Renamed(ast.NodeTransformer):
    def visit(self, node: ast.AST) -> ast.AST:
        node = self.generic_visit(node)
        if not isinstance(node, ast.BinOp) or (word := _WORDS.get(type(node.op))) is None:
            return node
        function = ast.copy_location(ast.Name(word, ast.Load()), node)
        return ast.copy_location(ast.Call(function, [node.left, node.right], []), node)


def unsigned(text: str) -> ast.Module:
    """The text with words in the place of `//` and `%`."""
    tree = ast.parse(text)
    _Renamed().visit(tree)
    return tree


def _rule(x: Any, y: Any) -> tuple[Any, tuple[Any, Any]]:
    if not is_integer(x) or not is_integer(y):
        raise WordError("takes indices")
    return types.int64, (types.int64, types.int64)


def _quotient(call: Call) -> Any:
    return call.builder.udiv(*call.values)


def _rest(call: Call) -> Any:
    return call.builder.urem(*call.values)


WORDS: dict[str, tuple[int, Rule, Emit]] = {
    _WORDS[ast.FloorDiv]: (2, _rule, _quotient),
    _WORDS[ast.Mod]: (2, _rule, _rest),
}
