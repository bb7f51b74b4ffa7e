"""Storage for the key/values of each row's own suffix, written in place at the row's own length.

A slot never holds padding: position p of a slot is the p-th token after the prefix. Unused positions are zero, never
uninitialised, because 0 x NaN would reach the attention sum. Knows nothing of prefixes, masks or models.
"""

from __future__ import annotations

import torch

KeyValue = tuple[torch.Tensor, torch.Tensor]


class Slots:
    """`count` slots of growing capacity; per layer keys and values [count, kv heads, capacity, size]."""

    def __init__(self, count: int, capacity: int = 64) -> None:
        self.count = count
        self.capacity = capacity
        self._keys: list[torch.Tensor] = []
        self._values: list[torch.Tensor] = []

    @property
    def bytes_per_position(self) -> int:
        """Bytes that one position of one slot takes over all layers; 0 before the first write."""
        pairs = [*self._keys, *self._values]
        return sum(tensor.shape[1] * tensor.shape[3] * tensor.element_size() for tensor in pairs)

    @torch.inference_mode()
    def reserve(self, length: int) -> None:
        """Make room for `length` positions in every slot, one layer at a time."""
        if length <= self.capacity:
            return
        self.capacity = max(length, self.capacity * 3 // 2)
        for tensors in (self._keys, self._values):
            for layer, old in enumerate(tensors):
                grown = old.new_zeros(self.count, old.shape[1], self.capacity, old.shape[3])
                grown[:, :, : old.shape[2]] = old
                tensors[layer] = grown

    def write(self, layer: int, slot: torch.Tensor, at: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
        """Store key and value [tokens, heads, size] of each token at its (slot, position); both [tokens]."""
        while len(self._keys) <= layer:
            shape = (self.count, key.shape[1], self.capacity, key.shape[2])
            self._keys.append(key.new_zeros(shape))
            self._values.append(value.new_zeros(*shape[:3], value.shape[2]))
        self._keys[layer][slot, :, at] = key
        self._values[layer][slot, :, at] = value

    def read(self, layer: int, slots: slice | torch.Tensor, length: int) -> KeyValue:
        """Keys and values [slots, heads, length, size]; a view when `slots` is a slice."""
        return self._keys[layer][slots, :, :length], self._values[layer][slots, :, :length]

    @torch.inference_mode()
    def move(self, source: int, target: int, length: int) -> None:
        """Copy the first `length` positions of a slot to another one."""
        for tensor in (*self._keys, *self._values):
            tensor[target, :, :length] = tensor[source, :, :length]

    def export(self, slot: int, length: int) -> list[KeyValue]:
        """A copy of one slot, per layer keys and values [heads, length, size]."""
        return [
            (keys[slot, :, :length].clone(), values[slot, :, :length].clone())
            for keys, values in zip(self._keys, self._values, strict=True)
        ]
