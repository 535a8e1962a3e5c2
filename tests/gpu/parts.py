"""What `check.py` tries, part by part: kernels against NumPy, captures, errors, MiniLM. Figures: `measure.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from pelton.driver import Buffer
from pelton.dtype import DType
from pelton.engine import CompiledModel
from pelton.support.errors import ArtifactError, CaptureError, DeviceCodeError, DeviceError, DeviceMemoryError
from pelton.tests.gpu.cases import CASES, arrays
from pelton.tests.gpu.trial import Trial, Wrong, expect
from pelton.tests.models.minilm_reference import embed, random_weights

MINILM_ERROR = 2e-5


class Part(NamedTuple):
    """Something to try; what it returns is a note for people."""

    name: str
    call: Callable[[], str]


def parts(trial: Trial) -> Iterator[Part]:
    """All that gives right or wrong."""
    for name in CASES:
        yield Part(f"{CASES[name].family}: {name}", partial(_case, trial, name))
    yield Part("code: from PTX", partial(_from_text, trial))
    yield Part("graphs: capture, replay, verify", partial(_captures, trial))
    yield Part("graphs: another run is noticed", partial(_planted, trial))
    yield Part("errors: memory", partial(_out_of_memory, trial))
    yield Part("errors: a grid too large", partial(_too_large, trial))
    yield Part("errors: code of another GPU", partial(_foreign, trial))
    yield Part("errors: damaged code", partial(_damaged, trial))
    yield Part("minilm", partial(_minilm, trial))
    yield Part("all is well after that", partial(_case, trial, "softmax"))


def _case(trial: Trial, name: str) -> str:
    return f"{trial.compare(name, trial.model(name)):.0%} of the error that is allowed"


def _from_text(trial: Trial) -> str:
    for name in ("gelu", "softmax", "transpose", "top_k", "matmul"):
        trial.compare(name, trial.model(name, text=True))
    return "five models, compiled by the driver"


def _captures(trial: Trial) -> str:
    model, sizes = trial.model("softmax"), CASES["softmax"].sizes[trial.size][0]
    (first,) = arrays("softmax", sizes)
    (buffer,) = trial.buffers([first])
    (out,) = model.capture(1, buffer)
    for scale in (1, -2, 0.5):
        given = (first * scale).astype(np.float32)
        buffer.inplace_copy_from(Buffer.from_numpy(given))
        model.replay(1, buffer)
        trial.judge("softmax", sizes, [given], [out.to_numpy()])
    model.debug_verify_replay(1, buffer)
    model.release_captured_graph(1)
    expect(RuntimeError, lambda: model.replay(1, buffer))
    return "three replays with new data, verified, released"


def _planted(trial: Trial) -> str:
    model = trial.model("gather")
    sizes = CASES["gather"].sizes[trial.size][0]
    rows, at = trial.buffers(arrays("gather", sizes))
    model.capture(1, rows, at)
    other = trial.buffers(arrays("gather", {**sizes, "rows": sizes["rows"] - 1}))
    said = expect((CaptureError, RuntimeError, ValueError), lambda: model.debug_verify_replay(1, *other))
    model.debug_verify_replay(1, rows, at)
    return said


def _out_of_memory(trial: Trial) -> str:
    before = trial.device.stats["free_memory"]
    said = expect(DeviceMemoryError, lambda: Buffer(DType.float32, (1 << 44,), trial.device))
    if trial.device.stats["free_memory"] < before - (64 << 20):
        raise Wrong("memory is missing after an allocation that failed")
    return said


def _too_large(trial: Trial) -> str:
    driver, kernel = trial.device.driver, trial.artifact("add").kernels[0]
    function = driver.function(kernel.code.decode(), kernel.name)
    return expect((DeviceError, ValueError), lambda: driver.launch(function, 2**31, kernel.threads, []))


def _foreign(trial: Trial) -> str:
    artifact = trial.artifact("add")._replace(architecture="sm_999")
    return expect(ArtifactError, lambda: trial.session.init(CompiledModel(artifact)))


def _damaged(trial: Trial) -> str:
    artifact = trial.artifact("add")
    half = tuple(k._replace(cubin=k.cubin[: len(k.cubin) // 2]) for k in artifact.kernels)
    if trial.device.api == "emulator" or not all(k.cubin for k in half):
        half = tuple(k._replace(cubin=b"", code=k.code[: len(k.code) // 2]) for k in half)
    broken = CompiledModel(artifact._replace(kernels=half))
    return expect((DeviceCodeError, ArtifactError, DeviceError), lambda: trial.session.init(broken))


def _minilm(trial: Trial) -> str:
    config = SimpleNamespace(**json.loads((trial.models / f"minilm_{trial.size}.json").read_text()))
    weights = random_weights(config)
    model = trial.session.load(trial.models / f"minilm_{trial.size}.pelton", weights_registry=weights)
    worst = 0.0
    for length in (7, 30):
        ids = np.random.default_rng(length).integers(1, config.vocabulary, (1, length))
        (got,) = model.execute(*trial.buffers([ids, np.ones_like(ids)]))
        want = embed(weights, ids[0], config.heads, config.epsilon)
        worst = max(worst, float(np.abs(got.to_numpy()[0] - want).max()))
    if not worst <= MINILM_ERROR:
        raise Wrong(f"an embedding is off by {worst:.1e}, allowed {MINILM_ERROR:.0e}")
    return f"embeddings within {worst:.1e}"
