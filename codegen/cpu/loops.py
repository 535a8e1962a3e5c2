"""Loops of the CPU text: the grid as a range, lanes as whole vectors and one masked tail, reductions over vector
accumulators.

Enters: the loops of a `kernel.func`. Leaves: lines of its text; `printer.py` adds memory and makes the whole a
`Source`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import ClassVar

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, SSAValue

from pelton.codegen.printer import Printer
from pelton.codegen.spelling import VOCABULARY, combination, identity
from pelton.codegen.terms import Term, call, infix, number, prefix
from pelton.dialects.kernel import CallOp, FuncOp, GridOp, LanesOp, ReduceOp
from pelton.dialects.kernel.uniformity import constant_of, yielded
from pelton.dialects.types import is_bool
from pelton.support.errors import CompileError


class LoopPrinter(Printer):
    """The part of the CPU printer that knows lanes: which values are vectors, and how loops over them run."""

    target: ClassVar[str] = "numba-cpu"
    widens_integers: ClassVar[bool] = False
    vocabulary: ClassVar[frozenset[str]] = VOCABULARY - {"i1"}
    """A bool is a mask here, so an index may be called `i1`."""

    def __init__(self, func: FuncOp) -> None:
        super().__init__(func)
        self.tail: Term | None = None
        """The mask of the lanes below the bound, in a tail."""
        self.taken: Term | None = None
        """The mask of the lanes that take the branches around."""
        self._in_lanes = False

    # ---- values

    def lane_args(self, indices: Sequence[BlockArgument]) -> Sequence[BlockArgument]:
        return indices[-1:]

    def is_vector(self, value: SSAValue) -> bool:
        return self.steps.is_varying(value)

    def read(self, value: SSAValue, bare: bool = False) -> Term:
        """An index with a step is one value per lane when it is used as data."""
        step = self.steps[value]
        return call("iota", self.term(value), number(step)) if step else self.term(value, bare)

    def assigned(self, value: SSAValue, variable: SSAValue) -> Term:
        if self.steps[variable] is not None:
            return self.term(value)
        return self.vector(value)

    def vector(self, value: SSAValue) -> Term:
        """`value` as a vector, also where all its lanes are the same."""
        return self.read(value) if self.is_vector(value) else call("splat", self.term(value))

    def scalar(self, op: Operation) -> None:
        result = op.results[0] if op.results else None
        if result is None or not self.steps[result]:
            return super().scalar(op)
        args = [self.term(o) for o in op.operands]
        term = self.spell(op, args, vector=False)
        return self.settle(result, term, args)

    # ---- loops

    def grid(self, op: GridOp) -> None:
        """One loop over the items; several indices are taken out of the first item and then counted."""
        free: list[tuple[SSAValue, Term]] = []
        for arg, value in zip(op.body.block.args, op.bounds, strict=True):
            if constant_of(value) == 1:
                self.set_term(arg, number(0))
            else:
                free.append((arg, self.variable(value, "bound")))
        single = len(free) == 1
        item = self.name(free[0][0], "i") if single else self.names.fresh(None, "item")
        if not single:
            self._first_indices(free)
        self.line(f"for {item} in range(lo, hi):")
        with self.indented():
            self.block(op.body.block)
            if not single:
                self._count(free)

    def _first_indices(self, free: Sequence[tuple[SSAValue, Term]]) -> None:
        """The indices of item `lo`."""
        rest = Term("lo")
        for k in range(len(free) - 1, 0, -1):
            (arg, bound), name = free[k], self.name(free[0][0], "i") if k == 1 else self.names.fresh(None, "rest")
            self.line(f"{name} = {call('floordiv', rest, bound)}")
            self.line(f"{self.name(arg, 'i')} = {infix('-', rest, infix('*', Term(name), bound))}")
            rest = Term(name)

    def _count(self, free: Sequence[tuple[SSAValue, Term]]) -> None:
        """The indices of the next item: a division per item would cost more than a short row."""
        if not free:
            return
        *slow, (arg, bound) = free
        self.line(f"{self.name(arg)} += 1")
        if slow:
            self.line(f"if {self.name(arg)} == {bound}:")
            with self.indented():
                self.line(f"{self.name(arg)} = 0")
                self._count(slow)

    def lanes(self, op: LanesOp) -> None:
        self._loop(op, lambda: None)

    def reduce(self, op: ReduceOp) -> None:
        accumulators = [self.names.fresh((r.name_hint or "acc") + "_v", "acc_v") for r in op.values]
        kinds = list(zip(op.kind_names, op.yielded.values, accumulators, strict=True))
        for kind, value, name in kinds:
            self.line(f"{name} = {call('splat', identity(kind, value.type))}")

        def combine() -> None:
            for kind, value, name in kinds:
                if (combined := combination(kind, value.type, Term(name), self._kept(kind, value))) is None:
                    raise self.no_spelling(op)
                self.line(f"{name} = {combined}")

        self._loop(op, combine)
        for (kind, value, name), result in zip(kinds, op.values, strict=True):
            across = call(f"across_{kind}", call("to_i32", name) if is_bool(value.type) else name)
            self.line(f"{self.name(result)} = {infix('!=', across, number(0)) if is_bool(value.type) else across}")

    def _kept(self, kind: str, value: SSAValue) -> Term:
        """What a step adds to an accumulator: lanes beyond the end add nothing."""
        if self.tail is None:
            return self.read(value, bare=True)
        return call("where", self.tail, self.read(value), identity(kind, value.type, bare=self.is_vector(value)))

    def _loop(self, op: LanesOp | ReduceOp, finish: Callable[[], None]) -> None:
        """Outer indices as Python loops; the last in whole vectors, then a masked tail."""
        if self._in_lanes:
            raise CompileError("lanes do not nest", op=op.name, location=self.place_of(op),
                               expected="a loop over all its indices at once", got="a loop inside lanes")  # fmt: skip
        bounds = [self.variable(b, "bound") for b in op.bounds]
        with ExitStack() as rows:
            for index, bound in zip(op.body.block.args[:-1], bounds[:-1], strict=True):
                self.line(f"for {rows.enter_context(self.index(index, 'i'))} in range({bound}):")
                rows.enter_context(self.indented())
            self._in_lanes = True
            self._vectors(op, bounds[-1], finish)
            self._in_lanes = False

    def _vectors(self, op: LanesOp | ReduceOp, bound: Term, finish: Callable[[], None]) -> None:
        with self.index(op.body.block.args[-1], "j") as j:
            self._steps_of(op, j, bound, finish)

    def _steps_of(self, op: LanesOp | ReduceOp, j: Term, bound: Term, finish: Callable[[], None]) -> None:
        size, width = constant_of(op.bounds[-1]), self.lanes_per_step
        self.line(f"{j} = 0")
        if size is None or size >= width:
            self.line(f"while {j} + W <= {bound}:")
            with self.indented():
                self._body(op, finish)
                self.line(f"{j} += W")
        if size is None:
            self.line(f"if {j} < {bound}:")
            with self.indented():
                self._masked(op, infix("-", bound, j), finish)
        elif size % width:
            self._masked(op, number(size % width), finish)

    def _masked(self, op: LanesOp | ReduceOp, left: Term, finish: Callable[[], None]) -> None:
        self.tail = Term(self.names.index(None, "tail"))
        self.line(f"{self.tail} = {call('below', left)}")
        self._body(op, finish)
        self.names.release(self.tail.text, None, "tail")
        self.tail = None

    def _body(self, op: LanesOp | ReduceOp, finish: Callable[[], None]) -> None:
        self.block(op.body.block)
        finish()

    def epilogue(self, op: CallOp, accumulator: Term, indices: Sequence[Term], mask: Term | None) -> None:
        """The hole of a hand schedule, for one vector of accumulators; the last index is that of lane 0."""
        for arg, term in zip(op.body.block.args, (accumulator, *indices), strict=True):
            self.set_term(arg, term)
        self._in_lanes, self.tail = True, mask
        self.block(op.body.block)
        self._in_lanes, self.tail = False, None

    def sequential(self, op: scf.ForOp) -> None:
        step = constant_of(op.step)
        if step is None or step < 1:
            got = "a value" if step is None else str(step)
            raise CompileError("a sequential loop steps by a known number", op=op.name, location=self.place_of(op),
                               expected="a positive constant", got=got)  # fmt: skip
        if any(self.is_vector(b) for b in (op.lb, op.ub)):
            raise CompileError("a loop inside lanes runs equally often in all of them", op=op.name,
                               location=self.place_of(op), expected="bounds that are the same in all lanes",
                               remedy="run to the largest bound and guard the body with scf.if")  # fmt: skip
        super().sequential(op)

    def branch(self, op: scf.IfOp) -> None:
        if not self.is_vector(op.cond):
            return super().branch(op)
        cond, outer = self.variable(op.cond, "taken"), self.taken
        arms: list[list[Term]] = []
        for region, own in ((op.true_region, cond), (op.false_region, prefix("~", cond))):
            self.taken = infix("&", outer, own) if outer else own
            if region.blocks:
                self.block(region.block)
                arms.append([self.read(v) for v in yielded(region.block)])
        self.taken = outer
        for result, yes, no in zip(op.results, *arms, strict=True) if op.results else ():
            self.bind(result, call("where", cond, yes, no))
        return None
