"""Sums along an axis that is not the last: in parts, so that the error of a long one stays small, with the same bits
however its size is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pelton.dialects.nn.reduce import PART
from pelton.dtype import DType
from pelton.graph import DeviceRef, Graph, TensorType, ops
from pelton.tests.support.compiled import bits, compiled, results


def column_sum(dtype: DType, size: Any, x: Any) -> Any:
    graph = Graph("sums", lambda v: ops.sum(v, 0), [TensorType(dtype, [size, "n"], DeviceRef.CPU())])
    (y,) = results(compiled(graph.module), [x])
    return y


@pytest.mark.parametrize("dtype", [DType.float32, DType.float64, DType.float16, DType.int32])
@pytest.mark.parametrize("size", [0, 1, PART - 1, PART, PART + 1, 3 * PART + 7])
def test_known_and_unknown_sizes_give_the_same_bits(size: int, dtype: DType) -> None:
    x = (np.random.default_rng(size).standard_normal((size, 37)) * 9).astype(dtype.to_numpy())
    assert bits(column_sum(dtype, size, x)) == bits(column_sum(dtype, "m", x))


def test_a_long_sum_is_near() -> None:
    x = np.full((1 << 20, 2), 0.1, np.float32)
    exact = x.sum(0, dtype=np.float64, keepdims=True)
    chain = np.add.accumulate(x, 0)[-1:]
    error, of_chain = (np.abs(y / exact - 1).max() for y in (column_sum(DType.float32, "m", x), chain))
    assert error < (PART + len(x) / PART) * 2.0**-24 < of_chain


def test_parts_are_chains_of_their_own() -> None:
    x = np.random.default_rng(1).standard_normal((2 * PART + 9, 40)).astype(np.float32)
    parts = [np.add.accumulate(x[k : k + PART], 0)[-1:] for k in range(0, len(x), PART)]
    assert bits(column_sum(DType.float32, "m", x)) == bits(parts[0] + parts[1] + parts[2])
