"""MiniLM-L6-v2 in float64 NumPy: weights and the token ids of one sentence enter, its embedding leaves, to compare.

It shares nothing with pelton: one sentence at a time and no padding, so it has no mask to get wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]


_erf = np.frompyfunc(math.erf, 1, 1)


def embed(weights: Mapping[str, Array], ids: Array, heads: int, epsilon: float) -> Array:
    """The normalised mean embedding [hidden] of the tokens `ids` [tokens], every step in float64."""
    w = _Float64(weights)
    x = w["embeddings.word_embeddings.weight", ids] + w["embeddings.position_embeddings.weight", : len(ids)]
    x = _layer_norm(x + w["embeddings.token_type_embeddings.weight", 0], w, "embeddings.LayerNorm", epsilon)
    layers = {name.split(".")[2] for name in weights if name.startswith("encoder.layer.")}
    for k in range(len(layers)):
        layer = f"encoder.layer.{k}"
        mixed = _attention(x, w, f"{layer}.attention.self", heads)
        x = x + _dense(mixed, w, f"{layer}.attention.output.dense")
        x = _layer_norm(x, w, f"{layer}.attention.output.LayerNorm", epsilon)
        y = _gelu(_dense(x, w, f"{layer}.intermediate.dense"))
        x = _layer_norm(x + _dense(y, w, f"{layer}.output.dense"), w, f"{layer}.output.LayerNorm", epsilon)
    mean = x.mean(axis=0)
    return mean / math.sqrt(float(mean @ mean))


class _Float64:
    """Weights by name and index, widened when taken."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self._weights = weights

    def __getitem__(self, key: tuple[str, Any]) -> Array:
        name, index = key
        return self._weights[name][index].astype(np.float64)


def _dense(x: Array, w: _Float64, name: str) -> Array:
    return x @ w[f"{name}.weight", ...].T + w[f"{name}.bias", ...]


def _layer_norm(x: Array, w: _Float64, name: str, epsilon: float) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + epsilon) * w[f"{name}.weight", ...] + w[f"{name}.bias", ...]


def _attention(x: Array, w: _Float64, name: str, heads: int) -> Array:
    query, key, value = (_dense(x, w, f"{name}.{part}") for part in ("query", "key", "value"))
    size = x.shape[1] // heads
    mixed = np.empty_like(value)
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        scores = query[:, part] @ key[:, part].T / math.sqrt(size)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        mixed[:, part] = powers / powers.sum(axis=1, keepdims=True) @ value[:, part]
    return mixed


def _gelu(x: Array) -> Array:
    return x * 0.5 * (1 + np.asarray(_erf(x / math.sqrt(2)), np.float64))


def random_weights(config: Any, seed: int = 0) -> dict[str, Array]:
    """Weights of the size a trained model has: sums stay near 1, gammas near 1, betas and biases near 0.

    `config` has the sizes of `examples.minilm.Config`.
    """
    rng, hidden, inner = np.random.default_rng(seed), config.hidden, config.intermediate
    weights: dict[str, Array] = {}

    def dense(name: str, inputs: int, outputs: int) -> None:
        weights[f"{name}.weight"] = rng.normal(0, inputs**-0.5, (outputs, inputs))
        weights[f"{name}.bias"] = rng.normal(0, 0.1, outputs)

    def norm(name: str) -> None:
        weights[f"{name}.weight"] = rng.normal(1, 0.1, hidden)
        weights[f"{name}.bias"] = rng.normal(0, 0.1, hidden)

    tables = {"word": config.vocabulary, "position": config.positions, "token_type": config.kinds}
    for name, rows in tables.items():
        weights[f"embeddings.{name}_embeddings.weight"] = rng.normal(0, 1, (rows, hidden))
    norm("embeddings.LayerNorm")
    for layer in (f"encoder.layer.{k}" for k in range(config.layers)):
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            dense(f"{layer}.attention.{part}", hidden, hidden)
        norm(f"{layer}.attention.output.LayerNorm")
        dense(f"{layer}.intermediate.dense", hidden, inner)
        dense(f"{layer}.output.dense", inner, hidden)
        norm(f"{layer}.output.LayerNorm")
    return {name: array.astype(np.float32) for name, array in weights.items()}
