"""Choices of a session between kernels: they show in what a model launches, and change models loaded later alone."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from pelton.driver import Buffer
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, ops
from pelton.support.errors import AssertionFailed

CPU = DeviceRef.CPU()
NUMPY = {DType.float32: np.float32, DType.float64: np.float64, DType.int32: np.int32, DType.int64: np.int64}


def ranking(dtype: DType, shape: list[Any], k: int, axis: int = -1, name: str = "top_k") -> Graph:
    with Graph("ranking", input_types=[TensorType(dtype, shape, CPU)]) as graph:
        graph.output(*getattr(ops, name)(graph.inputs[0], k, axis))
    return graph


@pytest.mark.parametrize("old", ["0", "yes"])
@pytest.mark.parametrize("dtype", list(NUMPY))
def test_both_kernels_rank_as_numpy_does(dtype: DType, old: str) -> None:
    session = InferenceSession()
    session.use_old_top_k_kernel(old)
    x = np.random.default_rng(3).integers(-20, 20, (3, 100)).astype(NUMPY[dtype])  # with many ties
    for name, order in (("top_k", np.argsort(-x, 1, "stable")), ("bottom_k", np.argsort(x, 1, "stable"))):
        values, indices = session.load(ranking(dtype, ["n", "m"], 37, name=name)).execute(x)
        np.testing.assert_array_equal(indices.to_numpy(), order[:, :37])
        np.testing.assert_array_equal(values.to_numpy(), np.take_along_axis(x, order[:, :37], 1))


@pytest.mark.parametrize("old", ["0", "1"])
def test_nan_is_the_largest_and_zeros_are_equal(old: str) -> None:
    session = InferenceSession()
    session.use_old_top_k_kernel(old)
    x = np.array([0.0, np.nan, np.inf, -0.0, -np.inf, -np.nan, 1.0], np.float32)
    for name, wanted in (("top_k", [1, 5, 2, 6, 0, 3]), ("bottom_k", [4, 0, 3, 6, 2, 1])):
        _, indices = session.load(ranking(DType.float32, [7], 6, name=name)).execute(x)
        assert indices.to_numpy().tolist() == wanted


def test_any_axis() -> None:
    x = np.random.default_rng(5).standard_normal((3, 9, 4)).astype(np.float32)
    for axis in (0, 1, 2, -2):
        values, indices = InferenceSession().load(ranking(DType.float32, ["a", "b", "c"], 2, axis)).execute(x)
        order = np.argsort(-x, axis, "stable").take([0, 1], axis)
        np.testing.assert_array_equal(indices.to_numpy(), order)
        np.testing.assert_array_equal(values.to_numpy(), np.take_along_axis(x, order, axis))


def test_argsort_both_ways() -> None:
    x = np.random.default_rng(6).integers(0, 9, (2, 300)).astype(np.float32)
    with Graph("sorts", input_types=[TensorType(DType.float32, ["n", "m"], CPU)]) as graph:
        graph.output(ops.argsort(graph.inputs[0]), ops.argsort(graph.inputs[0], ascending=False))
    rising, falling = InferenceSession().load(graph).execute(x)
    np.testing.assert_array_equal(rising.to_numpy(), np.argsort(x, 1, "stable"))
    np.testing.assert_array_equal(falling.to_numpy(), np.argsort(-x, 1, "stable"))


def test_a_k_beyond_the_axis_is_refused() -> None:
    with pytest.raises(ValueError, match="k is out of range"):
        ranking(DType.float32, [7], 8)
    with pytest.raises(ValueError, match="k is out of range"):
        ranking(DType.float32, [7], -1)
    with pytest.raises(TypeError, match="k is an int"):
        ranking(DType.float32, [7], True)
    model = InferenceSession().load(ranking(DType.float32, ["n"], 8))
    with pytest.raises(AssertionFailed, match="top_k expects a k of at most n"):
        model.execute(np.zeros(7, np.float32))
    assert model.execute(np.zeros(8, np.float32))[1].to_numpy().tolist() == list(range(8))


def test_no_element_is_asked_for() -> None:
    values, indices = InferenceSession().load(ranking(DType.float32, ["n"], 0)).execute(np.zeros(0, np.float32))
    assert values.shape == indices.shape == (0,)


def test_the_old_kernel_is_another_and_for_later_models_alone() -> None:
    session, graph = InferenceSession(), ranking(DType.float32, ["n"], 2)
    new = session.load(graph)
    session.use_old_top_k_kernel("on")
    old = session.load(graph)
    x = np.arange(5, dtype=np.float32)
    assert [launched(m, x) for m in (new, old)] == [{"top_k_select"}, {"top_k_sort"}]
    session.use_old_top_k_kernel("off")
    assert launched(session.load(graph), x) == {"top_k_select"}


def launched(model: Any, x: Any) -> set[str]:
    """The kernels of a run that rank."""
    return {name for launch in model.launches(Buffer.from_numpy(x)) if (name := launch.kernel).startswith("top_k")}


def product(dtype: DType, depth: Any, rows: Any = "n", columns: Any = 24) -> Graph:
    inputs = [TensorType(dtype, [rows, depth], CPU), TensorType(dtype, [depth, columns], CPU)]
    with Graph("product", input_types=inputs) as graph:
        graph.output(graph.inputs[0] @ graph.inputs[1])
    return graph


def factors(depth: int, half: Any = np.float16) -> tuple[Any, Any]:
    random = np.random.default_rng(9)
    a, b = ((random.standard_normal(s) + 0.5).astype(half) for s in ((5, depth), (depth, 24)))
    return a, b


@pytest.mark.parametrize("dtype", [DType.float16, DType.bfloat16])
@pytest.mark.parametrize("known", [True, False])
def test_long_products_round_where_the_session_says(known: bool, dtype: DType) -> None:
    depth, half = 9000, dtype.to_numpy()
    session, (a, b) = InferenceSession(), factors(depth, half)
    graph = product(dtype, depth if known else "k")
    kept = session.load(graph)
    session.set_split_k_reduction_precision("OUTPUT")
    rounded = session.load(graph)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    kept_y, rounded_y = (m.execute(a, b)[0].to_numpy() for m in (kept, rounded))
    errors = [np.abs(y.astype(np.float64) - exact).mean() for y in (kept_y, rounded_y)]
    assert errors[0] < errors[1]
    # a part is a chain in f32, so it is what the product of that part alone gives
    part = session.load(product(DType.float32, "k"))
    totals = [np.zeros(exact.shape, np.float32) for _ in range(2)]
    for first, last in pairwise([*range(0, depth, 1024), depth]):
        (y,) = part.execute(*(np.ascontiguousarray(x, np.float32) for x in (a[:, first:last], b[first:last])))
        totals[0] += y.to_numpy()
        totals[1] += y.to_numpy().astype(half).astype(np.float32)
    for got, total in zip((kept_y, rounded_y), totals, strict=True):
        np.testing.assert_array_equal(got.astype(np.float32), total.astype(half).astype(np.float32))


@pytest.mark.parametrize("precision", ["ACCUM", "OUTPUT"])
@pytest.mark.parametrize("depth", [0, 1, 1024, 1025, 16384])
def test_known_and_unknown_sizes_give_a_product_the_same_bits(depth: int, precision: str) -> None:
    session = InferenceSession()
    session.set_split_k_reduction_precision(precision)
    for dtype in (DType.float32, DType.float16):
        pair = factors(depth, dtype.to_numpy())
        pair[0][:, :600] *= -1  # sums pass through 0
        forms = [(depth, "n", 24), (depth, 5, "m"), ("k", "n", 24), ("k", 5, "m")]
        got = [session.load(product(dtype, *form)).execute(*pair)[0].to_numpy().tobytes() for form in forms]
        assert len(set(got)) == 1


def test_the_precision_names_other_kernels_and_is_for_later_models_alone() -> None:
    session, graph = InferenceSession(), product(DType.float16, 8192)
    buffers = [Buffer.from_numpy(x) for x in factors(8192)]
    kept = session.load(graph)
    session.set_split_k_reduction_precision("OUTPUT")
    rounded = session.load(graph)
    names = [{x.kernel for x in m.launches(*buffers) if "matmul" in x.kernel} for m in (kept, rounded)]
    assert all("_parts_f16" not in x for x in names[0])
    assert all("_parts_f16" in x for x in names[1])


def test_a_row_of_a_long_product_has_the_same_bits_alone() -> None:
    model, (a, b) = InferenceSession().load(product(DType.float32, 9000)), factors(9000)
    a, b = a.astype(np.float32), b.astype(np.float32)
    together = model.execute(a, b)[0].to_numpy()
    for k in range(len(a)):
        np.testing.assert_array_equal(model.execute(a[k : k + 1], b)[0].to_numpy(), together[k : k + 1])
