"""A trained adapter on disk and its use in the interceptor: soft prompts and prefixes become a `Prefix`, others merge.

Reads what PEFT saves, whoever saved it; `tuning.json` beside it (ours, optional) says which model it was made for. A
full fine-tuning is a model folder and needs none of this. Knows nothing of training.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from peft import PeftConfig, PeftModel
from peft.utils import load_peft_weights

from toolkit.decoding.engine import Engine
from toolkit.decoding.prefix import Prefix
from toolkit.errors import UserError
from toolkit.models.describe import tokenizer_sha256, weights_sha256

FACTS = "tuning.json"
SOFT = ("PROMPT_TUNING", "P_TUNING")
PREFIX = "PREFIX_TUNING"
ANOTHER = "use the model that it was trained on, or train another adapter"


@dataclass(frozen=True)
class Adapter:
    """An adapter folder that was read: PEFT's configuration, and our facts (empty for one that we did not make)."""

    folder: Path
    config: PeftConfig
    facts: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """PEFT's name of the method, e.g. `PREFIX_TUNING`."""
        return str(getattr(self.config.peft_type, "value", self.config.peft_type))

    @property
    def is_prefix(self) -> bool:
        """Whether it becomes a `Prefix`; else it changes the model's weights."""
        return self.kind in (*SOFT, PREFIX)


def read_adapter(folder: Path) -> Adapter:
    """Read an adapter folder; UserError when it is none."""
    if not (folder / "adapter_config.json").is_file():
        raise UserError("this is not an adapter folder: it has no adapter_config.json", str(folder), "see toolkit tune")
    try:
        config = PeftConfig.from_pretrained(str(folder))
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8")) if (folder / FACTS).is_file() else {}
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise UserError(f"the adapter cannot be read: {error}", str(folder), "save or train it again") from error
    if not isinstance(facts, dict):
        raise UserError("not an object", str(folder / FACTS), "restore the file")
    return Adapter(folder, config, facts)


def check_base(adapter: Adapter, model: Any, tokenizer: Any) -> None:
    """UserError when our facts say that the adapter was made for other weights or another tokenizer."""
    base = adapter.facts.get("base", {})
    for key, now in (("weights_sha256", weights_sha256(model)), ("tokenizer_sha256", tokenizer_sha256(tokenizer))):
        if key in base and base[key] != now:
            what = "base model" if key.startswith("weights") else "tokenizer"
            raise UserError(
                f"the adapter was made for another {what} ({base.get('path')})", str(adapter.folder), ANOTHER
            )


def prefix_of(adapter: Adapter, engine: Engine) -> Prefix:
    """The `Prefix` of a prompt-tuned, p-tuned or prefix-tuned adapter; a fragment may follow it.

    UserError when its sizes are not the model's.
    """
    weights = _weights(adapter)
    if adapter.kind == PREFIX:
        return Prefix(_unflatten(weights, engine, adapter))
    hidden = engine.model.get_input_embeddings().weight.shape[1]
    if weights.shape[1] != hidden:
        raise UserError(
            f"the adapter has embeddings of size {weights.shape[1]}, the model of {hidden}",
            str(adapter.folder),
            ANOTHER,
        )
    return engine.prefix_from_embeddings(weights)


def _weights(adapter: Adapter) -> torch.Tensor:
    """The saved tensor [virtual tokens, size]: PEFT keeps what its encoder makes, not the encoder."""
    try:
        tensors = load_peft_weights(str(adapter.folder), device="cpu")
        found: torch.Tensor = tensors["prompt_embeddings"]
    except Exception as error:  # torch, safetensors and PEFT raise many kinds for a damaged file
        raise UserError(
            f"the adapter's weights cannot be read ({type(error).__name__}: {error})",
            str(adapter.folder),
            "save it again",
        ) from error
    if found.ndim != 2 or not torch.isfinite(found).all():
        raise UserError("the adapter's weights are no finite matrix", str(adapter.folder), "train or save it again")
    return found


def _unflatten(weights: torch.Tensor, engine: Engine, adapter: Adapter) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Per layer keys and values [kv heads, length, size] from [length, layers x (key, value) x kv heads x size]."""
    like = engine.prefix([0]).layers
    heads, _, size = like[0][0].shape
    expected = len(like) * 2 * heads * size
    if weights.shape[1] != expected:
        raise UserError(
            f"the adapter has {weights.shape[1]} numbers per position, the model {expected}",
            str(adapter.folder),
            ANOTHER,
        )
    tensors = weights.view(len(weights), 2 * len(like), heads, size).permute(1, 2, 0, 3).contiguous()
    tensors = tensors.to(like[0][0].device, like[0][0].dtype)
    return [(tensors[2 * layer], tensors[2 * layer + 1]) for layer in range(len(like))]


def merge(adapter: Adapter, model: Any) -> Any:
    """The model with LoRA (or another method of weight updates) merged into its weights, in place.

    UserError when the adapter's shapes are not the model's.
    """
    if adapter.is_prefix:
        raise UserError(f"{adapter.kind} is a prefix: there is nothing to merge", str(adapter.folder))
    try:
        merged = PeftModel.from_pretrained(model, str(adapter.folder)).merge_and_unload()
    except (RuntimeError, ValueError, KeyError, AttributeError) as error:
        first = str(error).strip().splitlines()[0]
        raise UserError(f"the adapter does not fit the model: {first}", str(adapter.folder), ANOTHER) from error
    return merged.eval().requires_grad_(False)
