"""Drawing the next token of many rows at once, each from its own random stream.

A uniform number per row is turned into a token through the cumulative distribution over the kept tokens in id order,
in float64, so that near ties between probabilities cannot reorder it. Knows nothing of rows, calls or caches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import torch

from toolkit.decoding.request import Sampling


class Stream:
    """A counter-based random stream keyed by (seed, sample id): Philox 4x64 (Salmon et al. 2011)."""

    def __init__(self, seed: int, sample_id: str) -> None:
        key = hashlib.sha256(f"{seed}\x1f{sample_id}".encode()).digest()[:16]
        self._generator = np.random.Generator(np.random.Philox(key=int.from_bytes(key, "little")))

    def uniform(self) -> float:
        """The next number of the stream, in [0, 1)."""
        return float(self._generator.random())


def draw(scores: torch.Tensor, uniforms: Sequence[float], ids: torch.Tensor | None = None) -> torch.Tensor:
    """Tokens drawn from softmax(scores) in column order: scores [n, k], uniforms n, ids [n, k] or None -> [n].

    Masked scores are -inf. `ids` names the token of each column (the column itself by default).
    """
    weights = torch.softmax(scores.double(), dim=-1).cumsum(dim=-1)
    targets = torch.tensor(uniforms, dtype=torch.float64).to(scores.device) * weights[:, -1]
    columns = torch.searchsorted(weights, targets.unsqueeze(1), right=True).clamp_(max=scores.shape[-1] - 1)
    return (columns if ids is None else ids.gather(1, columns)).squeeze(1)


def pick(logits: torch.Tensor, settings: Sampling, uniforms: Sequence[float]) -> torch.Tensor:
    """Next tokens of rows that share their settings: logits [n, V] -> [n]. `uniforms` is unused when greedy.

    Temperature, top-k and top-p as Hugging Face's warpers define them, in this order.
    """
    if settings.temperature is None:
        return logits.argmax(dim=-1)
    scores = logits.float() / settings.temperature
    if settings.top_k is None and settings.top_p is None:
        return draw(scores, uniforms)
    width = scores.shape[-1] if settings.top_k is None else min(settings.top_k, scores.shape[-1])
    scores, ids = scores.topk(width, dim=-1)
    if settings.top_p is not None:
        weights = torch.softmax(scores.double(), dim=-1)
        before = weights.cumsum(dim=-1) - weights
        scores = scores.masked_fill(before >= settings.top_p, float("-inf"))
    ids, order = ids.sort(dim=-1)
    return draw(scores.gather(1, order), uniforms, ids)
