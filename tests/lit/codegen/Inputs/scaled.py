"""A custom op for the test beside."""

from __future__ import annotations

from typing import Any

import pelton

FACTOR = 2.0


@pelton.register("scaled", types="f32[..., n], f32[n] -> f32[..., n]")
def scaled(out: Any, x: Any, w: Any, *, by: float) -> None:
    """Two factors."""
    for i in range(x.shape[0]):
        out[i] = x[i] * w[i] * by * FACTOR
