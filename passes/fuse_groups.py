"""`fuse-groups`: which ops one kernel computes.

Before: a function of primitive ops. After: every op but views and custom ops stands in an `nn.group`, and only a
group's last op leaves it.

The ops are visited from the last to the first. An op joins the group of its users if all of them are in one group and
the group's loop nest can compute it on the way, without computing any element twice; otherwise it starts a group of
its own. Since all users are in one group, no path leads out of it and back: groups can be put in order by
construction. Index arithmetic in disguise (constants, ranges, broadcasts) is never worth memory: it is copied into
every group that reads it.

A group stands where its last op does. So an op that reads what was loaded from a buffer joins only if nothing is stored
there on the way (`may_move`). A slice of what was loaded that is one piece of memory is a view while nothing is stored
there. What has effects itself stands alone, in its place; all but a store to a slice whose elements are scattered in
memory, which ends a group.

| op | joins | the group becomes |
|---|---|---|
| elementwise | any group whose users of it read it element by element | |
| slice, permute, concat, pack, … | the same, if it is read once | |
| reduction along the last axis | an elementwise or row group over the reduced space | `row` |
| reduction along another axis | an elementwise group over its result | `column` |
| matmul | an elementwise group over its result | `matmul` |
| store to a scattered slice | none: it starts its own | |
| ranking (top_k) | none: it starts its own | `top_k` |
| permutation of the last axis | none: it starts its own | `transpose` |
| assert | none: it starts its own, which yields nothing | `check` |

Next: `lower-groups` turns each group into a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from pelton.dialects.checks import Checked
from pelton.dialects.dims import Dim
from pelton.dialects.effects import NONE, effects_of, may_move
from pelton.dialects.nn import (
    AssertOp,
    BroadcastToOp,
    ConcatOp,
    ConstantOp,
    CustomOp,
    DimOp,
    Elementwise,
    GatherOp,
    GroupOp,
    IotaOp,
    LoadOp,
    MatmulOp,
    PackedMatmulOp,
    PackOp,
    PermuteOp,
    RangeOp,
    RebindOp,
    ReshapeOp,
    SliceOp,
    StoreSliceOp,
    TakeAlongAxisOp,
    TopKSelectOp,
    TopKSortOp,
    TransferOp,
    WeightOp,
    YieldOp,
)
from pelton.dialects.op import NnOp, Pointwise, Reduction
from pelton.passes.lowering.memory import base_of, stays_window

FREE = (BroadcastToOp, ConstantOp, DimOp, IotaOp, RangeOp)
VIEWS = (ReshapeOp, RebindOp, WeightOp)
MOVES = (PermuteOp, SliceOp, ConcatOp, PackOp, StoreSliceOp)
MATMULS = (MatmulOp, PackedMatmulOp)
RANKINGS = (TopKSelectOp, TopKSortOp)
MOST_OPS = 128
"""How many ops a group has before it takes no more: a kernel of thousands would be slow to compile, and no faster."""


@dataclass(eq=False)
class Cluster:
    """A group in the making: its ops from last to first, its loop nest and the space that runs over."""

    kind: str
    space: tuple[Dim, ...]
    ops: list[NnOp] = field(default_factory=list[NnOp])

    @property
    def rows(self) -> tuple[Dim, ...]:
        """The shape of a value that is one number per row of the space."""
        return (*self.space[:-1], 1)


@dataclass(frozen=True)
class FuseGroups(ModulePass):
    """`separate=true` gives every op a group of its own: slower, and the same bits."""

    name = "fuse-groups"
    separate: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                _group_block(function.body.block, self.separate)


def _group_block(block: Block, separate: bool) -> None:
    homes: dict[Operation, list[Cluster]] = {}
    for op in reversed(list(block.ops)):
        if isinstance(op, NnOp) and not _stands_alone(op):
            homes[op] = _homes(op, homes, separate)
    made: dict[SSAValue, SSAValue] = {}
    for op in list(block.ops):
        for cluster in homes.get(op, ()):
            if cluster.ops[0] is op:
                _outline(cluster, made)
        if op not in homes:
            op.operands = [made.get(v, v) for v in op.operands]
    for op in homes:  # from the last to the first, so that no use is left
        op.detach()
        op.erase()


def _stands_alone(op: NnOp) -> bool:
    """Whether an op is in no group: views, slices that may be such, ops of users, moves to another device, effects but
    asserts and scatters.
    """
    if isinstance(op, StoreSliceOp):
        return op.ranges.offset() is not None
    if isinstance(op, AssertOp):
        return False
    return isinstance(op, (*VIEWS, CustomOp, TransferOp)) or effects_of(op) != NONE or stays_window(op)


def _homes(op: NnOp, homes: dict[Operation, list[Cluster]], separate: bool) -> list[Cluster]:
    """The clusters that compute `op`: its users' where it may join, its own where its value must be in memory."""
    users: dict[Cluster, list[tuple[NnOp, int]]] = {}
    uses = [use for result in op.results for use in result.uses]
    in_memory = not uses
    for use in uses:
        user = use.operation
        if isinstance(user, NnOp) and user in homes and _inlines(user, use.index):
            for cluster in homes[user]:
                users.setdefault(cluster, []).append((user, use.index))
        else:
            in_memory = True
    found = list(users)
    if separate or not (isinstance(op, FREE) or (not in_memory and _joins(op, users))):
        found, in_memory = [], True
    for cluster in found:
        cluster.ops.append(op)
    if in_memory:
        found.append(Cluster(*_start(op), [op]))
    return found


def _joins(op: NnOp, users: dict[Cluster, list[tuple[NnOp, int]]]) -> bool:
    """Whether all users are in one cluster, and that takes the op in."""
    if len(users) != 1:
        return False
    ((cluster, uses),) = users.items()
    return _may_wait(op, cluster) and _join(op, cluster, uses)


def _may_wait(op: NnOp, cluster: Cluster) -> bool:
    """Whether what the op reads of buffers is still there where the cluster runs."""
    loads = [source for v in op.operands if isinstance(source := base_of(v).owner, LoadOp)]
    last, after = cluster.ops[0], op.next_op
    while loads and after is not None:
        if not all(may_move(load, after) for load in loads):
            return False
        after = after.next_op if after is not last else None
    return True


def _inlines(user: NnOp, operand: int) -> bool:
    """Whether `user` can take that operand as a value computed on the way, not as memory."""
    if isinstance(user, GatherOp | TakeAlongAxisOp):
        return operand == 1
    return not isinstance(user, (*MATMULS, *RANKINGS))


def _start(op: NnOp) -> tuple[str, tuple[Dim, ...]]:
    """The loop nest and space of a group that ends in `op`."""
    if isinstance(op, StoreSliceOp):
        return "elementwise", op.tensor().shape
    if isinstance(op, MATMULS):
        return "matmul", op.result_type.shape
    if isinstance(op, RANKINGS):
        return "top_k", op.result_type.shape
    if isinstance(op, AssertOp):
        return "check", op.tensor().shape
    if isinstance(op, Reduction):
        rank = op.tensor().rank
        return ("row", op.tensor().shape) if op.axis_index == rank - 1 else ("column", op.result_type.shape)
    moves_lanes = isinstance(op, PermuteOp) and not _keeps_lanes(op)
    return "transpose" if moves_lanes else "elementwise", op.result_type.shape


def _join(op: NnOp, cluster: Cluster, users: list[tuple[NnOp, int]]) -> bool:
    """Whether `cluster` computes `op` too; its kind and space change with it."""
    shape = op.result_type.shape
    if len(cluster.ops) >= MOST_OPS:
        return False
    match op:
        case Reduction() if op.axis_index == op.tensor().rank - 1:
            return _join_row(op, cluster, users)
        case Reduction():
            if cluster.kind in ("elementwise", "column") and shape == cluster.space and _by_element(users):
                cluster.kind = "column"
                return True
            return False
        case MatmulOp() | PackedMatmulOp():
            if cluster.kind == "elementwise" and shape == cluster.space and _in_place(users, cluster):
                cluster.kind = "matmul"
                return True
            return False
        case Pointwise():
            return _join_pointwise(op, cluster, users)
        case _:
            return False


def _by_element(users: list[tuple[NnOp, int]]) -> bool:
    return all(isinstance(u, Elementwise) for u, _ in users)


def _in_place(users: list[tuple[NnOp, int]], cluster: Cluster) -> bool:
    """Whether the cluster's result at an index is computed from the users' operand at that index and no other."""
    todo: list[Operation] = [u for u, _ in users]
    seen: set[Operation] = set()
    while todo:
        op = todo.pop()
        if not isinstance(op, Elementwise):
            return False
        if op is not cluster.ops[0] and op not in seen:
            todo.extend(use.operation for use in op.results[0].uses)
        seen.add(op)
    return True


def _join_row(op: Reduction, cluster: Cluster, users: list[tuple[NnOp, int]]) -> bool:
    """A last-axis reduction: over the cluster's space, or what a cluster of per-row values is computed from."""
    space = op.tensor().shape
    if cluster.kind not in ("elementwise", "row") or any(isinstance(o, MOVES) for o in cluster.ops):
        return False
    per_row = cluster.kind == "elementwise" and cluster.space == op.result_type.shape and _by_element(users)
    spread = cluster.space == space and all(
        isinstance(u, Elementwise) or (isinstance(u, BroadcastToOp) and u.result_type.shape == space) for u, _ in users
    )
    if not (per_row or spread):
        return False
    cluster.kind, cluster.space = "row", space
    return True


def _join_pointwise(op: Pointwise, cluster: Cluster, users: list[tuple[NnOp, int]]) -> bool:
    shape = op.result_type.shape
    if cluster.kind == "check" and isinstance(op, Checked):
        return False  # its own check comes first, in a launch of its own
    for user, _ in users:
        match user:
            case Elementwise() | Reduction() | AssertOp():
                continue
            case BroadcastToOp() if shape == cluster.rows != cluster.space == user.result_type.shape:
                if not (cluster.kind in ("elementwise", "row") and _from_row(op, cluster)):
                    return False
                cluster.kind = "row"
            case PermuteOp() | SliceOp() | ConcatOp() | PackOp() | StoreSliceOp():
                if len(users) > 1 or not (_keeps_lanes(op) or isinstance(user, PackOp)) or _ends_row(op):
                    return False
            case _:
                return False
    if isinstance(op, MOVES) and (len(users) > 1 or cluster.kind == "row"):
        return False
    return _keeps_lanes(op) or any(isinstance(u, PackOp) for u, _ in users)


def _ends_row(op: NnOp) -> bool:
    """Whether an op spreads what a reduction over its own space gave: the last of a row group, better off there."""
    shape = op.result_type.shape
    cluster = Cluster("row", shape)
    for value in op.operands:
        spread = value.owner
        if isinstance(spread, BroadcastToOp) and spread.tensor().shape == cluster.rows != shape:
            source = spread.operands[0].owner
            if isinstance(source, Operation) and _from_row(source, cluster):
                return True
    return False


def _from_row(op: Operation, cluster: Cluster) -> bool:
    """Whether a value per row comes, by elementwise ops, from a reduction over the cluster's space."""
    todo: list[Operation | Block] = [op]
    seen: set[Operation] = set()
    while todo:
        match todo.pop():
            case Reduction() as found:
                if found.tensor().shape == cluster.space and found.axis_index == found.tensor().rank - 1:
                    return True
            case Elementwise() as found if found not in seen:
                seen.add(found)
                todo.extend(v.owner for k, v in enumerate(found.operands) if found.tensor(k).shape == cluster.rows)
            case _:
                pass
    return False


def _keeps_lanes(op: NnOp) -> bool:
    """Whether neighbours along the result's last axis are neighbours in the operands'."""
    if isinstance(op, PermuteOp):
        return op.order[-1] == len(op.order) - 1
    return not isinstance(op, PackOp)


def _outline(cluster: Cluster, made: dict[SSAValue, SSAValue]) -> None:
    """Puts the group before its last op; `made` tells which group has which value in memory."""
    root = cluster.ops[0]
    inside = {r for op in cluster.ops for r in op.results}
    inputs: dict[SSAValue, None] = {}
    for op in reversed(cluster.ops):
        inputs.update((operand, None) for operand in op.operands if operand not in inside)
    body = Block(arg_types=[v.type for v in inputs])
    names: dict[SSAValue, SSAValue] = dict(zip(inputs, body.args, strict=True))
    for old, new in zip(inputs, body.args, strict=True):
        new.name_hint = old.name_hint
    for op in reversed(cluster.ops):
        clone = op.clone(value_mapper=names)
        clone.location = op.location
        body.add_op(clone)
    body.add_op(YieldOp([names[r] for r in root.results]))
    reduces = any(isinstance(op, Reduction) for op in cluster.ops)
    kind = "elementwise" if cluster.kind == "row" and not reduces else cluster.kind
    group = GroupOp(kind, [made.get(v, v) for v in inputs], root.result_types, Region(body))
    group.location = root.location
    for old, new in zip(root.results, group.outputs, strict=True):
        new.name_hint = old.name_hint
        made[old] = new
    assert root.parent is not None
    root.parent.insert_op_before(group, root)
