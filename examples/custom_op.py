"""A custom op with a kernel of its own: exponential smoothing along time, which no elementwise op can say.

Run it: `python examples/custom_op.py`. Numba compiles the body; the model that is saved needs neither Numba nor this
file. Where the result has another shape than the values, a shape function says which: `every` thins the series out.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import pelton
from pelton import DeviceRef, DType, Graph, InferenceSession, TensorType, ops

Array = Any


@pelton.register("smooth", types="T[..., time], T[...] -> T[..., time], T[...]")
def smooth(out: Array, last: Array, x: Array, start: Array, *, decay: float) -> None:
    """y[t] = decay · y[t - 1] + (1 - decay) · x[t], from `start`; one series per call, side by side on the pool."""
    if not 0.0 <= decay < 1.0:
        raise ValueError("decay has to be at least 0 and less than 1")
    y = start[()]
    for t in range(x.shape[0]):
        y = decay * y + (1 - decay) * x[t]
        out[t] = y
    last[()] = y


def thinned(x: TensorType, *, step: int) -> TensorType:
    """The shape function of `every`: the last size divided by `step`."""
    *leading, time = x.shape
    return TensorType(x.dtype, [*leading, time // step], x.device)


@pelton.register("every", shape=thinned)
def every(out: Array, x: Array, *, step: int) -> None:
    """Every `step`-th element of each row."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = x[i, k * step]


def model(decay: float, step: int) -> Graph:
    """Series smoothed and thinned out; and their state, with which the next call goes on."""
    series = TensorType(DType.float32, ["series", "time"], DeviceRef.CPU())
    state = TensorType(DType.float32, ["series"], DeviceRef.CPU())
    with Graph("smoothing", input_types=[series, state]) as graph:
        x, start = graph.inputs
        y, last = ops.custom("smooth", x.device, [x - ops.mean(x), start], None, {"decay": decay})
        (thin,) = ops.custom("every", x.device, [y], None, {"step": step})
        graph.output(thin, last)
    return graph


def main() -> None:
    """Compile and save the model, load what was saved, and compare it with the same in NumPy."""
    x = np.random.default_rng(0).standard_normal((3, 1000), np.float32)
    start = np.zeros(3, np.float32)
    session = InferenceSession()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "smoothing.pelton"
        session.compile(model(0.9, 10)).save(file)
        thin, last = session.load(file).execute(x, start)

    wanted = x.astype(np.float64) - x.mean(-1, keepdims=True, dtype=np.float64)
    wanted[:, 0] *= 0.1
    for t in range(1, wanted.shape[1]):
        wanted[:, t] = 0.9 * wanted[:, t - 1] + 0.1 * wanted[:, t]
    print(f"shape: {list(thin.shape)}")
    print(f"largest difference from NumPy: {np.abs(thin.to_numpy() - wanted[:, ::10]).max():.0e}")
    print(f"states: {np.round(last.to_numpy(), 3)}")


if __name__ == "__main__":
    main()
