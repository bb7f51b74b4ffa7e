"""A method of the configuration put onto a model: what becomes trainable, and from which values it starts.

Parameter-efficient methods are PEFT's own; what is added here is a start from real text, which PEFT offers for prompts
of a named tokenizer only. Knows nothing of data or of the training loop.
"""

from __future__ import annotations

from itertools import cycle, islice
from typing import Any

import torch
from peft import LoraConfig, PeftModel, PrefixTuningConfig, PromptEncoderConfig, PromptTuningConfig, get_peft_model

from toolkit.decoding.engine import Engine
from toolkit.decoding.prefix import Prefix
from toolkit.errors import UserError
from toolkit.tuning.config import Full, Lora, Method, PrefixTuning, PromptTuning, PTuning

CAUSAL: Any = "CAUSAL_LM"


def apply(method: Method, model: Any, tokenizer: Any) -> Any:
    """The model with the method's parameters trainable and, but for full tuning, all others frozen.

    Parameters that train are float32 whatever the model's dtype.
    """
    if isinstance(method, Full):
        return model.float().requires_grad_(True)
    start = _start(method, model, tokenizer)
    tuned = get_peft_model(model, _config(method))
    if start is not None:
        with torch.no_grad():
            tuned.prompt_encoder["default"].embedding.weight.copy_(start)
    for parameter in tuned.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    return tuned


def _config(method: Method) -> Any:
    """PEFT's configuration of a method."""
    match method:
        case PromptTuning():
            return PromptTuningConfig(task_type=CAUSAL, num_virtual_tokens=method.tokens)
        case PrefixTuning():
            return PrefixTuningConfig(task_type=CAUSAL, num_virtual_tokens=method.tokens)
        case PTuning():
            return PromptEncoderConfig(
                task_type=CAUSAL, num_virtual_tokens=method.tokens, encoder_hidden_size=method.hidden
            )
        case Lora():
            return LoraConfig(
                task_type=CAUSAL,
                r=method.rank,
                lora_alpha=method.alpha,  # type: ignore[arg-type]
                lora_dropout=method.dropout,
                target_modules=method.targets,
            )
        case _:
            raise UserError("full tuning has no PEFT configuration", "method")


def _start(method: Method, model: Any, tokenizer: Any) -> torch.Tensor | None:
    """The values that a soft prompt [tokens, hidden] or prefix [tokens, 2 x layers x kv heads x size] starts from."""
    if not isinstance(method, PromptTuning | PrefixTuning):
        return None
    words = tokenizer.encode(method.init, add_special_tokens=False)
    if not words:
        raise UserError("the text has no token", "method.init", "give a sentence")
    ids = list(islice(cycle(words), method.tokens))
    if isinstance(method, PromptTuning):
        weight = model.get_input_embeddings().weight
        start: torch.Tensor = weight[torch.tensor(ids, device=weight.device)].detach().float()
        return start
    return flatten(Engine(model, 1).prefix(ids)).float()


def flatten(prefix: Prefix) -> torch.Tensor:
    """Keys and values as PEFT keeps them: [length, layers x (key, value) x kv heads x size]."""
    stacked = torch.stack([tensor for pair in prefix.layers for tensor in pair])  # [2 layers, heads, length, size]
    return stacked.permute(2, 0, 1, 3).flatten(1).clone()


def trainable(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """The parameters that train, by name."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def is_peft(model: Any) -> bool:
    """Whether a method of PEFT is on the model."""
    return isinstance(model, PeftModel)
