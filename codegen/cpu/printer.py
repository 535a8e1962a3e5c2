"""kernel.func → Numba text over SIMD values. A team is one core; the last index of a loop over lanes is the SIMD index.

Enters: one verified `kernel.func`. Leaves: a `Source` over the vocabulary of `codegen/cpu/`, to
`codegen/cpu/compile.py`.

The index arithmetic of a lane stays a scalar, its value in lane 0, for as long as the step per lane is known: such
an access is a vector load where the step is one element, a scalar load where it is none, else a gather. Loops run
whole vectors, then one masked tail that repeats the body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import reduce
from math import prod
from typing import ClassVar, TypeAlias

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, SSAValue

from pelton.codegen.printer import Printer
from pelton.codegen.spelling import combination, identity, storage_name
from pelton.codegen.terms import CONDITION, Term, call, infix, number, prefix
from pelton.codegen.uniformity import buffer_type, constant_of, yielded
from pelton.dialects.kernel import (
    BarrierOp,
    CallOp,
    CheckOp,
    FuncOp,
    GridOp,
    LanesOp,
    LoadOp,
    ReduceOp,
    ScratchOp,
    StoreOp,
)
from pelton.dialects.types import is_bool
from pelton.support.errors import CompileError

Schedule: TypeAlias = "Callable[[CpuPrinter, CallOp], None]"
"""Prints the text of a hand schedule."""


class CpuPrinter(Printer):
    """Prints one function; `schedules` gives the texts that `kernel.call` names."""

    target: ClassVar[str] = "numba-cpu"
    widens_integers: ClassVar[bool] = False

    def __init__(self, func: FuncOp, schedules: Mapping[str, Schedule] | None = None) -> None:
        super().__init__(func)
        self.schedules = schedules or {}
        self._in_lanes = False
        self._tail: Term | None = None
        self._branch: Term | None = None

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
        args, bounds = op.body.block.args, [self.variable(b, "bound") for b in op.bounds]
        item = self.name(args[0], "i") if len(args) == 1 else self.names.fresh(None, "item")
        self.line(f"for {item} in range(lo, hi):")
        with self.indented():
            rest = Term(item)
            for k in range(len(args) - 1, 0, -1):
                name = self.names.fresh(None, "rest") if k > 1 else self.name(args[0], "i")
                self.line(f"{name} = {call('floordiv', rest, bounds[k])}")
                self.line(f"{self.name(args[k], 'i')} = {infix('-', rest, infix('*', Term(name), bounds[k]))}")
                rest = Term(name)
            self.block(op.body.block)

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
        if self._tail is None:
            return self.read(value, bare=True)
        return call("where", self._tail, self.read(value), identity(kind, value.type, bare=self.is_vector(value)))

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
        self._tail = Term(self.names.index(None, "tail"))
        self.line(f"{self._tail} = {call('below', left)}")
        self._body(op, finish)
        self.names.release(self._tail.text, None, "tail")
        self._tail = None

    def _body(self, op: LanesOp | ReduceOp, finish: Callable[[], None]) -> None:
        self.block(op.body.block)
        finish()

    def epilogue(self, op: CallOp, accumulator: Term, indices: Sequence[Term], mask: Term | None) -> None:
        """The hole of a hand schedule, for one vector of accumulators; the last index is that of lane 0."""
        for arg, term in zip(op.body.block.args, (accumulator, *indices), strict=True):
            self.set_term(arg, term)
        self._in_lanes, self._tail = True, mask
        self.block(op.body.block)
        self._in_lanes, self._tail = False, None

    def sequential(self, op: scf.ForOp) -> None:
        if any(self.is_vector(b) for b in (op.lb, op.ub, op.step)):
            raise CompileError("a loop inside lanes runs equally often in all of them", op=op.name,
                               location=self.place_of(op), expected="bounds that are the same in all lanes",
                               remedy="run to the largest bound and guard the body with scf.if")  # fmt: skip
        super().sequential(op)

    def branch(self, op: scf.IfOp) -> None:
        if not self.is_vector(op.cond):
            return super().branch(op)
        taken, outer = self.variable(op.cond, "taken"), self._branch
        arms: list[list[Term]] = []
        for region, own in ((op.true_region, taken), (op.false_region, prefix("~", taken))):
            self._branch = infix("&", outer, own) if outer else own
            if region.blocks:
                self.block(region.block)
                arms.append([self.read(v) for v in yielded(region.block)])
        self._branch = outer
        for result, yes, no in zip(op.results, *arms, strict=True) if op.results else ():
            self.bind(result, call("where", taken, yes, no))
        return None

    # ---- memory

    def _mask(self, guard: SSAValue | None) -> Term | None:
        """The lanes that an access touches; None: all."""
        parts = [m for m in (self._tail, self._branch) if m]
        if guard is not None:
            parts.append(self.read(guard) if parts or self.is_vector(guard) else call("splat", self.read(guard)))
        return reduce(lambda x, y: infix("&", x, y), parts) if parts else None

    def _place(self, op: LoadOp | StoreOp) -> Term:
        """The element offsets of a gather or scatter, one per lane."""
        match self.steps.span(op):
            case None:
                return self.offset(op, self.read)
            case 0:
                return call("splat", call("i64", self.offset(op, self.term)))
            case step:
                return call("iota", self.offset(op, self.term), number(step))

    def load(self, op: LoadOp) -> None:
        buf, as_bool = self.term(op.buf), is_bool(op.value.type)
        if not self.is_vector(op.value):
            term = Term(f"{buf}[{self.offset(op, self.term)}]")
            term = call("as_mask", term) if as_bool else term
            if op.guard is not None and op.fill is not None:
                ok, fill = self.term(op.guard).at(CONDITION + 1), self.term(op.fill).at(CONDITION + 1)
                term = Term(f"{term} if {ok} else {fill}", CONDITION)
            return self.bind(op.value, term, inline=False)
        mask = self._mask(op.guard)
        if self.steps.span(op) != 1:
            term = call("gather", buf, self._place(op), mask or call("full"), self._fill(op))
        elif mask is None:
            term = call("load", buf, self.offset(op, self.term))
        else:
            term = call("load_masked", buf, self.offset(op, self.term), mask, self._fill(op))
        return self.bind(op.value, call("as_mask", term) if as_bool else term, inline=False)

    def _fill(self, op: LoadOp) -> Term:
        """What lanes outside the mask hold."""
        if op.fill is None:
            return number(0)
        if is_bool(op.value.type):
            known = constant_of(op.fill)
            return call("as_bytes", self.read(op.fill)) if known is None else number(int(known != 0))
        return self.read(op.fill, bare=True)

    def store(self, op: StoreOp) -> None:
        buf, span = self.term(op.buf), self.steps.span(op)
        varying = [v for v in (op.value, op.guard) if v is not None and self.is_vector(v)]
        if span == 0 and not varying and self._branch is None:
            value = call("as_bytes", self.term(op.value)) if is_bool(op.value.type) else self.term(op.value)
            text = f"{buf}[{self.offset(op, self.term)}] = {value}"
            if op.guard is None:
                return self.line(text)
            self.line(f"if {self.term(op.guard)}:")
            with self.indented():
                return self.line(text)
        mask, value = self._mask(op.guard), self.vector(op.value)
        value = call("as_bytes", value) if is_bool(op.value.type) else value
        if span != 1:
            return self.line(call("scatter", buf, self._place(op), value, mask or call("full")))
        at = self.offset(op, self.term)
        return self.line(call("store_masked", buf, at, value, mask) if mask else call("store", buf, at, value))

    def scratch(self, op: ScratchOp) -> None:
        """A team's scratch is stack, taken once per call of the kernel."""
        t = buffer_type(op.buf)
        sizes = [d for d in t.shape if isinstance(d, int)]
        strides = [s for s in t.strides.data if isinstance(s, int)]
        count = sum((d - 1) * s for d, s in zip(sizes, strides, strict=True)) + 1 if strides else prod(sizes)
        self.head(f"{self.name(op.buf, 'tile')} = {call('tile_' + storage_name(t.elem), number(max(count, 1)))}")

    def barrier(self, op: BarrierOp) -> None:
        return

    def check(self, op: CheckOp) -> None:
        args = [self.read(v) for v in (op.index, op.value)]
        varying = self._branch is not None or any(self.is_vector(v) for v in (op.ok, op.index, op.value))
        mask = (self._mask(None) or call("full")) if varying else Term("True")
        self.line(call("check", self.read(op.ok), mask, *args, "ctx", str(self.site(op))))

    def call(self, op: CallOp) -> None:
        name = op.callee.string_value()
        if name not in self.schedules:
            raise CompileError(f"target {self.target} has no schedule {name}", op=op.name, location=self.place_of(op),
                               expected=f"one of {', '.join(self.schedules) or 'none'}", got=name)  # fmt: skip
        self.schedules[name](self, op)
