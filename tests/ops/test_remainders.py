"""Remainders of floats are exact however large the quotient is, on the host and on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pelton.driver import CPU, Accelerator, Buffer
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, ops

DEVICES = {"host": DeviceRef.CPU(), "gpu": DeviceRef.GPU()}


def pairs(dtype: Any) -> tuple[Any, Any]:
    """Every pair out of numbers of all sizes, both signs, and what is none."""
    info = np.finfo(dtype)
    rng = np.random.default_rng(7)
    spread = rng.standard_normal(40) * 2.0 ** rng.integers(info.minexp, info.maxexp - 1, 40)
    edges = [0, 1, 3, 0.1, info.max, info.tiny, info.smallest_subnormal, 7 * info.smallest_subnormal, np.inf]
    numbers = np.concatenate([spread, edges]).astype(dtype)
    numbers = np.concatenate([numbers, -numbers, [np.nan]]).astype(dtype)
    return np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_every_remainder_is_numpys(dtype: Any, where: str) -> None:
    x, y = pairs(dtype)
    kind = TensorType(DType.from_numpy(np.dtype(dtype)), ["n"], DEVICES[where])
    device = CPU() if where == "host" else Accelerator.emulated()
    graph = Graph("remainders", lambda x, y: [x % y, ops.floor_div(x, y)], [kind, kind])
    model = InferenceSession(devices=[device]).load(graph)
    rest, quotient = (b.to_numpy() for b in model.execute(*(Buffer.from_numpy(a).to(device) for a in (x, y))))
    with np.errstate(all="ignore"):
        want = np.mod(x, y)
        small = np.abs(x.astype(np.float64) / y) < 2.0 ** np.finfo(dtype).nmant
        floors = np.floor_divide(x.astype(np.float64), y.astype(np.float64)).astype(dtype)
    np.testing.assert_array_equal(rest, want)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(rest[numbers]), np.signbit(want[numbers]))
    np.testing.assert_array_equal(quotient[small], floors[small])
