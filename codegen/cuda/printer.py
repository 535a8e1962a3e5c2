"""kernel.func → Numba CUDA text: a thread block per grid item, and every value one thread's own scalar.

Enters: a verified `kernel.func` with its barriers in place (`insert-barriers`). Leaves: a `Source`, to
`codegen/cuda/compile.py`. A lane loop is strided over the threads; a reduction is a thread's own partial value, then
shuffles, then (above one warp) a row of shared memory. Outside lane loops all threads compute the same values and
only thread 0 stores. Where lanes access neighbours, a thread does four of them a turn (`by_four.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, BlockArgument, Operation

from pelton.codegen.cuda.by_four import ByFour
from pelton.codegen.spelling import ROWS, VOCABULARY, Row, ceildiv, combination, identity, register_name, storage_name
from pelton.codegen.terms import ATOM, CONDITION, Term, call, infix, number, product
from pelton.dialects.kernel import (
    KINDS,
    BarrierOp,
    CallOp,
    CheckOp,
    FuncOp,
    GridOp,
    LanesOp,
    LoadOp,
    Loop,
    ReduceOp,
    ReportOp,
    ScratchOp,
    StoreOp,
)
from pelton.dialects.kernel.uniformity import buffer_type
from pelton.dialects.types import bytes_of, dtype_name, is_bool, is_int
from pelton.support.errors import CompileError


def _ceildiv(op: Operation, args: Sequence[Term], vector: bool) -> Term:
    """Of sizes by a number, rounded up."""
    x, y = args
    if y.text.isdigit() and y.text != "0":
        return infix("//", infix("+", x, number(int(y.text) - 1)), y)
    return ceildiv(op, args, vector)


DEFAULT_THREADS = 128
WARP = 32
INTEGERS = tuple(f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64))
THREADS = (32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class Schedule:
    """A hand schedule: the threads its blocks have, what prints its text, and the names it takes."""

    threads: int
    write: Callable[[CudaPrinter, CallOp], None]
    names: frozenset[str] = frozenset()


def threads_of(func: FuncOp, schedules: Mapping[str, Schedule]) -> int:
    """Threads per block: those of the schedule it calls, else its `threads` attribute, else 128."""
    for op in func.body.block.ops:
        if isinstance(op, CallOp) and op.callee.string_value() in schedules:
            return schedules[op.callee.string_value()].threads
    given = func.attributes.get("threads")
    threads = given.value.data if isinstance(given, IntegerAttr) else DEFAULT_THREADS
    if threads not in THREADS:
        raise CompileError("a block has a power of two of threads in whole warps", op=func.name,
                           location=f"@{func.sym_name.data}", expected=f"one of {THREADS}",
                           got=str(threads))  # fmt: skip
    return threads


class CudaPrinter(ByFour):
    """Prints one function; `schedules` gives the texts that `kernel.call` names."""

    target: ClassVar[str] = "numba-cuda"
    rows: ClassVar[Mapping[str, Row]] = {**ROWS, "arith.ceildivui": _ceildiv}
    vocabulary: ClassVar[frozenset[str]] = VOCABULARY.union(
        ("cuda", "T", "tid", "fma", "claim", "tile_madd", "tile_put", "tile_fold", "tile_fold_f16", "tile_fold_bf16"),
        ("load_4", "store_4"),
        (f"warp_{kind}" for kind in KINDS),
        (f"{made}_{element}" for made in ("zeros", "sums") for element in ("f32", "f64", *INTEGERS)),
    )

    def __init__(self, func: FuncOp, schedules: Mapping[str, Schedule] | None = None) -> None:
        super().__init__(func)
        self.schedules = schedules or {}
        for name in (n for schedule in self.schedules.values() for n in schedule.names):
            self.names.reserve(name)
        self.threads = self.lanes_per_step = threads_of(func, self.schedules)
        self._in_lanes = False
        self._rows: dict[str, str] = {}

    # ---- values

    def lane_args(self, indices: Sequence[BlockArgument]) -> Sequence[BlockArgument]:
        return indices

    def spell(self, op: Operation, args: Sequence[Term], vector: bool) -> Term:
        """Numba widens what is narrower than int64; anything but a call is cut back."""
        term, t = super().spell(op, args, vector), op.results[0].type
        return call(dtype_name(t), term) if is_int(t) and bytes_of(t) < 8 and term.level < ATOM else term

    # ---- loops

    def grid(self, op: GridOp) -> None:
        args, bounds = op.body.block.args, [self.variable(b, "bound") for b in op.bounds]
        self.head("tid = i64(cuda.threadIdx.x)")
        if args:
            item = self.name(args[0], "i") if len(args) == 1 else self.names.fresh(None, "item")
            self.line(f"{item} = lo + cuda.blockIdx.x")
            if len(args) > 1:
                self.unflatten(Term(item), args, bounds)
        self.block(op.body.block)

    @contextmanager
    def _threads(self, op: Loop) -> Generator[None]:
        """The lines of a loop over an index space, strided over the threads."""
        if self._in_lanes:
            raise CompileError("lanes do not nest", op=op.name, location=self.place_of(op),
                               expected="a loop over all its indices at once", got="a loop inside lanes")  # fmt: skip
        args, bounds = op.body.block.args, [self.variable(b, "bound") for b in op.bounds]
        self._in_lanes = True
        if len(args) == 1:
            with self.index(args[0], "j") as j:
                self.line(f"for {j} in range(tid, {bounds[0]}, T):")
                with self.indented():
                    yield
        else:
            total = product(bounds)
            lane = self.names.index(None, "lane")
            self.line(f"for {lane} in range(tid, {total}, T):")
            with self.indented():
                self.unflatten(Term(lane), args, bounds)
                yield
            self.names.release(lane, None, "lane")
        self._in_lanes = False

    def lanes(self, op: LanesOp) -> None:
        if op.by_four:
            self._in_lanes = True
            self.by_four(op, [self.variable(b, "bound") for b in op.bounds])
            self._in_lanes = False
        else:
            with self._threads(op):
                self.block(op.body.block)

    def reduce(self, op: ReduceOp) -> None:
        kinds = list(zip(op.kind_names, op.yielded.values, op.values, strict=True))
        for kind, _, result in kinds:
            self.line(f"{self.name(result, 'acc')} = {identity(kind, result.type)}")
        with self._threads(op):
            self.block(op.body.block)
            for kind, value, result in kinds:
                if (both := combination(kind, result.type, self.term(result), self.term(value))) is None:
                    raise self.no_spelling(op)
                self.line(f"{self.term(result)} = {self._narrow(both, result.type)}")
        for kind, _, result in kinds:
            self.line(f"{self.term(result)} = {self._across(kind, self.term(result), result.type)}")

    def _narrow(self, term: Term, t: Attribute) -> Term:
        return call(dtype_name(t), term) if is_int(t) and bytes_of(t) < 8 and term.level < ATOM else term

    def _across(self, kind: str, value: Term, t: Attribute) -> Term:
        """One value per thread to one for the block."""
        if is_bool(t):
            return infix("!=", self._across_register(kind, call("to_i32", value), "i32"), number(0))
        return self._across_register(kind, value, register_name(t))

    def _across_register(self, kind: str, value: Term, register: str) -> Term:
        if self.threads == WARP:
            return call(f"warp_{kind}", value)
        if register not in self._rows:
            self._rows[register] = self.names.fresh(f"row_{register}", "row")
            self.head(f"{self._rows[register]} = {call(f'tile_{register}', number(WARP))}")
        return call(f"across_{kind}", value, self._rows[register])

    # ---- memory

    def load(self, op: LoadOp) -> None:
        term = self.element(op)
        term = call("as_mask", term) if is_bool(op.value.type) else term
        if op.guard is not None and op.fill is not None:
            ok, fill = self.term(op.guard).at(CONDITION + 1), self.term(op.fill).at(CONDITION + 1)
            term = Term(f"{term} if {ok} else {fill}", CONDITION)
        self.bind(op.value, term, inline=False)

    def store(self, op: StoreOp) -> None:
        value = self.term(op.value)
        value = call("as_bytes", value) if is_bool(op.value.type) else value
        guard = self.term(op.guard) if op.guard is not None else None
        self._once(f"{self.element(op)} = {value}", guard)

    def _once(self, text: str, guard: Term | None = None) -> None:
        """A line with an effect: each thread's own inside lanes, thread 0's outside."""
        conditions = [] if self._in_lanes else [Term("tid == 0", CONDITION + 2)]
        conditions += [guard] if guard is not None else []
        if not conditions:
            return self.line(text)
        self.line(f"if {' and '.join(c.at(CONDITION + 1) for c in conditions)}:")
        with self.indented():
            return self.line(text)

    def scratch(self, op: ScratchOp) -> None:
        """A team's scratch is shared memory."""
        t = buffer_type(op.buf)
        sizes = [d for d in t.shape if isinstance(d, int)]
        strides = [s for s in t.strides.data if isinstance(s, int)]
        count = sum((d - 1) * s for d, s in zip(sizes, strides, strict=True)) + 1 if strides else prod(sizes)
        self.head(f"{self.name(op.buf, 'tile')} = {call('tile_' + storage_name(t.elem), number(max(count, 1)))}")

    def barrier(self, op: BarrierOp) -> None:
        self.line("cuda.syncthreads()")

    def check(self, op: CheckOp) -> None:
        args = [self.term(v) for v in (op.ok, op.index, op.value)]
        self._once(str(call("check", *args, "ctx", str(op.site.data))))

    def report(self, op: ReportOp) -> None:
        args = [self.term(v) for v in (op.ok, op.index, *op.values, op.rows)]
        self._once(str(call(f"report_{len(op.values)}", *args, str(op.row.data))))

    # ---- hand schedules

    def call(self, op: CallOp) -> None:
        name = op.callee.string_value()
        if name not in self.schedules:
            raise CompileError(f"target {self.target} has no schedule {name}", op=op.name, location=self.place_of(op),
                               expected=f"one of {', '.join(self.schedules) or 'none'}", got=name)  # fmt: skip
        self.schedules[name].write(self, op)

    def epilogue(self, op: CallOp, accumulator: Term, indices: Sequence[Term]) -> None:
        """The hole of a hand schedule, for one thread's accumulator and its indices."""
        for arg, term in zip(op.body.block.args, (accumulator, *indices), strict=True):
            self.set_term(arg, term)
        self._in_lanes = True
        self.block(op.body.block)
        self._in_lanes = False
