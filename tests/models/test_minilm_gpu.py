"""MiniLM on emulated GPUs, against the host's: embeddings, captures, replays with new words, and differences that are
planted.

An emulated GPU is slow, so sentences are short; the published weights, where they are installed, are run once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pytest

from pelton.driver import Accelerator, Buffer
from pelton.engine import InferenceSession, Model
from pelton.examples import checkpoint, minilm
from pelton.graph import DeviceRef
from pelton.support.errors import CaptureError
from pelton.tests.models.minilm_reference import embed, random_weights
from pelton.tests.models.test_minilm import FILES, SMALL, needs_weights

Array: TypeAlias = np.ndarray[Any, Any]
WEIGHTS = random_weights(SMALL)


@pytest.fixture(scope="module", params=[(8, 0), (9, 0)], ids=["sm_80", "sm_90"])
def gpu(request: pytest.FixtureRequest) -> Accelerator:
    return Accelerator.emulated(request.param)


def on_gpu(gpu: Accelerator, config: minilm.Config, weights: Mapping[str, Array]) -> Model:
    there = replace(config, device=DeviceRef.GPU(0))
    return InferenceSession([gpu]).load(minilm.sentence_encoder(there), weights_registry=dict(weights))


@pytest.fixture(scope="module")
def model(gpu: Accelerator) -> Model:
    return on_gpu(gpu, SMALL, WEIGHTS)


def words(length: int, seed: int) -> tuple[Array, Array]:
    ids = np.random.default_rng(seed).integers(1, SMALL.vocabulary, (1, length))
    return ids, np.ones_like(ids)


def expected(ids: Array) -> Array:
    return embed(WEIGHTS, ids[0], SMALL.heads, SMALL.epsilon)


def test_embeddings_of_several_lengths(gpu: Accelerator, model: Model) -> None:
    for length in (1, 5, 33):
        ids, mask = words(length, length)
        (got,) = model.execute(Buffer.from_numpy(ids).to(gpu), Buffer.from_numpy(mask).to(gpu))
        np.testing.assert_allclose(got.to_numpy()[0], expected(ids), rtol=0, atol=1e-5)


def test_replays_read_new_words(gpu: Accelerator, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    ids, mask = (Buffer.from_numpy(array).to(gpu) for array in words(4, 0))
    (got,) = model.capture(7, ids, mask)
    new = words(4, 1)[0]
    ids.inplace_copy_from(Buffer.from_numpy(new))
    model.replay(7, ids, mask)
    np.testing.assert_allclose(got.to_numpy()[0], expected(new), rtol=0, atol=1e-5)
    model.debug_verify_replay(7, ids, mask)
    launch = gpu.driver.launch
    monkeypatch.setattr(
        gpu.driver, "launch", lambda function, grid, block, args: launch(function, grid, block, args, 16)
    )
    with pytest.raises(CaptureError, match="shared memory"):
        model.debug_verify_replay(7, ids, mask)
    monkeypatch.undo()
    model.replay(7, ids, mask)
    model.release_captured_graph(7)
    with pytest.raises(CaptureError, match="not captured"):
        model.replay(7, ids, mask)


@needs_weights
def test_published_weights() -> None:
    assert FILES is not None
    weights = checkpoint.read_safetensors(FILES / "model.safetensors")
    ids = np.array([[101, 7592, 102]])
    mask = np.ones_like(ids)
    gpu = Accelerator.emulated()
    (there,) = on_gpu(gpu, minilm.Config(), weights).execute(*(Buffer.from_numpy(a).to(gpu) for a in (ids, mask)))
    host = InferenceSession().load(minilm.sentence_encoder(minilm.Config()), weights_registry=weights)
    (here,) = host.execute(ids, mask)
    np.testing.assert_allclose(there.to_numpy(), here.to_numpy(), rtol=0, atol=1e-4)
