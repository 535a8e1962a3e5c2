"""The nn interpreter: a function of nn ops and NumPy arrays enter, the arrays it returns leave. Slow, and the truth.

Each op is its own `evaluate`. Symbols get their values from the shapes of the inputs; what an op requires of sizes is
checked as the compiled plan checks it. Arrays given for buffers are changed where stores say so. `PELTON_INTERPRET=1`,
constant tests and the generic op test run on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from pelton.dialects import dims
from pelton.dialects.nn import GroupOp, WeightOp, YieldOp
from pelton.dialects.op import NnOp
from pelton.dialects.types import ShapedValueType, dtype_name

Array: TypeAlias = Any
Arrays: TypeAlias = Mapping[str, Array] | Sequence[Array]


class InterpreterError(Exception):
    """The inputs do not fit the function, or an op met what it requires not to happen; says which and how."""


def run(program: ModuleOp | FuncOp, inputs: Arrays, weights: Mapping[str, Array] | None = None) -> list[Array]:
    """What the function returns. `inputs` by position, or by the names of the arguments; of a module its first function
    runs.

    Raises InterpreterError where an array does not fit its argument's type, sizes contradict each other, or an op
    fails.
    """
    function = program if isinstance(program, FuncOp) else _first_function(program)
    arguments = function.body.block.args
    arrays = [inputs[_name(a, k)] for k, a in enumerate(arguments)] if isinstance(inputs, Mapping) else list(inputs)
    if len(arrays) != len(arguments):
        raise InterpreterError(f"@{function.sym_name.data} expects {len(arguments)} inputs, got {len(arrays)}")
    sizes: dict[str, int] = {}
    for k, (argument, array) in enumerate(zip(arguments, arrays, strict=True)):
        _bind(f"input {k} (%{_name(argument, k)})", argument.type, array, sizes)
    for k, (argument, array) in enumerate(zip(arguments, arrays, strict=True)):
        _check_shape(f"input {k} (%{_name(argument, k)})", argument.type, array, sizes)
    return _block(function.body.block, arrays, sizes, weights or {})


def _first_function(module: ModuleOp) -> FuncOp:
    for op in module.body.block.ops:
        if isinstance(op, FuncOp) and not op.is_declaration:
            return op
    raise InterpreterError("expected a module with a func.func that has a body")


def _name(argument: SSAValue, position: int) -> str:
    return argument.name_hint or f"arg{position}"


def _bind(place: str, t: Any, array: Array, sizes: dict[str, int]) -> None:
    """Gives the symbols of `t` the sizes that `array` has; checks dtype and rank."""
    from pelton.dialects.nn.reference import numpy_dtype

    if not isinstance(t, ShapedValueType):
        raise InterpreterError(f"{place} expects a tensor or a buffer, got an argument of type {t}")
    if array.dtype != numpy_dtype(t.dtype) or array.ndim != t.rank:
        raise InterpreterError(
            f"{place} expects rank {t.rank} of {dtype_name(t.dtype)}, got {array.dtype}{list(array.shape)}"
        )
    for dim, size in zip(t.shape, array.shape, strict=True):
        if isinstance(dim, str) and sizes.setdefault(dim, size) != size:
            raise InterpreterError(f"{place} has size {size} for {dim}, an earlier input has {sizes[dim]}")


def _check_shape(place: str, t: Any, array: Array, sizes: Mapping[str, int]) -> None:
    for axis, (dim, size) in enumerate(zip(t.shape, array.shape, strict=True)):
        if _size(dim, sizes, place) != size:
            raise InterpreterError(f"{place} expects size {dim} along axis {axis}, got {size}")


def _size(dim: dims.Dim, sizes: Mapping[str, int], place: str) -> int:
    try:
        return dims.evaluate(dim, sizes)
    except KeyError as error:
        raise InterpreterError(f"{place} uses the size {error.args[0]}, which no input has by itself") from error
    except (ValueError, ZeroDivisionError) as error:
        raise InterpreterError(f"{place}: {error}") from error


def _block(
    block: Block, inputs: Sequence[Array], sizes: Mapping[str, int], weights: Mapping[str, Array]
) -> list[Array]:
    """What the block's terminator passes on."""
    known: dict[SSAValue, Array] = dict(zip(block.args, inputs, strict=True))
    for op in block.ops:
        operands = [known[v] for v in op.operands]
        if isinstance(op, ReturnOp | YieldOp):
            return operands
        known.update(zip(op.results, _results(op, operands, sizes, weights), strict=True))
    raise InterpreterError("expected a block that ends in func.return or nn.yield")


def _results(
    op: Operation, operands: list[Array], sizes: Mapping[str, int], weights: Mapping[str, Array]
) -> Sequence[Array]:
    match op:
        case GroupOp():
            return _block(op.body.block, operands, sizes, weights)
        case WeightOp():
            return [_weight(op, weights)]
        case NnOp():
            _check_requirements(op, sizes)
            try:
                return op.evaluate(sizes, *operands)
            except (IndexError, KeyError, ValueError, ZeroDivisionError) as error:
                raise InterpreterError(f"{op.name}: {error}") from error
        case _:
            raise InterpreterError(f"expected an nn op, got {op.name}")


def _weight(op: WeightOp, weights: Mapping[str, Array]) -> Array:
    if op.key.data not in weights:
        raise InterpreterError(f"the weight {op.key.data!r} is missing")
    array = weights[op.key.data]
    _bind(f"weight {op.key.data!r}", op.result_type, array, {})
    _check_shape(f"weight {op.key.data!r}", op.result_type, array, {})
    return array


def _check_requirements(op: NnOp, sizes: Mapping[str, int]) -> None:
    for rule in op.requires():
        lhs, rhs = _size(rule.lhs, sizes, op.name), _size(rule.rhs, sizes, op.name)
        if not rule.holds(lhs, rhs):
            sign = "=" if rule.relation == "eq" else "≤"
            raise InterpreterError(
                f"{op.name}: {rule.message}: expected {rule.lhs} {sign} {rule.rhs}, got {lhs} and {rhs}"
            )
