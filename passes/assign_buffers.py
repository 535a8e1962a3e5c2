"""`assign-buffers`: where in the one arena of its device each temporary of a plan stands.

Before: `plan.alloc` per temporary. After: one `plan.arena` per device and a `plan.view` of it per temporary.
Temporaries of a device that are never alive together share a slot; a slot is as large as its largest tenant, symbolic
sizes included, so that one layout serves every size. The result of a launch takes over the memory of an input that
ends there, where the kernel reads each element only before it writes the same place. Inputs, weights and results of
the function are never taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from pelton.dialects import dims, plan
from pelton.dialects.dims import Dim

ALIGNMENT = 64


@dataclass(frozen=True)
class AssignBuffers(ModulePass):
    """Lays out every `plan.func` of the module."""

    name = "assign-buffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, plan.FuncOp):
                _assign(function)


@dataclass(eq=False)
class Slot:
    """A piece of a device's arena, and after which step it is free again."""

    device: str
    size: Dim
    free_after: int
    tenants: list[plan.AllocOp] = field(default_factory=list[plan.AllocOp])


def _assign(function: plan.FuncOp) -> None:
    ops = list(function.body.block.ops)
    last = _last_uses(ops)
    slots: list[Slot] = []
    homes: dict[SSAValue, Slot] = {}
    for step, op in enumerate(ops):
        if isinstance(op, plan.ViewOp):
            continue
        for base in dict.fromkeys(map(base_of, op.operands)):
            if isinstance(base.owner, plan.AllocOp) and base not in homes:
                slot = _in_place(op, step, base, homes, last) or _free_slot(slots, step, plan.buf_type(base))
                slot.tenants.append(base.owner)
                slot.free_after = last[base]
                homes[base] = slot
    for device in sorted({slot.device for slot in slots}, reverse=True):
        _lay_out(function, device, [slot for slot in slots if slot.device == device])
    for op in ops:
        if isinstance(op, plan.AllocOp) and op.buf not in homes:
            op.detach()
            op.erase()


def base_of(value: SSAValue) -> SSAValue:
    """The buffer that a chain of views looks into."""
    while isinstance(value.owner, plan.ViewOp):
        value = value.owner.source
    return value


def _last_uses(ops: list[Operation]) -> dict[SSAValue, int]:
    """The last step at which each buffer is needed, views of it counted."""
    last: dict[SSAValue, int] = {}
    for step, op in enumerate(ops):
        for operand in op.operands:
            last[base_of(operand)] = step
    return last


def _in_place(
    op: Operation, step: int, out: SSAValue, homes: dict[SSAValue, Slot], last: dict[SSAValue, int]
) -> Slot | None:
    """The slot of an input that ends here and whose memory the result may take over."""
    if not isinstance(op, plan.LaunchOp) or out not in op.outputs:
        return None
    for number in op.in_place.data:
        assert isinstance(number, int)
        base = base_of(op.inputs[number])
        shared = sum(base_of(v) is base for v in op.inputs) > 1
        same_size = base in homes and plan.buf_type(base).bytes == plan.buf_type(out).bytes
        if same_size and not shared and last[base] == step and homes[base].free_after == step:
            return homes[base]
    return None


def _free_slot(slots: list[Slot], step: int, t: plan.BufType) -> Slot:
    """A slot on the device that is free and whose size is known to compare with the needed one; the one that grows
    least, else a new one.
    """
    best: tuple[int, Slot] | None = None
    device, size = t.device.data, t.bytes
    for slot in (s for s in slots if s.device == device):
        cost = _growth(slot.size, size) if slot.free_after < step else None
        if cost is not None and (best is None or cost < best[0]):
            best = cost, slot
    if best is None:
        slots.append(Slot(device, size, step))
        return slots[-1]
    best[1].size = dims.maximum(best[1].size, size)
    return best[1]


def _growth(old: Dim, new: Dim) -> int | None:
    """How badly `new` suits a slot of size `old`: 0 is a perfect fit; None where nobody can tell which is larger."""
    if old == new:
        return 0
    larger = dims.maximum(old, new)
    if larger == old:
        return 1
    return 2 if larger == new else None


def _lay_out(function: plan.FuncOp, device: str, slots: list[Slot]) -> None:
    """One arena at the top, a view of it in the place of each alloc."""
    offset: Dim = 0
    arena = plan.ArenaOp(plan.BufType([0], IntegerType(8), device))
    for slot in slots:
        for alloc in slot.tenants:
            view = plan.ViewOp(arena.buf, offset, plan.buf_type(alloc.buf))
            view.buf.name_hint = alloc.buf.name_hint
            assert alloc.parent is not None
            alloc.parent.insert_op_before(view, alloc)
            alloc.buf.replace_all_uses_with(view.buf)
            alloc.detach()
            alloc.erase()
        offset = dims.add(offset, dims.mul(dims.ceildiv(slot.size, ALIGNMENT), ALIGNMENT))
    sized = plan.ArenaOp(plan.BufType([offset], IntegerType(8), device))
    sized.buf.name_hint = "arena"
    first = function.body.block.first_op
    assert first is not None
    function.body.block.insert_op_before(sized, first)
    arena.buf.replace_all_uses_with(sized.buf)
