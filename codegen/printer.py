"""kernel.func → Numba text: what the printers of all targets share. A target adds loops, memory, and rows that differ.

Enters: one verified `kernel.func`. Leaves: a `Source`, to `codegen/cpu/compile.py` or `codegen/cuda/compile.py`.
The same function always gives the same text.

`body.Body` holds lines and terms, `uniformity.Steps` decides between uniform and varying values, and how scalar ops are
spelled stands in `spelling.ROWS`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from keyword import iskeyword
from typing import ClassVar

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from pelton.codegen import spelling
from pelton.codegen.body import Body
from pelton.codegen.literals import is_half
from pelton.codegen.source import Source
from pelton.codegen.spelling import VOCABULARY, Function, Infix, Row, register_name
from pelton.codegen.terms import Term, call, infix
from pelton.dialects.kernel import (
    BarrierOp,
    CallOp,
    CheckOp,
    DimOp,
    FuncOp,
    GridOp,
    LanesOp,
    LoadOp,
    ReduceOp,
    ReportOp,
    ScratchOp,
    StoreOp,
    YieldOp,
)
from pelton.dialects.kernel.uniformity import Steps, buffer_type, constant_of, yielded
from pelton.dialects.types import bytes_of, dtype_name, is_int
from pelton.support.errors import CompileError

DEFAULT_LANES = 32


def kernel_name(func: FuncOp, reserved: frozenset[str] = VOCABULARY) -> str:
    """The Python name of a kernel, which is also its symbol in object code."""
    name = re.sub(r"\W", "_", func.sym_name.data, flags=re.ASCII)
    usable = name.isidentifier() and not iskeyword(name) and name not in reserved
    return name if usable else f"kernel_{name}"


def lanes_of(func: FuncOp) -> int:
    """Logical lanes of one vector step: the function's `lanes` attribute, 32 without one."""
    given = func.attributes.get("lanes")
    return given.value.data if isinstance(given, IntegerAttr) else DEFAULT_LANES


class Printer(Body, ABC):
    """Prints one function. Subclasses give the loops, the memory ops, and rows that differ on their target."""

    target: ClassVar[str]
    extra: ClassVar[tuple[str, ...]] = ("lo", "hi", "ctx")
    rows: ClassVar[Mapping[str, Row]] = spelling.ROWS
    vocabulary: ClassVar[frozenset[str]] = VOCABULARY
    widens_integers: ClassVar[bool] = True
    """Whether the sum of two scalar i32 is an i64, as it is to Numba itself."""

    def __init__(self, func: FuncOp) -> None:
        super().__init__(func, self.vocabulary)
        self.lanes_per_step = lanes_of(func)
        self.steps = Steps(func, self.lane_args)

    def source(self) -> Source:
        """The text of the function and what its parameters are."""
        loops = [op for op in self.func.body.block.ops if isinstance(op, GridOp | CallOp)]
        if len(loops) != 1:
            raise CompileError(
                "a kernel has one grid or one call",
                op=self.func.name,
                location=self.place_of(self.func),
                expected="one kernel.grid or kernel.call",
                got=str(len(loops)),
            )
        args = self.func.body.block.args
        buffers = tuple((self.name(a, "buf"), register_name(buffer_type(a).elem)) for a in args)
        for symbol in map(str, self.func.sizes.data):
            self.symbols[symbol] = Term(self.names.fresh(symbol, "size"))
        self.block(self.func.body.block)
        name = kernel_name(self.func, self.vocabulary)
        head = f"def {name}({', '.join([*(b for b, _ in buffers), *map(str, self.symbols.values()), *self.extra])}):"
        text = "\n".join([head, f'    """{self._summary()}"""', *self.head_lines, *self.lines]) + "\n"
        return Source(name, text, buffers, tuple(self.symbols), self.lanes_per_step)

    def _summary(self) -> str:
        shapes = [(self.term(a), buffer_type(a)) for a in self.func.body.block.args]
        return ", ".join(f"{n}[{', '.join(map(str, t.shape))}] {dtype_name(t.elem)}" for n, t in shapes)

    # ---- values

    def read(self, value: SSAValue, bare: bool = False) -> Term:
        """`value` as data. A target whose variables hold less than the value (lane 0 of an index) expands it here."""
        return self.term(value, bare)

    def is_vector(self, value: SSAValue) -> bool:
        """Whether reading `value` gives one variable with a value per lane."""
        return False

    def assigned(self, value: SSAValue, variable: SSAValue) -> Term:
        """`value` in the form that the variable of `variable` holds."""
        return self.term(value)

    # ---- ops

    def block(self, block: Block) -> None:
        """All ops of `block` in their order; terminators belong to the loops."""
        for op in block.ops:
            self.op(op)

    def op(self, op: Operation) -> None:
        """One op, by its class."""
        match op:
            case arith.ConstantOp() | YieldOp() | scf.YieldOp():
                return
            case DimOp():
                self.set_term(op.value, self.symbols[op.dim.data])
            case GridOp():
                self.grid(op)
            case LanesOp():
                self.lanes(op)
            case ReduceOp():
                self.reduce(op)
            case LoadOp():
                self.load(op)
            case StoreOp():
                self.store(op)
            case ScratchOp():
                self.scratch(op)
            case BarrierOp():
                self.barrier(op)
            case CheckOp():
                self.check(op)
            case ReportOp():
                self.report(op)
            case CallOp():
                self.call(op)
            case scf.ForOp():
                self.sequential(op)
            case scf.IfOp():
                self.branch(op)
            case _:
                self.scalar(op)

    def scalar(self, op: Operation) -> None:
        """An op of `arith` or `math`."""
        if len(op.results) != 1:
            raise self.no_spelling(op)
        args = self.arguments(op)
        self.settle(op.results[0], self.spell(op, args, self.is_vector(op.results[0])), args)

    def settle(self, result: SSAValue, term: Term, args: Sequence[Term]) -> None:
        """Bind `result`, unless it is one of its operands under another type."""
        if term in args and term.text.isidentifier():
            self.set_term(result, term)
        else:
            self.bind(result, term)

    def arguments(self, op: Operation) -> list[Term]:
        """The operands as data; beside a vector of its type a literal needs no type of its own."""
        vectors = [o.type for o in op.operands if self.is_vector(o)]
        return [self.read(o, bare=o.type in vectors) for o in op.operands]

    def spell(self, op: Operation, args: Sequence[Term], vector: bool) -> Term:
        """The op as an expression, by the target's rows."""
        if is_half(op.results[0].type) and op.name not in spelling.MAKES_HALF:
            raise self.no_spelling(op)
        match self.rows.get(op.name):
            case Infix(operator):
                return self._wrapped(infix(operator, args[0], args[1]), op.results[0].type, vector)
            case Function(name):
                return call(name, *args)
            case None:
                raise self.no_spelling(op)
            case rule:
                return rule(op, args, vector)

    def _wrapped(self, term: Term, t: Attribute, vector: bool) -> Term:
        """A narrow integer wraps, also where the target's scalars widen."""
        widened = self.widens_integers and not vector and is_int(t) and bytes_of(t) < 8
        return call(dtype_name(t), term) if widened else term

    def no_spelling(self, op: Operation) -> CompileError:
        """What is raised for an op that this target cannot print."""
        types = ", ".join(str(t) for t in (*(o.type for o in op.operands), *(r.type for r in op.results)))
        if op.name in self.rows:
            expected, remedy = "f32 or f64", "compute in f32, between arith.extf and arith.truncf"
        else:
            expected, remedy = f"one of {', '.join(sorted(self.rows))}", "lower it to ops that have one"
        return CompileError(
            f"target {self.target} has no spelling for {op.name}", op=op.name, location=self.place_of(op),
            expected=expected, got=f"{op.name} : {types}", remedy=remedy,
        )  # fmt: skip

    # ---- sequential control flow, for conditions and bounds that are one value

    def sequential(self, op: scf.ForOp) -> None:
        """`scf.for`: a Python loop; carried values are variables."""
        index, *carried = op.body.block.args
        for arg, start, result in zip(carried, op.iter_args, op.results, strict=True):
            self.line(f"{self.name(arg, 'acc')} = {self.assigned(start, arg)}")
            self.set_term(result, self.term(arg))
        bounds = [self.term(b) for b in (op.lb, op.ub, op.step)]
        if constant_of(op.step) == 1:
            bounds = bounds[1:2] if constant_of(op.lb) == 0 else bounds[:2]
        with self.index(index, "k") as k:
            self.line(f"for {k} in {call('range', *bounds)}:")
            with self.indented():
                self.block(op.body.block)
                self.carry(carried, yielded(op.body.block))

    def carry(self, variables: Sequence[BlockArgument], values: Sequence[SSAValue]) -> None:
        """Assign all `values` at once: one that reads a variable assigned before it is saved first."""
        texts = [str(self.assigned(v, a)) for a, v in zip(variables, values, strict=True)]
        names = [self.name(a) for a in variables]
        for k, text in enumerate(texts):
            if text != names[k] and set(names[:k]) & set(re.findall(r"\w+", text)):
                texts[k] = self.names.fresh(None, "next")
                self.line(f"{texts[k]} = {text}")
        for name, text in zip(names, texts, strict=True):
            if name != text:
                self.line(f"{name} = {text}")

    def branch(self, op: scf.IfOp) -> None:
        """`scf.if`: a Python `if` whose arms assign the results."""
        self.line(f"if {self.term(op.cond)}:")
        self._arm(op, op.true_region.block)
        if op.false_region.blocks:
            self.line("else:")
            self._arm(op, op.false_region.block)

    def _arm(self, op: scf.IfOp, block: Block) -> None:
        with self.indented():
            self.block(block)
            for result, value in zip(op.results, yielded(block), strict=True):
                self.line(f"{self.name(result)} = {self.assigned(value, result)}")

    # ---- what each target says its own way

    @abstractmethod
    def lane_args(self, indices: Sequence[BlockArgument]) -> Sequence[BlockArgument]:
        """The indices of a `lanes` or `reduce` loop that differ from lane to lane."""

    @abstractmethod
    def grid(self, op: GridOp) -> None: ...

    @abstractmethod
    def lanes(self, op: LanesOp) -> None: ...

    @abstractmethod
    def reduce(self, op: ReduceOp) -> None: ...

    @abstractmethod
    def load(self, op: LoadOp) -> None: ...

    @abstractmethod
    def store(self, op: StoreOp) -> None: ...

    @abstractmethod
    def scratch(self, op: ScratchOp) -> None: ...

    @abstractmethod
    def barrier(self, op: BarrierOp) -> None: ...

    @abstractmethod
    def check(self, op: CheckOp) -> None: ...

    @abstractmethod
    def report(self, op: ReportOp) -> None: ...

    @abstractmethod
    def call(self, op: CallOp) -> None: ...
