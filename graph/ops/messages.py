"""Operations that say something and compute nothing: asserts and messages. See docs/levels.md for what is kept of them.

They keep their order, and stay where nobody uses a result of theirs: they have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from pelton.dialects.kernel.checks import MOST_VALUES
from pelton.dtype import DType
from pelton.graph.build import Body, Value, emit_all
from pelton.graph.check import wrong, wrong_type
from pelton.graph.constant import constant
from pelton.graph.dims import Shape
from pelton.graph.operands import broadcast, broadcast_shape, tensor
from pelton.support.errors import GraphError
from pelton.support.options import LogLevel

if TYPE_CHECKING:
    from pelton.graph.operands import TensorLike
    from pelton.graph.value import TensorValue

COMPARISONS = frozenset(
    f"nn.{name}" for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")
)


def assert_(condition: TensorLike, message: str, *values: TensorLike) -> None:
    """Check, when the model runs, that every element of `condition`, a tensor of bools, is true.

    Where one is not, `execute` raises an AssertionFailed (a RuntimeError) with `message`, this line, the lowest linear
    index of such an element and what `values` have there; without values, what a comparison compared. Up to 8 values,
    each broadcast to the condition's shape. At the session's assert level WARN it is logged instead; NONE removes it;
    SAFE keeps it only where it costs a bounded amount of work, as a comparison of sizes or scalars does.

    Raises TypeError for a condition of another dtype or a message that is no str, ValueError for values that do not
    broadcast.

    >>> Graph("g", lambda x: ops.assert_(x > 0, "x is positive"), [TensorType(DType.float32, ["n"], DeviceRef.CPU())])
    Graph('g': (float32[n] on cpu:0) -> ())
    """
    op = "ops.assert_"
    if isinstance(condition, bool):
        condition = constant(condition, DType.bool)
    ok = tensor(op, "condition", condition)
    if ok.dtype is not DType.bool:
        raise wrong_type(f"{op}: condition is no tensor of bools", "bool", str(ok.dtype), "compare with something")
    _check_message(op, message)
    if len(values) > MOST_VALUES:
        raise wrong(f"{op}: too many values", f"at most {MOST_VALUES}", str(len(values)))
    shown = [tensor(op, f"value {k}", v) for k, v in enumerate(values)] or _compared(ok)
    shape = ok.ir_type.shape
    for k, value in enumerate(shown):
        if not _broadcasts(op, value, ok):
            raise wrong(
                f"{op}: value {k} has no element for each of the condition's",
                f"a shape that broadcasts to {Shape(shape)}",
                str(value.shape),
                "show a whole tensor with ops.trace",
            )
    emit_all(op, "assert", [ok, *(broadcast(op, v, shape) for v in shown)], message=StringAttr(message))


def trace(level: str | LogLevel, message: str, *values: TensorLike) -> None:
    """Log `message` and the values that the tensors have when the run comes here, by Python's `logging`.

    The logger is `pelton`, `level` one of LogLevel but NOTSET, or its name. The message is compiled in where it is at
    or above the session's log level; else nothing is left of it. Records come when the model has run, in their order.

    Raises TypeError for a level that does not exist or a message that is no str.

    >>> Graph("g", lambda x: ops.trace("info", "x", x), [TensorType(DType.float32, ["n"], DeviceRef.CPU())])
    Graph('g': (float32[n] on cpu:0) -> ())
    """
    op = "ops.trace"
    found = LogLevel.__members__.get(level.name if isinstance(level, LogLevel) else str(level).upper())
    if found is None or found is LogLevel.NOTSET:
        names = ", ".join(name for name in LogLevel.__members__ if name != "NOTSET")
        raise wrong_type(f"{op}: a message has a level", f"a LogLevel, or one of {names}", repr(level))
    _check_message(op, message)
    _trace(op, found.value, message, [tensor(op, f"value {k}", v) for k, v in enumerate(values)])


def print(value: TensorLike | str, label: str = "debug_tensor") -> None:
    """Print `value`, with `label` before it, to the standard output when the model has run; a str is printed as it is.

    It is compiled in at every log level but NOTSET.

    >>> Graph("g", lambda x: ops.print(x, "x"), [TensorType(DType.float32, ["n"], DeviceRef.CPU())])
    Graph('g': (float32[n] on cpu:0) -> ())
    """
    op = "ops.print"
    _check_message(op, label)
    if isinstance(value, str):
        return _trace(op, "print", value, [])
    return _trace(op, "print", label, [tensor(op, "value", value)])


def _trace(op: str, level: str, message: str, values: list[TensorValue]) -> None:
    emit_all(op, "trace", values, level=StringAttr(level), message=StringAttr(message))


def _check_message(op: str, message: Any) -> None:
    if not isinstance(message, str):
        raise wrong_type(f"{op}: a message is a str", "str", f"{message!r} ({type(message).__name__})")


def _compared(condition: TensorValue) -> list[TensorValue]:
    """What a condition says something about, to be shown where nothing else is: the first tensor of a comparison."""
    body = Body.open("ops.assert_")
    owner = condition.ssa_in(body, "ops.assert_").owner
    if not isinstance(owner, Operation) or owner.name not in COMPARISONS:
        return []
    return [body.wrap(v) for v in owner.operands if not _is_constant(v)][:1]


def _is_constant(value: SSAValue) -> bool:
    """Whether a value is a number, spread or not."""
    owner = value.owner
    if isinstance(owner, Operation) and owner.name == "nn.broadcast_to":
        return _is_constant(owner.operands[0])
    return isinstance(owner, Operation) and owner.name == "nn.constant"


def _broadcasts(op: str, value: TensorValue, to: Value) -> bool:
    try:
        return broadcast_shape(op, value.ir_type.shape, to.ir_type.shape) == to.ir_type.shape
    except GraphError:
        return False
