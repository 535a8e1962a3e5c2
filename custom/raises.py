"""What a body can raise: its text enters, a message per way to fail leaves, in the order of the numbers that compiled
code records.
"""

from __future__ import annotations

import ast

from pelton.custom import division

BOUNDS = "an index is out of bounds"
OTHER = "an operation of NumPy failed"


def messages(text: str) -> tuple[str, ...]:
    """What each way to fail says: one per `raise` and `assert` of a text, one per division of integers, then an index
    out of bounds, then others.
    """
    divided = (f"ZeroDivisionError: {division.said(place)}" for place in division.places(ast.parse(text)))
    return (*(_said(node) for node in raising(text)), *divided, BOUNDS, OTHER)


def raising(text: str) -> list[ast.Raise | ast.Assert]:
    """The statements of a text that raise, in order."""
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Raise | ast.Assert)]
    return sorted(found, key=lambda node: node.lineno)


def _said(node: ast.Raise | ast.Assert) -> str:
    """The message of an exception as Python would print it, as far as the text tells."""
    if isinstance(node, ast.Assert):
        message = node.msg.value if isinstance(node.msg, ast.Constant) else ast.unparse(node.msg or node.test)
        return f"AssertionError: {message}"
    match node.exc:
        case ast.Call(func=ast.Name(id=kind), args=[ast.Constant(value=str() as message)]):
            return f"{kind}: {message}"
        case ast.Call(func=kind, args=[]):
            return ast.unparse(kind)
        case _:
            return ast.unparse(node).removeprefix("raise ")
