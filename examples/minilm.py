"""MiniLM-L6-v2 with the graph API: sizes enter, a graph from token ids to embeddings leaves.

The model is a BERT encoder (Devlin et al. 2018, https://arxiv.org/abs/1810.04805), distilled (MiniLM, Wang et al. 2020,
https://arxiv.org/abs/2002.10957), then the mean over the tokens, divided by its length, as in sentence-transformers.
`sentence_similarity.py` runs it with published weights (`checkpoint.py`), whose names the weights here have.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pelton.dtype import DType
from pelton.graph import DeviceRef, Graph, TensorType, TensorValue, Weight, ops


@dataclass(frozen=True)
class Config:
    """The sizes of a BERT encoder, by default those of MiniLM-L6-v2, and where it runs: inputs, weights and results."""

    vocabulary: int = 30522
    positions: int = 512
    kinds: int = 2
    hidden: int = 384
    layers: int = 6
    heads: int = 12
    intermediate: int = 1536
    epsilon: float = 1e-12
    device: DeviceRef = field(default_factory=DeviceRef.CPU)


def sentence_encoder(config: Config) -> Graph:
    """The graph (ids [batch, seq] i64, mask [batch, seq] i64) → embeddings [batch, hidden] f32, each of length 1.

    `mask` is 1 at tokens and 0 at padding. Batch and sequence are symbols: one compiled model serves every size up to
    `config.positions` tokens.
    """
    tokens = TensorType(DType.int64, ("batch", "seq"), config.device)
    with Graph("sentence_encoder", input_types=(tokens, tokens)) as graph:
        ids, mask = (value.tensor for value in graph.inputs)
        attend = mask.cast(DType.float32)
        batch, seq = ids.shape
        padding = ((attend - 1) * 1e9).reshape((batch, 1, 1, seq))  # added to scores: 0 at tokens
        x = embeddings(ids, config)
        for layer in range(config.layers):
            x = encoder_layer(x, padding, f"encoder.layer.{layer}", config)
        graph.output(normalized(mean_over_tokens(x, attend)))
    return graph


def embeddings(ids: TensorValue, config: Config) -> TensorValue:
    """Word, position and token type (always the first) of each token, added and normalised: [batch, seq, hidden]."""
    words = weight(config, "embeddings.word_embeddings.weight", config.vocabulary, config.hidden)
    positions = weight(config, "embeddings.position_embeddings.weight", config.positions, config.hidden)
    kinds = weight(config, "embeddings.token_type_embeddings.weight", config.kinds, config.hidden)
    _, seq = ids.shape
    places = ops.range(0, seq, out_dim=seq, dtype=DType.int64, device=config.device)
    x = ops.gather(words, ids, axis=0) + ops.gather(positions, places, axis=0) + kinds[0]
    return layer_norm(x, "embeddings.LayerNorm", config)


def encoder_layer(x: TensorValue, padding: TensorValue, name: str, config: Config) -> TensorValue:
    """Self-attention, then a two-layer perceptron, each added to its input and normalised: [batch, seq, hidden]."""
    attended = attention(x, padding, f"{name}.attention", config)
    x = layer_norm(x + attended, f"{name}.attention.output.LayerNorm", config)
    inner = ops.gelu(linear(x, f"{name}.intermediate.dense", config, config.hidden, config.intermediate))
    outer = linear(inner, f"{name}.output.dense", config, config.intermediate, config.hidden)
    return layer_norm(x + outer, f"{name}.output.LayerNorm", config)


def attention(x: TensorValue, padding: TensorValue, name: str, config: Config) -> TensorValue:
    """Each token takes, per head, a mean of the values of all, weighted by how well its query fits their keys."""
    batch, seq, hidden = x.shape
    size = config.hidden // config.heads

    def per_head(part: str) -> TensorValue:
        projected = linear(x, f"{name}.self.{part}", config, config.hidden, config.hidden)
        return projected.reshape((batch, seq, config.heads, size)).permute((0, 2, 1, 3))

    query, key, value = per_head("query"), per_head("key"), per_head("value")
    weights = ops.softmax(query @ key.transpose(2, 3) * size**-0.5 + padding)
    mixed = (weights @ value).permute((0, 2, 1, 3)).reshape((batch, seq, hidden))
    return linear(mixed, f"{name}.output.dense", config, config.hidden, config.hidden)


def mean_over_tokens(x: TensorValue, attend: TensorValue) -> TensorValue:
    """[batch, seq, hidden] → [batch, hidden], padding left out."""
    batch, seq, hidden = x.shape
    counted = attend.reshape((batch, seq, 1))
    total, count = ops.sum(x * counted, axis=1), ops.sum(counted, axis=1)
    return (total / ops.max(count, 1e-9)).reshape((batch, hidden))


def normalized(x: TensorValue) -> TensorValue:
    """Each row divided by its length, so that the product of two rows is the cosine of their angle."""
    return x / ops.max(ops.sqrt(ops.sum(x * x)), 1e-12)


def linear(x: TensorValue, name: str, config: Config, inputs: int, outputs: int) -> TensorValue:
    return x @ weight(config, f"{name}.weight", outputs, inputs).T + weight(config, f"{name}.bias", outputs)


def layer_norm(x: TensorValue, name: str, config: Config) -> TensorValue:
    gamma, beta = weight(config, f"{name}.weight", config.hidden), weight(config, f"{name}.bias", config.hidden)
    return ops.layer_norm(x, gamma, beta, config.epsilon)


def weight(config: Config, name: str, *shape: int) -> Weight:
    return Weight(name, DType.float32, shape, config.device)
