"""The engine's own check: which models and dtypes it decodes exactly, and which it refuses."""

from __future__ import annotations

import pytest
import torch
import transformers
from tiny import FAMILIES, tiny_model, tiny_tokenizer

from toolkit.decoding import engine as engine_module
from toolkit.decoding.engine import Engine
from toolkit.errors import UserError

SMALL = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "initializer_range": 0.3,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "fp16"])
@pytest.mark.parametrize("family", FAMILIES)
def test_half_precision(family, dtype):
    Engine(tiny_model(family).to(dtype), 4)


@pytest.mark.parametrize("kind", ["Gemma2", "Gemma3Text", "Phi3", "Olmo2"])
def test_soft_caps_and_windows(kind):
    options = SMALL | ({"sliding_window": 8} if kind.startswith("Gemma") else {})
    config = getattr(transformers, f"{kind}Config")(**options)
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    Engine(model, 2)


def test_a_wrong_window_is_seen(monkeypatch):
    """The check can fail: with GPT-Neo's window ignored it does."""
    monkeypatch.setattr(engine_module.Step, "suffix_mask", _without_window(engine_module.Step.suffix_mask))
    with pytest.raises(UserError, match="differs from its own forward pass"):
        Engine(tiny_model("gpt_neo"), 2)


def _without_window(original):
    return lambda self, tokens, length, window: original(self, tokens, length, None)


def test_other_kinds_are_refused():
    config = transformers.BloomConfig(vocab_size=64, hidden_size=32, n_layer=2, n_head=4)
    with pytest.raises(UserError, match="attention interface"):
        Engine(transformers.BloomForCausalLM(config).eval(), 2)
    config = transformers.MambaConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2)
    with pytest.raises(UserError, match="attention interface"):
        Engine(transformers.MambaForCausalLM(config).eval(), 2)


def test_a_prefix_after_a_prefix_is_one_prefix():
    model = tiny_model("gpt_neo")
    engine = Engine(model, 2)
    ids = tiny_tokenizer().encode("What is 15 + 5? A text longer than the window.")
    whole, joined = engine.prefix(ids), engine.prefix(ids[11:], after=engine.prefix(ids[:11]))
    assert joined.length == len(ids) and list(joined.ids) == ids
    for (key, value), (other_key, other_value) in zip(whole.layers, joined.layers, strict=True):
        torch.testing.assert_close(key, other_key, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(value, other_value, atol=1e-5, rtol=1e-5)


def test_embeddings_make_the_same_prefix_as_their_tokens():
    model = tiny_model("llama")
    engine = Engine(model, 2)
    ids = [5, 9, 200, 3]
    rows = model.get_input_embeddings().weight[ids]
    for (key, _), (other, _) in zip(engine.prefix(ids).layers, engine.prefix_from_embeddings(rows).layers, strict=True):
        torch.testing.assert_close(key, other)
