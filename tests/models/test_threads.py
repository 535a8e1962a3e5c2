"""The same bits on more threads than there are cores: random graphs, a small MiniLM, launches cut as fine as may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pelton.driver import Buffer
from pelton.engine import InferenceSession
from pelton.examples import minilm
from pelton.runtime.executable import NativeExecutable
from pelton.runtime.model import Model
from pelton.runtime.weights import bind_weights
from pelton.support.errors import PeltonError
from pelton.tests.models.minilm_reference import random_weights
from pelton.tests.models.test_minilm import SMALL
from pelton.tests.support.compiled import artifact_of, difference, results
from pelton.tests.support.random_graphs import arrays, build, weights
from pelton.tests.support.random_steps import generate, sizes_of
from pelton.tests.support.threads import finely_shared

THREADS = (3, 8)
SEEDS = range(10)


def outcome(model: Model, inputs: list[Any]) -> list[Any] | str:
    """The results, or what the model says about sizes that it refuses."""
    try:
        return results(model, inputs)
    except PeltonError as error:
        return str(error)


def replayed(model: Model, inputs: list[Any]) -> list[Any]:
    """The outputs of a captured run after a replay."""
    if not inputs:
        return results(model, [])
    buffers = [Buffer.from_numpy(np.array(x, order="C")) for x in inputs]
    outputs = model.capture(0, *buffers)
    for output in outputs:
        output.to_numpy()[...] = 0
    model.replay(0, *buffers)
    model.release_captured_graph(0)
    return [output.to_numpy() for output in outputs]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_graphs(seed: int) -> None:
    recipe = generate(seed)
    graph = build(recipe)
    artifact = artifact_of(graph.module, graph.constants)
    bound = bind_weights(artifact.weights, weights(recipe))
    alone = Model(NativeExecutable(artifact, bound))
    with finely_shared():
        shared = {n: Model(NativeExecutable(artifact, bound, threads=n)) for n in THREADS}
        for sizes in sizes_of(seed, 4):
            inputs = arrays(recipe, sizes)
            want = outcome(alone, inputs)
            for n, model in shared.items():
                got = outcome(model, inputs)
                if isinstance(want, str) or isinstance(got, str):
                    assert got == want, f"{n} threads, {sizes}"
                else:
                    assert not (wrong := difference(got, want)), f"{n} threads, {sizes}: {wrong}\n{recipe}"
                    assert not (wrong := difference(replayed(model, inputs), want)), f"replay: {wrong}\n{recipe}"


def test_minilm() -> None:
    config, registry = SMALL, random_weights(SMALL)
    alone = InferenceSession(num_threads=1).load(minilm.sentence_encoder(config), weights_registry=registry)
    with finely_shared():
        for threads in THREADS:
            session = InferenceSession(num_threads=threads)
            model = session.load(minilm.sentence_encoder(config), weights_registry=registry)
            for shape in ((1, 1), (1, 128), (5, 33), (64, 16)):
                ids = np.random.default_rng(0).integers(1, config.vocabulary, shape)
                mask = np.ones_like(ids)
                mask[-1, shape[1] // 2 + 1 :] = 0
                for _ in range(5):
                    assert not difference(results(model, [ids, mask]), results(alone, [ids, mask])), (threads, shape)
