"""The nn interpreter: a function of nn ops and NumPy arrays enter, the arrays it returns leave. Slow, and the truth.

Each op is its own `evaluate`. Symbols get their values from the shapes of the inputs; what an op requires of sizes is
checked as the compiled plan checks it. Arrays given for buffers are changed where stores say so. `PELTON_INTERPRET=1`,
constant tests and the generic op test run on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from pelton.dialects import dims
from pelton.dialects.checks import Checked, Failure
from pelton.dialects.nn import GroupOp, TraceOp, WeightOp, YieldOp
from pelton.dialects.op import NnOp, Requirement
from pelton.dialects.types import ShapedValueType, dtype_name

Array: TypeAlias = Any
Arrays: TypeAlias = Mapping[str, Array] | Sequence[Array]


class InterpreterError(Exception):
    """The inputs do not fit the function, or an op met what it requires not to happen; says which and how."""


class Listener:
    """What becomes of what ops say: here a failed check is an error unless it only reports, and messages go nowhere."""

    def failed(self, op: Checked, failure: Failure) -> None:
        """A check of `op` failed; raises unless the op's `mode` is to go on."""
        if op.mode == "fail":
            shown = ", ".join(map(str, failure.values))
            raise InterpreterError(f"{op.name}: {op.text}: {shown} at element {failure.place}")

    def required(self, op: NnOp, rule: Requirement, lhs: int, rhs: int) -> None:
        """Sizes are not as `op` requires; raises."""
        sign = "=" if rule.relation == "eq" else "≤"
        raise InterpreterError(f"{op.name}: {rule.message}: expected {rule.lhs} {sign} {rule.rhs}, got {lhs} and {rhs}")

    def traced(self, op: TraceOp, arrays: Sequence[Array]) -> None:
        """The run came to `op`."""


def run(
    program: ModuleOp | FuncOp,
    inputs: Arrays,
    weights: Mapping[str, Array] | None = None,
    listener: Listener | None = None,
) -> list[Array]:
    """What the function returns. `inputs` by position, or by the names of the arguments; of a module its first function
    runs. `listener` hears what its ops say.

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
    return _Run(sizes, weights or {}, listener or Listener()).block(function.body.block, arrays)


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


@dataclass
class _Run:
    """One run: what symbols and weights stand for, and who listens."""

    sizes: Mapping[str, int]
    weights: Mapping[str, Array]
    listener: Listener

    def block(self, block: Block, inputs: Sequence[Array]) -> list[Array]:
        """What the block's terminator passes on."""
        known: dict[SSAValue, Array] = dict(zip(block.args, inputs, strict=True))
        for op in block.ops:
            operands = [known[v] for v in op.operands]
            if isinstance(op, ReturnOp | YieldOp):
                return operands
            known.update(zip(op.results, self.results(op, operands), strict=True))
        raise InterpreterError("expected a block that ends in func.return or nn.yield")

    def results(self, op: Operation, operands: list[Array]) -> Sequence[Array]:
        match op:
            case GroupOp():
                return self.block(op.body.block, operands)
            case WeightOp():
                return [self.weight(op)]
            case NnOp():
                self.judge(op, operands)
                try:
                    return op.evaluate(self.sizes, *operands)
                except (IndexError, KeyError, ValueError, ZeroDivisionError) as error:
                    raise InterpreterError(f"{op.name}: {error}") from error
            case _:
                raise InterpreterError(f"expected an nn op, got {op.name}")

    def judge(self, op: NnOp, operands: list[Array]) -> None:
        """Tell the listener what the op has to say."""
        for rule in op.requires():
            lhs, rhs = _size(rule.lhs, self.sizes, op.name), _size(rule.rhs, self.sizes, op.name)
            if not rule.holds(lhs, rhs):
                self.listener.required(op, rule, lhs, rhs)
        match op:
            case Checked() if op.mode != "off" and (failure := op.failure(self.sizes, *operands)) is not None:
                self.listener.failed(op, failure)
            case TraceOp():
                self.listener.traced(op, operands)
            case _:
                pass

    def weight(self, op: WeightOp) -> Array:
        if op.key.data not in self.weights:
            raise InterpreterError(f"the weight {op.key.data!r} is missing")
        array = self.weights[op.key.data]
        _bind(f"weight {op.key.data!r}", op.result_type, array, {})
        _check_shape(f"weight {op.key.data!r}", op.result_type, array, {})
        return array
