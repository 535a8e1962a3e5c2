"""Helpers of type rules: axes, broadcast rules, and what the dim algebra can prove about symbolic sizes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr
from xdsl.irdl import prop_def
from xdsl.utils.exceptions import VerifyException

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.op import NnOp
from pelton.dialects.types import TensorType


def shape_text(shape: Sequence[Dim]) -> str:
    """`[batch, 128]`."""
    return f"[{', '.join(map(str, shape))}]"


def axis_of(op: NnOp, axis: IntegerAttr, rank: int) -> int:
    """An axis property as a number. Raises VerifyException unless 0 ≤ axis < rank."""
    value = axis.value.data
    if not 0 <= value < rank:
        raise VerifyException(f"'{op.name}' expects an axis from 0 to {rank - 1} for {op.tensor()}, got {value}")
    return value


class HasAxis(NnOp):
    """An op whose property `axis` counts the axes of its first operand."""

    axis = prop_def(IntegerAttr)

    @property
    def axis_index(self) -> int:
        """0 ≤ axis < rank. Raises VerifyException for another."""
        return axis_of(self, self.axis, self.tensor().rank)


def broadcasts(size: Dim, to: Dim) -> bool:
    """Whether one dim stretches to another: it is the same, or 1, or one of those that `to` is the broadcast of."""
    return size in (to, 1) or size in broadcast_parts(to)


def broadcast_parts(dim: Dim) -> set[Dim]:
    """The dims that a dim of the form `broadcast(a, b)` is made of."""
    match dim:
        case dims.Expr(terms=(((dims.Call("broadcast", lhs, rhs),), 1),)):
            return {lhs, rhs} | broadcast_parts(lhs) | broadcast_parts(rhs)
        case _:
            return set()


def at_most(x: Dim, y: Dim) -> bool:
    """Whether x ≤ y for all sizes of the symbols. False where the algebra cannot tell."""
    return _not_negative(dims.sub(y, x), 4)


def _not_negative(value: Dim, depth: int) -> bool:
    """Whether value ≥ 0: sizes are; min(a, b) is at most a and b, max(a, b) at least; a / k is at most a k-th of a."""
    terms = dims.terms_of(value)
    if all(c >= 0 and not any(_may_be_negative(a) for a in atoms) for atoms, c in terms.items()):
        return True
    if depth == 0:
        return False
    for atoms, c in terms.items():
        if len(atoms) != 1 or not isinstance(call := atoms[0], dims.Call):
            continue
        rest = dims.sub(value, dims.mul(c, _alone(call)))
        if call.name == ("min" if c < 0 else "max"):
            return any(_not_negative(dims.add(rest, dims.mul(c, a)), depth - 1) for a in (call.lhs, call.rhs))
        if call.name == ("max" if c < 0 else "min"):
            return all(_not_negative(dims.add(rest, dims.mul(c, a)), depth - 1) for a in (call.lhs, call.rhs))
        if call.name == "floordiv" and isinstance(k := call.rhs, int) and k > 0 and c < 0:
            return _not_negative(dims.add(dims.mul(k, rest), dims.mul(c, call.lhs)), depth - 1)
    return False


def _may_be_negative(atom: dims.Atom) -> bool:
    """A symbol is a size. A call may be of differences."""
    if isinstance(atom, str):
        return False
    sides = [_not_negative(side, 2) for side in (atom.lhs, atom.rhs)]
    return not (any(sides) if atom.name == "max" else all(sides))


def _alone(call: dims.Call) -> Dim:
    return dims.Expr((((call,), 1),))


def replaced(t: TensorType, axis: int, size: Dim) -> TensorType:
    """`t` with another size along one axis."""
    return t.with_shape((*t.shape[:axis], size, *t.shape[axis + 1 :]))
