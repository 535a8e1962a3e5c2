"""Reductions, norms and matmul: `evaluate` against exact sums, expansions against `evaluate` within the op's own
tolerance.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import BoolAttr, FloatAttr, IntegerAttr, i1, i8, i32, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from pelton.dialects.dims import Dim
from pelton.dialects.interpreter import run
from pelton.dialects.nn import reference
from pelton.dialects.types import DimsAttr, TensorType, dtype_name
from pelton.tests.support.nn_values import (
    BF16,
    F16,
    F32,
    F64,
    FLOATS,
    INTS,
    NUMBERS,
    attribute_of,
    expanded,
    function_of,
    make,
    on_arrays,
    operand,
    special,
    values,
)  # fmt: skip

Array = np.ndarray[Any, Any]
SHAPES = [(3, 5), (4, 1), (1, 7), (2, 0), (0, 3), (2, 3, 33)]


def axis(k: int) -> IntegerAttr:
    return IntegerAttr(k, i64)


def array(*shape: int, dtype: Attribute = F32, seed: int = 0) -> Array:
    return values(dtype, int(np.prod(shape)), seed).reshape(shape)


def type_of(x: Array) -> TensorType:
    return TensorType(x.shape, attribute_of(x.dtype))


def expansion_agrees(name: str, *arrays: Array, symbolic: bool = False, **properties: Any) -> None:
    """The op, expanded and interpreted op by op, gives what it evaluates to, within its tolerance."""
    op, expected = on_arrays(name, *arrays, **properties)
    types = [TensorType([f"n{d}" if symbolic else d for d in x.shape], attribute_of(x.dtype)) for x in arrays]
    (got,) = run(expanded(name, types, **properties), arrays)
    (allowed,) = op.tolerance([expected], {}, *arrays)
    problem = reference.disagreement(got, expected, allowed)
    assert problem is None, f"{op.name} {types}: {problem}"


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
def test_sums_and_products_are_those_of_rational_numbers(dtype: Attribute) -> None:
    x = array(4, 9, dtype=dtype)
    rows = [[Fraction(float(v)) for v in row] for row in x]
    for name, exact in (("sum", [sum(r) for r in rows]), ("prod", [math.prod(r) for r in rows])):
        _, got = on_arrays(name, x, axis=axis(1))
        for g, true in zip(got[:, 0], exact, strict=True):
            step = Fraction(float(reference.spacing(np.asarray([g]))[0]))
            assert abs(Fraction(float(g)) - true) <= step / 2 + abs(true) / 2**60


@pytest.mark.parametrize("dtype", INTS, ids=dtype_name)
def test_integer_reductions_wrap(dtype: Attribute) -> None:
    limits = np.iinfo(reference.numpy_dtype(dtype))
    x = np.array([[limits.max, 1, 2], [limits.min, 3, 5]], limits.dtype)
    assert on_arrays("sum", x, axis=axis(1))[1].ravel().tolist() == [limits.min + 2, limits.min + 8]
    assert on_arrays("max", x, axis=axis(1))[1].ravel().tolist() == [limits.max, 5]
    assert on_arrays("min", x, axis=axis(0))[1].ravel().tolist() == [limits.min, 1, 2]


@pytest.mark.parametrize("dtype", NUMBERS, ids=dtype_name)
def test_empty_axes_give_identities(dtype: Attribute) -> None:
    x = array(2, 0, dtype=dtype)
    numpy = reference.numpy_dtype(dtype)
    low, high = (-np.inf, np.inf) if dtype in FLOATS else (np.iinfo(numpy).min, np.iinfo(numpy).max)
    for name, value in (("sum", 0), ("prod", 1), ("max", low), ("min", high)):
        assert on_arrays(name, x, axis=axis(1))[1].tolist() == [[value], [value]]


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
def test_extremes_propagate_nan_and_order_zeros(dtype: Attribute) -> None:
    x = np.array([[1, np.nan, 3], [-0.0, 0.0, -0.0], [-0.0, -0.0, -1], [0.0, 1, 0.0]]).astype(
        reference.numpy_dtype(dtype)
    )
    largest, smallest = (on_arrays(name, x, axis=axis(1))[1].ravel() for name in ("max", "min"))
    assert np.isnan(largest[0]) and np.isnan(smallest[0])
    assert (largest[1:].tolist(), np.signbit(largest[1:]).tolist()) == ([0, 0, 1], [False, True, False])
    assert (smallest[1:].tolist(), np.signbit(smallest[1:]).tolist()) == ([0, -1, 0], [True, True, False])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_reductions_along_each_axis(name: str, shape: tuple[int, ...]) -> None:
    x = array(*shape, dtype=F64)
    for k in range(x.ndim):
        _, got = on_arrays(name, x, axis=axis(k))
        if x.shape[k]:
            assert np.allclose(got, getattr(np, name)(x, k, keepdims=True), rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("shape", [(3, 5), (4, 1), (2, 3, 33)])
@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
@pytest.mark.parametrize("name", ["mean", "softmax", "logsoftmax"])
def test_expansions_along_axes(name: str, dtype: Attribute, shape: tuple[int, ...], symbolic: bool) -> None:
    for k in range(len(shape)):
        expansion_agrees(name, array(*shape, dtype=dtype, seed=k), symbolic=symbolic, axis=axis(k))


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
@pytest.mark.parametrize("name", ["softmax", "logsoftmax"])
def test_softmax_of_extreme_rows(name: str, dtype: Attribute) -> None:
    x = np.array([[1e4, -1e4, 1e4], [-np.inf, 0, 1], [-np.inf] * 3, [np.inf, 0, 1], [np.nan, 0, 1]]).astype(
        reference.numpy_dtype(dtype)
    )
    expansion_agrees(name, x, axis=axis(1))
    _, y = on_arrays(name, x, axis=axis(1))
    assert np.isnan(y[2:].astype(np.float64)).all(axis=1).tolist() == [True, True, True]
    assert np.isfinite(y[0].astype(np.float64)).all()


def test_mean_of_nothing_is_nan() -> None:
    _, y = on_arrays("mean", array(2, 0), axis=axis(1))
    assert np.isnan(y).all()


@pytest.mark.parametrize("dtype", NUMBERS, ids=dtype_name)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_arg_extremes(name: str, dtype: Attribute, symbolic: bool) -> None:
    x = array(6, 7, dtype=dtype)
    x = np.rint(x).astype(x.dtype) if dtype in FLOATS else x
    for k in (0, 1):
        expansion_agrees(name, x, symbolic=symbolic, axis=axis(k))
        _, y = on_arrays(name, x, axis=axis(k))
        assert (
            y.tolist()
            == getattr(np, name)(x.astype(np.float64) if dtype in FLOATS else x, axis=k, keepdims=True).tolist()
        )


def test_arg_extremes_of_nan_and_ties() -> None:
    x = np.array([[1, np.nan, np.nan], [3, 3, 1], [np.inf, np.inf, 0], [-np.inf, 2, -np.inf]], np.float32)
    assert on_arrays("argmax", x, axis=axis(1))[1].ravel().tolist() == [1, 0, 0, 1]
    assert on_arrays("argmin", x, axis=axis(1))[1].ravel().tolist() == [1, 2, 2, 0]
    for name in ("argmax", "argmin"):
        expansion_agrees(name, x, axis=axis(1))


EPSILON = FloatAttr(1e-5, 64)


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
@pytest.mark.parametrize("shape", [(3, 5), (1, 384), (2, 2, 33), (4,), (3, 1)])
def test_layer_norm(dtype: Attribute, shape: tuple[int, ...]) -> None:
    x, gamma, beta = (
        array(*shape, dtype=dtype),
        array(shape[-1], dtype=dtype, seed=1),
        array(shape[-1], dtype=dtype, seed=2),
    )
    x = (x + np.asarray(20, x.dtype)).astype(x.dtype)
    expansion_agrees("layer_norm", x, gamma, beta, epsilon=EPSILON)
    expansion_agrees("layer_norm", x, gamma, beta, symbolic=True, epsilon=EPSILON)
    _, y = on_arrays("layer_norm", x, gamma, beta, epsilon=EPSILON)
    wide = x.astype(np.float64)
    normal = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    expected = normal * gamma.astype(np.float64) + beta.astype(np.float64)
    assert np.allclose(
        y.astype(np.float64),
        expected,
        rtol=2.0 ** -{"f16": 10, "bf16": 7, "f32": 22, "f64": 40}[dtype_name(dtype)],
        atol=1e-6,
    )


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
@pytest.mark.parametrize("offset", [0.0, 1.0])
@pytest.mark.parametrize("before", [False, True])
def test_rms_norm(dtype: Attribute, offset: float, before: bool) -> None:
    x, weight = array(3, 33, dtype=dtype), array(33, dtype=dtype, seed=1)
    properties: dict[str, Any] = {
        "epsilon": EPSILON,
        "weight_offset": FloatAttr(offset, 64),
        "multiply_before_cast": BoolAttr.from_bool(before),
    }
    expansion_agrees("rms_norm", x, weight, **properties)
    _, y = on_arrays("rms_norm", x, weight, **properties)
    wide = x.astype(np.float64)
    normal = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5)
    factor = weight.astype(np.float64) + offset
    numpy = reference.numpy_dtype(dtype)
    if not before:
        normal, factor = normal.astype(numpy).astype(np.float64), factor.astype(numpy).astype(np.float64)
    expected = (normal * factor).astype(numpy)
    assert reference.disagreement(y, expected, 2 * reference.spacing(expected)) is None


PRODUCTS = [
    ((3, 4), (4, 5)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((1, 1), (1, 1)),
    ((3, 0), (0, 2)),
    ((0, 4), (4, 0)),
    ((2, 2, 3, 33), (2, 2, 33, 2)),
]


@pytest.mark.parametrize("shapes", PRODUCTS)
@pytest.mark.parametrize("dtype", [F64, i32, i8, F16, BF16], ids=dtype_name)
def test_matmul(dtype: Attribute, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = array(*shapes[0], dtype=dtype), array(*shapes[1], dtype=dtype, seed=1)
    op, y = on_arrays("matmul", a, b)
    if dtype in INTS:
        assert (y == np.matmul(a, b)).all()
    else:
        exact = np.einsum("...mk,...kn->...mn", a.astype(np.longdouble), b.astype(np.longdouble))
        assert np.allclose(
            y.astype(np.float64), exact.astype(np.float64), rtol=0.01 if dtype in (F16, BF16) else 1e-13, atol=1e-12
        )
    if dtype != F64:
        expansion_agrees("matmul", a, b)
    else:
        assert op.tolerance([y], {}, a, b)[0].shape == y.shape


def test_matmul_of_floats_has_a_kernel_of_its_own() -> None:
    with pytest.raises(AssertionError, match="does not expand"):
        expanded("matmul", [TensorType((2, 3), F32), TensorType((3, 2), F32)])


@pytest.mark.parametrize("shapes", PRODUCTS)
def test_packed_matmul(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = array(*shapes[0], dtype=F32), array(*shapes[1], dtype=F32, seed=1)
    _, packed = on_arrays("pack", b, width=axis(4))
    _, expected = on_arrays("matmul", a, b)
    op, y = on_arrays("packed_matmul", a, packed, n=DimsAttr((b.shape[-1],)))
    assert reference.disagreement(y, expected, op.tolerance([y], {}, a, packed)[0]) is None


def test_the_error_bound_of_a_sum_is_of_what_it_sums() -> None:
    """1e8 and -1e8 cancel: an error of a unit of 1e8 is no error of the sum's last place."""
    x = np.array([[1e8, 1.0, -1e8]], np.float32)
    op, y = on_arrays("sum", x, axis=axis(1))
    (allowed,) = op.tolerance([y], {}, x)
    assert y.item() == 1.0 and 1 < allowed.item() < 200


def test_an_infinite_result_has_to_be_met() -> None:
    x = np.array([[np.inf, 1.0], [np.nan, 1.0]], np.float32)
    op, y = on_arrays("sum", x, axis=axis(1))
    (allowed,) = op.tolerance([y], {}, x)
    assert reference.disagreement(np.array([[1.0], [np.nan]], np.float32), y, allowed) is not None
    assert reference.disagreement(y.copy(), y, allowed) is None


REFUSED: list[tuple[str, list[tuple[tuple[Dim, ...], Attribute]], dict[str, Any], str]] = [
    ("sum", [((2, 3), F32)], {"axis": axis(2)}, "expects an axis from 0 to 1 for !nn.tensor<[2, 3], f32>, got 2"),
    ("sum", [((2, 3), i1)], {"axis": axis(0)}, "expects elements of a float or an integer, got i1"),
    (
        "mean",
        [((2, 3), i32)],
        {"axis": axis(0)},
        "expects elements of f16, bf16, f32 or f64, got i32; convert with nn.cast",
    ),
    ("softmax", [((2, 3), i32)], {"axis": axis(0)}, "expects elements of f16, bf16, f32 or f64"),
    ("softmax", [((2, 3), F32)], {"axis": axis(-1)}, "expects an axis from 0 to 1"),
    (
        "argmax",
        [((2, 0), F32)],
        {"axis": axis(1)},
        "expects at least one element along axis 1, got !nn.tensor<[2, 0], f32>",
    ),
    (
        "layer_norm",
        [((2, 3), F32), ((2,), F32), ((3,), F32)],
        {"epsilon": EPSILON},
        "expects weights of !nn.tensor<[3], f32>, got !nn.tensor<[2], f32>",
    ),
    ("layer_norm", [((), F32), ((), F32), ((), F32)], {"epsilon": EPSILON}, "expects at least one axis"),
    ("rms_norm", [((2, 3), F16), ((3,), F32)], {"epsilon": EPSILON}, "expects weights of !nn.tensor<[3], f16>"),
    (
        "matmul",
        [((2, 3), F32), ((2, 3), F32)],
        {},
        "expects [..., m, k] and [..., k, n] with equal leading sizes, or [k, n], got [2, 3] and [2, 3]",
    ),
    ("matmul", [((2, 3), F32), ((3, 2), F64)], {}, "expects one dtype and device"),
    ("matmul", [((2, 3), i1), ((3, 2), i1)], {}, "expects numbers, got i1; convert with nn.cast"),
    ("matmul", [((3,), F32), ((3, 2), F32)], {}, "broadcast or reshape first"),
    ("packed_matmul", [((2, 3), i32), ((1, 3, 4), i32)], {"n": DimsAttr((4,))}, "expects f32 or f64 on one device"),
    ("packed_matmul", [((2, 3), F32), ((3, 4), F32)], {"n": DimsAttr((4,))}, "packed [..., k, n] and one n"),
    ("packed_matmul", [((2, 3), F32), ((2, 3, 4), F32)], {"n": DimsAttr((4,))}, "expects the panels of [..., k, 4]"),
]


@pytest.mark.parametrize(("name", "operands", "properties", "message"), REFUSED)
def test_refusals(name: str, operands: Any, properties: dict[str, Any], message: str) -> None:
    with pytest.raises(VerifyException) as error:
        make(name, *(operand(*o) for o in operands), **properties)
    assert message in str(error.value)


def test_special_values_do_not_stop_a_reduction() -> None:
    x = special(F32).reshape(1, -1)
    for name in ("sum", "prod", "max", "min", "mean", "softmax"):
        run(function_of(name, [type_of(x)], axis=axis(1)), [x])
