"""Attention over a shared prefix and each row's own suffix, merged by log-sum-exp.

Plugs into transformers' attention interface under `NAME`, and into GPT-Neo, which offers none, by standing in for each
layer's `_attn`. Masks come from positions, never from cache slots, so GPT-Neo's local layers and sliding windows are
exact. Scores are float32 as upstream. Knows nothing of rows, tools or sampling; the layout of a pass is `Step`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from transformers import AttentionInterface

from toolkit.decoding.step import Step

NAME = "heldout_shared_prefix"
_STEP: ContextVar[Step] = ContextVar("step")
Part = tuple[torch.Tensor, torch.Tensor]


def _part(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    scale: float,
    softcap: float | None,
) -> Part:
    """Attention [..., q, size] over one set of keys [..., k, size], and its log-sum-exp [..., q], in float32."""
    # In place throughout: the scores are a step's largest tensor, and each pass over them costs as much as the sum.
    scores = torch.matmul(query.float() * scale, key.float().transpose(-1, -2))
    if softcap is not None:
        scores = scores.div_(softcap).tanh_().mul_(softcap)
    if mask is not None:
        scores.masked_fill_(~mask, torch.finfo(torch.float32).min)
    highest = scores.amax(dim=-1, keepdim=True)
    weights = scores.sub_(highest).exp_()
    total = weights.sum(dim=-1, keepdim=True)
    out = torch.matmul(weights.to(value.dtype), value) / total.to(value.dtype)
    return out, (highest + total.log()).squeeze(-1)


class _Layer:
    """One layer's pass: query [heads, tokens, size] against the stored keys and values."""

    def __init__(self, step: Step, layer: int, query: torch.Tensor, groups: int, options: dict[str, Any]) -> None:
        self.step, self.layer = step, layer
        heads, tokens, size = query.shape
        self.query = query.view(heads // groups, groups, tokens, size)
        self.window: int | None = options["window"]
        self.scale: float = options["scale"]
        self.softcap: float | None = options["softcap"]

    def suffix(self, value_size: int) -> Part:
        """Attention of all tokens over their own rows: [kv heads, groups, tokens, size] and log-sum-exp."""
        kv, groups, tokens, _ = self.query.shape
        out = self.query.new_empty(kv, groups, tokens, value_size)
        total = torch.empty(kv, groups, tokens, dtype=torch.float32, device=out.device)
        index, slot, reach, length = self.step.single
        if reach:
            query = self.query.new_zeros(reach, kv, groups, self.query.shape[-1])
            query[slot] = self.query[:, :, index].permute(2, 0, 1, 3)
            key, value = self.step.slots.read(self.layer, slice(0, reach), length)
            mask = torch.zeros(reach, length, dtype=torch.bool, device=out.device)
            mask[slot] = self.step.suffix_mask(index, length, self.window)
            part, lse = _part(query, key, value, mask[:, None, None], self.scale, self.softcap)
            out[:, :, index] = part[slot].permute(1, 2, 0, 3)
            total[:, :, index] = lse[slot].permute(1, 2, 0)
        chunks = self.step.chunks
        if chunks is not None:
            query = self.query[:, :, chunks.index].permute(2, 0, 1, 3, 4)
            key, value = self.step.slots.read(self.layer, chunks.slots, chunks.length)
            mask = self.step.suffix_mask(chunks.index, chunks.length, self.window)
            part, lse = _part(query, key[:, :, None], value[:, :, None], mask[:, None, None], self.scale, self.softcap)
            flat = chunks.index[chunks.real]
            out[:, :, flat] = part.permute(1, 2, 0, 3, 4)[:, :, chunks.real]
            total[:, :, flat] = lse.permute(1, 2, 0, 3)[:, :, chunks.real]
        return out, total

    def merge_prefixes(self, out: torch.Tensor, total: torch.Tensor) -> None:
        """Blend each prefix's attention into `out`, weighted by its share of the softmax sum."""
        for prefix, begin, end in self.step.prefixes:
            key, value = prefix.layers[self.layer]
            mask = self.step.prefix_mask(begin, end, prefix.length, self.window)
            kv, groups, _, size = self.query.shape
            query = self.query[:, :, begin:end].reshape(kv, groups * (end - begin), size)
            mask = None if mask is None else mask.repeat(groups, 1)
            part, lse = _part(query, key, value, mask, self.scale, self.softcap)
            share = torch.sigmoid(lse.view(kv, groups, -1) - total[:, :, begin:end]).unsqueeze(-1)
            own = out[:, :, begin:end].float()
            blended = own + share * (part.view(kv, groups, end - begin, -1).float() - own)
            out[:, :, begin:end] = blended.to(out.dtype)


def attend(layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **options: Any) -> torch.Tensor:
    """Store the new keys and values, then attend: all [1, heads, tokens, size] -> [heads, tokens, size]."""
    step = _STEP.get().on(query.device)
    step.slots.write(layer, step.slot, step.at, key[0].transpose(0, 1), value[0].transpose(0, 1))
    work = _Layer(step, layer, query[0], query.shape[1] // key.shape[1], options)
    out, total = work.suffix(value.shape[-1])
    work.merge_prefixes(out, total)
    return out.flatten(0, 1)


def _interface(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: Any, **kwargs: Any
) -> tuple[torch.Tensor, None]:
    """The function that transformers calls; it returns [1, tokens, heads, size]."""
    scale = kwargs.get("scaling")
    out = attend(
        module.layer_idx,
        query,
        key,
        value,
        window=kwargs.get("sliding_window"),
        scale=query.shape[-1] ** -0.5 if scale is None else scale,
        softcap=kwargs.get("softcap"),
    )
    return out.transpose(0, 1).unsqueeze(0), None


def _gpt_neo(module: Any) -> Callable[..., tuple[torch.Tensor, None]]:
    """A stand-in for `GPTNeoSelfAttention._attn`: no scale, window of the local layers by position."""
    window = module.config.window_size if module.attention_type == "local" else None

    def _attn(query: Any, key: Any, value: Any, attention_mask: Any = None) -> tuple[torch.Tensor, None]:
        return attend(module.layer_id, query, key, value, window=window, scale=1.0, softcap=None).unsqueeze(0), None

    return _attn


AttentionInterface.register(NAME, _interface)


@contextmanager
def attached(model: Any, step: Step) -> Iterator[None]:
    """Let the model's layers attend by `step` inside the block; outside it the model is untouched."""
    neo = [module for module in model.modules() if type(module).__name__ == "GPTNeoSelfAttention"]
    config, before = model.config, model.config._attn_implementation
    token = _STEP.set(step)
    config._attn_implementation_internal = NAME
    for module in neo:
        module._attn = _gpt_neo(module)
    try:
        yield
    finally:
        config._attn_implementation_internal = before
        for module in neo:
            del module._attn
        _STEP.reset(token)


def reaches_every_layer(model: Any) -> bool:
    """Whether the model dispatches attention through transformers' interface, or is GPT-Neo."""
    return bool(model._supports_attention_backend) or model.config.model_type == "gpt_neo"
