"""One forward pass over many rows, laid out flat: which token belongs to which slot, position and prefix.

Tokens of all rows stand in one sequence of a batch of one, without padding, so linear layers and the vocabulary
projection touch useful tokens only; attention reads the layout here. Knows nothing of models or sampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import torch

from toolkit.decoding.prefix import Prefix
from toolkit.decoding.slots import Slots


@dataclass(frozen=True)
class Feed:
    """The tokens that one row feeds in a step. `start` is the suffix position of the first."""

    slot: int
    start: int
    tokens: Sequence[int]
    prefix: Prefix | None
    wants_logits: bool


@dataclass(frozen=True)
class Chunks:
    """Rows that feed several tokens: slots [rows], `index` [rows, width] of flat tokens, `real` marks non-padding."""

    slots: torch.Tensor
    index: torch.Tensor
    real: torch.Tensor
    length: int


class Step:
    """Layout of one forward pass. Feeds are ordered by prefix; all index tensors live on `device`."""

    def __init__(self, slots: Slots, feeds: Sequence[Feed], device: torch.device) -> None:
        self.slots = slots
        self.device = device
        self._elsewhere: dict[torch.device, Step] = {}
        self.feeds = sorted(feeds, key=lambda feed: (0 if feed.prefix is None else feed.prefix.serial, feed.slot))
        self.ids = self._tensor([token for feed in self.feeds for token in feed.tokens])
        self.slot = self._tensor([feed.slot for feed in self.feeds for _ in feed.tokens])
        self.at = self._tensor([feed.start + n for feed in self.feeds for n in range(len(feed.tokens))])
        base = [0 if feed.prefix is None else feed.prefix.length for feed in self.feeds for _ in feed.tokens]
        self.positions = self.at + self._tensor(base)
        self._base = self._tensor(base)
        ends, total = [], 0
        for feed in self.feeds:
            total += len(feed.tokens)
            ends.append(total)
        self._ends = ends
        self.total = total
        self.logits_rows = [feed.slot for feed in self.feeds if feed.wants_logits]
        last = [end - 1 for end, feed in zip(ends, self.feeds, strict=True) if feed.wants_logits]
        self.logits_index = self._tensor(last)

    def on(self, device: torch.device) -> Step:
        """The same layout on another device, for layers that a model spread over several has there."""
        if device == self.device:
            return self
        if device not in self._elsewhere:
            self._elsewhere[device] = Step(self.slots, self.feeds, device)
        return self._elsewhere[device]

    def _tensor(self, values: Sequence[int]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.long).to(self.device, non_blocking=True)

    @cached_property
    def prefixes(self) -> list[tuple[Prefix, int, int]]:
        """Each prefix with the flat token range [begin, end) of the rows that use it."""
        ranges, begin = [], 0
        for prefix, group in groupby(zip(self.feeds, self._ends, strict=True), key=lambda pair: pair[0].prefix):
            end = [end for _, end in group][-1]
            if prefix is not None:
                ranges.append((prefix, begin, end))
            begin = end
        return ranges

    @cached_property
    def single(self) -> tuple[torch.Tensor, torch.Tensor, int, int]:
        """Rows that feed one token: flat index and slot of each, slots in reach, longest length after writing."""
        rows = [(end - 1, feed) for end, feed in zip(self._ends, self.feeds, strict=True) if len(feed.tokens) == 1]
        reach = max((feed.slot + 1 for _, feed in rows), default=0)
        length = max((feed.start + 1 for _, feed in rows), default=0)
        return self._tensor([index for index, _ in rows]), self._tensor([f.slot for _, f in rows]), reach, length

    @cached_property
    def chunks(self) -> Chunks | None:
        """Rows that feed more than one token, padded to the widest; None when there is none."""
        rows = [(end, feed) for end, feed in zip(self._ends, self.feeds, strict=True) if len(feed.tokens) > 1]
        if not rows:
            return None
        width = max(len(feed.tokens) for _, feed in rows)
        offsets = torch.arange(width, device=self.device)
        counts = self._tensor([len(feed.tokens) for _, feed in rows]).unsqueeze(1)
        first = self._tensor([end - len(feed.tokens) for end, feed in rows]).unsqueeze(1)
        real = offsets < counts
        return Chunks(
            slots=self._tensor([feed.slot for _, feed in rows]),
            index=torch.where(real, first + offsets, first),
            real=real,
            length=max(feed.start + len(feed.tokens) for _, feed in rows),
        )

    def suffix_mask(self, tokens: torch.Tensor, length: int, window: int | None) -> torch.Tensor:
        """Which of `length` suffix positions each flat token may see: bool [*tokens.shape, length]."""
        at = self.at[tokens].unsqueeze(-1)
        keys = torch.arange(length, device=self.device)
        mask = keys <= at
        return mask if window is None else mask & (keys > at - window)

    def prefix_mask(self, begin: int, end: int, length: int, window: int | None) -> torch.Tensor | None:
        """Which prefix positions the flat tokens [begin, end) may see: bool [tokens, length]; None when all."""
        if window is None:
            return None
        keys = torch.arange(length, device=self.device)
        return keys > self.positions[begin:end].unsqueeze(1) - window
