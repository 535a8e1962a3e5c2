"""kernel.func → Numba text over SIMD values. A team is one core; the last index of a loop over lanes is the SIMD index.

Enters: one verified `kernel.func`. Leaves: a `Source` over the vocabulary of `codegen/cpu/`, to
`codegen/cpu/compile.py`.

The index arithmetic of a lane stays a scalar, its value in lane 0, for as long as the step per lane is known: such
an access is a vector load where the step is one element, a scalar load where it is none, else a gather. Loops run
whole vectors, then one masked tail that repeats the body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from math import prod
from typing import TypeAlias

from xdsl.ir import SSAValue

from pelton.codegen.cpu.loops import LoopPrinter
from pelton.codegen.spelling import storage_name
from pelton.codegen.terms import CONDITION, Term, call, infix, number
from pelton.dialects.kernel import BarrierOp, CallOp, CheckOp, FuncOp, LoadOp, ReportOp, ScratchOp, StoreOp
from pelton.dialects.kernel.uniformity import buffer_type, constant_of
from pelton.dialects.types import is_bool
from pelton.support.errors import CompileError

Schedule: TypeAlias = "Callable[[CpuPrinter, CallOp], None]"
"""Prints the text of a hand schedule."""


class CpuPrinter(LoopPrinter):
    """Prints one function; `schedules` gives the texts that `kernel.call` names."""

    def __init__(self, func: FuncOp, schedules: Mapping[str, Schedule] | None = None) -> None:
        super().__init__(func)
        self.schedules = schedules or {}

    def _mask(self, guard: SSAValue | None) -> Term | None:
        """The lanes that an access touches; None: all."""
        parts = [m for m in (self.tail, self.taken) if m]
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
        if span == 0 and not varying and self.taken is None:
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
        self.line(call("check", *self._judged(op, op.value), "ctx", str(op.site.data)))

    def report(self, op: ReportOp) -> None:
        word = f"report_{len(op.values)}"
        self.line(call(word, *self._judged(op, *op.values), self.term(op.rows), str(op.row.data)))

    def _judged(self, op: CheckOp | ReportOp, *values: SSAValue) -> list[Term]:
        """The condition, the lanes it is asked in, the index and the values."""
        varying = self.taken is not None or any(self.is_vector(v) for v in (op.ok, op.index, *values))
        mask = (self._mask(None) or call("full")) if varying else Term("True")
        return [self.read(op.ok), mask, self.read(op.index), *map(self.read, values)]

    def call(self, op: CallOp) -> None:
        name = op.callee.string_value()
        if name not in self.schedules:
            raise CompileError(f"target {self.target} has no schedule {name}", op=op.name, location=self.place_of(op),
                               expected=f"one of {', '.join(self.schedules) or 'none'}", got=name)  # fmt: skip
        self.schedules[name](self, op)
