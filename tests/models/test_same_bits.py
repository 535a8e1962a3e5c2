"""One graph, every way to run it: on one thread and on two, eagerly and in replay, from the graph and from a file.

All of them give the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pelton.driver import Buffer
from pelton.engine import InferenceSession, Model
from pelton.examples import checkpoint, minilm
from pelton.graph import Graph
from pelton.runtime import pool
from pelton.tests.models.minilm_reference import random_weights
from pelton.tests.models.test_minilm import FILES, SMALL, needs_weights
from pelton.tests.support.compiled import difference
from pelton.tests.support.random_graphs import arrays, build, weights
from pelton.tests.support.random_steps import generate, sizes_of

SEEDS = range(20)
"""Of the graphs that test_random_graphs.py compares with what they mean: their kernels are compiled once."""
THREADS = (1, 2)
Outputs = list[Any]
"""Arrays, or the text of the error there was instead."""


def models(graph: Graph, registry: Mapping[str, Any], file: Path) -> dict[str, Model]:
    """The model by number of threads and by where it comes from."""
    InferenceSession().compile(graph).save(file)
    return {
        f"{threads} threads, {source}": InferenceSession(num_threads=threads).load(given, weights_registry=registry)
        for threads, (source, given) in product(THREADS, {"graph": graph, "file": file}.items())
    }


def eagerly(model: Model, inputs: Sequence[Any]) -> Outputs:
    try:
        return [output.to_numpy() for output in model.execute(*inputs)]
    except RuntimeError as error:
        return [str(error).splitlines()[0]]


def in_replay(model: Model, inputs: Sequence[Any]) -> Outputs:
    """Captured on zeros, replayed on the inputs."""
    buffers = [Buffer.from_numpy(np.zeros_like(array)) for array in inputs]
    try:
        outputs = model.capture(0, *buffers)
    except RuntimeError:  # zeros fail a check that the inputs pass
        return eagerly(model, inputs)
    try:
        for buffer, array in zip(buffers, inputs, strict=True):
            buffer.to_numpy()[...] = array
        model.replay(0, *buffers)
        return [output.to_numpy().copy() for output in outputs]
    except RuntimeError as error:
        return [str(error).splitlines()[0]]
    finally:
        model.release_captured_graph(0)


def check(made: Mapping[str, Model], inputs: Sequence[Any]) -> Outputs:
    """Run every model both ways. Raises AssertionError naming those that differ from the first."""
    ways = (eagerly, in_replay)
    found = {f"{name}, {way.__name__}": way(model, inputs) for name, model in made.items() for way in ways}
    (_, wanted), *others = found.items()
    assert len(others) == 7
    for name, got in others:
        if isinstance(wanted[0], str):
            assert got == wanted, name
        else:
            assert not difference(got, wanted), name
    return wanted


@pytest.mark.parametrize("seed", SEEDS)
def test_random_graphs(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their launches are small, so all of them are shared here whether it pays or not."""
    monkeypatch.setattr(pool, "WORTH_NS", 0)
    monkeypatch.setattr(pool, "CHUNK_NS", 1)
    recipe = generate(seed)
    made = models(build(recipe), weights(recipe), tmp_path / "model.pelton")
    for sizes in sizes_of(seed, 2):
        if inputs := [np.asarray(array) for array in arrays(recipe, sizes)]:
            check(made, inputs)


def sentences(vocabulary: int, shape: tuple[int, int]) -> list[Any]:
    ids = np.random.default_rng(3).integers(1, vocabulary, shape)
    mask = np.ones_like(ids)
    mask[0, shape[1] // 2 :] = 0
    return [ids, mask]


@pytest.mark.parametrize("shape", [(1, 7), (3, 64)])
def test_a_small_minilm(shape: tuple[int, int], tmp_path: Path) -> None:
    made = models(minilm.sentence_encoder(SMALL), random_weights(SMALL), tmp_path / "model.pelton")
    (embeddings,) = check(made, sentences(SMALL.vocabulary, shape))
    assert np.isfinite(embeddings).all() and embeddings.shape == (shape[0], SMALL.hidden)


@needs_weights
@pytest.mark.parametrize("shape", [(1, 128), (8, 33)])
def test_minilm(shape: tuple[int, int], tmp_path: Path) -> None:
    assert FILES is not None
    config = minilm.Config()
    registry = checkpoint.read_safetensors(FILES / "model.safetensors")
    made = models(minilm.sentence_encoder(config), registry, tmp_path / "model.pelton")
    (embeddings,) = check(made, sentences(config.vocabulary, shape))
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1, rtol=1e-5)
