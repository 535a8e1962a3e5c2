"""`lower-groups`: from tensors to memory. Each `nn.group` becomes a kernel function and a launch, each function a plan.

Before: functions of groups and views. After: `kernel.func`s, each text once however often it is launched, and a `plan.func` for each
function, where every value is a buffer: results of launches are allocated, reshapes are views, what the function returns is written
straight into the caller's memory. How a group's loops come about stands in `lowering/`, a file per nest. Next: the kernel passes shape
the loops, `assign-buffers` lays out the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xdsl.builder import Builder, InsertPoint
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from pelton.dialects import kernel, plan
from pelton.dialects.nn import GroupOp, RebindOp, ReshapeOp, WeightOp
from pelton.dialects.op import NnOp, location_of
from pelton.dialects.types import TensorType
from pelton.passes.lowering.elementwise import lower_elementwise
from pelton.passes.lowering.matmul import lower_matmul
from pelton.passes.lowering.nest import Nest
from pelton.passes.lowering.row import lower_row
from pelton.passes.lowering.transpose import lower_transpose
from pelton.support.errors import CompileError

NESTS: Mapping[str, Callable[[Nest], int | None]] = {
    "elementwise": lower_elementwise,
    "column": lower_elementwise,
    "row": lower_row,
    "matmul": lower_matmul,
    "transpose": lower_transpose,
}


@dataclass(frozen=True)
class LowerGroups(ModulePass):
    """Replaces every `func.func` of the module."""

    name = "lower-groups"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = Kernels()
        plans = [
            Lowering(kernels, f).run()
            for f in op.body.block.ops
            if isinstance(f, func.FuncOp) and not f.is_declaration
        ]
        for old in list(op.body.block.ops):
            if isinstance(old, func.FuncOp):
                old.detach()
                old.erase()
        op.body.block.add_ops([*kernels.functions.values(), *plans])


@dataclass(eq=False)
class Kernels:
    """The kernel functions of a module by their text without the name."""

    functions: dict[str, kernel.FuncOp] = field(default_factory=dict[str, kernel.FuncOp])
    names: set[str] = field(default_factory=set[str])

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


def lower_group(group: GroupOp) -> tuple[kernel.FuncOp, Nest]:
    """The kernel function of one group, and the nest that knows its arguments and sizes."""
    nest = Nest(group)
    return nest.function(NESTS[group.kind.data](nest)), nest


@dataclass(eq=False)
class Lowering:
    """One function becoming a plan: which buffer holds which tensor value."""

    kernels: Kernels
    function: func.FuncOp
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    names: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.body = Block()
        self.builder = Builder(InsertPoint.at_end(self.body))

    def run(self) -> plan.FuncOp:
        for k, arg in enumerate(self.function.body.block.args):
            self.argument(arg, argument_name(self.function, k))
        for op in self.function.body.block.ops:
            if isinstance(op, WeightOp):
                self.argument(op.results[0], op.key.data)
        for op in self.function.body.block.ops:
            self.lower(op)
        return plan.FuncOp(self.function.sym_name.data, self.names, Region(self.body))

    def argument(self, value: SSAValue, name: str) -> None:
        if name in self.names:
            self.buffers[value] = self.body.args[self.names.index(name)]
            return
        self.names.append(name)
        arg = self.body.insert_arg(buffer_type(value), len(self.body.args))
        arg.name_hint = value.name_hint
        self.buffers[value] = arg

    def lower(self, op: Operation) -> None:
        match op:
            case WeightOp():
                pass
            case GroupOp():
                self.launch(op)
            case ReshapeOp() | RebindOp():
                self.require(op)
                self.view(op)
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

    def view(self, op: ReshapeOp | RebindOp) -> None:
        source = self.buffers[op.operands[0]]
        new = self.builder.insert(plan.ViewOp(source, 0, buffer_type(op.results[0])))
        new.buf.name_hint = op.results[0].name_hint
        self.buffers[op.results[0]] = new.buf

    def require(self, op: NnOp) -> None:
        for r in op.requires():
            self.builder.insert(plan.RequireOp(r.relation, r.lhs, r.rhs, r.message))

    def launch(self, group: GroupOp) -> None:
        for op in group.body.block.ops:
            if isinstance(op, NnOp):
                self.require(op)
        function, nest = lower_group(group)
        name = self.kernels.add(function)
        inputs: list[SSAValue] = []
        in_place: list[int] = []
        for k, argument in enumerate(nest.arguments):
            outer = group.inputs[list(group.body.block.args).index(argument.value)]  # pyright: ignore[reportArgumentType]
            inputs.append(self.buffers[outer])
            uses = sum(other.value is argument.value for other in nest.arguments)
            if argument.in_place and uses == 1:
                in_place.append(k)
        out = self.builder.insert(plan.AllocOp(buffer_type(group.outputs[0])))
        out.buf.name_hint = group.outputs[0].name_hint
        launch = plan.LaunchOp(name, inputs, [out.buf], list(nest.symbols), in_place)
        launch.location = group.location
        self.builder.insert(launch)
        self.buffers[group.outputs[0]] = out.buf

    def give(self, number: int, value: SSAValue) -> None:
        """The function's result of that number: made in place where it is ours to place, else copied."""
        buffer, t = self.buffers[value], buffer_type(value)
        base = buffer
        while isinstance(base.owner, plan.ViewOp):
            base = base.owner.source
        alloc = base.owner
        if not isinstance(alloc, plan.AllocOp):
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


def argument_name(function: func.FuncOp, k: int) -> str:
    """The name of an argument: its attribute `nn.name`, else `input<k>`."""
    if function.arg_attrs is not None:
        label = function.arg_attrs.data[k].data.get("nn.name")
        if isinstance(label, StringAttr):
            return label.data
    return f"input{k}"


def buffer_type(value: SSAValue) -> plan.BufType:
    """The memory that holds a tensor value."""
    assert isinstance(value.type, TensorType)
    return plan.BufType(value.type.shape, value.type.dtype)
