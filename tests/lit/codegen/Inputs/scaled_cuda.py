"""A custom op with a body for a GPU, for the test beside."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pelton

cuda: Any = import_module("numba.cuda")


def scaled_on_gpu(out: Any, x: Any, w: Any, *, by: float) -> None:
    """The threads of a block share a row."""
    for i in range(cuda.threadIdx.x, x.shape[0], cuda.blockDim.x):
        out[i] = x[i] * w[i] * by


@pelton.register("scaled_there", types="f32[..., n], f32[n] -> f32[..., n]", cuda=scaled_on_gpu)
def scaled(out: Any, x: Any, w: Any, *, by: float) -> None:
    """One row."""
    for i in range(x.shape[0]):
        out[i] = x[i] * w[i] * by
