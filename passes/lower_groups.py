"""`lower-groups`: from tensors to memory. Groups and custom ops become kernels and launches, functions plans.

Before: functions of groups, views, loads, stores. After: `kernel.func`s, each text once however often it is launched,
and a `plan.func` for each function, where every value is a buffer: results of launches are allocated, reshapes are
views, what the function returns is written straight into the caller's memory. So is what it stores into buffers, and
loads copy nothing, where `lowering/memory.py` finds that nobody can tell. What changes devices is copied, and so is
what a message shows of a GPU's memory. How a group's loops come about stands in `lowering/`, a file per nest. Next:
the kernel passes shape the loops, `assign-buffers` lays out the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from pelton.dialects import dims, kernel, plan
from pelton.dialects.dims import Dim
from pelton.dialects.kernel import row_words
from pelton.dialects.nn import (
    BufferCreateOp,
    CustomOp,
    GroupOp,
    LoadOp,
    RebindOp,
    ReshapeOp,
    SliceOp,
    StoreOp,
    StoreSliceOp,
    TraceOp,
    TransferOp,
    WeightOp,
)
from pelton.dialects.op import NnOp, location_of
from pelton.dialects.places import ordinal_of
from pelton.dialects.signature import argument_name
from pelton.dialects.sites import UNKNOWN, SiteAttr
from pelton.dialects.types import GPU, HOST, ShapedValueType, bytes_of
from pelton.passes.lowering.check import lower_check
from pelton.passes.lowering.custom import lower_custom
from pelton.passes.lowering.elementwise import lower_elementwise
from pelton.passes.lowering.matmul import lower_matmul
from pelton.passes.lowering.memory import Lent, offset_of
from pelton.passes.lowering.nest import Nest, checked_ops
from pelton.passes.lowering.row import lower_row
from pelton.passes.lowering.top_k import lower_top_k
from pelton.passes.lowering.transpose import lower_transpose
from pelton.support.errors import CompileError

NESTS: Mapping[str, Callable[[Nest], int | None]] = {
    "elementwise": lower_elementwise,
    "column": lower_elementwise,
    "row": lower_row,
    "matmul": lower_matmul,
    "top_k": lower_top_k,
    "transpose": lower_transpose,
    "check": lower_check,
}


@dataclass(frozen=True)
class LowerGroups(ModulePass):
    """Replaces every `func.func` of the module."""

    name = "lower-groups"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = Kernels()
        plans = [
            Lowering(kernels, f).run() for f in op.body.block.ops if isinstance(f, func.FuncOp) and not f.is_declaration
        ]
        for old in list(op.body.block.ops):
            if isinstance(old, func.FuncOp):
                old.detach()
                old.erase()
        op.body.block.add_ops([*kernels.functions.values(), *plans])


@dataclass(frozen=True)
class Launch:
    """How a group's kernel is launched: its name, which group inputs it takes in which order, its sizes.

    `target` is the input that a store at the group's end writes; `row_words` is how much its rows of reports take;
    `work` is memory that it works in.
    """

    name: str
    inputs: tuple[int, ...]
    sizes: tuple[Dim, ...]
    in_place: tuple[int, ...]
    target: int | None = None
    row_words: int = 0
    work: tuple[plan.BufType, ...] = ()


@dataclass(eq=False)
class Kernels:
    """The kernel functions of a module: by the structure of their groups, and by their text without the name."""

    functions: dict[str, kernel.FuncOp] = field(default_factory=dict[str, kernel.FuncOp])
    names: set[str] = field(default_factory=set[str])
    launches: dict[Hashable, Launch] = field(default_factory=dict[Hashable, Launch])

    def launch_of(self, group: GroupOp) -> Launch:
        """The kernel of a group; groups of one structure are lowered once."""
        key = structure(group)
        if key not in self.launches:
            nest = Nest(group)
            name = self.add(_marked(nest.function(NESTS[group.kind.data](nest)), group))
            places: dict[SSAValue, int] = {arg: k for k, arg in enumerate(group.body.block.args)}
            inputs = [places[a.value] for a in nest.arguments]
            alone = [k for k, a in enumerate(nest.arguments) if a.in_place and inputs.count(inputs[k]) == 1]
            alone = alone if nest.out is not None else []
            target = places[nest.root.target] if isinstance(nest.root, StoreSliceOp) else None
            words, work = nest.checks.words, tuple(plan.BufType(*each) for each in nest.work)
            self.launches[key] = Launch(name, tuple(inputs), tuple(nest.symbols), tuple(alone), target, words, work)
        return self.launches[key]

    def add(self, function: kernel.FuncOp) -> str:
        """The name under which this function, or one of equal text, is launched."""
        wanted = function.sym_name.data
        function.properties["sym_name"] = StringAttr("")
        known = self.functions.setdefault(str(function), function)
        if known is function:
            name, count = wanted, 1
            while name in self.names:
                count += 1
                name = f"{wanted}_{count}"
            self.names.add(name)
            function.properties["sym_name"] = StringAttr(name)
        return known.sym_name.data


def structure(group: GroupOp) -> Hashable:
    """What a group computes, without the names of its values and where it came from."""
    numbers: dict[SSAValue, int] = {arg: k for k, arg in enumerate(group.body.block.args)}
    parts: list[Hashable] = [group.kind, *(arg.type for arg in group.body.block.args)]
    for op in group.body.block.ops:
        parts.append(
            (op.name, tuple(op.properties.items()), tuple(numbers[v] for v in op.operands), tuple(op.result_types))
        )
        numbers.update((r, len(numbers) + k) for k, r in enumerate(op.results))
    return tuple(parts)


@dataclass(eq=False)
class Lowering:
    """One function becoming a plan: which memory holds which value."""

    kernels: Kernels
    function: func.FuncOp
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    names: list[str] = field(default_factory=list[str])
    reports: dict[str, plan.ReportsOp] = field(default_factory=dict[str, plan.ReportsOp])
    row_words: int = 0

    def __post_init__(self) -> None:
        self.body = Block()
        self.builder = Builder(InsertPoint.at_end(self.body))
        self.lent = Lent(self.function.body.block, self.in_place)

    def run(self) -> plan.FuncOp:
        for k, arg in enumerate(self.function.body.block.args):
            self.buffers[arg] = self.argument(arg, argument_name(self.function, k))
        weights: dict[str, SSAValue] = {}  # each once; one may be called as an argument is
        for op in self.function.body.block.ops:
            if isinstance(op, WeightOp):
                key, value = op.key.data, op.results[0]
                weights[key] = weights.get(key) or self.argument(value, key)
                self.buffers[value] = weights[key]
        for op in self.function.body.block.ops:
            self.lower(op)
        for reports in self.reports.values():
            reports.resize(self.row_words)
        return plan.FuncOp(self.function.sym_name.data, self.names, Region(self.body))

    def argument(self, value: SSAValue, name: str) -> SSAValue:
        """One more argument of the plan."""
        self.names.append(name)
        arg = self.body.insert_arg(buffer_type(value), len(self.body.args))
        arg.name_hint = value.name_hint
        return arg

    def lower(self, op: Operation) -> None:
        match op:
            case WeightOp():
                pass
            case GroupOp():
                self.launch(op)
            case CustomOp():
                self.launch_custom(op)
            case ReshapeOp() | RebindOp() | SliceOp():
                self.require(op)
                self.view(op)
            case BufferCreateOp():
                self.alloc(op.result)
            case TransferOp():
                self.builder.insert(plan.CopyOp(self.buffers[op.x], self.alloc(op.result)))
            case TraceOp():
                self.trace(op)
            case LoadOp():
                self.load(op)
            case StoreOp() | StoreSliceOp():
                self.store(op)
            case func.ReturnOp():
                for number, value in enumerate(op.arguments):
                    self.give(number, value)
            case _:
                raise CompileError(
                    f"{op.name} stands outside a group",
                    op=op.name,
                    location=location_of(op) or "",
                    stage="lower-groups",
                    remedy="run fuse-groups first",
                )

    def view(self, op: ReshapeOp | RebindOp | SliceOp) -> None:
        source, t = self.buffers[op.operands[0]], buffer_type(op.results[0])
        first = op.ranges.offset() if isinstance(op, SliceOp) else 0
        assert first is not None, "fuse-groups leaves no scattered slice outside a group"
        new = self.builder.insert(plan.ViewOp(source, dims.mul(first, bytes_of(t.elem)), t))
        new.buf.name_hint = op.results[0].name_hint
        self.buffers[op.results[0]] = new.buf

    def require(self, op: NnOp) -> None:
        for r in op.requires():
            site = SiteAttr.of(r.message, op.name, ordinal_of(op))
            self.builder.insert(plan.RequireOp(r.relation, r.lhs, r.rhs, site))

    def launch(self, group: GroupOp) -> None:
        for inner in group.body.block.ops:
            if isinstance(inner, NnOp):
                self.require(inner)
        launch = self.kernels.launch_of(group)
        outputs = self.targets(group, launch)
        outputs += [self.builder.insert(plan.AllocOp(t)).buf for t in launch.work]
        sites = self.sites(group)
        if launch.row_words:
            outputs.append(self.rows(launch.row_words, device_of(group)))
        inputs = [self.buffers[group.inputs[k]] for k in launch.inputs]
        op = self.builder.insert(plan.LaunchOp(launch.name, inputs, outputs, launch.sizes, launch.in_place, sites))
        op.location = group.location

    def targets(self, group: GroupOp, launch: Launch) -> list[SSAValue]:
        """Where the kernel writes what it computes."""
        if launch.target is not None:
            return [self.buffers[group.inputs[launch.target]]]
        if (store := self.lent.stores.get(group)) is not None:
            self.require(store)
            self.buffers[group.outputs[0]] = self.part(store, group.outputs[0])
            return [self.buffers[group.outputs[0]]]
        return [self.alloc(value) for value in group.outputs]

    def sites(self, group: GroupOp) -> list[SiteAttr]:
        """What to say of each of the group's checks."""
        found: list[SiteAttr] = []
        row = self.row_words
        for op in checked_ops(group):
            has_row = op.row_values > 0
            found.append(SiteAttr.of(op.text, op.name, ordinal_of(op), op.recorded, row if has_row else UNKNOWN))
            row += row_words(op.row_values) if has_row else 0
        return found

    def trace(self, op: TraceOp) -> None:
        buffers = [self.on_host(self.buffers[v]) for v in op.operands]
        dtypes = [plan.buf_type(b).elem for b in buffers]
        site = SiteAttr.of(op.message.data, op.name, ordinal_of(op), dtypes, level=op.level.data)
        self.builder.insert(plan.TraceOp(site, buffers))

    def on_host(self, buffer: SSAValue) -> SSAValue:
        """The buffer, or a copy of it where the host can read."""
        t = plan.buf_type(buffer)
        if t.device.data == HOST:
            return buffer
        made = self.builder.insert(plan.AllocOp(plan.BufType(t.shape, t.elem)))
        made.buf.name_hint = buffer.name_hint
        self.builder.insert(plan.CopyOp(buffer, made.buf))
        return made.buf

    def rows(self, words: int, device: str) -> SSAValue:
        """The next so many words of the function's reports, on a device."""
        if (reports := self.reports.get(device)) is None:
            reports = self.reports[device] = plan.ReportsOp(0, device)
            first = self.body.first_op
            self.body.insert_op_before(reports, first) if first is not None else self.body.add_op(reports)
        t = plan.BufType([words], i64, device)
        view = self.builder.insert(plan.ViewOp(reports.buf, 8 * self.row_words, t))
        view.buf.name_hint = "rows"
        self.row_words += words
        return view.buf

    def in_place(self, group: GroupOp) -> set[int]:
        """The inputs of a group whose memory its result may take over."""
        launch = self.kernels.launch_of(group)
        return {launch.inputs[k] for k in launch.in_place}

    # buffers
    def alloc(self, value: SSAValue) -> SSAValue:
        """New memory for a value."""
        made = self.builder.insert(plan.AllocOp(buffer_type(value)))
        made.buf.name_hint = value.name_hint
        self.buffers[value] = made.buf
        return made.buf

    def load(self, op: LoadOp) -> None:
        """The buffer itself where nobody can tell, else a copy."""
        source = self.buffers[op.source]
        if op.result in self.lent.buffers:
            self.buffers[op.result] = source
        else:
            self.builder.insert(plan.CopyOp(source, self.alloc(op.result)))

    def store(self, op: StoreOp | StoreSliceOp) -> None:
        """A copy, unless the group that made the value has done it."""
        if op not in self.lent.stores.values():
            self.require(op)
            source = self.buffers[op.source]
            self.builder.insert(plan.CopyOp(source, self.part(op, op.source)))

    def part(self, op: StoreOp | StoreSliceOp, value: SSAValue) -> SSAValue:
        """The part of a buffer that a store writes, as memory for `value`."""
        buffer, t = self.buffers[op.target], buffer_type(value)
        offset = dims.mul(offset_of(op), bytes_of(t.elem))
        if offset == 0 and buffer.type == t:
            return buffer
        return self.builder.insert(plan.ViewOp(buffer, offset, t)).buf

    # the end

    def launch_custom(self, op: CustomOp) -> None:
        function, sizes = lower_custom(op)
        outputs = [self.builder.insert(plan.AllocOp(buffer_type(r))).buf for r in op.results]
        for buffer, result in zip(outputs, op.results, strict=True):
            buffer.name_hint = result.name_hint
            self.buffers[result] = buffer
        inputs = [self.buffers[v] for v in op.operands]
        sites = [SiteAttr.of("", op.name, ordinal_of(op))]
        name = self.kernels.add(_marked(function, op))
        launch = self.builder.insert(plan.LaunchOp(name, inputs, outputs, sizes, (), sites))
        launch.location = op.location

    def give(self, number: int, value: SSAValue) -> None:
        """The function's result of that number: made in place where it is ours to place, else copied."""
        buffer, t = self.buffers[value], buffer_type(value)
        base, whole = buffer, True
        while isinstance(base.owner, plan.ViewOp):
            base, whole = base.owner.source, whole and base.owner.offset_dim == 0
        alloc = base.owner
        if not isinstance(alloc, plan.AllocOp) or not whole or plan.buf_type(base).bytes != t.bytes:
            target = self.builder.insert(plan.OutputOp(number, t))
            self.builder.insert(plan.CopyOp(buffer, target.buf))
            return
        output = plan.OutputOp(number, t)
        self.body.insert_op_before(output, alloc)
        home: SSAValue = output.buf
        if base.type != t:
            view = plan.ViewOp(output.buf, 0, plan.buf_type(base))
            self.body.insert_op_before(view, alloc)
            home = view.buf
        base.replace_all_uses_with(home)
        for key, known in self.buffers.items():
            if known is base:
                self.buffers[key] = home
        alloc.detach()
        alloc.erase()


def buffer_type(value: SSAValue) -> plan.BufType:
    """The memory that holds a tensor value, or is a buffer."""
    if not isinstance(value.type, ShapedValueType):
        raise CompileError(
            "a plan holds tensors only",
            expected="a !nn.tensor type",
            got=str(value.type),
            stage="lower-groups",
        )
    return plan.BufType(value.type.shape, value.type.dtype, value.type.device.data)


def device_of(op: GroupOp | CustomOp) -> str:
    """The device whose memory the op works on, by its first tensor."""
    types = (v.type for v in (*op.operands, *op.results))
    return next((t.device.data for t in types if isinstance(t, ShapedValueType)), HOST)


def _marked(function: kernel.FuncOp, op: GroupOp | CustomOp) -> kernel.FuncOp:
    """The function, which says so if it is for a GPU."""
    if device_of(op).startswith(f"{GPU}:"):
        function.attributes["device"] = StringAttr(GPU)
    return function
