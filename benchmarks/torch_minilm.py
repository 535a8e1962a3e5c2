"""MiniLM-L6-v2 in plain torch, the peer of `examples/minilm.py`: named weights and token ids enter, embeddings leave.

The same arithmetic as a torch user would write it for speed: fused attention, `linear`, `layer_norm` and `gelu` of
`torch.nn.functional`. `run.py` checks that both models agree before it times them.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

# Untyped, so that this file can be checked where torch is not installed.
torch: Any = import_module("torch")
functional: Any = torch.nn.functional
Tensor: TypeAlias = Any


class TorchMiniLM:
    """Call it in inference mode with ids and mask [batch, seq], int64: embeddings [batch, hidden], each of length 1."""

    def __init__(self, weights: Mapping[str, np.ndarray[Any, Any]], heads: int = 12, epsilon: float = 1e-12) -> None:
        self._weights = {name: torch.tensor(array) for name, array in weights.items()}
        self._heads = heads
        self._epsilon = epsilon
        self._layers = len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")})

    def __call__(self, ids: Tensor, mask: Tensor) -> Tensor:
        keep = mask.bool()[:, None, None, :]
        x = self._embeddings(ids)
        for k in range(self._layers):
            layer = f"encoder.layer.{k}"
            x = self._norm(x + self._attention(x, keep, f"{layer}.attention"), f"{layer}.attention.output.LayerNorm")
            inner = functional.gelu(self._linear(x, f"{layer}.intermediate.dense"))
            x = self._norm(x + self._linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        counted = mask[:, :, None].to(x.dtype)
        return functional.normalize((x * counted).sum(1) / counted.sum(1).clamp(min=1e-9), dim=1)

    def _embeddings(self, ids: Tensor) -> Tensor:
        w = self._weights
        words = functional.embedding(ids, w["embeddings.word_embeddings.weight"])
        places = w["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = words + places + w["embeddings.token_type_embeddings.weight"][0]
        return self._norm(x, "embeddings.LayerNorm")

    def _attention(self, x: Tensor, keep: Tensor, name: str) -> Tensor:
        batch, seq, hidden = x.shape
        query, key, value = (
            self._linear(x, f"{name}.self.{part}").view(batch, seq, self._heads, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=keep)
        return self._linear(mixed.transpose(1, 2).reshape(batch, seq, hidden), f"{name}.output.dense")

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return functional.linear(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        gamma, beta = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return functional.layer_norm(x, (gamma.shape[0],), gamma, beta, self._epsilon)
