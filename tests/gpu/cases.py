"""The kernels that `check.py` tries on a GPU: graphs for `prepare.py`, data and results in NumPy for the check itself.

Sizes are symbols, so one compiled model serves the large arrays of a GPU and the small ones of an emulated one. Only
`graph` needs the compiler; all else needs NumPy alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pelton.graph import Graph

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
LARGE, SMALL = "large", "small"


class Case(NamedTuple):
    """One model: `build` takes tensors, `expect` arrays (floats as f64), both return a list of results."""

    family: str
    types: Mapping[str, Sequence[Any]]
    """(dtype, symbolic or known sizes) of each input, by name."""
    build: Callable[..., Any]
    expect: Callable[..., list[Array]]
    sizes: Mapping[str, Sequence[Mapping[str, int]]]
    """What the symbols are, for LARGE and for SMALL runs; of the large ones the last is measured."""
    tolerance: float = 1e-5
    """Of an element, or of all of them in the mean where that is more."""
    moved: Callable[[Mapping[str, int]], int] | None = None
    """Bytes that have to go through memory."""
    flops: Callable[[Mapping[str, int]], int] | None = None
    options: Mapping[str, str] = {}
    """What the session is told before it compiles."""


def graph(name: str) -> Graph:
    """The graph of a case, all of it on GPU 0."""
    from pelton.dtype import DType
    from pelton.graph import DeviceRef, Graph, TensorType

    case = CASES[name]
    types = [TensorType(DType[dtype], list(shape), DeviceRef.GPU(0)) for dtype, *shape in case.types.values()]
    return Graph(name, case.build, types)


def arrays(name: str, sizes: Mapping[str, int]) -> list[Array]:
    """The inputs of a case; integers are places in `rows`."""
    rng, found = np.random.default_rng(len(name)), list[Array]()
    for dtype, *shape in CASES[name].types.values():
        known = [sizes[d] if isinstance(d, str) else d for d in shape]
        if dtype.startswith("int"):
            found.append(rng.integers(0, sizes["rows"], known).astype(dtype))
        else:
            found.append(rng.standard_normal(known, np.float32).astype(dtype))
    return found


def error(got: Array, want: Array) -> float:
    """The largest error, as a part of the element that should be there, or of the mean one where that is larger."""
    if got.shape != want.shape:
        return float("inf")
    if not got.size:
        return 0.0
    got, want = got.astype(np.float64), want.astype(np.float64)
    scale = np.maximum(np.abs(want), np.sqrt((want**2).mean()) or 1.0)
    return float((np.abs(got - want) / scale).max())


def _ops() -> Any:
    from pelton.graph import ops

    return ops


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _layer_norm(x: Array, g: Array, b: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * g + b


def _gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _ranked(x: Array, k: int) -> list[Array]:
    order = np.argsort(-x, -1, "stable")[..., :k]
    return [np.take_along_axis(x, order, -1), order]


MATRIX = {LARGE: [{"m": 1023, "n": 4097}, {"m": 8192, "n": 8192}], SMALL: [{"m": 3, "n": 130}]}
ROWS = {LARGE: [{"m": 4096, "n": 1001}, {"m": 16384, "n": 4096}], SMALL: [{"m": 2, "n": 70}]}
SQUARE = {
    LARGE: [{"m": 1000, "n": 1030, "k": 1100}, {"m": 4096, "n": 4096, "k": 4096}],
    SMALL: [{"m": 9, "n": 33, "k": 40}],
}
F32, X = "float32", {"x": ("float32", "m", "n")}
BOTH = {"x": (F32, "m", "n"), "y": (F32, "m", "n")}


def _read_and_written(size: int) -> Callable[[Mapping[str, int]], int]:
    return lambda s: size * s["m"] * s["n"]


def _product(s: Mapping[str, int]) -> int:
    return 2 * s["m"] * s["n"] * s["k"]


CASES: dict[str, Case] = {
    "add": Case("elementwise", BOTH, lambda x, y: x + y, lambda x, y: [x + y], MATRIX, 1e-6, _read_and_written(12)),
    "gelu": Case(
        "elementwise", X | {"s": (F32, "n")}, lambda x, s: _ops().gelu(x * s + 1, approximate="tanh"),
        lambda x, s: [_gelu(x * s + 1)], MATRIX, 1e-5, _read_and_written(8),
    ),
    "relu_f16": Case(
        "elementwise", {"x": ("float16", "m", "n")}, lambda x: _ops().relu(x * 2 + 1),
        lambda x: [np.maximum(x * 2 + 1, 0)], MATRIX, 1e-3, _read_and_written(4),
    ),
    "where": Case(
        "elementwise", BOTH, lambda x, y: _ops().where(x > y, x, -y), lambda x, y: [np.where(x > y, x, -y)], MATRIX, 0,
    ),
    "mod": Case("elementwise", BOTH, lambda x, y: x % y, lambda x, y: [np.mod(x, y)], MATRIX, 1e-6),
    "softmax": Case(
        "rows", X, lambda x: _ops().softmax(x), lambda x: [_softmax(x)], ROWS, 1e-6, _read_and_written(8)
    ),
    "layer_norm": Case(
        "rows", X | {"g": (F32, "n"), "b": (F32, "n")}, lambda x, g, b: _ops().layer_norm(x, g, b, 1e-5),
        lambda x, g, b: [_layer_norm(x, g, b)], ROWS, 1e-5, _read_and_written(8),
    ),
    "sum": Case(
        "reductions", X, lambda x: _ops().sum(x, axis=1), lambda x: [x.sum(1, keepdims=True)], ROWS, 1e-5,
        _read_and_written(4),
    ),
    "sum_columns": Case(
        "reductions", X, lambda x: _ops().sum(x, axis=0), lambda x: [x.sum(0, keepdims=True)], ROWS, 1e-5,
        _read_and_written(4),
    ),
    "extremes": Case(
        "reductions", X, lambda x: [_ops().max(x, axis=1), _ops().argmin(x, axis=1)],
        lambda x: [x.max(1, keepdims=True), x.argmin(1)[:, None]], ROWS, 0,
    ),
    "gather": Case(
        "indexing", {"x": (F32, "rows", "n"), "at": ("int64", "k")}, lambda x, at: _ops().gather(x, at, axis=0),
        lambda x, at: [x[at]],
        {LARGE: [{"rows": 30000, "n": 384, "k": 9999}], SMALL: [{"rows": 9, "n": 33, "k": 5}]}, 0,
    ),
    "transpose": Case(
        "movement", X, lambda x: _ops().transpose(x, 0, 1), lambda x: [x.T], MATRIX, 0, _read_and_written(8)
    ),
    "concat": Case(
        "movement", BOTH, lambda x, y: _ops().concat([x, y[:, ::-1]], axis=1),
        lambda x, y: [np.concatenate([x, y[:, ::-1]], 1)], MATRIX, 0,
    ),
    "top_k": Case(
        "ranking", X, lambda x: _ops().top_k(x, 50), lambda x: _ranked(x, 50),
        {LARGE: [{"m": 32, "n": 128256}], SMALL: [{"m": 2, "n": 70}]}, 0,
    ),
    "top_k_old": Case(
        "ranking", X, lambda x: _ops().top_k(x, 50), lambda x: _ranked(x, 50),
        {LARGE: [{"m": 32, "n": 128256}], SMALL: [{"m": 2, "n": 70}]}, 0, options={"use_old_top_k_kernel": "true"},
    ),
    "argsort": Case(
        "ranking", X, lambda x: _ops().argsort(x), lambda x: [np.argsort(x, -1, "stable")],
        {LARGE: [{"m": 16, "n": 30000}], SMALL: [{"m": 2, "n": 70}]}, 0,
    ),
    "matmul": Case(
        "products", {"a": (F32, "m", "k"), "b": (F32, "k", "n")}, lambda a, b: a @ b, lambda a, b: [a @ b], SQUARE,
        2e-5, flops=_product,
    ),
    "linear": Case(
        "products", {"a": (F32, "m", "k"), "b": (F32, "k", "n"), "c": (F32, "n")},
        lambda a, b, c: _ops().gelu(a @ b + c, approximate="tanh"), lambda a, b, c: [_gelu(a @ b + c)],
        {LARGE: [{"m": 7, "n": 1000, "k": 3000}, {"m": 1, "n": 4096, "k": 4096}], SMALL: [{"m": 2, "n": 33, "k": 40}]},
        2e-5, lambda s: 4 * s["k"] * s["n"],
    ),
    "batches": Case(
        "products", {"a": (F32, "b", "m", "k"), "c": (F32, "b", "k", "n")}, lambda a, c: a @ c, lambda a, c: [a @ c],
        {LARGE: [{"b": 48, "m": 129, "n": 130, "k": 64}], SMALL: [{"b": 2, "m": 9, "n": 10, "k": 17}]}, 1e-5,
    ),
    "matmul_f16": Case(
        "products", {"a": ("float16", "m", "k"), "b": ("float16", "k", "n")}, lambda a, b: a @ b,
        lambda a, b: [a @ b], SQUARE, 2e-3, flops=_product,
    ),
    **{
        f"split_k_{precision.lower()}": Case(
            "products", {"a": ("float16", "m", 4096), "b": ("float16", 4096, "n")}, lambda a, b: a @ b,
            lambda a, b: [a @ b], {LARGE: [{"m": 16, "n": 500}], SMALL: [{"m": 1, "n": 5}]}, 6e-3,
            options={"set_split_k_reduction_precision": precision},
        )
        for precision in ("ACCUM", "OUTPUT")
    },
}  # fmt: skip
