"""kernel.func → Numba text: what the printers of all targets share. A target is a subclass: loops, memory, and rows that differ.

Enters: one verified `kernel.func`. Leaves: a `Source`, to `codegen/cpu/compile.py` or `codegen/cuda/compile.py`. The same function
always gives the same text.

Every SSA value has a `Term`: a variable's name, or the expression itself where a nameless value is used once, in its own block. Between
uniform and varying values `uniformity.Steps` decides; how scalar ops are spelled stands in `spelling.ROWS`.
"""

from __future__ import annotations

import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from pelton.codegen import spelling
from pelton.codegen.source import Source
from pelton.codegen.spelling import VOCABULARY, Function, Infix, Row, register_name
from pelton.codegen.terms import Names, Term, call, dim_term, infix, number, total
from pelton.codegen.uniformity import Steps, constant_of
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import (
    BarrierOp,
    BufType,
    CallOp,
    CheckOp,
    DimOp,
    FuncOp,
    GridOp,
    LanesOp,
    LoadOp,
    ReduceOp,
    ScratchOp,
    StoreOp,
    YieldOp,
)
from pelton.dialects.types import bytes_of, dtype_name, is_bool
from pelton.support.errors import CompileError

DEFAULT_LANES = 32
LONGEST_INLINE = 60
STORAGE: Mapping[str, str] = {"i1": "u8", "f16": "u16", "bf16": "u16"}
"""Element types that stand in memory as another type; all others stand as themselves."""


def kernel_name(func: FuncOp, reserved: frozenset[str] = VOCABULARY) -> str:
    """The Python name of a kernel, which is also its symbol in object code."""
    name = re.sub(r"\W", "_", func.sym_name.data, flags=re.ASCII)
    return name if name.isidentifier() and name not in reserved else f"{name}_kernel".lstrip("0123456789")


def lanes_of(func: FuncOp) -> int:
    """Logical lanes of one vector step: the function's `lanes` attribute, 32 without one."""
    given = func.attributes.get("lanes")
    return given.value.data if isinstance(given, IntegerAttr) else DEFAULT_LANES


class Printer(ABC):
    """Prints one function. Subclasses give the loops, the memory ops, and rows of `spelling.ROWS` that differ on their target."""

    target: ClassVar[str]
    extra: ClassVar[tuple[str, ...]] = ("lo", "hi", "ctx")
    rows: ClassVar[Mapping[str, Row]] = spelling.ROWS
    vocabulary: ClassVar[frozenset[str]] = VOCABULARY

    def __init__(self, func: FuncOp) -> None:
        self.func = func
        self.lanes_per_step = lanes_of(func)
        self.steps = Steps(func, self.lane_args)
        self.names = Names(self.vocabulary)
        self.checks: list[str] = []
        self._sites: dict[Operation, int] = {}
        self._terms: dict[SSAValue, Term] = {}
        self._symbols: dict[str, Term] = {}
        self._head: list[str] = []
        self._lines: list[str] = []
        self._depth = 1

    # ---- the whole function

    def source(self) -> Source:
        """The text of the function and what its parameters are."""
        loops = [op for op in self.func.body.block.ops if isinstance(op, GridOp | CallOp)]
        if len(loops) != 1:
            raise CompileError(
                "a kernel has one grid or one call", op="kernel.func", location=f"@{self.func.sym_name.data}",
                expected="one kernel.grid or kernel.call", got=str(len(loops)),
            )  # fmt: skip
        name = kernel_name(self.func, self.vocabulary)
        args = self.func.body.block.args
        buffers = [(self.name(a, "buf"), register_name(_buf(a).elem)) for a in args]
        for symbol in self.func.sizes.data:
            assert isinstance(symbol, str)
            self._symbols[symbol] = Term(self.names.fresh(symbol, "size"))
        self.block(self.func.body.block)
        symbols = tuple(t.text for t in self._symbols.values())
        head = f"def {name}({', '.join([*(b for b, _ in buffers), *symbols, *self.extra])}):"
        text = "\n".join([head, f'    """{self._summary()}"""', *self._head, *self._lines]) + "\n"
        return Source(name, text, tuple(buffers), symbols, self.lanes_per_step, tuple(self.checks))

    def _summary(self) -> str:
        shapes = [(self.term(a), _buf(a)) for a in self.func.body.block.args]
        return ", ".join(f"{n}[{', '.join(map(str, t.shape))}] {dtype_name(t.elem)}" for n, t in shapes)

    # ---- text

    def line(self, text: str) -> None:
        """One line at the current depth."""
        self._lines.append("    " * self._depth + text)

    def head(self, text: str) -> None:
        """One line at the top of the function."""
        self._head.append("    " + text)

    @contextmanager
    def indented(self) -> Iterator[None]:
        """One level deeper; a body that stays empty becomes `pass`."""
        before = len(self._lines)
        self._depth += 1
        yield
        if len(self._lines) == before:
            self.line("pass")
        self._depth -= 1

    # ---- values

    def name(self, value: SSAValue, default: str = "t") -> str:
        """The variable of `value`: its name hint where that is free. Printing a body again keeps its names."""
        if value not in self._terms or not self._terms[value].text.isidentifier():
            self._terms[value] = Term(self.names.fresh(value.name_hint, default))
        return self._terms[value].text

    def set_term(self, value: SSAValue, term: Term) -> None:
        """Let `value` be read as `term`."""
        self._terms[value] = term

    def symbol(self, symbol: str) -> Term:
        """A size of the function."""
        return self._symbols[symbol]

    def dim(self, dim: Dim) -> Term:
        """A size expression."""
        return dim_term(dim, self.symbol)

    def term(self, value: SSAValue, bare: bool = False) -> Term:
        """`value` as it stands in its variable; a constant as a literal, without its type where `bare`."""
        op = value.owner
        if isinstance(op, arith.ConstantOp):
            return literal(op, bare)
        if value not in self._terms:
            raise CompileError(
                f"target {self.target} has no text for a value", op=op.name if isinstance(op, Operation) else "block argument",
                location=f"@{self.func.sym_name.data}", expected="a value defined before its use",
            )  # fmt: skip
        return self._terms[value]

    def read(self, value: SSAValue, bare: bool = False) -> Term:
        """`value` as data. A target whose variables hold less than the value (lane 0 of an index) expands it here."""
        return self.term(value, bare)

    def is_vector(self, value: SSAValue) -> bool:
        """Whether reading `value` gives one variable with a value per lane."""
        return False

    def assigned(self, value: SSAValue, variable: SSAValue) -> Term:
        """`value` in the form that the variable of `variable` holds."""
        return self.term(value)

    def bind(self, value: SSAValue, term: Term, inline: bool = True) -> None:
        """Give `value` its term: on a line of its own if it has a name or several uses, else in place."""
        if inline and value.name_hint is None and len(term.text) <= LONGEST_INLINE and _used_once_nearby(value):
            self._terms[value] = term
        else:
            self.line(f"{self.name(value)} = {term}")

    def offset(self, op: LoadOp | StoreOp, read: Callable[[SSAValue], Term]) -> Term:
        """The element offset of an access; `read` gives the form in which its indices are wanted."""
        terms: list[Term] = []
        for value, stride in zip(op.index, _buf(op.buf).element_strides(), strict=True):
            at = constant_of(value)
            if at == 0 or stride == 0:
                continue
            if stride == 1:
                terms.append(read(value))
            else:
                terms.append(self.dim(stride) if at == 1 else infix("*", read(value), self.dim(stride)))
        return total(terms)

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
                self.set_term(op.value, self.symbol(op.dim.data))
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
        self.bind(op.results[0], self.spell(op, self.arguments(op), self.is_vector(op.results[0])))

    def arguments(self, op: Operation) -> list[Term]:
        """The operands as data; beside a vector of its type a literal needs no type of its own."""
        vectors = [o.type for o in op.operands if self.is_vector(o)]
        return [self.read(o, bare=o.type in vectors) for o in op.operands]

    def spell(self, op: Operation, args: Sequence[Term], vector: bool) -> Term:
        """The op as an expression, by the target's rows."""
        if is_half(op.results[0].type) and op.name not in ("arith.select", "arith.truncf", "arith.sitofp", "arith.uitofp"):
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
        """Numba widens scalar int32 + int32 to int64; the IR wraps."""
        narrow = isinstance(t, IntegerType) and 1 < t.width.data < 64
        return call(dtype_name(t), term) if narrow and not vector else term

    def no_spelling(self, op: Operation) -> CompileError:
        """What is raised for an op that this target cannot print."""
        types = ", ".join(str(t) for t in (*(o.type for o in op.operands), *(r.type for r in op.results)))
        return CompileError(
            f"target {self.target} has no spelling for {op.name}", op=op.name, location=f"@{self.func.sym_name.data}",
            expected=f"one of {', '.join(sorted(self.rows))}", got=f"{op.name} : {types}",
            remedy="compute in f32 (arith.extf, arith.truncf)" if "f16" in types else "lower it to ops that have one",
        )  # fmt: skip

    def site(self, op: CheckOp) -> int:
        """The number of a check within its function, from 1."""
        if op not in self._sites:
            self.checks.append(op.text.data)
            self._sites[op] = len(self.checks)
        return self._sites[op]

    def sequential(self, op: scf.ForOp) -> None:
        """`scf.for` with uniform bounds: a Python loop; carried values are variables."""
        index, *carried = op.body.block.args
        for arg, start, result in zip(carried, op.iter_args, op.results, strict=True):
            self.line(f"{self.name(arg, 'acc')} = {self.assigned(start, arg)}")
            self.set_term(result, self.term(arg))
        bounds = [self.term(b) for b in (op.lb, op.ub, op.step)]
        if constant_of(op.step) == 1:
            bounds = bounds[1:2] if constant_of(op.lb) == 0 else bounds[:2]
        self.line(f"for {self.name(index, 'k')} in {call('range', *bounds)}:")
        with self.indented():
            self.block(op.body.block)
            self.carry(carried, terminated(op.body.block).operands)

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
        """`scf.if` with a condition of one value."""
        self.line(f"if {self.term(op.cond)}:")
        self._arm(op, op.true_region.block)
        if op.false_region.blocks:
            self.line("else:")
            self._arm(op, op.false_region.block)

    def _arm(self, op: scf.IfOp, block: Block) -> None:
        with self.indented():
            self.block(block)
            for result, value in zip(op.results, terminated(block).operands if op.results else (), strict=True):
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
    def call(self, op: CallOp) -> None: ...


def literal(op: arith.ConstantOp, bare: bool) -> Term:
    """A constant with its type (`f32(0.5)`), or `bare` (`0.5`) where the text beside it gives the type."""
    t, value = op.result.type, op.value
    match value:
        case IntegerAttr() if is_bool(t):
            return Term(str(value.value.data != 0))
        case IntegerAttr():
            typed, term = isinstance(t, IntegerType) and t.width.data < 64, number(value.value.data)
        case FloatAttr() if is_half(t):
            typed, term = True, number(half_bits(value.value.data, dtype_name(t)))
            return term if bare else call("u16", term)
        case FloatAttr():
            typed, term = bytes_of(t) < 8, number(value.value.data, bytes_of(t) * 8)
        case _:
            raise CompileError("a kernel constant is one number", op=op.name, got=str(value))
    return call(register_name(t), term) if typed and not bare else term


def is_half(t: Attribute) -> bool:
    """f16 or bf16: held in registers as the 16 bits that stand in memory."""
    return register_name(t) in spelling.FROM_HALF if not isinstance(t, BufType) else False


def half_bits(value: float, t: str) -> int:
    """The 16 bits of an f16 or bf16 value, rounded to nearest even."""
    if t == "f16":
        try:
            return int.from_bytes(struct.pack("<e", value), "little")
        except OverflowError:
            return 0x7C00 if value > 0 else 0xFC00
    bits = int.from_bytes(struct.pack("<f", value), "little")
    if value != value:
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def terminated(block: Block) -> Operation:
    """The terminator of a block of `scf`."""
    last = block.last_op
    assert isinstance(last, scf.YieldOp)
    return last


def _buf(value: SSAValue) -> BufType:
    assert isinstance(value.type, BufType)
    return value.type


def _used_once_nearby(value: SSAValue) -> bool:
    use = value.get_user_of_unique_use()
    return use is not None and use.parent is not None and use.parent is value.owner.parent
