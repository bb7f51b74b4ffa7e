"""The interceptor inside Hugging Face's own `generate`."""

from __future__ import annotations

import pytest
import rig
import torch
from tiny import tiny_model, tiny_tokenizer
from transformers import StopStringCriteria

from toolkit.decoding import Interceptor, Limits, Request
from toolkit.errors import UserError

TOKENIZER = tiny_tokenizer()
TOKENIZER.pad_token, TOKENIZER.padding_side = TOKENIZER.eos_token, "left"
PROMPTS = ["What is 5?", "A longer question than a window: what is 15 + 5?", "Hi"]


def batch():
    return TOKENIZER(PROMPTS, return_tensors="pt", padding=True)


def few_tokens(ids, scores):
    """A logits processor that leaves the tokens of a call."""
    opener, name, digit, *closers = TOKENIZER.convert_tokens_to_ids(["[", "MATH(", "1", ")", ")]"])
    follow = {opener: [name], name: [digit, *closers], digit: [digit, *closers]}
    masked = torch.full_like(scores, float("-inf"))
    for row, last in enumerate(ids[:, -1].tolist()):
        masked[row, follow.get(last, [opener])] = scores[row, follow.get(last, [opener])]
    return masked


@pytest.mark.parametrize("family", ["gpt_neo", "llama"])
def test_without_calls_equals_plain_generate(family):
    model = tiny_model(family)
    interceptor = Interceptor(model, TOKENIZER, rig.toolbox())
    options = {"max_new_tokens": 12, "do_sample": False, "repetition_penalty": 1.3}
    plain = model.generate(**batch(), **options)
    assert torch.equal(model.generate(**batch(), **options, custom_generate=interceptor), plain)


def test_calls_are_injected_and_rows_keep_their_text_in_company():
    model = tiny_model("gpt_neo")
    interceptor = Interceptor(model, TOKENIZER, rig.toolbox())
    options = {"max_new_tokens": 14, "do_sample": True, "temperature": 0.8, "top_k": 20, "seed": 3}
    options |= {"logits_processor": [few_tokens], "custom_generate": interceptor}
    out = model.generate(**batch(), **options)
    texts = TOKENIZER.batch_decode(out, skip_special_tokens=True)
    assert all(" -> 1 1]" in text or " -> error: " in text or "[MATH()]" in text for text in texts), texts
    alone = model.generate(**TOKENIZER(PROMPTS[:1], return_tensors="pt"), **options)
    assert texts[0] == TOKENIZER.decode(alone[0], skip_special_tokens=True)


def test_equals_run_when_greedy():
    model = tiny_model("llama")
    interceptor = Interceptor(model, TOKENIZER, rig.toolbox())
    out = model.generate(**TOKENIZER(PROMPTS[:1], return_tensors="pt"), max_new_tokens=9, custom_generate=interceptor)
    prompt = TOKENIZER.encode(PROMPTS[0])
    (reply,) = interceptor.run([Request("x", prompt, limits=Limits(9), stop=())])
    assert out[0].tolist() == prompt + reply.ids


def test_output_object_and_several_sequences():
    model = tiny_model("llama")
    interceptor = Interceptor(model, TOKENIZER, rig.toolbox())
    inputs = TOKENIZER(PROMPTS[:1], return_tensors="pt")
    options = {"do_sample": True, "num_return_sequences": 4, "max_new_tokens": 8, "return_dict_in_generate": True}
    out = model.generate(**inputs, **options, custom_generate=interceptor, seed=1)
    assert out.sequences.shape[0] == 4 and len({tuple(row.tolist()) for row in out.sequences}) > 1


def test_what_cannot_be_honoured_is_refused():
    model = tiny_model("llama")
    interceptor = Interceptor(model, TOKENIZER, rig.toolbox())
    inputs = TOKENIZER(PROMPTS[:1], return_tensors="pt")
    with pytest.raises(UserError, match="another model"):
        tiny_model("llama").generate(**inputs, custom_generate=interceptor, max_new_tokens=2)
    with pytest.raises(UserError, match="StopStringCriteria"):
        criteria = [StopStringCriteria(TOKENIZER, ["x"])]
        model.generate(**inputs, custom_generate=interceptor, max_new_tokens=2, stopping_criteria=criteria)
