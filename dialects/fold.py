"""Constant folding: a tensor op on constants enters, its results as `#nn.dense` values leave, computed by the op's own
`evaluate`.

Every op folds through this one function (`NnOp.fold`); the canonicalizer asks it. The result must be small, since it
stands in the IR, and exact: where compiled code may give other bits, folding would make them depend on what is known
when a model is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import ConstantLike

from pelton.dialects.dense import LIMIT, DenseAttr
from pelton.dialects.types import TensorType, bytes_of

Evaluate: TypeAlias = Callable[..., Sequence[Any]]


def fold_constants(op: Operation, evaluate: Evaluate, tolerance: Evaluate) -> Sequence[Attribute] | None:
    """The values of `op`'s results; None where an operand is no constant, a result large or inexact."""
    if not all(isinstance(r.type, TensorType) and _is_small(r.type) for r in op.results):
        return None
    if (arrays := constant_arrays(op)) is None:
        return None
    dtypes = [r.type.dtype for r in op.results if isinstance(r.type, TensorType)]
    results = exact_results(evaluate, tolerance, arrays)
    return results and [DenseAttr.from_array(y, t) for y, t in zip(results, dtypes, strict=True)]


def constant_arrays(op: Operation) -> list[Any] | None:
    """The operands' values; None where one is no constant."""
    arrays = list(map(constant_array, op.operands))
    return None if any(x is None for x in arrays) else arrays


def constant_array(value: SSAValue) -> Any:
    """The value of a constant; None for what is none."""
    if not (isinstance(value.owner, Operation) and value.owner.has_trait(ConstantLike)):
        return None
    known = ConstantLike.get_constant_value(value)
    return known.array() if isinstance(known, DenseAttr) else None


def exact_results(evaluate: Evaluate, tolerance: Evaluate, arrays: Sequence[Any]) -> Sequence[Any] | None:
    """What an op evaluates to, where its tolerance leaves compiled code no choice; else None."""
    results = evaluate({}, *arrays)
    return None if any((t != 0).any() for t in tolerance(results, {}, *arrays)) else results


def _is_small(t: TensorType) -> bool:
    sizes = [d for d in t.shape if isinstance(d, int)]
    return len(sizes) == t.rank and math.prod(sizes) * bytes_of(t.dtype) <= LIMIT
