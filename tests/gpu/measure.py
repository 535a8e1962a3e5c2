"""How fast a GPU runs the models of `cases.py`: bytes and operations per second, beside a copy and beside torch.

A time is that of many replays of a captured run with one wait behind them, the least of several such series: so the
host's part is not in it. `torch`, where it is installed, is timed likewise, eagerly.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pelton.driver import Buffer
from pelton.dtype import DType
from pelton.tests.gpu.cases import CASES, LARGE, arrays
from pelton.tests.gpu.trial import Trial

SERIES, SECONDS = 5, 0.04
COPY_BYTES = {LARGE: 1 << 30, "small": 1 << 12}
TARGET = 0.85
"""Of the bandwidth of a copy: what elementwise kernels, softmax and norms should reach."""


def seconds(call: Callable[[], object], wait: Callable[[], object]) -> float:
    """Seconds of one call: the least of several series, each long enough to be timed."""
    call()
    wait()
    begun = time.perf_counter()
    call()
    wait()
    rounds = max(1, min(1000, round(SECONDS / max(time.perf_counter() - begun, 1e-7))))
    found: list[float] = []
    for _ in range(SERIES):
        begun = time.perf_counter()
        for _ in range(rounds):
            call()
        wait()
        found.append((time.perf_counter() - begun) / rounds)
    return min(found)


def copy(trial: Trial) -> dict[str, Any]:
    """The bandwidth of copies within the device, bytes read and written."""
    size = COPY_BYTES[trial.size]
    source, target = (Buffer(DType.uint8, (size,), trial.device) for _ in range(2))
    took = seconds(lambda: target.inplace_copy_from(source), trial.device.synchronize)
    return {"figure": "copy", "sizes": {"bytes": size}, "us": took * 1e6, "GB/s": 2 * size / took / 1e9}


def case(trial: Trial, name: str, bandwidth: float) -> dict[str, Any]:
    """The figures of a case at its last size."""
    what, sizes = CASES[name], CASES[name].sizes[trial.size][-1]
    model, given = trial.model(name), arrays(name, sizes)
    inputs = trial.buffers(given)
    model.capture(1, *inputs)
    took = seconds(lambda: model.replay(1, *inputs), trial.device.synchronize)
    model.release_captured_graph(1)
    row: dict[str, Any] = {"figure": name, "sizes": dict(sizes), "us": took * 1e6}
    if what.moved:
        row["GB/s"] = what.moved(sizes) / took / 1e9
        row["of copy"] = row["GB/s"] / bandwidth
    if what.flops:
        row["TFLOP/s"] = what.flops(sizes) / took / 1e12
    if (other := _torch(name, given)) is not None:
        row |= {"torch us": other * 1e6, "/ torch": took / other}
    return row


def calls(trial: Trial) -> dict[str, Any]:
    """What a run costs the host, in microseconds of its thread: eager, and a replay."""
    model = trial.model("add")
    inputs = trial.buffers([np.ones((2, 2), np.float32)] * 2)
    model.capture(1, *inputs)
    row: dict[str, Any] = {"figure": "host cost"}
    for name, call in (("execute us", lambda: model.execute(*inputs)), ("replay us", lambda: model.replay(1, *inputs))):
        rounds, found = 200 if trial.size == LARGE else 3, list[float]()
        for _ in range(SERIES):
            begun = time.thread_time()
            for _ in range(rounds):
                call()
            found.append((time.thread_time() - begun) / rounds)
            trial.device.synchronize()
        row[name] = min(found) * 1e6
    model.release_captured_graph(1)
    return row


def _torch(name: str, given: list[Any]) -> float | None:
    """Seconds of torch for the same; None where there is no torch with a GPU, or no counterpart."""
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    f = torch.nn.functional
    same: dict[str, Callable[..., Any]] = {
        "add": torch.add,
        "gelu": lambda x, s: f.gelu(x * s + 1, approximate="tanh"),
        "relu_f16": lambda x: torch.relu(x * 2 + 1),
        "softmax": lambda x: torch.softmax(x, -1),
        "layer_norm": lambda x, g, b: f.layer_norm(x, g.shape, g, b, 1e-5),
        "sum": lambda x: x.sum(1),
        "sum_columns": lambda x: x.sum(0),
        "transpose": lambda x: x.t().contiguous(),
        "matmul": torch.matmul,
        "linear": lambda a, b, c: f.gelu(a @ b + c, approximate="tanh"),
        "matmul_f16": torch.matmul,
    }
    if name not in same:
        return None
    inputs = [torch.from_numpy(a).cuda() for a in given]
    return seconds(lambda: same[name](*inputs), torch.cuda.synchronize)
