"""Elementwise ops: `evaluate` against formulas of NumPy and Python's math, and `element` against `evaluate`."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import StringAttr, i1, i32, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.nn import ROWS, reference
from pelton.dialects.nn.elementwise import Binary, RowOp
from pelton.dialects.types import dtype_name, is_float
from pelton.tests.support.nn_values import (
    ALL,
    BF16,
    F32,
    F64,
    FLOATS,
    INTS,
    UNSIGNED,
    dtypes_of,
    make,
    on_arrays,
    operand,
    pairs,
    special,
    value,
    values,
)
from pelton.tests.support.scalar_values import element_values


def cases() -> list[Any]:
    """Each op of the table with each dtype it takes."""
    found: list[Any] = []
    for op in ROWS:
        name = op.name.removeprefix("nn.")
        arity = 2 if issubclass(op, Binary) else 1
        found += [pytest.param(op, t, id=f"{name}-{dtype_name(t)}") for t in dtypes_of(name, arity)]
    return found


def inputs_of(op: type[RowOp], dtype: Attribute) -> tuple[Any, ...]:
    if issubclass(op, Binary):
        return pairs(dtype)
    return (np.concatenate([special(dtype), values(dtype, 500, scale=1), values(dtype, 500, scale=30)]),)


@pytest.mark.parametrize(("kind", "dtype"), cases())
def test_scalar_code_agrees_with_evaluate(kind: type[RowOp], dtype: Attribute) -> None:
    arrays = inputs_of(kind, dtype)
    op, expected = on_arrays(kind.name.removeprefix("nn."), *arrays)
    (allowed,) = op.tolerance([expected], {}, *arrays)
    problem = reference.disagreement(element_values(op, *arrays), expected, allowed)
    assert problem is None, problem


def one(function: Callable[..., float], *numbers: float) -> float:
    """A Python function, with IEEE's results where Python raises."""
    try:
        return function(*numbers)
    except ValueError:
        return math.nan
    except OverflowError:
        return math.inf


EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
}


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
@pytest.mark.parametrize("name", EXACT)
def test_arithmetic_is_correctly_rounded(name: str, dtype: Attribute) -> None:
    """Against rational arithmetic: no representable number is nearer to the true result."""
    x, y = values(dtype, 60, 3), values(dtype, 60, 4)
    _, got = on_arrays(name, x, y)
    for a, b, g in zip(x.tolist(), y.tolist(), got, strict=True):
        true = EXACT[name](Fraction(float(a)), Fraction(float(b)))
        numpy = reference.numpy_dtype(dtype)
        step = Fraction(float(reference.spacing(np.asarray([g]))[0]))
        assert abs(Fraction(float(g)) - true) * 2 <= step, (a, b, g, numpy)


PYTHON: dict[str, Callable[[float], float]] = {
    "exp": math.exp, "log1p": math.log1p, "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin,
    "acos": math.acos, "atan": math.atan, "tanh": math.tanh, "erf": math.erf, "floor": math.floor, "ceil": math.ceil,
    "trunc": math.trunc, "round": round, "sqrt": math.sqrt, "abs": abs, "relu": lambda x: max(x, 0.0),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "silu": lambda x: x / (1 + math.exp(-x)),
    "rsqrt": lambda x: 1 / math.sqrt(x) if x else math.inf, "negate": lambda x: -x,
}  # fmt: skip


@pytest.mark.parametrize("name", PYTHON)
@pytest.mark.parametrize("dtype", [F32, BF16], ids=dtype_name)
def test_functions_are_those_of_python(name: str, dtype: Attribute) -> None:
    x = np.concatenate([values(dtype, 200, scale=0.4), values(dtype, 100, scale=8)])
    _, got = on_arrays(name, x)
    expected = reference.rounded(np.array([one(PYTHON[name], float(v)) for v in x]), dtype)
    problem = reference.disagreement(got, expected, reference.spacing(expected))
    assert problem is None, problem


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
def test_relu_keeps_nan_and_makes_one_zero(dtype: Attribute) -> None:
    x = np.array([np.nan, -0.0, -1.0, 2.0, -np.inf, np.inf]).astype(reference.numpy_dtype(dtype))
    _, y = on_arrays("relu", x)
    assert np.isnan(y[0]) and y[1:].tolist() == [0, 0, 2, 0, np.inf] and not np.signbit(y[1])


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
def test_extremes_propagate_nan_and_order_zeros(dtype: Attribute) -> None:
    numpy = reference.numpy_dtype(dtype)
    x, y = np.array([1, np.nan, 0.0, -0.0], numpy), np.array([np.nan, 1, -0.0, 0.0], numpy)
    for name, sign in (("maximum", False), ("minimum", True)):
        _, z = on_arrays(name, x, y)
        assert np.isnan(z[:2]).all() and np.signbit(z[2:]).tolist() == [sign, sign]


@pytest.mark.parametrize("dtype", UNSIGNED, ids=dtype_name)
def test_unsigned_integers_are_never_negative(dtype: Attribute) -> None:
    numpy = reference.numpy_dtype(dtype)
    high = int(np.iinfo(numpy).max)
    x, y = np.array([7, high, 5, 0, high - 1], numpy), np.array([2, 2, 0, high, high], numpy)
    assert on_arrays("floor_div", x, y)[1].tolist() == [3, high // 2, 0, 0, 0]
    assert on_arrays("mod", x, y)[1].tolist() == [1, 1, 0, 0, high - 1]
    assert on_arrays("sub", x, y)[1].tolist() == [5, high - 2, 5, 1, high]
    assert on_arrays("negate", x)[1].tolist() == [high - 6, 1, high - 4, 0, 2]
    assert on_arrays("abs", x)[1].tolist() == on_arrays("relu", x)[1].tolist() == x.tolist()
    assert on_arrays("less", x, y)[1].tolist() == [False, False, False, True, True]
    assert on_arrays("bitwise_not", x)[1].tolist() == [high - 7, 0, high - 5, high, 1]


@pytest.mark.parametrize("dtype", [t for t in INTS if t not in UNSIGNED], ids=dtype_name)
def test_integer_division_never_traps(dtype: Attribute) -> None:
    numpy = reference.numpy_dtype(dtype)
    low = np.iinfo(numpy).min
    x, y = np.array([7, -7, 7, -7, 5, low, low], numpy), np.array([2, 2, -2, -2, 0, -1, 0], numpy)
    assert on_arrays("floor_div", x, y)[1].tolist() == [3, -4, -4, 3, 0, low, 0]
    assert on_arrays("mod", x, y)[1].tolist() == [1, 1, -1, -1, 0, 0, 0]


def test_float_division_is_that_of_python() -> None:
    x, y = pairs(F64)
    finite = np.isfinite(x) & np.isfinite(y) & (y != 0) & (np.abs(x) < 1e9) & (np.abs(y) > 1e-9)
    x, y = x[finite], y[finite]
    assert on_arrays("floor_div", x, y)[1].tolist() == [a // b for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    assert on_arrays("mod", x, y)[1].tolist() == [a % b for a, b in zip(x.tolist(), y.tolist(), strict=True)]


@pytest.mark.parametrize("dtype", [F32, F64], ids=dtype_name)
def test_float_division_with_quotients_of_every_size(dtype: Attribute) -> None:
    """Also where the rounded quotient reaches an integer that the true one just misses."""
    random = np.random.default_rng(5)
    y = random.uniform(-8, 8, 4000).astype(reference.numpy_dtype(dtype))
    x = (np.rint(y * 2.0 ** random.uniform(-4, 40, 4000)) + random.choice([0, 0, 0.5, 1e-3], 4000)).astype(y.dtype)
    x[::3] = (y[::3] * random.integers(-1000, 1000, x[::3].size)).astype(y.dtype)
    for name in ("floor_div", "mod"):
        op, expected = on_arrays(name, x, y)
        problem = reference.disagreement(element_values(op, x, y), expected, op.tolerance([expected], {}, x, y)[0])
        assert problem is None, f"{name}: {problem}"


def test_bitwise_and_logic() -> None:
    x, y = np.array([0b1100, -1], np.int32), np.array([0b1010, 5], np.int32)
    assert on_arrays("bitwise_and", x, y)[1].tolist() == [0b1000, 5]
    assert on_arrays("bitwise_or", x, y)[1].tolist() == [0b1110, -1]
    assert on_arrays("bitwise_xor", x, y)[1].tolist() == [0b0110, -6]
    assert on_arrays("bitwise_not", x)[1].tolist() == [~0b1100, 0]
    p, q = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert on_arrays("logical_xor", p, q)[1].tolist() == [False, True, True, False]
    assert on_arrays("bitwise_not", p)[1].tolist() == [False, False, True, True]
    assert on_arrays("less", p, q)[1].tolist() == [False, False, True, False]


def test_tests_of_numbers() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1, -0.0], np.float32)
    assert on_arrays("is_nan", x)[1].tolist() == [True, False, False, False, False]
    assert on_arrays("is_inf", x)[1].tolist() == [False, True, True, False, False]
    assert on_arrays("not_equal", x, x)[1].tolist() == [True, False, False, False, False]


@pytest.mark.parametrize("source", ALL, ids=dtype_name)
@pytest.mark.parametrize("to", ALL, ids=dtype_name)
def test_cast(source: Attribute, to: Attribute) -> None:
    x = np.concatenate([special(source), values(source, 300, scale=100)])
    op, got = on_arrays("cast", x, dtype=to)
    problem = reference.disagreement(element_values(op, x), got, 0)
    assert problem is None, problem
    if is_float(source) and not is_float(to) and to != i1:
        limits = np.iinfo(reference.numpy_dtype(to))
        for v, g in zip(x.astype(np.float64).tolist(), got.tolist(), strict=True):
            assert g == (0 if v != v else limits.max if v > limits.max else limits.min if v < limits.min else int(v))


def test_cast_rounds_once_to_nearest_even() -> None:
    """bf16 has 8 bits: from float64 through float32 the first one would land on the tie and go down."""
    x = np.array(
        [1 + 2**-8 + 2**-40, 1 + 2**-8, 1 + 3 * 2**-8, -(1 + 2**-8 + 2**-40), 3.4e38, 1e39, np.nan], np.float64
    )
    _, y = on_arrays("cast", x, dtype=BF16)
    step = 2**-7
    assert y.astype(np.float64)[:5].tolist() == [1 + step, 1.0, 1 + 2 * step, -(1 + step), float(y[4])]
    assert np.isinf(y[4].astype(np.float64)) or float(y[4]) < 3.4e38
    assert np.isinf(y[5].astype(np.float64)) and np.isnan(y[6].astype(np.float64))


@pytest.mark.parametrize("dtype", ALL, ids=dtype_name)
def test_where(dtype: Attribute) -> None:
    x, y = values(dtype, 50, 1), values(dtype, 50, 2)
    condition = values(i1, 50, 3)
    op, got = on_arrays("where", condition, x, y)
    assert all(g == (a if c else b) for g, c, a, b in zip(got, condition, x, y, strict=True))
    assert reference.disagreement(element_values(op, condition, x, y), got, 0) is None


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
@pytest.mark.parametrize("approximate", ["none", "tanh", "quick"])
def test_gelu(dtype: Attribute, approximate: str) -> None:
    x = np.concatenate([special(dtype), values(dtype, 2000), values(dtype, 200, scale=30)])
    op, got = on_arrays("gelu", x, approximate=StringAttr(approximate))
    allowed = op.tolerance([got], {}, x)[0]
    problem = reference.disagreement(element_values(op, x), got, allowed)
    assert problem is None, problem
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        formula = {
            "none": wide * 0.5 * (1 + reference.erf(wide / math.sqrt(2))),
            "tanh": 0.5 * wide * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3))),
            "quick": wide / (1 + np.exp(-1.702 * wide)),
        }[approximate]
        near = np.abs(formula - got.astype(np.float64)) <= 1e-15 * np.abs(wide) + reference.spacing(got)
    assert near[np.abs(wide) < 1e3].all()


def test_constants_of_half_types_are_computed_in_f32() -> None:
    """x + 1 in bf16 is one f32 addition and one rounding."""
    x = values(BF16, 100)
    _, y = on_arrays("add", x, np.ones_like(x))
    assert (y == reference.rounded(x.astype(np.float32) + np.float32(1), BF16)).all()


REFUSED = [
    (
        "add",
        ((4,), F32),
        ((5,), F32),
        "expects operands of one type, got !nn.tensor<[4], f32> and !nn.tensor<[5], f32>",
    ),
    ("add", ((4,), F32), ((5,), F32), "broadcast with nn.broadcast_to"),
    ("add", ((4,), F32), ((4,), F64), "convert with nn.cast"),
    ("mul", ((4,), i1), ((4,), i1), "expects elements of a float or an integer, got i1"),
    ("div", ((4,), i32), ((4,), i32), "expects elements of f16, bf16, f32 or f64, got i32; convert with nn.cast"),
    ("logical_and", ((4,), i32), ((4,), i32), "expects elements of i1, got i32; compare with nn.not_equal"),
    ("bitwise_and", ((4,), F32), ((4,), F32), "expects elements of an integer or i1, got f32"),
]


@pytest.mark.parametrize(("name", "lhs", "rhs", "message"), REFUSED)
def test_refusals_say_what_to_do(name: str, lhs: Any, rhs: Any, message: str) -> None:
    with pytest.raises(VerifyException, match="'nn." + name) as error:
        make(name, operand(*lhs), operand(*rhs))
    assert message in str(error.value)


def test_devices_do_not_mix() -> None:
    with pytest.raises(VerifyException, match="move one to the other's device"):
        make("add", operand((4,), F32), operand((4,), F32, "gpu:0"))


def test_gelu_names_its_variants() -> None:
    with pytest.raises(VerifyException, match="one of none, tanh, quick, got erf"):
        make("gelu", operand((4,), F32), approximate=StringAttr("erf"))


def test_where_wants_one_type_and_a_condition_like_it() -> None:
    with pytest.raises(VerifyException, match="expects two values of one type"):
        make("where", operand((4,), i1), operand((4,), F32), operand((5,), F32))
    with pytest.raises(VerifyException, match="expects a condition like its values"):
        make("where", operand((1,), i1), operand((4,), F32), operand((4,), F32))
    with pytest.raises(VerifyException, match="expects elements of i1"):
        make("where", operand((4,), i64), operand((4,), F32), operand((4,), F32))


def test_every_row_names_its_ops_uniquely() -> None:
    assert len({op.name for op in ROWS}) == len(ROWS)
    assert all(op.__doc__ and op.name in op.__doc__ for op in ROWS)


def test_operands_are_tensors() -> None:
    with pytest.raises(VerifyException, match=r"'nn\.relu' expects a tensor as operand 0, got i32"):
        make("relu", value(i32))
