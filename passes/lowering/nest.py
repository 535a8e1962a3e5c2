"""What all loop nests share: the kernel function in the making, and the scalar that a tensor value has at an index.

Values are pulled: a nest asks for the group's result at an index, and `Nest.read` emits the scalar code for it, back
to loads from the group's inputs. What is computed once per scope is remembered per scope, so nothing is emitted twice
within one loop body.

Every size becomes a symbol of the function that a launch binds (`n0`, `n1`, … in order of appearance): kernels of
equal structure have equal text, whatever the model calls its dims, and contain no dim arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.transforms.dead_code_elimination import region_dce

from pelton.dialects import dims
from pelton.dialects.checks import Checked
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import (
    INDEX,
    BufType,
    CheckOp,
    DimOp,
    FuncOp,
    GridOp,
    LanesOp,
    ReportOp,
    StoreOp,
    row_words,
)
from pelton.dialects.nn import AssertOp, GroupOp, StoreSliceOp
from pelton.dialects.nn.matmul import Product
from pelton.dialects.nn.ranges import Ranges
from pelton.dialects.nn.reduce import PART
from pelton.dialects.op import NnOp, Pointwise, Reduction, location_of
from pelton.dialects.scalars import Scalars
from pelton.dialects.types import DimsAttr, TensorType, bytes_of, dtype_name, is_float, limits_of
from pelton.support.errors import CompileError

Key = tuple[SSAValue, tuple[SSAValue, ...], SSAValue | None]
"""A tensor value, an index, and the guard under which the scalar was computed."""


@dataclass(eq=False)
class Checks:
    """The checks of a group, by the ops they belong to: numbers from 1, and rows of reports in the last parameter."""

    group: GroupOp
    memory: BlockArgument | None = None

    def __post_init__(self) -> None:
        found = checked_ops(self.group)
        self.numbers: dict[Operation, int] = {op: k + 1 for k, op in enumerate(found)}
        self.rows: dict[Operation, int] = {}
        self.words = 0
        for op in found:
            if op.row_values:
                self.rows[op] = self.words
                self.words += row_words(op.row_values)


def checked_ops(group: GroupOp) -> list[Checked]:
    """The ops of a group that leave checks in its kernel, in order."""
    return [op for op in group.body.block.ops if isinstance(op, Checked) and op.mode != "off"]


class KernelScalars(Scalars):
    """Scalars of a kernel function: its own symbols are the sizes; sizes and index constants stand once, at its top."""

    def __init__(self, builder: Builder, symbol: Callable[[Dim], str], checks: Checks) -> None:
        super().__init__(builder)
        self.symbol = symbol
        self.checks = checks
        self.top = builder.insertion_point.block
        self.known: dict[int | str, SSAValue] = {}
        self.last: Operation | None = None

    def dim(self, dim: Dim) -> SSAValue:
        if isinstance(dim, int):
            return self.index(dim)
        name = self.symbol(dim)
        return self._once(name, DimOp(name))

    def constant(self, value: float | int | bool, dtype: Attribute) -> SSAValue:
        if dtype != INDEX:
            return super().constant(value, dtype)
        return self._once(int(value), arith.ConstantOp(IntegerAttr(int(value), INDEX)))

    def judge(self, op: Operation, ok: SSAValue, index: SSAValue, words: Sequence[SSAValue]) -> None:
        """A check by its op's number; where it reports, or has more to show, a row too."""
        assert isinstance(op, Checked)
        if op.mode == "fail":
            self.builder.insert(CheckOp(self.checks.numbers[op], ok, index, words[0]))
        if (row := self.checks.rows.get(op)) is not None:
            assert self.checks.memory is not None
            self.builder.insert(ReportOp(ok, index, words, self.checks.memory, row))

    def _once(self, key: int | str, op: Operation) -> SSAValue:
        if key not in self.known:
            before = self.last.next_op if self.last is not None else self.top.first_op
            if before is None:
                self.top.add_op(op)
            else:
                self.top.insert_op_before(op, before)
            self.last = op
            self.known[key] = op.results[0]
        return self.known[key]


@dataclass(eq=False)
class Argument:
    """One parameter of the kernel: the group input, the shape it is seen as, whether only `finished` reads it."""

    value: SSAValue
    shape: tuple[Dim, ...]
    buffer: BlockArgument
    in_place: bool = True


@dataclass(eq=False)
class Flat:
    """Leading dims that the nest runs as one: the full shape and index, and the short ones."""

    full: tuple[Dim, ...]
    index: tuple[SSAValue, ...]
    shape: tuple[Dim, ...]
    flat: tuple[SSAValue, ...]


@dataclass(eq=False)
class Nest:
    """One group becoming one kernel function."""

    group: GroupOp
    body: Block = field(default_factory=Block)
    symbols: dict[Dim, str] = field(default_factory=dict[Dim, str])
    arguments: list[Argument] = field(default_factory=list[Argument])
    scopes: list[dict[Key, SSAValue]] = field(default_factory=lambda: [{}])
    bound: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    stored: set[SSAValue] = field(default_factory=set[SSAValue])
    flat: Flat | None = None
    finished: tuple[SSAValue, ...] = ()
    out: BlockArgument | None = None
    work: list[tuple[tuple[Dim, ...], Attribute]] = field(default_factory=list[tuple[tuple[Dim, ...], Attribute]])

    def __post_init__(self) -> None:
        self.checks = Checks(self.group)
        if self.checks.words:
            self.checks.memory = self.body.insert_arg(BufType([self.checks.words], i64), 0)
            self.checks.memory.name_hint = "rows"
        self.b = KernelScalars(Builder(InsertPoint.at_end(self.body)), self.symbol, self.checks)
        root = self.group.root
        assert isinstance(root, NnOp)
        self.root = root
        self.value = _computed(root)
        assert isinstance(self.value.type, TensorType)
        self.result = self.value.type
        self.ranges: Ranges | None = root.ranges if isinstance(root, StoreSliceOp) else None
        self.zero = self.b.index(0)

    # sizes and buffers
    def symbol(self, dim: Dim) -> str:
        """The function's symbol for a size."""
        return self.symbols.setdefault(dim, f"n{len(self.symbols)}")

    def buf_type(self, shape: Sequence[Dim], elem: Attribute) -> BufType:
        return BufType([d if isinstance(d, int) else self.symbol(d) for d in shape], elem)

    def buffer(self, value: SSAValue, shape: tuple[Dim, ...]) -> Argument:
        """The parameter that holds a group input, seen as `shape`."""
        for known in self.arguments:
            if known.value is value and known.shape == shape:
                return known
        assert isinstance(value.type, TensorType)
        place = len(self.arguments)
        buffer = self.body.insert_arg(self.buf_type(shape, value.type.dtype), place)
        buffer.name_hint = f"x{place}"
        self.arguments.append(Argument(value, shape, buffer))
        return self.arguments[-1]

    def output(self, shape: Sequence[Dim]) -> BlockArgument:
        """The parameter that takes the result, or has it put into; it comes after those that are read."""
        if self.ranges is not None:
            shape = self.ranges.shape
        if self.out is None:
            self.out = self.body.insert_arg(self.buf_type(shape, self.result.dtype), len(self.arguments))
            self.out.name_hint = "out"
        return self.out

    def workspace(self, shape: Sequence[Dim], elem: Attribute) -> BlockArgument:
        """One more parameter, after the result: memory to work in, which a launch allocates."""
        self.work.append((tuple(shape), elem))
        buffer = self.body.insert_arg(self.buf_type(shape, elem), len(self.body.args))
        buffer.name_hint = "work"
        return buffer

    # scalars of tensor values
    def read(self, value: SSAValue, index: Sequence[SSAValue]) -> SSAValue:
        """The scalar that `value`, an input or an op of the group, has at `index`."""
        place = tuple(index)
        key = (value, place, self.b.guard)
        for scope in reversed(self.scopes):
            for known in (key, (value, place, None)):
                if known in scope:
                    return scope[known]
        scalar = self._emit(value, place)
        self.scopes[-1][key] = scalar
        return scalar

    def _emit(self, value: SSAValue, index: tuple[SSAValue, ...]) -> SSAValue:
        if value in self.bound:
            return self.bound[value]
        if value in self.stored:
            return self.b.load(self.output(self.result.shape), index)
        match value.owner:
            case Block():
                return self._load(value, index)
            case Pointwise() as op:
                scalar = op.element(self.b, index, lambda k, at: self.read(op.operands[k], at))
                scalar.name_hint = scalar.name_hint or op.name.removeprefix("nn.")
                return scalar
            case Reduction() as op:
                return self._sequential(op, index)
            case _ as op:
                raise CompileError(
                    f"{op.name} is no op that a lane can compute",
                    op=op.name,
                    location=location_of(op) or "",
                    expected="elementwise ops, moves and reductions",
                    stage="lower-groups",
                    remedy="run expand-ops before fuse-groups",
                )

    def _load(self, value: SSAValue, index: tuple[SSAValue, ...]) -> SSAValue:
        assert isinstance(value.type, TensorType)
        shape = value.type.shape
        if self.flat is not None and shape == self.flat.full and index == self.flat.index:
            argument, index = self.buffer(value, self.flat.shape), self.flat.flat
        else:
            argument = self.buffer(value, shape)
        same_place = index == self.finished and bytes_of(value.type.dtype) == bytes_of(self.result.dtype)
        argument.in_place = argument.in_place and same_place and not self.stored
        return self.b.load(argument.buffer, index)

    def _sequential(self, op: Reduction, index: tuple[SSAValue, ...]) -> SSAValue:
        """A reduction that one lane runs by itself, element after element.

        A long sum of floats is the sum of its parts, `PART` elements each: so it errs as two short ones do.
        """
        axis, wide, size = op.axis_index, op.accumulator, op.tensor().shape[op.axis_index]

        def element(k: SSAValue) -> SSAValue:
            at = (*index[:axis], k, *index[axis + 1 :])
            return self.b.cast(self.read(op.operands[0], at), wide)

        if op.kind != "add" or not is_float(wide) or (isinstance(size, int) and size <= PART):
            total = self._chain(op, self.zero, self.b.dim(size), 1, "k", element)
        else:
            total = self._chain(op, self.zero, self.b.dim(size), PART, "part", lambda k: self._part(op, k, element))
        return self.b.cast(total, op.result_type.dtype)

    def _part(self, op: Reduction, first: SSAValue, element: Callable[[SSAValue], SSAValue]) -> SSAValue:
        """The sum of one part, which begins at `first`."""
        end = self.b.binary("min", self.b.add(first, self.b.index(PART)), self.b.dim(op.tensor().shape[op.axis_index]))
        return self._chain(op, first, end, 1, "k", element)

    def _chain(
        self, op: Reduction, first: SSAValue, stop: SSAValue, step: int, name: str, item: Callable[[SSAValue], SSAValue]
    ) -> SSAValue:
        """The items of a range combined in their order."""
        block = Block(arg_types=[INDEX, op.accumulator])
        block.args[0].name_hint, block.args[1].name_hint = name, "acc" if step == 1 else "total"
        start = self.b.constant(identity(op.kind, op.accumulator), op.accumulator)
        with self.inside(block):
            self.b.builder.insert(scf.YieldOp(self.b.binary(op.kind, block.args[1], item(block.args[0]))))
        loop = scf.ForOp(first, stop, self.b.index(step), [start], Region(block))
        return self.b.builder.insert(loop).results[0]

    # loops
    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Emit at the end of `block`, in a scope of its own."""
        outer = self.b.builder.insertion_point
        self.b.builder.insertion_point = InsertPoint.at_end(block)
        self.scopes.append({})
        yield
        self.scopes.pop()
        self.b.builder.insertion_point = outer

    @contextmanager
    def loop(self, kind: type[GridOp] | type[LanesOp], shape: Sequence[Dim]) -> Generator[tuple[SSAValue, ...]]:
        """A `kernel.grid` or `kernel.lanes` over `shape`; gives its indices."""
        block = Block(arg_types=[INDEX] * len(shape))
        for arg, name in zip(block.args, names(kind, len(shape)), strict=True):
            arg.name_hint = name
        self.b.builder.insert(kind(operands=[[self.b.dim(d) for d in shape]], regions=[Region(block)]))
        with self.inside(block):
            yield tuple(block.args)

    def store(self, value: SSAValue, index: Sequence[SSAValue]) -> None:
        """The result at `index`."""
        if self.ranges is not None:
            index = self.ranges.index(self.b, index)
        self.b.builder.insert(StoreOp(value, self.output(self.result.shape), index))

    # the end
    def function(self, lanes: int | None = None) -> FuncOp:
        """The finished function, named after what it computes."""
        if not isinstance(self.root, AssertOp):
            self.output(self.result.shape)
        body = Region(self.body)
        region_dce(body)
        self.forget_unused()
        func = FuncOp.create(
            properties={"sym_name": StringAttr(describe(self.group)), "sizes": DimsAttr(tuple(self.symbols.values()))},
            attributes={"lanes": IntegerAttr(lanes, i64)} if lanes else {},
            regions=[body],
        )
        func.location = self.group.location
        return func

    def forget_unused(self) -> None:
        """Sizes that nothing left needs are no parameters."""
        used = {op.dim.data for op in self.body.walk() if isinstance(op, DimOp)}
        for arg in self.body.args:
            assert isinstance(arg.type, BufType)
            used.update(s for d in arg.type.shape for s in dims.symbols(d))
        self.symbols = {d: s for d, s in self.symbols.items() if s in used}


def _computed(root: NnOp) -> SSAValue:
    """What the group is for: its result, what it stores, or a condition."""
    match root:
        case StoreSliceOp():
            return root.source
        case AssertOp():
            return root.condition
        case _:
            return root.results[0]


def names(kind: type[Operation], count: int) -> list[str]:
    """Index names as one writes them by hand."""
    if kind is LanesOp and count == 1:
        return ["j"]
    return ["i"] if count == 1 else [f"i{k}" for k in range(count)]


def identity(kind: str, dtype: Attribute) -> float | int:
    """What changes nothing under `kind`."""
    if kind in ("add", "mul"):
        return 0 if kind == "add" else 1
    if is_float(dtype):
        return float("-inf") if kind == "max" else float("inf")
    return limits_of(dtype)[kind == "min"]


def describe(group: GroupOp) -> str:
    """A name for a group's kernel out of its ops: `add_relu`, `max_sub_exp_sum_div`."""
    words = [_word(op) for op in group.body.block.ops if isinstance(op, NnOp)]
    silent = ("constant", "dim", "broadcast_to", "iota", "cast")
    kept = [w for w in words if w not in silent] or words
    if len(kept) > 6:
        kept = [*kept[:3], "etc", *kept[-2:]]
    return "_".join(kept)


def _word(op: NnOp) -> str:
    word = op.name.removeprefix("nn.")
    partial = op.partial if isinstance(op, Product) else None
    return f"{word}_parts_{dtype_name(partial)}" if partial is not None else word
