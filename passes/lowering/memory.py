"""Whose memory a tensor takes: buffers lend theirs to what is loaded from them and to what is stored in them.

Enters: a function of groups, loads and stores, in program order. Leaves: which loads need no copy, because nothing is
stored in their buffer while somebody needs the value; and which stores need none, because the group that computes the
value can write it where it is to be. Not copying a load is reading later, at the value's last use; not copying a store
is writing earlier, in the group: both are moves, so `effects` decides.

Next: `lower_groups.py` gives what is lent no memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.effects import NONE, Effects, effects_of, may_alias, may_move, may_swap
from pelton.dialects.nn import BufferCreateOp, GroupOp, LoadOp, RebindOp, ReshapeOp, SliceOp, StoreOp, StoreSliceOp
from pelton.dialects.types import TensorType

InPlace = Callable[[GroupOp], Container[int]]
"""Which inputs of a group its kernel reads only where it then writes the result, so that both may be one memory."""
VIEWS = (ReshapeOp, RebindOp, SliceOp)
"""What may look at the memory of its operand; a slice does where it is a window."""


@dataclass(eq=False)
class Lent:
    """What buffers lend, in one block."""

    block: Block
    in_place: InPlace
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The buffer that holds a value: one that was loaded, or is the result of a group."""
    stores: dict[GroupOp, StoreOp | StoreSliceOp] = field(default_factory=dict[GroupOp, StoreOp | StoreSliceOp])
    """The store that a group does itself."""

    def __post_init__(self) -> None:
        self.ops = list(self.block.ops)
        self.at = {op: k for k, op in enumerate(self.ops)}
        for op in self.ops:
            if isinstance(op, LoadOp) and self._is_free(op.effects(), self.at[op], self._last_use(op.result)):
                self.buffers[op.result] = op.source
        for op in self.ops:
            if isinstance(op, StoreOp | StoreSliceOp):
                self._lend_to(op)

    def _lend_to(self, store: StoreOp | StoreSliceOp) -> None:
        """Notes whether the group that computes what is stored may write it into the buffer."""
        value, buffer = base_of(store.source), store.target
        group = value.owner
        if not isinstance(group, GroupOp) or value in self.buffers or effects_of(group) != NONE:
            return
        made, first, here = buffer.owner, self.at[group], self.at[store]
        exists = not isinstance(made, BufferCreateOp) or self.at[made] < first
        early = self._is_free(store.effects(), first, here - 1)
        kept = self._is_free(Effects(reads=(buffer,)), here, self._last_use(value))
        if exists and early and kept and self._reads_in_place(group, store):
            self.buffers[value] = buffer
            self.stores[group] = store

    def _is_free(self, effects: Effects, after: int, last: int) -> bool:
        """Whether what has these effects may move from one end to the other of the ops behind `after` up to `last`."""
        return all(may_swap(effects, self._touches(op)) for op in self.ops[after + 1 : last + 1])

    def _touches(self, op: Operation) -> Effects:
        """The op's effects; where its operands stand in buffers it reads those."""
        effects = effects_of(op)
        held = tuple(self.buffers[v] for v in map(base_of, op.operands) if v in self.buffers)
        return effects._replace(reads=(*effects.reads, *held)) if held and not isinstance(op, VIEWS) else effects

    def _reads_in_place(self, group: GroupOp, store: StoreOp | StoreSliceOp) -> bool:
        """Whether nothing that the group reads is what it would overwrite before."""
        held = [(k, self.buffers.get(base_of(v))) for k, v in enumerate(group.inputs)]
        met = [(k, b) for k, b in held if b is not None and may_alias(b, store.target)]
        if not met:
            return True
        ((number, buffer), *others) = met
        read = group.inputs[number]
        same = offset_of(store) == _window_offset(read) and _elements(store.source) == _elements(read)
        return not others and buffer is store.target and same and number in self.in_place(group)

    def _last_use(self, value: SSAValue) -> int:
        """Where the value, or a view of it, is needed for the last time."""
        found = [self.at[op] for use in value.uses if (op := use.operation) in self.at]
        views = [use.operation.results[0] for use in value.uses if isinstance(use.operation, VIEWS)]
        return max([*found, *map(self._last_use, views)], default=-1)


def base_of(value: SSAValue) -> SSAValue:
    """The value that a chain of views looks at."""
    while isinstance(value.owner, ReshapeOp | RebindOp) or is_window(value.owner):
        assert isinstance(value.owner, VIEWS)
        value = value.owner.operands[0]
    return value


def is_window(op: Operation | Block) -> bool:
    """Whether an op takes a slice, in one piece of memory, out of what was loaded from a buffer."""
    if not isinstance(op, SliceOp) or op.ranges.offset() is None:
        return False
    return isinstance(base_of(op.x).owner, LoadOp)


def stays_window(op: Operation) -> bool:
    """Whether an op is a window, and nothing is stored in the buffer while somebody looks through it."""
    if not is_window(op):
        return False
    load = base_of(op.results[0]).owner
    assert isinstance(load, LoadOp)
    waiting, after = _users(op.results[0]), op.next_op
    while waiting and after is not None and may_move(load, after):
        waiting.discard(after)
        after = after.next_op
    return not waiting


def _users(value: SSAValue) -> set[Operation]:
    """The ops that need a value or a view of it."""
    found = {use.operation for use in value.uses}
    return found.union(*(_users(op.results[0]) for op in found if isinstance(op, VIEWS)))


def _window_offset(value: SSAValue) -> Dim:
    """How many elements of the value behind a chain of views stand before its own."""
    offset: Dim = 0
    while isinstance(op := value.owner, VIEWS):
        offset = dims.add(offset, (op.ranges.offset() or 0) if isinstance(op, SliceOp) else 0)
        value = op.operands[0]
    return offset


def offset_of(store: StoreOp | StoreSliceOp) -> Dim:
    """How many elements of the buffer stand before the ones that are stored."""
    offset = store.ranges.offset() if isinstance(store, StoreSliceOp) else 0
    assert offset is not None, "fuse-groups leaves no scattered store outside a group"
    return offset


def _elements(value: SSAValue) -> Dim:
    assert isinstance(value.type, TensorType)
    return dims.product(value.type.shape)
