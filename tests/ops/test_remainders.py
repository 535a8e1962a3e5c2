"""Remainders of floats are exact however large the quotient, which is NumPy's: on every instruction set, on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pelton.driver import CPU, Accelerator, Buffer
from pelton.dtype import DType
from pelton.engine import InferenceSession
from pelton.graph import DeviceRef, Graph, TensorType, ops
from pelton.tests.support.words import RUNNABLE, same_bits

GPU = "gpu"


def pairs(dtype: Any) -> tuple[Any, Any]:
    """Every pair out of numbers of all sizes, both signs, and what is none."""
    info = np.finfo(dtype)
    rng = np.random.default_rng(7)
    spread = rng.standard_normal(40) * 2.0 ** rng.integers(info.minexp, info.maxexp - 1, 40)
    edges = [0, 1, 3, 0.1, info.max, info.tiny, info.smallest_subnormal, 7 * info.smallest_subnormal, np.inf]
    numbers = np.concatenate([spread, edges]).astype(dtype)
    numbers = np.concatenate([numbers, -numbers, [np.nan]]).astype(dtype)
    return np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))


@pytest.mark.parametrize("where", [*(target.name for target in RUNNABLE), GPU])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_every_remainder_and_quotient_is_numpys(dtype: Any, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quotients are computed in float64, and infinite where x / y overflows: there NumPy's depends on the machine."""
    x, y = pairs(dtype)
    device = Accelerator.emulated() if where == GPU else CPU()
    if where != GPU:
        monkeypatch.setenv("PELTON_TARGET", where)
    kind = TensorType(DType.from_numpy(np.dtype(dtype)), ["n"], DeviceRef.from_device(device))
    graph = Graph("remainders", lambda x, y: [x % y, ops.floor_div(x, y)], [kind, kind])
    model = InferenceSession(devices=[device]).load(graph)
    rest, quotient = (b.to_numpy() for b in model.execute(*(Buffer.from_numpy(a).to(device) for a in (x, y))))
    with np.errstate(all="ignore"):
        wide, by = x.astype(np.float64), y.astype(np.float64)
        ratio = wide / by
        floors = np.where(np.isfinite(wide) & np.isinf(ratio), ratio, np.floor_divide(wide, by)).astype(dtype)
        remainders = np.mod(x, y)
    assert same_bits(rest, remainders).all()
    assert same_bits(quotient, floors).all()
