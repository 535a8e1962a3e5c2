"""Operations element by element: operands enter, are promoted to one dtype and broadcast to one shape, and a tensor of
that shape leaves.

Rules of all functions of two operands:

- Shapes are aligned at their last dims; two sizes must be equal, or one of them a literal 1. Else ValueError.
- Dtypes that differ promote to the one that holds the other exactly (int8 and float16 give float16). Where neither does
  (int32 and float32, uint8 and int8), ValueError: cast one of them.
- A Python number, a NumPy array or a Dim beside a tensor takes the tensor's dtype. ValueError where that cannot hold
  it: integers must be exact, floats may round, and never become integers.
- Anything else as an operand raises TypeError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pelton.dtype import DType
from pelton.graph.build import Value, emit
from pelton.graph.check import wrong
from pelton.graph.constant import cast_to
from pelton.graph.operands import aligned, common_dtype, tensor, together
from pelton.graph.types import element_type

if TYPE_CHECKING:
    from pelton.graph.operands import TensorLike
    from pelton.graph.value import TensorValue


def _binary(op: str, name: str, lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    x, y = aligned(op, together(op, lhs=lhs, rhs=rhs))
    return emit(op, name, x, y)


def _unary(op: str, name: str, x: TensorLike) -> TensorValue:
    return emit(op, name, tensor(op, "x", x))


# arithmetic
def add(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """`lhs + rhs`; integers wrap.

    >>> with Graph("g", input_types=[TensorType(DType.float32, ["n", 3], DeviceRef.CPU())]) as g:
    ...     g.output(ops.add(g.inputs[0], 1))
    """
    return _binary("ops.add", "add", lhs, rhs)


def sub(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """`lhs - rhs`; integers wrap."""
    return _binary("ops.sub", "sub", lhs, rhs)


def mul(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """`lhs * rhs`; integers wrap."""
    return _binary("ops.mul", "mul", lhs, rhs)


def div(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """`lhs / rhs`.

    Where both are integers or bools the result is float64, as in NumPy; beside an integer tensor a float is, too.

    >>> Graph("g", lambda x: ops.div(x.cast(DType.int32), 2), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float64[n, 4] on cpu:0))
    """
    x, y = lhs, rhs
    if not common_dtype("ops.div", [x, y]).is_float():
        x, y = _as_float64("ops.div", "lhs", x), _as_float64("ops.div", "rhs", y)
    return _binary("ops.div", "div", x, y)


def _as_float64(op: str, argument: str, x: TensorLike) -> TensorLike:
    """Integers as float64; a number stays, to be taken as float64 then."""
    return (
        cast_to(op, x, DType.float64)
        if isinstance(x, Value)
        else x
        if isinstance(x, float | int)
        else tensor(op, argument, x).cast(DType.float64)
    )


def floor_div(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """`lhs / rhs` rounded down, in the operands' dtype. An integer divided by 0 gives 0."""
    return _binary("ops.floor_div", "floor_div", lhs, rhs)


def mod(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """What `lhs // rhs` leaves over; it has the sign of `rhs`. An integer modulo 0 gives 0."""
    return _binary("ops.mod", "mod", lhs, rhs)


def pow(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """`lhs` to the power `rhs`. An integer tensor takes a Python int ≥ 0 as exponent; ValueError for any other.

    >>> Graph("g", lambda x: ops.pow(x, 0.5), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (float32[n, 4] on cpu:0))
    """
    if isinstance(lhs, Value) and isinstance(rhs, int) and not isinstance(rhs, bool):
        base = tensor("ops.pow", "lhs", lhs)
        if not base.dtype.is_float():
            return _integer_power(base, rhs)
        if rhs == 2:
            return _binary("ops.pow", "mul", lhs, lhs)
    return _binary("ops.pow", "pow", lhs, rhs)


def _integer_power(x: TensorValue, exponent: int) -> TensorValue:
    """By squaring: x⁵ is x · (x²)²."""
    if exponent < 0:
        raise wrong(
            "ops.pow: an integer tensor has no negative powers",
            "an exponent >= 0",
            str(exponent),
            "x.cast(DType.float64)",
        )
    result: TensorValue | None = None
    square = x
    while exponent:
        if exponent % 2:
            result = square if result is None else mul(result, square)
        exponent //= 2
        square = mul(square, square) if exponent else square
    return result if result is not None else add(mul(x, 0), 1)


def maximum(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """The larger of two elements; NaN where either is NaN. `ops.max(x, y)` is this function."""
    return _binary("ops.max", "maximum", lhs, rhs)


def minimum(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """The smaller of two elements; NaN where either is NaN. `ops.min(x, y)` is this function."""
    return _binary("ops.min", "minimum", lhs, rhs)


# comparisons
def equal(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """Whether `lhs` equals `rhs`, as bool; false where either is NaN.

    >>> Graph("g", lambda x: ops.equal(x, 1), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (bool[n, 4] on cpu:0))
    """
    return _binary("ops.equal", "equal", lhs, rhs)


def not_equal(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """Whether `lhs` differs from `rhs`, as bool; true where either is NaN."""
    return _binary("ops.not_equal", "not_equal", lhs, rhs)


def greater(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """Whether `lhs` is larger than `rhs`, as bool; false where either is NaN."""
    return _binary("ops.greater", "greater", lhs, rhs)


def greater_equal(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """Whether `lhs` is larger than or equal to `rhs`, as bool; false where either is NaN."""
    return _binary("ops.greater_equal", "greater_equal", lhs, rhs)


# logic
def logical_and(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """Both, of bools. ValueError for other dtypes."""
    return _binary("ops.logical_and", "logical_and", lhs, rhs)


def logical_or(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """Either or both, of bools. ValueError for other dtypes."""
    return _binary("ops.logical_or", "logical_or", lhs, rhs)


def logical_xor(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """One but not both, of bools. ValueError for other dtypes."""
    return _binary("ops.logical_xor", "logical_xor", lhs, rhs)


def logical_not(x: TensorLike) -> TensorValue:
    """The opposite of a bool. ValueError for other dtypes."""
    return _unary("ops.logical_not", "logical_not", x)


def bitwise_and(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """And, bit by bit, of integers or bools: `x & y`."""
    return _binary("ops.bitwise_and", "bitwise_and", lhs, rhs)


def bitwise_or(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """Or, bit by bit, of integers or bools: `x | y`."""
    return _binary("ops.bitwise_or", "bitwise_or", lhs, rhs)


def bitwise_xor(lhs: TensorLike, rhs: TensorLike) -> TensorValue:
    """Exclusive or, bit by bit, of integers or bools: `x ^ y`."""
    return _binary("ops.bitwise_xor", "bitwise_xor", lhs, rhs)


def bitwise_not(x: TensorLike) -> TensorValue:
    """Every bit of an integer or bool turned over: `~x`."""
    return _unary("ops.bitwise_not", "bitwise_not", x)


# conversion
def cast(x: TensorLike, dtype: DType) -> TensorValue:
    """`x` in another dtype. Floats round to nearest even; a float becomes an integer by dropping its fraction, held at
    the integer's limits (NaN gives 0); to bool, whatever is not 0 is true. TypeError where `dtype` is no DType.

    >>> Graph("g", lambda x: ops.cast(x, DType.int8), [TensorType(DType.float32, ["n", 4], DeviceRef.CPU())])
    Graph('g': (float32[n, 4] on cpu:0) -> (int8[n, 4] on cpu:0))
    """
    element_type(dtype)
    return cast_to("ops.cast", tensor("ops.cast", "x", x), dtype)
