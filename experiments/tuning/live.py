"""A real model with one adapter behind the operator experiment's engine: loads, checks, and measures perplexity.

A soft prompt or prefix is the `Prefix` that everything else comes after; LoRA is merged into a copy of the model. This
is the one file of the experiment that imports torch.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from transformers import DynamicCache

from experiments.operators.config import ModelConfig, OperatorsConfig, Variant
from experiments.operators.live import LiveEngine, Loaded
from experiments.suites.suite import Suite
from experiments.tuning.config import VARIANT, Column
from experiments.tuning.retention import TEXT
from toolkit.decoding.prefix import Prefix
from toolkit.errors import UserError
from toolkit.tuning.adapter import Adapter, check_base, merge, prefix_of, read_adapter


class Columns:
    """Engines of one model's columns; those that leave the model as it is share it."""

    def __init__(self, model: ModelConfig, suite: Suite, config: OperatorsConfig) -> None:
        self.model, self.suite, self.config = model, suite, config
        self.bare: Loaded | None = None

    def open(self, column: Column, retention: bool) -> tuple[LiveEngine, dict[str, Any]]:
        """The engine of a column, and what is known of its adapter: hash, base, perplexity."""
        adapter = None if column.adapter is None else _adapter(Path(column.adapter))
        loaded = self._loaded(column, adapter)
        engine = LiveEngine(loaded, Variant.parse(VARIANT), self.suite, self.config)
        if adapter is not None and adapter.is_prefix:
            engine.base = prefix_of(adapter, engine.interceptor.engine)
        facts: dict[str, Any] = {"base": self.model.name, "adapter": column.adapter}
        if column.adapter is not None:
            facts["weights_sha256"] = files_sha256(Path(column.adapter))
        if retention:
            facts["perplexity"] = round(perplexity(loaded.model, loaded.tokenizer, engine.base), 4)
        return engine, facts

    def _loaded(self, column: Column, adapter: Adapter | None) -> Loaded:
        if column.adapter is not None and adapter is None:  # a fully tuned model: a folder of its own
            return Loaded(self.model.model_copy(update={"path": column.adapter, "revision": None}))
        if self.bare is None:
            self.bare = Loaded(self.model)
        if adapter is None:
            return self.bare
        check_base(adapter, self.bare.model, self.bare.tokenizer)
        if adapter.is_prefix:
            return self.bare
        loaded, self.bare = self.bare, None  # merging changes the weights in place
        loaded.model = merge(adapter, loaded.model)
        return loaded


def _adapter(folder: Path) -> Adapter | None:
    """The adapter in a folder; None when it holds a whole model. UserError when it holds neither."""
    if not folder.is_dir():
        raise UserError(
            "there is no such adapter folder", str(folder), "train it with `toolkit tune`, or correct columns"
        )
    if (folder / "config.json").is_file() and not (folder / "adapter_config.json").is_file():
        return None
    return read_adapter(folder)


def files_sha256(folder: Path) -> str:
    """SHA-256 over the names and bytes of the weight files of an adapter or model folder."""
    digest = hashlib.sha256()
    for path in sorted([*folder.glob("*.safetensors"), *folder.glob("*.bin")]):
        digest.update(f"{path.name}\n".encode())
        with path.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


@torch.inference_mode()
def perplexity(model: Any, tokenizer: Any, prefix: Prefix | None, text: str | None = None) -> float:
    """Perplexity per token of a text (ours by default) that follows the prefix; its first token is given."""
    device = model.get_input_embeddings().weight.device
    words = TEXT.read_text(encoding="utf-8") if text is None else text
    ids = torch.tensor([tokenizer.encode(words, add_special_tokens=False)], device=device)
    options: dict[str, Any] = {"use_cache": False}
    if prefix is not None:
        layers = [(key.unsqueeze(0), value.unsqueeze(0)) for key, value in prefix.layers]
        options = {"cache": DynamicCache(layers), "use_cache": True}
    logits = model(input_ids=ids, **options).logits[0, :-1].float()
    return math.exp(float(cross_entropy(logits, ids[0, 1:])))
