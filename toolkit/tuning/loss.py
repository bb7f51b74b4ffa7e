"""The training loss: cross entropy of labelled tokens, logits computed where some row needs them and nowhere else.

On short exchanges the vocabulary projection is a third of a step, and half of its rows would be thrown away. Works for
bare models and for PEFT's, whose soft prompts lengthen the sequence on the left: positions are counted from the right.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import cross_entropy

from toolkit.tuning.batches import Batch
from toolkit.tuning.labels import IGNORED


def summed_loss(model: Any, batch: Batch) -> torch.Tensor:
    """Sum of the negative log likelihood (nats) of all labelled tokens of a batch, in float32."""
    width = batch.ids.shape[1]
    targets = batch.labels[:, 1:]
    columns = (targets != IGNORED).any(dim=0).nonzero().squeeze(1)
    out = model(
        input_ids=batch.ids, attention_mask=batch.mask, logits_to_keep=columns - width, use_cache=None, return_dict=True
    )
    return cross_entropy(out.logits.float().flatten(0, 1), targets[:, columns].flatten(), reduction="sum")
