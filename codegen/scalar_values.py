"""The NumPy meaning of scalar ops, for `codegen.interpreter`: what an op of `arith` or `math` gives for arrays of its
operands.

Enters: an op and one array per operand. Leaves: an array of the result's type. Arithmetic rounds once, in the op's
own type; functions of f32 are computed in f64 and rounded. Integers wrap, dividing by zero gives 0, floats become
integers by truncation, saturation, and 0 for NaN.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, Operation

from pelton.codegen.spelling import register_name
from pelton.dialects.types import is_bool
from pelton.dtype import DType
from pelton.support.errors import CompileError, InternalError

if TYPE_CHECKING:
    import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"
Rule: TypeAlias = Callable[[Operation, Sequence[Array]], Array]


@cache
def numpy_dtype(t: Attribute) -> np.dtype[Any]:
    """The NumPy type that holds values of `t`."""
    import numpy as np

    return np.dtype(np.int64) if isinstance(t, IndexType) else np.dtype(DType(str(t)).to_numpy())


def constant(op: arith.ConstantOp) -> Array:
    """The value of a constant."""
    import numpy as np

    match op.value:
        case IntegerAttr() as number if is_bool(op.result.type):
            return np.asarray(number.value.data != 0)
        case IntegerAttr() | FloatAttr() as number:
            return np.asarray(number.value.data).astype(numpy_dtype(op.result.type))
        case other:
            raise CompileError("a kernel constant is one number", op=op.name, got=str(other))


def evaluate(op: Operation, args: Sequence[Array]) -> Array:
    """The result of `op`. Raises CompileError for an op that kernels do not know."""
    import numpy as np

    functions = _functions()
    if op.name in _RULES:
        result = _RULES[op.name](op, args)
    elif op.name in functions:
        result = functions[op.name](*args)
    else:
        known = f"one of {', '.join(sorted(known_ops()))}"
        raise CompileError(f"the interpreter does not know {op.name}", op=op.name, expected=known)
    return np.asarray(result).astype(numpy_dtype(op.results[0].type), copy=False)


def known_ops() -> frozenset[str]:
    """The names of all ops that `evaluate` takes."""
    return frozenset(_RULES) | frozenset(_functions())


def _compare_floats(op: Operation, args: Sequence[Array]) -> Array:
    assert isinstance(op, arith.CmpfOp)
    x, y = args
    unordered = (x != x) | (y != y)
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    match predicate:
        case "false" | "true":
            return unordered ^ unordered ^ (predicate == "true")
        case "ord":
            return ~unordered
        case "uno":
            return unordered
        case _:
            relation = _relation(predicate[1:], x, y)
            return relation | unordered if predicate[0] == "u" else relation & ~unordered


def _compare_integers(op: Operation, args: Sequence[Array]) -> Array:
    assert isinstance(op, arith.CmpiOp)
    x, y = args
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    if predicate[0] == "u":
        x, y = _unsigned(x), _unsigned(y)
    elif x.dtype.kind == "b":
        x, y = _signed(x), _signed(y)
    return _relation(predicate[-2:], x, y)


def _relation(name: str, x: Array, y: Array) -> Array:
    table: Mapping[str, Callable[[Array, Array], Array]] = {
        "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
        "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    }  # fmt: skip
    return table[name](x, y)


def _unsigned(x: Array) -> Array:
    return x.astype("u1") if x.dtype.kind == "b" else x.astype(f"u{x.dtype.itemsize}")


def _signed(x: Array) -> Array:
    """The value of signless bits: a true i1 is -1."""
    return -x.astype("i8") if x.dtype.kind == "b" else x


def round_to(x: Array, t: Attribute) -> Array:
    """`x` as type `t`, rounded once to nearest even."""
    import numpy as np

    with np.errstate(all="ignore"):
        if register_name(t) == "bf16" and x.dtype.itemsize == 8:
            x = _rounded_to_odd(x.astype(np.float64))
        return x.astype(numpy_dtype(t))


def _rounded_to_odd(x: Array) -> Array:
    """f64 as f32; of the two values around an inexact one that with an odd last bit, so that it rounds once more."""
    import numpy as np

    near = x.astype(np.float32)
    other = np.nextafter(near, np.where(x > near, np.inf, -np.inf).astype(np.float32))
    even = (near.view(np.uint32) & 1) == 0
    return np.where((near != x) & even & np.isfinite(near), other, near)


def _to_integer(op: Operation, args: Sequence[Array]) -> Array:
    import numpy as np

    x = args[0]
    dtype = numpy_dtype(op.results[0].type)
    info = np.iinfo(dtype)
    y = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
    low, high = float(info.min), float(info.max) + 1.0 if dtype.itemsize == 8 else float(info.max)
    safe = np.clip(y, low, np.nextafter(high, 0.0) if dtype.itemsize == 8 else high)
    return np.where(y >= high, info.max, np.where(y <= low, info.min, safe.astype(dtype)))


def _divide(x: Array, y: Array) -> tuple[Array, Array]:
    """Floored quotient and remainder; (0, 0) where `y` is 0, (wrapped, 0) where the quotient overflows."""
    import numpy as np

    bad = (y == 0) | (y == -1)
    quotient = np.floor_divide(x, np.where(bad, 1, y).astype(x.dtype))
    quotient = np.where(y == 0, 0, np.where(y == -1, np.negative(x), quotient)).astype(x.dtype)
    remainder = np.where(bad, 0, x - quotient * y).astype(x.dtype)
    return quotient, remainder


def _truncated(x: Array, y: Array) -> tuple[Array, Array]:
    quotient, remainder = _divide(x, y)
    inexact = (remainder != 0) & ((x < 0) != (y < 0))
    return quotient + inexact.astype(x.dtype), remainder - inexact.astype(x.dtype) * y


def _ceiling(x: Array, y: Array) -> Array:
    quotient, remainder = _divide(x, y)
    return quotient + (remainder != 0).astype(x.dtype)


def _through_f64(function: Callable[..., Any]) -> Callable[..., Array]:
    """A function of floats, computed in f64 and rounded to the type of its first operand."""

    def rule(*args: Array) -> Array:
        return function(*(a.astype("f8") for a in args)).astype(args[0].dtype)

    return rule


def _rsqrt(x: Array) -> Array:
    import numpy as np

    return 1.0 / np.sqrt(x)


def _binary(function: Callable[[Array, Array], Array]) -> Rule:
    return lambda op, args: function(args[0], args[1])


def _rounded(read: Callable[[Array], Array]) -> Rule:
    return lambda op, args: round_to(read(args[0]), op.results[0].type)


def _truncate_integer(op: Operation, args: Sequence[Array]) -> Array:
    return args[0] & 1 != 0 if is_bool(op.results[0].type) else args[0]


_RULES: Mapping[str, Rule] = {
    "arith.cmpf": _compare_floats,
    "arith.cmpi": _compare_integers,
    "arith.truncf": _rounded(lambda x: x),
    "arith.extf": _rounded(lambda x: x),
    "arith.sitofp": _rounded(_signed),
    "arith.uitofp": _rounded(_unsigned),
    "arith.fptosi": _to_integer,
    "arith.fptoui": _to_integer,
    "arith.bitcast": lambda op, args: args[0].view(numpy_dtype(op.results[0].type)),
    "arith.extsi": lambda op, args: _signed(args[0]),
    "arith.extui": lambda op, args: _unsigned(args[0]),
    "arith.index_cast": lambda op, args: _signed(args[0]),
    "arith.trunci": _truncate_integer,
    "arith.divui": _binary(lambda x, y: _divide(x, y)[0]),
    "arith.remui": _binary(lambda x, y: _divide(x, y)[1]),
    "arith.divsi": _binary(lambda x, y: _truncated(x, y)[0]),
    "arith.remsi": _binary(lambda x, y: _truncated(x, y)[1]),
    "arith.floordivsi": _binary(lambda x, y: _divide(x, y)[0]),
    "arith.ceildivui": _binary(_ceiling),
    "arith.ceildivsi": _binary(_ceiling),
}
"""Ops whose meaning is not one NumPy function."""


@cache
def _functions() -> Mapping[str, Callable[..., Any]]:
    """Ops that are one NumPy function of their operands."""
    import numpy as np

    arithmetic = {
        "addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide, "negf": np.negative,
        "maximumf": np.maximum, "minimumf": np.minimum, "maxnumf": np.fmax, "minnumf": np.fmin, "select": np.where,
        "addi": np.add, "subi": np.subtract, "muli": np.multiply, "maxsi": np.maximum, "minsi": np.minimum,
        "maxui": np.maximum, "minui": np.minimum,
        "andi": np.bitwise_and, "ori": np.bitwise_or, "xori": np.bitwise_xor,
        "shli": np.left_shift, "shrsi": np.right_shift, "shrui": np.right_shift,
    }  # fmt: skip
    exact = {"absf": np.abs, "absi": np.abs, "floor": np.floor, "ceil": np.ceil, "roundeven": np.rint,
             "trunc": np.trunc, "copysign": np.copysign, "sqrt": np.sqrt}  # fmt: skip
    names = {"exp": "exp", "log": "log", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "tanh": "tanh",
             "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atanh": "arctanh", "powf": "power"}  # fmt: skip
    wide: dict[str, Callable[..., Any]] = {name: getattr(np, numpy_name) for name, numpy_name in names.items()}
    wide |= {"erf": np.vectorize(math.erf, otypes=[np.float64]), "rsqrt": _rsqrt}
    return {
        "kernel.fmod": np.fmod,
        **{f"arith.{name}": function for name, function in arithmetic.items()},
        **{f"math.{name}": function for name, function in exact.items()},
        **{f"math.{name}": _through_f64(function) for name, function in wide.items()},
    }


def reduced(kind: str, lanes: Array) -> Array:
    """All lanes combined; floats are added and multiplied in f64 and rounded once."""
    import numpy as np

    dtype = lanes.dtype
    wide = np.dtype(np.float64) if dtype.kind not in "iub" else dtype
    if kind in ("add", "mul"):
        whole = (np.add if kind == "add" else np.multiply).reduce(lanes, dtype=wide)
    else:
        identity = _limits(dtype)[kind == "min"]
        whole = (np.maximum if kind == "max" else np.minimum).reduce(lanes, initial=identity)
    return np.asarray(whole).astype(dtype)


def _limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The smallest and the largest value of a type."""
    import numpy as np

    if dtype.kind == "b":
        return False, True
    return (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind in "iu" else (-np.inf, np.inf)


def flat(given: Array, dtype: np.dtype[Any]) -> Array:
    """The memory of an array as elements of `dtype`, shared with it."""
    if not given.flags.c_contiguous or given.dtype.itemsize != dtype.itemsize:
        raise InternalError("the interpreter takes contiguous arrays of the buffer's type", expected=str(dtype),
                            got=f"{given.dtype}, strides {given.strides}")  # fmt: skip
    return given.reshape(-1).view(dtype)
