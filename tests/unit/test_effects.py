"""`dialects/effects.py`: which ops may change places, and that every op says what it does in one way."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region
from xdsl.traits import MemoryEffectKind, Pure, get_effects

from pelton.dialects.context import new_context
from pelton.dialects.effects import NONE, UNKNOWN, DeclaredEffects, Effects, effects_of, may_alias, may_move, may_swap
from pelton.dialects.nn import OPS, GroupOp, LoadOp
from pelton.dialects.op import NnOp
from pelton.dialects.reader import read_module
from pelton.dialects.types import BufferType

TEXT = """
func.func @main(%b: !nn.buffer<[4], f32>, %c: !nn.buffer<[4], f32>, %x: !nn.tensor<[4], f32>) {
  %exp = nn.exp %x : !nn.tensor<[4], f32>
  %load_b = nn.load %b : (!nn.buffer<[4], f32>) -> !nn.tensor<[4], f32>
  %load_c = nn.load %c : (!nn.buffer<[4], f32>) -> !nn.tensor<[4], f32>
  nn.store %x, %b : (!nn.tensor<[4], f32>, !nn.buffer<[4], f32>) -> ()
  nn.store %x, %c : (!nn.tensor<[4], f32>, !nn.buffer<[4], f32>) -> ()
  %made = nn.buffer_create : !nn.buffer<[4], f32>
  nn.store %x, %made : (!nn.tensor<[4], f32>, !nn.buffer<[4], f32>) -> ()
  %group = nn.group "elementwise" (%x, %b) {
  ^bb0(%0: !nn.tensor<[4], f32>, %1: !nn.buffer<[4], f32>):
    nn.store %0, %1 : (!nn.tensor<[4], f32>, !nn.buffer<[4], f32>) -> ()
    nn.yield %0 : !nn.tensor<[4], f32>
  }
  func.return
}
"""
NAMES = ("exp", "load b", "load c", "store b", "store c", "create", "store made", "group b", "return")


@pytest.fixture(scope="module")
def ops() -> dict[str, Operation]:
    module = read_module(new_context(), TEXT.encode(), "effects.mlir")
    (function,) = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    return dict(zip(NAMES, function.body.block.ops, strict=True))


@pytest.mark.parametrize(
    ("op", "past", "free"),
    [
        ("exp", "store b", True),
        ("load b", "load b", True),
        ("load b", "store b", False),
        ("store b", "load b", False),
        ("store b", "store b", False),
        ("load b", "store c", True),
        ("store b", "store c", True),
        ("store b", "load c", True),
        ("store made", "load b", True),
        ("store made", "store b", True),
        ("store made", "store made", False),
        ("load b", "group b", False),
        ("load c", "group b", True),
        ("create", "store b", True),
        ("store b", "return", True),
    ],
)
def test_program_order_per_buffer(ops: dict[str, Operation], op: str, past: str, free: bool) -> None:
    assert may_move(ops[op], ops[past]) is free
    assert may_move(ops[past], ops[op]) is free


def test_unknown_buffers_may_be_one() -> None:
    block = Block(arg_types=[BufferType([4], f32)] * 2)
    test.TestOp(regions=[Region(block)])
    assert may_alias(*block.args)
    assert not may_swap(Effects(reads=block.args[:1]), Effects(writes=block.args[1:]))
    function = FuncOp("main", ([BufferType([4], f32)] * 2, []))
    assert not may_alias(*function.body.block.args)
    assert may_alias(function.body.block.args[0], block.args[0])


def test_checks_and_messages_stay_in_order_and_stay_beside_stores(ops: dict[str, Operation]) -> None:
    check = Effects(ordered=True)
    assert not may_swap(check, check)
    assert not may_swap(check, effects_of(ops["store b"]))
    assert not may_swap(effects_of(ops["store b"]), check)
    assert may_swap(check, effects_of(ops["load b"]))
    assert may_swap(check, NONE)


def test_what_says_nothing_may_do_anything(ops: dict[str, Operation]) -> None:
    silent = test.TestOp()
    assert effects_of(silent) == UNKNOWN
    assert not may_move(ops["load b"], silent)
    assert may_move(ops["exp"], silent)


def test_upstream_passes_see_the_same(ops: dict[str, Operation]) -> None:
    kinds = {name: {e.kind for e in get_effects(op) or ()} for name, op in ops.items()}
    assert kinds["exp"] == set()
    assert kinds["load b"] == {MemoryEffectKind.READ}
    assert kinds["store b"] == kinds["group b"] == {MemoryEffectKind.WRITE}
    assert kinds["create"] == {MemoryEffectKind.ALLOC}


@pytest.mark.parametrize("cls", [*OPS, GroupOp], ids=lambda cls: cls.name)
def test_every_op_is_pure_or_declares(cls: type[Operation]) -> None:
    own = issubclass(cls, NnOp) and cls.effects is not NnOp.effects
    pure, declared = cls.has_trait(Pure), cls.has_trait(DeclaredEffects)
    assert pure != declared
    assert declared == own or cls is GroupOp


def test_a_group_of_pure_ops_is_pure() -> None:
    text = TEXT.replace("nn.store %0, %1", "%2 = nn.exp %0 : !nn.tensor<[4], f32> //")
    module: ModuleOp = read_module(new_context(), text.encode(), "effects.mlir")
    (group,) = (op for op in module.walk() if isinstance(op, GroupOp))
    assert effects_of(group) == NONE
    (load, *_) = (op for op in module.walk() if isinstance(op, LoadOp))
    assert effects_of(load).reads == (load.source,)
