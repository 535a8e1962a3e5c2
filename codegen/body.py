"""The text of one function while it is written: its lines, its variables, and the term each SSA value is read as.

Enters: lines and terms, from a printer. Leaves: lines, to `Printer.source`. An SSA value is a variable, or the
expression itself where a nameless value is used once, in its own block.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from xdsl.dialects import arith, scf
from xdsl.ir import Operation, SSAValue

from pelton.codegen.literals import literal
from pelton.codegen.terms import Names, Term, dim_term, infix, total
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import FuncOp, LoadOp, StoreOp
from pelton.dialects.kernel.uniformity import buffer_type, constant_of
from pelton.dialects.op import location_of
from pelton.support.errors import InternalError

LONGEST_INLINE = 60


class Body:
    """Lines, names and terms of one function."""

    def __init__(self, func: FuncOp, reserved: frozenset[str]) -> None:
        self.func = func
        self.names = Names(reserved)
        self.symbols: dict[str, Term] = {}
        self.head_lines: list[str] = []
        self.lines: list[str] = []
        self._terms: dict[SSAValue, Term] = {}
        self._depth = 1

    @property
    def place(self) -> str:
        """Where errors about the function say they are."""
        return f"@{self.func.sym_name.data}"

    def place_of(self, op: Operation) -> str:
        """Where an error about `op` says it is: its line, where that is known."""
        return location_of(op) or self.place

    def line(self, text: Term | str) -> None:
        """One line at the current depth."""
        self.lines.append("    " * self._depth + str(text))

    def head(self, text: str) -> None:
        """One line at the top of the function."""
        self.head_lines.append("    " + text)

    @contextmanager
    def indented(self) -> Generator[None]:
        """One level deeper; a body that stays empty becomes `pass`."""
        before = len(self.lines)
        self._depth += 1
        yield
        if len(self.lines) == before:
            self.line("pass")
        self._depth -= 1

    def name(self, value: SSAValue, default: str = "t") -> str:
        """The variable of `value`: its name hint where that is free. Printing a body again keeps its names."""
        if value not in self._terms or not self._terms[value].text.isidentifier():
            self._terms[value] = Term(self.names.fresh(value.name_hint, default))
        return self._terms[value].text

    @contextmanager
    def index(self, value: SSAValue, default: str) -> Generator[Term]:
        """The variable of a loop index, for as long as the loop is printed: sibling loops share names."""
        name = self.names.index(value.name_hint, default)
        self._terms[value] = Term(name)
        yield self._terms[value]
        self.names.release(name, value.name_hint, default)

    def set_term(self, value: SSAValue, term: Term) -> None:
        """Let `value` be read as `term`."""
        self._terms[value] = term

    def bind(self, value: SSAValue, term: Term, inline: bool = True) -> None:
        """Give `value` its term: on a line of its own if it has a name or several uses, else in place."""
        user = _only_user_nearby(value)
        short = value.name_hint is None and user is not None and len(term.text) <= LONGEST_INLINE
        if inline and (short or isinstance(user, scf.YieldOp)):
            self._terms[value] = term
        else:
            self.line(f"{self.name(value)} = {term}")

    def term(self, value: SSAValue, bare: bool = False) -> Term:
        """`value` as it stands in its variable; a constant as a literal, without its type where `bare`."""
        op = value.owner
        if isinstance(op, arith.ConstantOp):
            return literal(op, bare)
        if value not in self._terms:
            where = op.name if isinstance(op, Operation) else ""
            raise InternalError("a value is read before its text is known", op=where, location=self.place)
        return self._terms[value]

    def variable(self, value: SSAValue, default: str) -> Term:
        """`value` as a literal or a variable: what is read more than once should not be an expression."""
        term = self.term(value)
        if constant_of(value) is None and not term.text.isidentifier():
            name = self.names.fresh(None, default)
            self.line(f"{name} = {term}")
            self.set_term(value, Term(name))
        return self.term(value)

    def dim(self, dim: Dim) -> Term:
        """A size expression."""
        return dim_term(dim, lambda symbol: self.symbols[symbol])

    def offset(self, op: LoadOp | StoreOp, read: Callable[[SSAValue], Term]) -> Term:
        """The element offset of an access; `read` gives the form in which its indices are wanted."""
        terms: list[Term] = []
        for value, stride in zip(op.index, buffer_type(op.buf).element_strides(), strict=True):
            at = constant_of(value)
            if at == 0 or stride == 0:
                continue
            place = read(value)
            if place.text == "0":
                continue
            if stride == 1:
                terms.append(place)
            else:
                terms.append(self.dim(stride) if at == 1 else infix("*", place, self.dim(stride)))
        return total(terms)


def _only_user_nearby(value: SSAValue) -> Operation | None:
    """The one user of `value`, if it stands in the same block."""
    user = value.get_user_of_unique_use()
    return user if user is not None and user.parent is value.owner.parent else None
