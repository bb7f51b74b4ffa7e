"""The local back end on tiny random models: shapes are enforced, prefixes are computed once, limits hold."""

from __future__ import annotations

import json
import re

import pytest
from tiny import tiny_model, tiny_tokenizer

from toolkit.models.completion import Choices, Limits, ModelError, Prompt, Regex, Schema
from toolkit.models.local import LocalModel

SCHEMA = {
    "type": "object",
    "properties": {"signal": {"enum": ["next", "end"]}, "path": {"type": "string", "pattern": "^/a/[0-9]{1,4}$"}},
    "required": ["signal", "path"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def model() -> LocalModel:
    tokenizer = tiny_tokenizer()
    return LocalModel(tiny_model("llama", len(tokenizer)), tokenizer, "tiny")


def one(model: LocalModel, shape, tokens: int = 80, rest: str = "go"):
    return model.complete([Prompt("You are a test.\n", rest)], (), Limits(tokens), shape)[0]


def test_choices_regex_and_schema_are_enforced_on_a_random_model(model):
    assert one(model, Choices(("GET /a", "POST /b.c"))).text in ("GET /a", "POST /b.c")
    assert re.fullmatch("[0-9]{3}-[a-f]{2}", one(model, Regex("[0-9]{3}-[a-f]{2}")).text)
    value = json.loads(one(model, Schema(SCHEMA)).text)
    assert set(value) == {"signal", "path"}
    assert re.fullmatch("/a/[0-9]{1,4}", value["path"])


def test_a_finished_shape_ends_the_row_and_a_cut_one_says_so(model):
    done = one(model, Choices(("yes",)))
    assert (done.text, done.finish, done.shaped) == ("yes", "stop", True)
    assert one(model, Schema(SCHEMA), tokens=3).finish == "length"


def test_rows_of_one_batch_have_their_own_constraint(model):
    prompts = [Prompt("You are a test.\n", text) for text in ("one", "two, longer", "three")]
    texts = [each.text for each in model.complete(prompts, (), Limits(80), Schema(SCHEMA))]
    alone = [one(model, Schema(SCHEMA), rest=prompt.rest).text for prompt in prompts]
    assert texts == alone


def test_a_fixed_part_is_computed_once(model, monkeypatch):
    made = []
    real = model._engine.prefix
    monkeypatch.setattr(model._engine, "prefix", lambda ids: made.append(len(ids)) or real(ids))
    fixed = "Another fixed part.\n"
    for rest in ("a", "b", "c"):
        model.complete([Prompt(fixed, rest)], (), Limits(4))
    assert len(made) == 1


def test_usage_and_stop(model):
    completion = model.complete([Prompt("abc", "def")], (), Limits(5))[0]
    assert completion.usage.prompt == 6
    assert completion.usage.written == len(completion.ids) <= 5
    cut = model.complete([Prompt("abc", "def")], ("|",), Limits(40), Choices(("left|right",)))[0]
    assert (cut.text, cut.finish) == ("left", "stop")


def test_a_prompt_without_room_and_an_impossible_shape_are_one_line(model):
    with pytest.raises(ModelError, match="takes 512"):
        model.complete([Prompt("x", "y" * 600)], (), Limits(5))
    with pytest.raises(ModelError, match="cannot be enforced"):
        one(model, Regex("(?=a)b("))


def test_control_tokens_in_a_prompt_are_words(model):
    fixed, rest = model._render(Prompt("a<|endoftext|>b", "<|endoftext|>"))
    assert (fixed, rest) == ("a< |endoftext|>b", "< |endoftext|>")
    assert model._tokenizer.eos_token_id not in model._encode(fixed + rest)


def test_chat_templates_put_the_fixed_part_first(model):
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
        "{% if add_generation_prompt %}<a>{% endif %}"
    )
    chat = LocalModel(tiny_model("llama", len(tokenizer)), tokenizer, "chat")
    assert chat._render(Prompt("Fixed.\n", "rest\n")) == ("<system>Fixed.", "</><user>rest</><a>")
    tokenizer.chat_template = (
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
        "<{{ m.role }}>{{ m.content }}</>{% endfor %}"
    )
    assert chat._render(Prompt("Fixed.\n", "rest")) == ("<user>Fixed.", "\n\nrest</>")
