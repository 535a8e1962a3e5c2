"""`plan.func` → `Program`: the plan as a table of numbers.

Enters: a plan whose memory is laid out, and the kernel functions it launches. Leaves: what the runtime's walker
executes. Sizes become entries computed once per tuple of input sizes; addresses are computed where they are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from pelton.codegen.source import Source
from pelton.dialects import dims, kernel, plan
from pelton.dialects.dims import Dim
from pelton.dialects.sites import SiteAttr
from pelton.dialects.types import dtype_name
from pelton.dtype import DType
from pelton.kernels.cost import call_flops, gathered_buffers, launch_bytes
from pelton.kernels.items import kernel_items
from pelton.program import NOTHING, Cost, Op, Polynomial, Program, Site
from pelton.program_builder import ProgramBuilder

CALLS = {"floordiv": Op.FLOORDIV, "min": Op.MIN, "max": Op.MAX}


@dataclass(eq=False)
class Encoder:
    """One plan becoming a program."""

    function: plan.FuncOp
    functions: Mapping[str, kernel.FuncOp]
    sources: Mapping[str, Source]
    builder: ProgramBuilder = field(default_factory=ProgramBuilder)
    slots: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    symbols: dict[str, int] = field(default_factory=dict[str, int])
    open_marks: list[int] = field(default_factory=list[int])
    gathered: dict[str, set[int]] = field(default_factory=dict[str, set[int]])

    def run(self, places: Sequence[int | None]) -> Program:
        """The program whose argument k is the plan's argument `places[k]`; None is one that the plan does not use."""
        for position, place in enumerate(places):
            slot = self.builder.argument()
            if place is not None:
                self.bind(self.function.body.block.args[place], slot, position)
        if missing := [n.data for k, n in enumerate(self.function.names) if k not in places]:
            raise ValueError(f"@{self.function.sym_name.data} takes {', '.join(missing)}, which nobody gives")
        self.outputs()
        for op in self.function.body.block.ops:
            self.step(op)
        return self.builder.finish()

    def bind(self, argument: SSAValue, slot: int, position: int) -> None:
        self.slots[argument] = slot
        for axis, dim in enumerate(plan.buf_type(argument).shape):
            if isinstance(dim, str) and dim not in self.symbols:
                self.symbols[dim] = self.builder.dim(position, axis)

    def outputs(self) -> None:
        """The caller's buffers, in order of their numbers."""
        ops = [op for op in self.function.body.block.ops if isinstance(op, plan.OutputOp)]
        for op in sorted(ops, key=lambda o: o.number.data):
            t = plan.buf_type(op.buf)
            shape = [self.size(d) for d in t.shape]
            self.slots[op.buf] = self.builder.output(DType(str(t.elem)), shape, self.device(op.buf))

    def step(self, op: object) -> None:
        match op:
            case plan.ArenaOp():
                size = self.size(plan.buf_type(op.buf).shape[0])
                self.slots[op.buf] = self.builder.arena(size, self.device(op.buf))
            case plan.ViewOp():
                self.slots[op.buf] = self.builder.add(self.slots[op.source], self.size(op.offset_dim))
            case plan.LaunchOp():
                self.launch(op)
            case plan.CopyOp():
                size = self.size(plan.buf_type(op.source).bytes)
                devices = self.device(op.target), self.device(op.source)
                self.builder.copy(self.slots[op.target], self.slots[op.source], size, devices)
            case plan.RequireOp():
                lhs, rhs = op.dims.data
                require = self.builder.require_equal if op.relation.data == "eq" else self.builder.require_at_most
                require(self.size(lhs), self.size(rhs), self.site(op.site))
            case plan.TraceOp():
                self.trace(op)
            case plan.ReportsOp():
                self.slots[op.buf] = self.builder.reports(self.words(op.buf), self.device(op.buf))
            case plan.MarkOp() if op.edge.data == "begin":
                self.open_marks.append(self.builder.begin(op.label.data))
            case plan.MarkOp():
                self.builder.end(self.open_marks.pop())
            case plan.OutputOp():
                pass
            case _:
                raise ValueError(f"{op} has no place in a program; run assign-buffers first")

    def launch(self, op: plan.LaunchOp) -> None:
        name = op.callee.string_value()
        function = self.functions[name]
        bound = dict(zip((str(s) for s in function.sizes.data), op.sizes.data, strict=True))
        items = self.size(dims.substitute(kernel_items(function), bound))
        words = [self.slots[b] for b in (*op.inputs, *op.outputs)]
        words += [self.size(bound[s]) for s in self.sources[name].symbols]
        source = self.sources[name]  # its name is the kernel's, or close to it where that is a word of the vocabulary
        if name not in self.gathered:
            self.gathered[name] = gathered_buffers(function)
        cost = Cost(
            self.polynomial(launch_bytes(op, self.gathered[name])),
            self.polynomial(dims.substitute(call_flops(function), bound)),
        )
        device = self.device(op.outputs[0] if op.outputs else op.inputs[0]) if function.is_for_gpu else 0
        self.builder.launch(source.name, items, words, self.sites(op, source), cost, device)

    def device(self, buffer: SSAValue) -> int:
        """The number of the device whose memory a buffer is."""
        return self.builder.device(plan.buf_type(buffer).device.data)

    def sites(self, op: plan.LaunchOp, source: Source) -> list[Site]:
        """What to tell of a kernel's checks; those of a user's body are what it raises, whatever the element."""
        sites = [self.site(s) for s in op.sites]
        if not source.user_body:
            return sites
        about = sites[0] if sites else Site("")
        return [about._replace(message=message, dtypes=NOTHING) for message in source.checks]

    def trace(self, op: plan.TraceOp) -> None:
        """A step for each value, one for a message without any."""
        site = self.site(op.site)
        if not op.bufs:
            self.builder.trace(site)
        for part, buffer in enumerate(op.bufs):
            t = plan.buf_type(buffer)
            shape = tuple(self.size(d) for d in t.shape)
            one = site._replace(dtypes=(dtype_name(t.elem),), dims=shape, part=part)
            self.builder.trace(one, self.slots[buffer], self.size(t.bytes))

    @staticmethod
    def words(buffer: SSAValue) -> int:
        """The size of a buffer of words, which is known."""
        (size,) = plan.buf_type(buffer).shape
        assert isinstance(size, int)
        return size

    @staticmethod
    def site(site: SiteAttr) -> Site:
        """What to tell the user, as the runtime has it."""
        dtypes = tuple(dtype_name(t) for t in site.dtypes)
        return Site(site.message.data, site.op.data, site.ordinal.data, dtypes, site.row.data, site.level.data)

    def polynomial(self, dim: Dim) -> Polynomial:
        """A size that nobody has to compute before it is asked for."""
        return tuple((c, *map(self.atom, atoms)) for atoms, c in dims.terms_of(dim).items())

    def size(self, dim: Dim) -> int:
        """The slot of a size."""
        total: int | None = None
        for atoms, coefficient in dims.terms_of(dim).items():
            term = self.builder.const(coefficient)
            for atom in atoms:
                term = self.builder.mul(term, self.atom(atom))
            total = term if total is None else self.builder.add(total, term)
        return self.builder.const(0) if total is None else total

    def atom(self, atom: dims.Atom) -> int:
        if isinstance(atom, str):
            return self.symbols[atom]
        lhs, rhs = self.size(atom.lhs), self.size(atom.rhs)
        if atom.name == "broadcast":
            return self.builder.binary(Op.MAX, lhs, rhs)
        return self.builder.binary(CALLS[atom.name], lhs, rhs)
