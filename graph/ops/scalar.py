"""A scalar body becomes ops of the graph: the syntax of a Python function and tensors enter, tensors leave.

Nothing of the body runs: each expression is an elementwise op, an `if` on a tensor a choice between both arms, so a
custom activation folds, fuses and runs on every target like ops that pelton knows. What has no such meaning (a loop, a
subscript) is refused with its line.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NoReturn, cast

from pelton.custom.operators import bounded
from pelton.graph.build import Value
from pelton.graph.location import place
from pelton.graph.ops.joining import where
from pelton.graph.ops.scalar_table import BUILTINS, FUNCTIONS, MATH, OPERATORS
from pelton.support.errors import GraphError

MOST_CALLS = 64

Scope = dict[str, Any]


class Reader:
    """Reads the functions of one closure; `files` says where they stand."""

    def __init__(self, op: str, tree: ast.Module, files: Mapping[str, str]) -> None:
        self.op = op
        self.files = files
        self.functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        self.modules: dict[str, str] = {}
        self.imported: dict[str, tuple[str, str]] = {}
        self.running: list[str] = []
        for node in tree.body:
            if isinstance(node, ast.Import):
                self.modules.update((a.asname or a.name, a.name) for a in node.names)
            elif isinstance(node, ast.ImportFrom):
                self.imported.update((a.asname or a.name, (node.module or "", a.name)) for a in node.names)

    def results(self, values: Sequence[Any]) -> list[Any]:
        """What the last function returns for these values."""
        found = self.run(list(self.functions)[-1], values, None)
        return list(cast("tuple[Any, ...]", found)) if isinstance(found, tuple) else [found]

    def run(self, name: str, values: Sequence[Any], call: ast.AST | None) -> Any:
        function = self.functions[name]
        arguments = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        if call is not None and (len(arguments) != len(values) or function.args.kwonlyargs or function.args.vararg):
            self.refuse(call, f"a call of {name} with {len(values)} arguments by position where it takes others")
        if len(self.running) >= MOST_CALLS:
            self.refuse(function, "calls nested so deeply")
        self.running.append(name)
        found = self.block(function.body, dict(zip(arguments, values, strict=True)))
        if found is None:
            self.refuse(function, "a way through it without a return")
        self.running.pop()
        return found

    # statements
    def block(self, statements: Sequence[ast.stmt], scope: Scope) -> Any:
        """What the statements return; None where they end without."""
        for k, node in enumerate(statements):
            match node:
                case ast.Return(value=ast.Tuple(elts=parts)):
                    return tuple(self.value(part, scope) for part in parts)
                case ast.Return(value=ast.expr() as value):
                    return self.value(value, scope)
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ):
                    scope[name] = self.value(value, scope)
                case ast.AugAssign(target=ast.Name(id=name) as target, op=kind, value=value):
                    read = ast.copy_location(ast.Name(name, ast.Load()), target)
                    scope[name] = self.operation(node, kind, [self.value(read, scope), self.value(value, scope)])
                case ast.If():
                    found = self.branch(node, statements[k + 1 :], scope)
                    if found is not None:
                        return found
                case ast.Pass() | ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    self.refuse(node, _words(node))
        return None

    def branch(self, node: ast.If, rest: Sequence[ast.stmt], scope: Scope) -> Any:
        """An `if`: one arm where the test is known, else both, and a choice between what they give."""
        test = self.value(node.test, scope)
        if not isinstance(test, Value):
            return self.block(node.body if test else node.orelse, scope)
        if any(isinstance(n, ast.Return) for arm in (*node.body, *node.orelse) for n in ast.walk(arm)):
            yes = self.block([*node.body, *rest], dict(scope))
            no = self.block([*node.orelse, *rest], dict(scope))
            if yes is None or no is None:
                self.refuse(node, "an if after which one way has no return")
            return self.choice(node, test, yes, no)
        yes, no = dict(scope), dict(scope)
        self.block(node.body, yes)
        self.block(node.orelse, no)
        for name in yes.keys() & no.keys():
            same = yes[name] is no[name]
            scope[name] = yes[name] if same else self.choice(node, test, yes[name], no[name])
        return None

    def choice(self, node: ast.AST, test: Any, yes: Any, no: Any) -> Any:
        if isinstance(yes, tuple) or isinstance(no, tuple):
            pairs = (cast("tuple[Any, ...]", yes), cast("tuple[Any, ...]", no))
            if not (isinstance(yes, tuple) and isinstance(no, tuple) and len(pairs[0]) == len(pairs[1])):
                self.refuse(node, "returns of different numbers of results")
            return tuple(self.choice(node, test, x, y) for x, y in zip(*pairs, strict=True))
        return where(test, yes, no)

    # expressions
    def value(self, node: ast.expr, scope: Scope) -> Any:
        """A tensor, or a number where nothing depends on a tensor."""
        match node:
            case ast.Constant(value=bool() | int() | float() as number):
                return number
            case ast.Name(id=name):
                return self.named(node, name, scope)
            case ast.Attribute():
                module, name = self.dotted(node)
                number = getattr(math, name, None) if module in ("math", "numpy") else None
                return number if isinstance(number, float) else self.refuse(node, ast.unparse(node))
            case ast.BinOp(left=x, op=kind, right=y):
                return self.operation(node, kind, [self.value(x, scope), self.value(y, scope)])
            case ast.UnaryOp(op=kind, operand=x):
                return self.operation(node, kind, [self.value(x, scope)])
            case ast.BoolOp(op=kind, values=parts):
                return reduce(lambda x, y: self.operation(node, kind, [x, y]), [self.value(p, scope) for p in parts])
            case ast.Compare():
                return self.comparison(node, scope)
            case ast.IfExp():
                test = self.value(node.test, scope)
                if not isinstance(test, Value):
                    return self.value(node.body if test else node.orelse, scope)
                return self.choice(node, test, self.value(node.body, scope), self.value(node.orelse, scope))
            case ast.Call():
                return self.call(node, scope)
            case _:
                self.refuse(node, _words(node))

    def named(self, node: ast.AST, name: str, scope: Scope) -> Any:
        if name in scope:
            return scope[name]
        module, original = self.imported.get(name, ("", name))
        number = getattr(math, original, None)
        if isinstance(number, float) and (module in ("math", "numpy") or name in ("inf", "nan")):
            return number
        self.refuse(node, f"{name}, which has no value here")

    def comparison(self, node: ast.Compare, scope: Scope) -> Any:
        """`a < b <= c`, each pair compared, all of them true."""
        terms = [self.value(term, scope) for term in (node.left, *node.comparators)]
        found = [self.operation(node, kind, terms[k : k + 2]) for k, kind in enumerate(node.ops)]
        return reduce(lambda x, y: self.operation(node, ast.And(), [x, y]), found)

    def operation(self, node: ast.AST, kind: ast.AST, values: Sequence[Any]) -> Any:
        rule = OPERATORS.get(type(kind))
        if rule is None:
            self.refuse(node, f"the operator of {ast.unparse(node)}")
        return self.apply(node, rule, values)

    def call(self, node: ast.Call, scope: Scope) -> Any:
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            self.refuse(node, "arguments that are not given by position")
        values = [self.value(a, scope) for a in node.args]
        if isinstance(node.func, ast.Name) and node.func.id in self.functions:
            return self.run(node.func.id, values, node)
        module, name = self.dotted(node.func)
        rule = FUNCTIONS.get(module, {}).get(name)
        if rule is None:
            self.refuse(node, f"a call of {ast.unparse(node.func)}")
        return self.apply(node, rule, values)

    def dotted(self, node: ast.expr) -> tuple[str, str]:
        """(module, name) of what a name stands for."""
        match node:
            case ast.Name(id=name):
                return self.imported.get(name, ("", name))
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                return self.modules.get(module, module), name
            case _:
                self.refuse(node, ast.unparse(node))

    def apply(self, node: ast.AST, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        try:
            return bounded(function(*values))
        except GraphError as error:
            raise error.with_details(location=self.place_of(node)) from error
        except (ArithmeticError, TypeError, ValueError) as error:
            self.refuse(node, f"{ast.unparse(node)}, which has no value: {error}")

    def place_of(self, node: ast.AST) -> str:
        """The line of a body, and the user's line that calls the op."""
        name = self.running[-1] if self.running else list(self.functions)[-1]
        return f"{self.files[name]}:{getattr(node, 'lineno', 0)}, for {place()}"

    def refuse(self, node: ast.AST, what: str) -> NoReturn:
        raise GraphError(
            f"custom op {self.op!r}: a scalar body cannot hold {what}",
            location=self.place_of(node),
            expected="assignments, if, return; operators, comparisons, conditional expressions; "
            f"{', '.join(sorted({*MATH, *BUILTINS}))}",
            remedy="write it with these, or as a kernel body, without scalar=True",
        )


def _words(node: ast.AST) -> str:
    """The construct, as Python calls it."""
    kinds: Mapping[type[ast.AST], str] = {
        ast.For: "a for loop", ast.While: "a while loop", ast.Subscript: "a subscript", ast.Lambda: "a lambda",
        ast.FunctionDef: "a function", ast.Raise: "a raise", ast.With: "a with block", ast.Try: "a try block",
        ast.Assert: "an assert", ast.Import: "an import", ast.Return: "a return of nothing",
    }  # fmt: skip
    return kinds.get(type(node)) or f"`{ast.unparse(node).splitlines()[0]}`"
