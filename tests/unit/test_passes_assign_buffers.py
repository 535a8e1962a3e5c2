"""`assign-buffers` on random plans: no two buffers that are alive at once overlap, whatever the sizes.

The layout is judged by a walk of its own over the plan before and after: sizes and offsets as numbers, liveness by the
steps that touch a buffer, and what a launch may write in place by what `in_place` says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, f64, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from pelton.dialects import dims, plan
from pelton.dialects.check import check_module
from pelton.dialects.dims import Dim
from pelton.passes.assign_buffers import ALIGNMENT, AssignBuffers, base_of

SHAPES: tuple[tuple[Dim, ...], ...] = (("n",), ("n",), ("n", "m"), ("m", "n"), ("m",), (3, "n"), (7,), (), ("n", 0))
BINDINGS = ({"n": 1, "m": 1}, {"n": 0, "m": 5}, {"n": 33, "m": 2}, {"n": 2, "m": 100}, {"n": 64, "m": 64})


def random_plan(seed: int) -> plan.FuncOp:
    """Launches over arguments, temporaries, views of both and outputs, some of them allowed to work in place."""
    random = np.random.default_rng(seed)

    def some(items: list[SSAValue]) -> SSAValue:
        late = items[-4:] if random.random() < 0.7 else items
        return late[int(random.integers(len(late)))]

    block = Block(arg_types=[plan.BufType(["n"], f32), plan.BufType(["n", "m"], f32)])
    ready: list[SSAValue] = list(block.args)
    for step in range(int(random.integers(2, 25))):
        if random.random() < 0.2:
            source = some(ready)
            flat = plan.BufType([dims.product(plan.buf_type(source).shape)], plan.buf_type(source).elem)
            block.add_op(view := plan.ViewOp(source, 0, flat))
            ready.append(view.buf)
        inputs = [some(ready) for _ in range(int(random.integers(0, 4)))]
        like = plan.buf_type(inputs[0]) if inputs and random.random() < 0.6 else None
        t = like or plan.BufType(SHAPES[int(random.integers(len(SHAPES)))], (f32, f64, i1)[int(random.integers(3))])
        out: plan.AllocOp | plan.OutputOp = plan.OutputOp(step, t) if random.random() < 0.15 else plan.AllocOp(t)
        allowed = [k for k, x in enumerate(inputs) if plan.buf_type(x).bytes == t.bytes and random.random() < 0.7]
        block.add_ops([out, plan.LaunchOp("k", inputs, [out.buf], ["n"], allowed)])
        ready.append(out.buf)
    return plan.FuncOp("main", ["x", "y"], Region(block))


@dataclass(frozen=True)
class Place:
    """The bytes of one temporary, and the steps between which it holds data."""

    first: int
    last: int
    low: int
    high: int


def steps_of(function: plan.FuncOp) -> list[Operation]:
    return [op for op in function.body.block.ops if isinstance(op, plan.LaunchOp | plan.CopyOp)]


def touched(op: Operation) -> list[SSAValue]:
    """The buffers a step reads or writes, views looked through; a view of the arena is a buffer of its own."""

    def origin(value: SSAValue) -> SSAValue:
        while isinstance(value.owner, plan.ViewOp) and not isinstance(value.owner.source.owner, plan.ArenaOp):
            value = value.owner.source
        return value

    return [origin(v) for v in op.operands]


def places(function: plan.FuncOp, sizes: dict[str, int]) -> dict[SSAValue, Place]:
    """Where each temporary stands."""
    found: dict[SSAValue, Place] = {}
    for step, op in enumerate(steps_of(function)):
        for value in touched(op):
            view = value.owner
            if not isinstance(view, plan.ViewOp):
                continue
            low = dims.evaluate(view.offset_dim, sizes)
            high = low + dims.evaluate(plan.buf_type(value).bytes, sizes)
            first = found[value].first if value in found else step
            found[value] = Place(first, step, low, high)
    return found


def faults(function: plan.FuncOp, sizes: dict[str, int]) -> list[str]:
    """What is wrong with a layout, in words."""
    found = places(function, sizes)
    arena = next((op for op in function.body.block.ops if isinstance(op, plan.ArenaOp)), None)
    room = dims.evaluate(plan.buf_type(arena.buf).shape[0], sizes) if arena else 0
    wrong = [f"{v} leaves the arena" for v, p in found.items() if p.low < 0 or p.high > room or p.low % ALIGNMENT]
    steps = steps_of(function)
    for x, p in found.items():
        for y, q in found.items():
            overlap = max(p.low, q.low) < min(p.high, q.high)
            if x is y or not overlap or p.first > q.first or p.last < q.first:
                continue
            if p.first == q.first or p.last > q.first or not takes_over(steps[q.first], x, p, q):
                wrong.append(f"{x} and {y} overlap in step {q.first}")
    return wrong


def takes_over(op: Operation, old: SSAValue, p: Place, q: Place) -> bool:
    """Whether this step may write its result over `old`, the last that reads it: it says so, and reads it once."""
    if not isinstance(op, plan.LaunchOp) or (p.low, p.high) != (q.low, q.high):
        return False
    inputs = touched(op)[: len(op.inputs)]
    reads = [k for k, v in enumerate(inputs) if v is old]
    return len(reads) == 1 and reads[0] in op.in_place.data


def assigned(function: plan.FuncOp) -> plan.FuncOp:
    module = ModuleOp([function])
    check_module(module)
    AssignBuffers().apply(Context(), module)
    check_module(module)
    return function


@pytest.mark.parametrize("seed", range(60))
def test_live_buffers_do_not_overlap(seed: int) -> None:
    function = assigned(random_plan(seed))
    assert not any(isinstance(op, plan.AllocOp) for op in function.body.block.ops)
    for sizes in BINDINGS:
        assert not faults(function, sizes)


@pytest.mark.parametrize("seed", range(60))
def test_arguments_and_outputs_stay_what_they_were(seed: int) -> None:
    """A step after the pass touches what it touched before it, but for temporaries, which are views now."""
    before, after = random_plan(seed), assigned(random_plan(seed))
    for old, new in zip(steps_of(before), steps_of(after), strict=True):
        for x, y in zip(old.operands, new.operands, strict=True):
            was, now = base_of(x).owner, base_of(y).owner
            assert isinstance(now, plan.ArenaOp if isinstance(was, plan.AllocOp) else type(was))


def test_memory_is_shared_and_taken_over() -> None:
    """The random plans are no test of nothing: many temporaries share bytes, and some work in place."""
    shared = taken = 0
    for seed in range(60):
        found = list(places(assigned(random_plan(seed)), {"n": 33, "m": 2}).values())
        pairs = [
            (p, q) for p in found for q in found if p is not q and (p.low, p.high) == (q.low, q.high) and p.high > p.low
        ]
        shared += sum(p.last < q.first for p, q in pairs)
        taken += sum(p.last == q.first for p, q in pairs)
    assert shared > 50 and taken > 20


def test_a_bad_layout_is_noticed() -> None:
    """Two temporaries that are read together, both put where the first stands."""
    block = Block(arg_types=[plan.BufType(["n"], f32)])
    (x,), t = block.args, plan.BufType(["n"], f32)
    arena = plan.ArenaOp(plan.BufType([dims.mul("n", 8)], f32))
    a, b = plan.ViewOp(arena.buf, 0, t), plan.ViewOp(arena.buf, 0, t)
    out = plan.OutputOp(0, t)
    launches = [
        plan.LaunchOp("k", [x], [a.buf], ["n"], []),
        plan.LaunchOp("k", [x], [b.buf], ["n"], []),
        plan.LaunchOp("k", [a.buf, b.buf], [out.buf], ["n"], []),
    ]
    block.add_ops([out, arena, a, b, *launches])
    function = plan.FuncOp("main", ["x"], Region(block))
    assert faults(function, {"n": 3})
    assert not faults(function, {"n": 0})
