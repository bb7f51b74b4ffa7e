"""Which exchanges a training step sees, and their tensors. A pure function of seed and step, so that a resumed training
sees what an uninterrupted one would have seen. Knows nothing of models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

import torch

from toolkit.tuning.labels import IGNORED

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Batch:
    """`ids`, `mask` and `labels` [rows, width], padded on the right."""

    ids: torch.Tensor
    mask: torch.Tensor
    labels: torch.Tensor

    def to(self, device: torch.device) -> Batch:
        """The same on a device."""
        return Batch(self.ids.to(device), self.mask.to(device), self.labels.to(device))


def chosen(step: int, size: int, count: int, seed: int) -> list[int]:
    """The `size` row numbers of a step: all `count` rows in a new order per pass, one pass after the other."""
    return [_order(seed, place // count, count)[place % count] for place in range(step * size, (step + 1) * size)]


@lru_cache(maxsize=4)
def _order(seed: int, epoch: int, count: int) -> list[int]:
    order = list(range(count))
    Random(f"{seed}/epoch/{epoch}").shuffle(order)
    return order


def collate(rows: Sequence[Row]) -> Batch:
    """Rows as one batch. Padding is token 0, is masked and carries no label."""
    width = max(len(row["input_ids"]) for row in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    labels = torch.full((len(rows), width), IGNORED)
    mask = torch.zeros(len(rows), width, dtype=torch.long)
    for number, row in enumerate(rows):
        length = len(row["input_ids"])
        ids[number, :length] = torch.tensor(row["input_ids"])
        labels[number, :length] = torch.tensor(row["labels"])
        mask[number, :length] = 1
    return Batch(ids, mask, labels)


def labelled(rows: Sequence[Row]) -> int:
    """How many tokens of the rows carry a label and have a token before them."""
    return sum(sum(label != IGNORED for label in row["labels"][1:]) for row in rows)
