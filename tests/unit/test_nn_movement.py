"""Ops that move and pick elements: `evaluate` against NumPy's own, `element` against `evaluate` with every read in
bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from pelton.dialects import dims
from pelton.dialects.dims import Dim
from pelton.dialects.nn import GatherOp, reference
from pelton.dialects.nn.shapes import at_most, broadcasts
from pelton.dialects.op import Pointwise
from pelton.dialects.types import DimsAttr, dtype_name
from pelton.tests.support.nn_values import ALL, BF16, F32, F64, make, on_arrays, operand, values
from pelton.tests.support.scalar_values import element_values, trace


def axis(k: int) -> IntegerAttr:
    return IntegerAttr(k, i64)


def array(*shape: int, dtype: Attribute = F32) -> np.ndarray[Any, Any]:
    return values(dtype, int(np.prod(shape))).reshape(shape)


def agrees(op: Any, got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], *inputs: np.ndarray[Any, Any]) -> None:
    assert got.flags.c_contiguous
    assert (problem := reference.disagreement(got, expected.astype(got.dtype), 0)) is None, problem
    assert isinstance(op, Pointwise)
    problem = reference.disagreement(np.ascontiguousarray(element_values(op, *inputs)).reshape(got.shape), got, 0)
    assert problem is None, problem


@pytest.mark.parametrize("dtype", ALL, ids=dtype_name)
def test_any_dtype_moves(dtype: Attribute) -> None:
    x = array(3, 4, dtype=dtype)
    op, y = on_arrays("permute", x, order=DimsAttr((1, 0)))
    agrees(op, y, x.T, x)


@pytest.mark.parametrize(
    ("shape", "to"), [((2, 6), (3, 4)), ((), (1, 1)), ((1,), ()), ((0, 3), (3, 0, 2)), ((2, 3, 4), (24,)), ((5,), (5,))]
)
def test_reshape(shape: tuple[int, ...], to: tuple[int, ...]) -> None:
    x = array(*shape)
    op, y = on_arrays("reshape", x, shape=DimsAttr(to))
    agrees(op, y, x.reshape(to), x)
    assert not op.requires()


@pytest.mark.parametrize(
    ("shape", "order"), [((2, 3), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((), ()), ((1, 5, 1), (2, 1, 0)), ((0, 3), (1, 0))]
)
def test_permute(shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    x = array(*shape)
    op, y = on_arrays("permute", x, order=DimsAttr(order))
    agrees(op, y, x.transpose(order), x)


@pytest.mark.parametrize(
    ("shape", "to"),
    [((3, 1), (3, 4)), ((4,), (2, 3, 4)), ((), (2, 2)), ((1,), (0,)), ((1, 1), (5, 1)), ((2, 3), (2, 3))],
)
def test_broadcast_to(shape: tuple[int, ...], to: tuple[int, ...]) -> None:
    x = array(*shape)
    op, y = on_arrays("broadcast_to", x, shape=DimsAttr(to))
    agrees(op, y, np.broadcast_to(x, to), x)


@pytest.mark.parametrize(("n", "m"), [(1, 4), (4, 1), (4, 4), (1, 1)])
def test_broadcast_to_a_size_that_a_run_decides(n: int, m: int) -> None:
    size = dims.broadcast("n", "m")
    op = make("broadcast_to", operand(("n",), F32), shape=DimsAttr((size,)))
    assert isinstance(op, Pointwise)
    x, sizes = array(n), {"n": n, "m": m}
    (y,) = op.evaluate(sizes, x)
    assert (y == np.broadcast_to(x, (max(n, m),))).all() and (trace(op, sizes, x)[0] == y).all()


SLICES = [
    ((0, 0), (5, 4), (1, 1)),
    ((1, 0), (4, 4), (2, 3)),
    ((4, 3), (-1, -1), (-1, -2)),
    ((4, 2), (0, 1), (-3, -1)),
    ((2, 4), (2, 4), (1, 1)),
    ((0, 0), (0, 4), (1, 1)),
]


@pytest.mark.parametrize(("starts", "stops", "steps"), SLICES)
def test_slice(starts: tuple[int, ...], stops: tuple[int, ...], steps: tuple[int, ...]) -> None:
    x = array(5, 4)
    op, y = on_arrays("slice", x, starts=DimsAttr(starts), stops=DimsAttr(stops), steps=DimsAttr(steps))
    rows, columns = (list(range(*each)) for each in zip(starts, stops, steps, strict=True))
    agrees(op, y, x[np.ix_(rows, columns)], x)
    assert not op.requires()


def test_slice_with_symbols() -> None:
    """The last k rows, backwards: what needs a check is asked for, what the algebra knows is not."""
    below = dims.sub("n", 1)
    last = make(
        "slice",
        operand(("n",), F32),
        starts=DimsAttr((below,)),
        stops=DimsAttr((dims.sub(below, "k"),)),
        steps=DimsAttr((-1,)),
    )
    assert last.results[0].type == operand(("k",), F32).type
    assert [(r.relation, r.lhs, r.rhs) for r in last.requires()] == [("le", -1, dims.sub(below, "k"))]
    assert isinstance(last, Pointwise)
    x = array(7)
    assert (trace(last, {"n": 7, "k": 3}, x)[0] == x[-1:-4:-1]).all()
    first = dims.minimum("k", "n")
    head = make("slice", operand(("n",), F32), starts=DimsAttr((0,)), stops=DimsAttr((first,)), steps=DimsAttr((1,)))
    assert not head.requires()


@pytest.mark.parametrize("along", [0, 1])
@pytest.mark.parametrize("sizes", [(2, 3), (1,), (0, 4), (3, 0, 2), (0, 0)])
def test_concat(along: int, sizes: tuple[int, ...]) -> None:
    parts = [array(*((n, 4) if along == 0 else (4, n)), dtype=F64) for n in sizes]
    op, y = on_arrays("concat", *parts, axis=axis(along))
    agrees(op, y, np.concatenate(parts, along), *parts)


def test_concat_with_an_operand_that_is_empty_at_run_time() -> None:
    op = make("concat", operand(("past", 2), F32), operand(("n", 2), F32), axis=axis(0))
    assert isinstance(op, Pointwise) and op.result_type.shape == (dims.add("past", "n"), 2)
    past, new = array(0, 2), array(3, 2)
    assert (trace(op, {"past": 0, "n": 3}, past, new)[0] == new).all()


@pytest.mark.parametrize("dtype", [i32, i64], ids=str)
@pytest.mark.parametrize(("along", "shape"), [(0, (3,)), (1, (2, 2)), (2, ()), (0, (0,))])
def test_gather(dtype: Attribute, along: int, shape: tuple[int, ...]) -> None:
    x = array(3, 4, 5)
    places = np.random.default_rng(1).integers(-x.shape[along], x.shape[along], shape)
    indices = np.asarray(places, reference.numpy_dtype(dtype))
    op, y = on_arrays("gather", x, indices, axis=axis(along))
    agrees(op, y, np.take(x, indices, along), x, indices)


def test_gather_out_of_range_is_reported_and_clamped() -> None:
    x, indices = array(3, 2), np.array([0, 3, -4, 2], np.int64)
    op = make("gather", operand((3, 2), F32), operand((4,), i64), axis=axis(0))
    assert isinstance(op, GatherOp)
    got, failed = trace(op, {}, x, indices)
    assert failed == [1]
    assert (got == x[[0, 2, 0, 2]]).all()
    assert (op.evaluate({}, x, indices)[0] == got).all()
    assert op.failure({}, x, indices) == (1, (3,)) and op.failure({}, x, indices % 3) is None


def test_gather_from_nothing_reads_nothing() -> None:
    op = make("gather", operand(("n", 2), F32), operand((4,), i64), axis=axis(0))
    assert isinstance(op, Pointwise)
    _, failed = trace(op, {"n": 0}, array(0, 2), np.zeros(4, np.int64))
    assert failed


@pytest.mark.parametrize(("k", "n", "width"), [(3, 16, 16), (3, 17, 16), (2, 5, 4), (0, 5, 4), (3, 0, 4), (1, 1, 8)])
def test_pack(k: int, n: int, width: int) -> None:
    x = array(2, k, n, dtype=BF16)
    op, y = on_arrays("pack", x, width=IntegerAttr(width, i64))
    expected = np.zeros((2, -(-n // width), k, width), x.dtype)
    for panel, row, lane in np.ndindex(*expected.shape[1:]):
        if panel * width + lane < n:
            expected[:, panel, row, lane] = x[:, row, panel * width + lane]
    agrees(op, y, expected, x)


def test_rebind_asks_for_equal_sizes() -> None:
    op = make("rebind", operand(("a", 4), F32), shape=DimsAttr(("b", "c")), message=StringAttr("heads"))
    assert [(r.relation, r.lhs, r.rhs, r.message) for r in op.requires()] == [
        ("eq", "a", "b", "heads"),
        ("eq", "c", 4, "heads"),
    ]
    (y,) = op.evaluate({}, x := array(3, 4))
    assert y is x


def test_reshape_asks_for_equal_counts() -> None:
    op = make("reshape", operand(("n", 4), F32), shape=DimsAttr(("m",)))
    assert [(r.relation, r.lhs, r.rhs) for r in op.requires()] == [("eq", dims.mul(4, "n"), "m")]


REFUSED: list[tuple[str, list[tuple[tuple[Dim, ...], Attribute]], dict[str, Any], str]] = [
    (
        "reshape",
        [((2, 3), F32)],
        {"shape": DimsAttr((7,))},
        "expects a shape of 6 elements as !nn.tensor<[2, 3], f32> has, got [7] of 7",
    ),
    (
        "permute",
        [((2, 3), F32)],
        {"order": DimsAttr((0, 0))},
        "expects each axis of !nn.tensor<[2, 3], f32> once as its order, got [0, 0]",
    ),
    ("permute", [((2, 3), F32)], {"order": DimsAttr((0,))}, "once as its order"),
    (
        "broadcast_to",
        [((2, 3), F32)],
        {"shape": DimsAttr((3,))},
        "expects sizes that are 1 or those of [3], counted from the last",
    ),
    ("broadcast_to", [((2,), F32)], {"shape": DimsAttr((3,))}, "counted from the last, got !nn.tensor<[2], f32>"),
    ("broadcast_to", [(("n",), F32)], {"shape": DimsAttr(("m",))}, "counted from the last"),
    (
        "rebind",
        [((2, 3), F32)],
        {"shape": DimsAttr((2, 4))},
        "expects a shape that !nn.tensor<[2, 3], f32> can have, got [2, 4]",
    ),
    (
        "slice",
        [((4,), F32)],
        {"starts": (0, 0), "stops": (1,), "steps": (1,)},
        "expects 1 starts for [4], got [0, 0]",
    ),
    ("slice", [((4,), F32)], {"starts": (0,), "stops": (1,), "steps": (0,)}, "expects steps other than 0, got [0]"),
    (
        "slice",
        [((4,), F32)],
        {"starts": (0,), "stops": (5,), "steps": (1,)},
        "expects 0 ≤ start ≤ stop ≤ size along axis 0 of [4], got 5 > 4",
    ),
    (
        "slice",
        [((4,), F32)],
        {"starts": (4,), "stops": (0,), "steps": (-1,)},
        "expects -1 ≤ stop ≤ start < size along axis 0 of [4], got 4 > 3",
    ),
    ("concat", [((2, 3), F32), ((2, 4), F32)], {"axis": axis(0)}, "expects operands that differ along axis 0 only"),
    ("concat", [((2, 3), F32), ((2, 3), F64)], {"axis": axis(0)}, "convert with nn.cast"),
    ("concat", [((2, 3), F32)], {"axis": axis(2)}, "expects an axis from 0 to 1 for !nn.tensor<[2, 3], f32>, got 2"),
    (
        "gather",
        [((2, 3), F32), ((2,), F32)],
        {"axis": axis(0)},
        "expects indices of i32 or i64, got !nn.tensor<[2], f32>; convert with nn.cast",
    ),
    ("gather", [((2, 3), F32), ((2,), i64)], {"axis": axis(-1)}, "expects an axis from 0 to 1"),
    ("pack", [((3,), F32)], {"width": axis(8)}, "expects a matrix and a width of 1 or more"),
]


@pytest.mark.parametrize(("name", "operands", "properties", "message"), REFUSED)
def test_refusals(name: str, operands: Any, properties: dict[str, Any], message: str) -> None:
    properties = {k: DimsAttr(v) if isinstance(v, tuple) else v for k, v in properties.items()}
    with pytest.raises(VerifyException) as error:
        make(name, *(operand(*o) for o in operands), **properties)
    assert message in str(error.value)


def test_concat_of_nothing() -> None:
    with pytest.raises(VerifyException, match="expects at least one operand"):
        make("concat", axis=axis(0))


KNOWN: list[tuple[Dim, Dim, bool]] = [
    (0, "n", True),
    ("n", dims.add("n", 1), True),
    ("n", "m", False),
    (dims.minimum("n", "m"), "n", True),
    ("n", dims.maximum("n", "m"), True),
    (dims.add("n", "m"), dims.maximum("n", "m"), False),
    (dims.mul(2, dims.floordiv("n", 2)), "n", True),
    (dims.sub("n", 1), "n", True),
    ("n", dims.sub("n", 1), False),
    (dims.minimum("n", dims.minimum("k", "m")), "m", True),
    (0, dims.sub("n", dims.minimum("n", "m")), True),
    (0, dims.minimum(dims.sub("n", 1), "n"), False),
]


@pytest.mark.parametrize(("x", "y", "known"), KNOWN)
def test_what_the_algebra_can_tell(x: Dim, y: Dim, known: bool) -> None:
    assert at_most(x, y) is known
    assert not known or all(
        dims.evaluate(x, sizes) <= dims.evaluate(y, sizes)
        for sizes in ({"n": n, "m": m, "k": k} for n in range(4) for m in range(4) for k in range(4))
    )


def test_broadcast_of_a_broadcast() -> None:
    size = dims.broadcast(dims.broadcast("a", "b"), "c")
    assert all(broadcasts(d, size) for d in ("a", "b", "c", 1, size)) and not broadcasts("d", size)
