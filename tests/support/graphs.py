"""Running what the graph API builds, without a compiler: a function of tensors and arrays enter, its results leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pelton.dialects.check import check_module
from pelton.dialects.interpreter import run
from pelton.dtype import DType
from pelton.graph import DeviceRef, Graph, TensorType

CPU = DeviceRef.CPU()


def tensor_type(array: Any, symbolic: bool = False) -> TensorType:
    """The type of an array; with `symbolic`, each size but 0 and 1 is a symbol, the same for equal sizes."""
    shape = [f"n{size}" if symbolic and size > 1 else size for size in array.shape]
    return TensorType(DType.from_numpy(array.dtype), shape, CPU)


def graph_of(function: Callable[..., Any], *arrays: Any, symbolic: bool = False) -> Graph:
    """The graph of `function` on tensors like `arrays`, checked as before compiling."""
    graph = Graph("g", function, [tensor_type(a, symbolic) for a in arrays])
    check_module(graph.module)
    return graph


def results(function: Callable[..., Any], *arrays: Any) -> list[Any]:
    """What `function` gives on `arrays`, which is the same with known and with symbolic sizes."""
    static, symbolic = (
        run((graph := graph_of(function, *arrays, symbolic=s)).module, arrays, graph.constants) for s in (False, True)
    )
    for a, b in zip(static, symbolic, strict=True):
        np.testing.assert_array_equal(a, b)
    return static


def result(function: Callable[..., Any], *arrays: Any) -> Any:
    """The one result of `function`."""
    (array,) = results(function, *arrays)
    return array
