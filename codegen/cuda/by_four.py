"""The text of a loop whose threads do four neighbouring lanes a turn.

Enters: a `kernel.lanes … by_four`. Leaves: lines: loads of neighbours, the body for each of the four, stores of
neighbours. So a thread has four loads on their way before it waits for one, however the buffers overlap, and each
moves whole sectors of memory. `four.py` has the words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property

from xdsl.ir import BlockArgument, Operation

from pelton.codegen.printer import Printer
from pelton.codegen.spelling import storage_name
from pelton.codegen.terms import ATOM, Term, call, infix, number, product
from pelton.dialects.kernel import FuncOp, LanesOp, LoadOp, StoreOp
from pelton.dialects.kernel.neighbours import FOUR, Access, Finder, Neighbours
from pelton.dialects.kernel.uniformity import buffer_type
from pelton.support.errors import CompileError


class ByFour(Printer):
    """Prints such loops; what is inside of them, `CudaPrinter` prints."""

    def __init__(self, func: FuncOp) -> None:
        super().__init__(func)
        self._arrays: Mapping[Operation, Term] = {}

    @cached_property
    def _finder(self) -> Finder:
        return Finder(self.func)

    def by_four(self, loop: LanesOp, bounds: Sequence[Term]) -> None:
        """The loop. Its last turn may have fewer lanes, unless their number is known."""
        if (found := self._finder.neighbours(loop)) is None:
            raise CompileError("this loop cannot do four lanes a turn", op=loop.name, location=self.place_of(loop),
                               expected="accesses to neighbours, no store before a load, no inner loops")  # fmt: skip
        total = self._total(bounds)
        whole = any(b.text.isdigit() and int(b.text) % FOUR == 0 for b in bounds)
        first, step = (Term(self.names.index(None, name)) for name in ("first", "u"))
        left = number(FOUR) if whole else infix("-", total, first)
        arrays = {op: self._array(op) for op in found.accesses}
        self.line(f"for {first} in range(tid * {FOUR}, {total}, T * {FOUR}):")
        with self.indented():
            self._indices(loop, bounds, first)
            places = self._places(found, first)
            for op in found.accesses:
                if isinstance(op, LoadOp):
                    self.line(call("load_4", arrays[op], self.term(op.buf), places[op], left))
            self.line(f"for {step} in range({FOUR}):")
            with self.indented():
                self._arrays = {op: Term(f"{array}[{step}]") for op, array in arrays.items()}
                if found.all_access:  # behind the last lane, what is computed is not stored
                    self._ops(op for op in loop.body.block.ops if op not in found.places)
                else:
                    self._lane(loop, bounds, infix("+", first, step), None if whole else total)
                self._arrays = {}
            for op in found.accesses:
                if isinstance(op, StoreOp):
                    self.line(call("store_4", self.term(op.buf), places[op], arrays[op], left))
        self.names.release(first.text, None, "first")
        self.names.release(step.text, None, "u")

    def _ops(self, ops: Iterable[Operation]) -> None:
        for op in ops:
            self.op(op)

    def unflatten(self, rest: Term, args: Sequence[BlockArgument], bounds: Sequence[Term]) -> None:
        """Lines: the indices of a row-major linear one."""
        for k in range(len(args) - 1, 0, -1):
            self.line(f"{self.name(args[k], 'i')} = {infix('%', rest, bounds[k])}")
            rest = infix("//", rest, bounds[k])
            if k > 1:
                name = self.names.fresh(None, "rest")
                self.line(f"{name} = {rest}")
                rest = Term(name)
        self.line(f"{self.name(args[0], 'i')} = {rest}")

    def element(self, op: LoadOp | StoreOp) -> Term:
        """What an access reads or writes: the element at its place in memory, or a register that stands for it."""
        return self._arrays.get(op) or Term(f"{self.term(op.buf)}[{self.offset(op, self.term)}]")

    def _total(self, bounds: Sequence[Term]) -> Term:
        """The number of lanes, as a literal or a variable."""
        total = product(bounds)
        if total.level == ATOM:
            return total
        name = self.names.fresh(None, "total")
        self.line(f"{name} = {total}")
        return Term(name)

    def _array(self, op: Access) -> Term:
        """The registers for an access's four elements."""
        name = self.names.fresh(f"{self.term(op.buf)}_{FOUR}", "four")
        self.head(f"{name} = zeros_{storage_name(buffer_type(op.buf).elem)}({FOUR})")
        return Term(name)

    def _indices(self, loop: LanesOp, bounds: Sequence[Term], lane: Term) -> None:
        """Lets the loop's indices be those of a lane."""
        args = loop.body.block.args
        if len(args) == 1:
            self.set_term(args[0], lane)
        else:
            self.unflatten(lane, args, bounds)

    def _places(self, found: Neighbours, first: Term) -> dict[Access, Term]:
        """Where each access begins: a variable that the body does not assign, or a literal."""
        self._ops(found.places)
        names, places = {first.text: first}, dict[Access, Term]()
        for op in found.accesses:
            place = self.offset(op, self.term)
            if not place.text.isdigit() and place.text not in names:
                names[place.text] = Term(self.names.fresh(None, "at"))
                self.line(f"{names[place.text]} = {place}")
            places[op] = names.get(place.text, place)
        return places

    def _lane(self, loop: LanesOp, bounds: Sequence[Term], lane: Term, total: Term | None) -> None:
        """The body for one lane, which may be behind the last one where a total is given."""
        block = loop.body.block
        hint, default = (block.args[0].name_hint, "j") if len(block.args) == 1 else (None, "lane")
        name = Term(self.names.index(hint, default))
        self.line(f"{name} = {lane}")
        if total is not None:
            self.line(f"if {name} < {total}:")
        with self.indented() if total is not None else nullcontext():
            self._indices(loop, bounds, name)
            self.block(block)
        self.names.release(name.text, hint, default)
