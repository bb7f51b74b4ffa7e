from __future__ import annotations

import json

import torch
from tiny import tiny_model, tiny_tokenizer

from toolkit.models.describe import describe, tokenizer_sha256, weights_sha256
from toolkit.models.spec import ModelSpec


def test_a_description_is_json_and_names_what_matters() -> None:
    model = tiny_model("gpt_neo")
    facts = describe(model, tiny_tokenizer(), ModelSpec(name="neo", path="somewhere"))
    assert json.loads(json.dumps(facts)) == facts
    assert facts["parameters"] == sum(parameter.numel() for parameter in model.parameters())
    expected = {"class": "GPTNeoForCausalLM", "dtype": "float32", "device": "cpu", "attention": "eager", "commit": None}
    assert {key: facts[key] for key in expected} == expected
    assert facts["versions"]["torch"] == torch.__version__


def test_the_weights_hash_follows_every_weight_and_nothing_else() -> None:
    model, same = tiny_model("llama"), tiny_model("llama")
    assert weights_sha256(model) == weights_sha256(same) != weights_sha256(tiny_model("llama", seed=1))
    assert weights_sha256(model.to(torch.bfloat16)) != weights_sha256(same)
    before = weights_sha256(same)
    same.train()
    assert weights_sha256(same) == before
    with torch.no_grad():
        same.model.norm.weight[-1] += 1e-6
    assert weights_sha256(same) != before


def test_the_tokenizers_hash_ignores_padding_and_sees_a_new_token() -> None:
    tokenizer = tiny_tokenizer()
    before = tokenizer_sha256(tokenizer)
    tokenizer.pad_token = tokenizer.eos_token
    tokenizer(["a", "bcd"], padding=True, truncation=True, max_length=2)
    assert tokenizer_sha256(tokenizer) == before
    tokenizer.add_tokens(["<call>"])
    assert tokenizer_sha256(tokenizer) != before
