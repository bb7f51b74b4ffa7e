"""Tiny random models and a byte-level tokenizer for exact tests; needs no network and no file.

One builder per model family whose attention differs in a way the decoder must get right: learned positions (GPT-2),
a local window counted in cache slots (GPT-Neo), partial rotary (GPT-NeoX), grouped keys (Llama), biased projections
(Qwen2), normed queries (Qwen3), one shared key head and wide heads (Gemma), a sliding window (Mistral).
Weights are drawn wide enough that greedy text is not one token repeated.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedModel, PreTrainedTokenizerFast

MERGES = (
    (")", "]"),
    (")", "."),
    ("]", "."),
    ("]", ","),
    (")]", "."),
    ("-", ">"),
    ("Ġ", "->"),
    ("Ġ", "["),
    ("M", "A"),
    ("T", "H"),
    ("MA", "TH"),
    ("MATH", "("),
    ("Ġ", "5"),
    ("1", "5"),
    ("Ġ", "i"),
    ("Ġi", "s"),
)
END_OF_TEXT = "<|endoftext|>"
WINDOW = 8
FAMILIES = ("gpt_neo", "gpt2", "gpt_neox", "llama", "qwen2", "qwen3", "gemma", "mistral")

_ROTARY: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 512,
    "initializer_range": 0.25,
}
_GROUPED: dict[str, Any] = _ROTARY | {"num_key_value_heads": 2, "head_dim": 8}


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer: 256 bytes, the tokens of `MERGES`, and the end-of-text token with the last id."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = alphabet + ["".join(pair) for pair in MERGES]
    core = Tokenizer(models.BPE({token: index for index, token in enumerate(tokens)}, list(MERGES)))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token=END_OF_TEXT, bos_token=END_OF_TEXT, clean_up_tokenization_spaces=False
    )


def _config(family: str, vocab: int) -> transformers.PretrainedConfig:
    """The configuration of a tiny model of that family."""
    ends: dict[str, Any] = {"vocab_size": vocab, "bos_token_id": vocab - 1, "eos_token_id": vocab - 1}
    match family:
        case "gpt_neo":
            return transformers.GPTNeoConfig(
                **ends,
                hidden_size=32,
                num_layers=4,
                attention_types=[[["global", "local"], 2]],
                num_heads=4,
                window_size=WINDOW,
                max_position_embeddings=512,
                initializer_range=0.25,
                resid_dropout=0.0,
                embed_dropout=0.0,
                attention_dropout=0.0,
            )
        case "gpt2":
            return transformers.GPT2Config(
                **ends, n_embd=32, n_layer=3, n_head=4, n_positions=512, initializer_range=0.25
            )
        case "gpt_neox":
            return transformers.GPTNeoXConfig(**ends, **_ROTARY)
        case "llama":
            return transformers.LlamaConfig(**ends, **_GROUPED)
        case "qwen2":
            return transformers.Qwen2Config(**ends, **_ROTARY, num_key_value_heads=2)
        case "qwen3":
            return transformers.Qwen3Config(**ends, **_GROUPED)
        case "gemma":
            return transformers.GemmaConfig(**ends, **_ROTARY, num_key_value_heads=1, head_dim=16)
        case "mistral":
            return transformers.MistralConfig(**ends, **_GROUPED, sliding_window=WINDOW)
    raise ValueError(f"no tiny model of family {family!r}; there are {FAMILIES}")


def tiny_model(family: str, vocab: int | None = None, seed: int = 0, **changes: Any) -> PreTrainedModel:
    """A random float32 model in eval mode without gradients; `vocab` defaults to `tiny_tokenizer()`'s size.

    `changes` are set on the configuration before the model is built, for instance `attn_implementation="eager"`.
    """
    attention = changes.pop("attn_implementation", None)
    config = _config(family, len(tiny_tokenizer()) if vocab is None else vocab)
    for key, value in changes.items():
        setattr(config, key, value)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        options = {} if attention is None else {"attn_implementation": attention}
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32, **options)
        with torch.no_grad():  # biases start at zero and norms at one: draw them, so that a forgotten one is seen
            for parameter in model.parameters():
                if parameter.ndim == 1:
                    parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval().requires_grad_(False)


def tiny_folder(folder: Path, family: str = "llama", seed: int = 0) -> Path:
    """Save a tiny model with its tokenizer into `folder`, loadable by `from_pretrained`; returns the folder."""
    tiny_model(family, seed=seed).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def gpt2_tokenizer(shared_data: Path) -> PreTrainedTokenizerFast:
    """The GPT-2 vocabulary of the shared data folder (a bare vocab and merges, which AutoTokenizer refuses)."""
    tokenizer = transformers.GPT2TokenizerFast.from_pretrained(shared_data / "gpt2_tokenizer")
    assert len(tokenizer) == 50257 and tokenizer.eos_token_id == 50256
    return tokenizer
