"""`x[...]`: every kind of index against NumPy, with known and with symbolic sizes, and what it refuses."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pelton.dialects.interpreter import InterpreterError, run
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import Dim, Graph, TensorType, TensorValue, ops
from pelton.support.errors import AssertionFailed
from pelton.tests.support.graphs import CPU, graph_of, result

X = np.arange(2 * 3 * 5, dtype=np.float32).reshape(2, 3, 5)
INDEX = np.array([[1, 0], [1, -1]], np.int64)
HALF = slice(None, None, 2)

INDICES: list[Any] = [
    0,
    -1,
    (1, 2, 3),
    (0, -3, -5),
    np.int64(1),
    Ellipsis,
    None,
    (None, 0, None),
    (..., 0),
    (0, ..., None),
    (..., None, HALF),
    (slice(None), None, 1),
    (HALF, HALF, HALF),
    (slice(1, None), slice(None, -1), slice(-3, -1)),
    (0, slice(None, None, -1), slice(3, 0, -2)),
    (slice(7, 9), 0),
    (),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_index(index: Any) -> None:
    np.testing.assert_array_equal(result(lambda x: x[index], X), X[index])
    np.testing.assert_array_equal(result(lambda x: ops.slice_tensor(x, index), X), X[index])


BOUNDS = (None, 0, 1, 3, 5, -1, -3, -6)


@pytest.mark.parametrize("step", [None, 2, 7, -1, -2, -7])
def test_every_slice_of_every_size(step: int | None) -> None:
    """One graph with a symbolic size takes all slices of vectors of 0 to 7 elements, as Python does."""
    slices = [slice(start, stop, step) for start, stop in itertools.product(BOUNDS, BOUNDS)]
    x = TensorType(DType.int32, ["n"], CPU)
    graph = Graph("slices", lambda v: [v[s] for s in slices], [x])
    for size in range(8):
        vector = np.arange(size, dtype=np.int32)
        got = run(graph.module, [vector])
        assert [a.tolist() for a in got] == [vector[s].tolist() for s in slices]


@pytest.mark.parametrize("size", [0, 1, 4])
def test_every_slice_of_a_known_size(size: int) -> None:
    vector = np.arange(size, dtype=np.int32)
    slices = [slice(*s) for s in itertools.product(BOUNDS, BOUNDS, (None, 3, -1, -2))]
    graph = graph_of(lambda v: [v[s] for s in slices], vector)
    assert [t.shape for t in graph.output_types] == [[len(vector[s])] for s in slices]
    assert [a.tolist() for a in run(graph.module, [vector])] == [vector[s].tolist() for s in slices]


SIZES: list[tuple[Any, str]] = [
    (slice(1, None), "max(0, n - 1)"),
    (slice(None, -1), "max(0, n - 1)"),
    (slice(None, 5), "min(5, n)"),
    (slice(-3, None), "min(3, n)"),
    (slice(None, None, -1), "n"),
    (slice(None, None, 2), "((n + 1) floordiv 2)"),
    (slice(None, Dim("n")), "n"),
    (slice(Dim("n") // 2), "(n floordiv 2)"),
    (slice(Dim("m")), "min(m, n)"),
    (slice(3, 1), "0"),
]


@pytest.mark.parametrize(("index", "size"), SIZES, ids=str)
def test_sizes_of_symbolic_slices(index: Any, size: str) -> None:
    types = [TensorType(DType.int32, ["n"], CPU), TensorType(DType.int32, ["m"], CPU)]
    graph = Graph("g", lambda v, _: v[index], types)
    assert [str(d) for t in graph.output_types for d in t.shape] == [size]


def test_bounds_may_be_sizes() -> None:
    def parts(x: TensorValue) -> list[TensorValue]:
        n, m, _ = x.shape
        return [x[n - 1], x[:, : m - n], x[..., m:], x[n - n]]

    static = run(graph_of(parts, X).module, [X])
    symbolic = run(graph_of(parts, X, symbolic=True).module, [X])
    for got in (static, symbolic):
        for a, b in zip(got, [X[1], X[:, :1], X[..., 3:], X[0]], strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("get", "expected"),
    [
        (lambda x, i: x[i], lambda a, i: a[i]),
        (lambda x, i: x[:, i], lambda a, i: a[:, i]),
        (lambda x, i: x[0, :, i], lambda a, i: a[0][:, i]),
        (lambda x, i: x[..., i], lambda a, i: a[..., i]),
        (lambda x, i: x[None, :, i], lambda a, i: a[None, :, i]),
        (lambda x, i: x[1, i.cast(DType.int32)], lambda a, i: a[1, i]),
        (lambda x, i: x[:, np.array([0, 2])] + i[0, 0].cast(DType.float32), lambda a, i: a[:, [0, 2]] + i[0, 0]),
    ],
)
def test_a_tensor_gathers(get: Callable[..., Any], expected: Callable[..., Any]) -> None:
    np.testing.assert_array_equal(result(get, X, INDEX), expected(X, INDEX))


FAR: list[slice] = [
    slice(-(2**63), 2**63 - 1), slice(None, 10**30), slice(-(10**30), None), slice(10**30, None), slice(None, -(2**62)),
    slice(None, None, 10**18), slice(None, None, 2**63), slice(None, None, -(2**62)), slice(10**30, -(10**30), -1),
]  # fmt: skip


@pytest.mark.parametrize("part", FAR, ids=str)
def test_slices_reach_as_far_as_there_is_something(part: slice) -> None:
    x = np.arange(5, dtype=np.float32)
    for shape in ([5], ["n"]):
        graph = Graph("g", lambda x: x[part], [TensorType(DType.float32, shape, CPU)])
        (y,) = InferenceSession().load(graph).execute(x)
        np.testing.assert_array_equal(y.to_numpy(), x[part])


def test_no_memory_holds_such_a_tensor() -> None:
    for shape in ([2**62, 2**62], [2**62, 2**62, 0], ["n", 2**62]):
        with pytest.raises(ValueError, match=r"TensorType: the shape is too large\n(.*\n)*.*at most 2\*\*62 bytes"):
            TensorType(DType.float32, shape, CPU)
    types = [TensorType(DType.float32, shape, CPU) for shape in ([2**40, 0], [0, 2**40])]
    with pytest.raises(ValueError, match=r"ops.matmul: the result is too large"):
        Graph("g", lambda a, b: a @ b, types)


def test_an_element_beyond_a_symbolic_size_says_where() -> None:
    graph = Graph("g", lambda x: x[-6], [TensorType(DType.float32, ["n"], CPU)])
    with pytest.raises(AssertionFailed, match=r"axis 0 of \[n\], with start n - 6 and stop n - 5\n(.*\n)*.*0 > -1"):
        InferenceSession().load(graph).execute(np.zeros(5, np.float32))


def test_an_element_beyond_a_symbolic_size_is_reported_when_run() -> None:
    graph = Graph("g", lambda x: x[3], [TensorType(DType.float32, ["n"], CPU)])
    assert run(graph.module, [np.arange(4, dtype=np.float32)])[0] == 3
    with pytest.raises(InterpreterError, match="got 4 and 3"):
        run(graph.module, [np.arange(3, dtype=np.float32)])


REFUSED: list[tuple[Callable[[TensorValue, TensorValue], Any], type[Exception], str]] = [
    (lambda x, i: x[2], IndexError, "index 2 is out of range for dim 0"),
    (lambda x, i: x[0, 0, -6], IndexError, "index -6 is out of range for dim 2"),
    (lambda x, i: x[0, 0, 0, 0], IndexError, "too many indices"),
    (lambda x, i: x[..., 0, ...], IndexError, r"more than one '\.\.\.'"),
    (lambda x, i: x[1.5], TypeError, "not an index"),
    (lambda x, i: x["a"], TypeError, "not an index"),
    (lambda x, i: x[[0, 1]], TypeError, "not an index(?s:.)*ops.gather"),
    (lambda x, i: x[True], TypeError, "a bool is no index"),
    (lambda x, i: x[x > 0], TypeError, "a tensor index is not of integers(?s:.)*ops.where"),
    (lambda x, i: x[x], TypeError, "a tensor index is not of integers(?s:.)*cast"),
    (lambda x, i: x[np.array([True, False])], TypeError, "a tensor index is not of integers"),
    (lambda x, i: x[i, i], ValueError, "more than one tensor in an index"),
    (lambda x, i: x[::0], ValueError, "other than 0"),
    (lambda x, i: x[:: Dim("n2")], ValueError, "other than 0"),
    (lambda x, i: x[:i], TypeError, "a tensor bounds a slice"),
    (lambda x, i: x[:1.0], TypeError, "not a size"),
    (lambda x, i: x[: Dim("q")], ValueError, "symbol 'q', which no input"),
]


@pytest.mark.parametrize(("act", "kind", "text"), REFUSED)
def test_refusals(act: Callable[[TensorValue, TensorValue], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        graph_of(act, X, INDEX)
