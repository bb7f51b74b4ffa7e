"""A prefix: keys and values of everything before a row's own tokens, held once and shared by all rows that use it.

A few-shot fragment, a soft prompt and prefix-tuned key/values differ only in how they are made (`Engine.prefix` and
friends); afterwards they are one thing. Knows nothing of how attention uses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

import torch

from toolkit.decoding.slots import KeyValue

_SERIAL = count(1)


@dataclass(frozen=True, eq=False)
class Prefix:
    """Per layer keys and values [key/value heads, length, head size].

    `ids` are the token ids it stands for, or empty where it has none (soft prompts). `serial` tells prefixes apart.
    """

    layers: list[KeyValue]
    ids: Sequence[int] = ()
    serial: int = field(default_factory=lambda: next(_SERIAL))

    @property
    def length(self) -> int:
        """Number of positions."""
        return int(self.layers[0][0].shape[1])

    @property
    def bytes(self) -> int:
        """Bytes of memory held."""
        return sum(tensor.numel() * tensor.element_size() for pair in self.layers for tensor in pair)

    def then(self, layers: list[KeyValue], ids: Sequence[int] = ()) -> Prefix:
        """The prefix that has more positions after this one."""
        pairs = zip(self.layers, layers, strict=True)
        joined = [(torch.cat((a[0], b[0]), dim=1), torch.cat((a[1], b[1]), dim=1)) for a, b in pairs]
        return Prefix(joined, [*self.ids, *ids])
