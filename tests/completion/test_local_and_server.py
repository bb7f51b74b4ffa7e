"""The same real decoding behind both back ends, and a whole run of the planner on a real small model."""

from __future__ import annotations

import json
import re

import pytest
from loop_parts import SECRET, Service, document
from openai_server import openai_server
from tiny import tiny_model, tiny_tokenizer

from toolkit.models.completion import CompletionModel, Limits, ModelError, Prompt, Schema, open_model
from toolkit.models.local import LocalModel
from toolkit.restgpt.budget import RunLimits
from toolkit.restgpt.http import RestClient
from toolkit.restgpt.run import Agent, Answer
from toolkit.restgpt.spec import spec_from_document

SHAPE = Schema(
    {
        "type": "object",
        "properties": {"signal": {"enum": ["next", "end"]}, "number": {"type": "string", "pattern": "^[0-9]{1,3}$"}},
        "required": ["signal", "number"],
        "additionalProperties": False,
    }
)


@pytest.fixture(scope="module")
def tiny() -> LocalModel:
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}<a>"
    return LocalModel(tiny_model("llama", len(tokenizer)), tokenizer, "tiny")


def test_a_server_over_the_local_back_end_says_the_same(tiny, monkeypatch):
    prompt = Prompt("You are a test.\n", "go\n")
    with openai_server(tiny, key="sk-local") as url:
        monkeypatch.setenv("LOCAL_KEY", "sk-local")
        served = open_model(f"openai:{url}", key_env="LOCAL_KEY")
        assert served.context == tiny.context
        local = tiny.complete([prompt], [], Limits(60), SHAPE)[0]
        remote = served.complete([prompt], [], Limits(60), SHAPE)[0]
        assert (remote.text, remote.usage, remote.shaped) == (local.text, local.usage, None)
        assert set(json.loads(remote.text)) == {"signal", "number"}
        plain = open_model(f"completions:{url}#tiny", key_env="LOCAL_KEY").complete([prompt], [], Limits(4))[0]
        assert plain.usage.written == 4 and plain.finish == "length"
        with pytest.raises(ModelError, match="wrong key"):
            open_model(f"openai:{url}").complete([prompt], [], Limits(4))


def run(model: CompletionModel, service: Service, limits: RunLimits) -> Answer:
    spec = spec_from_document(document())
    client = RestClient(spec, credentials={"token": SECRET}, transport=service)
    return Agent(spec, model, client, limits=limits).ask("Find the tool named drill.")


@pytest.mark.slow
def test_smollm_plans_within_the_service_directly_and_behind_a_server():
    """What a 135M model makes of it is its own affair; that it stays within the service and ends honestly is ours."""
    model = open_model("bundled:smollm2-135m-instruct")
    answer = run(model, Service(), RunLimits(sub_tasks=1, continues=1, calls=2, tokens=1300))
    assert answer.text and answer.status in ("answered", "could_not", "limit")
    endpoints = {f"{verb.upper()} {path}" for path, verbs in document()["paths"].items() for verb in verbs}
    chosen = [step for step in answer.trace.of("model") if step["module"] == "selector" and step["finish"] == "stop"]
    for call in (call for step in chosen for call in step["parsed"]["calls"]):
        assert re.sub(r"/-?[0-9]+", "/{id}", call["call"]) in {re.sub(r"{\w+}", "{id}", key) for key in endpoints}
    assert all(exchange["endpoint"] for exchange in answer.trace.of("exchange"))
    with openai_server(model) as url:
        served = open_model(f"openai:{url}")
        prompt = Prompt("Answer with JSON.\n", "Say next.\n")
        assert (
            served.complete([prompt], [], Limits(60), SHAPE)[0].text
            == model.complete([prompt], [], Limits(60), SHAPE)[0].text
        )
