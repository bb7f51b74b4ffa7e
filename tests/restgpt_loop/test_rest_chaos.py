"""A model that writes anything: whatever it writes, a run ends, raises nothing, and sends nothing undescribed."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence

import pytest
from loop_parts import Service, document

from toolkit.models.completion import Completion, Limits, ModelError, Prompt, Shape, Usage
from toolkit.restgpt.budget import RunLimits
from toolkit.restgpt.http import HttpLimits, RestClient
from toolkit.restgpt.run import Agent
from toolkit.restgpt.spec import spec_from_document
from toolkit.restgpt.strategies import STRATEGIES

GOOD = ("GET /tools/search", "GET /tools/4711", "DELETE /rentals/1", "POST /rentals")
CALLS = (*GOOD * 4, "GET /tools/{tool_id}", "finish", "", "GET //", "A B")
TEXTS = (*CALLS, "drill", "\x00", "\ud800", "{}", "results[].id", "x" * 3000, "../..", "http://elsewhere.test/tools/1")
FIELDS = "signal text solved calls call purpose note method path query body headers output answer query thought action"
CODES = ("print(data)", "print(1/0)", "import os", "x", "print('a' * 10**6)", "```", "raise SystemExit(3)")


class Chaos:
    """Draws its replies from a seed."""

    name, context = "chaos", 4096

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def count(self, text: str) -> int:
        return len(text) // 4

    def complete(
        self, prompts: Sequence[Prompt], stop: Sequence[str], limits: Limits, shape: Shape | None = None
    ) -> list[Completion]:
        if self._random.random() < 0.01:
            raise ModelError("the model has gone")
        return [Completion(self._text(prompt), None, Usage(), "stop") for prompt in prompts]

    def _text(self, prompt: Prompt) -> str:
        draw = self._random.random()
        if "Python program" in prompt.fixed:
            return self._random.choice(CODES)
        planned = re.search(r"^Call: (\w+) (\S+)", prompt.rest, re.MULTILINE)
        if planned and draw < 0.6:
            return json.dumps(self._request(planned[1], planned[2]))
        if draw < 0.1:
            return self._random.choice(TEXTS)
        data = self._sensible() if draw < 0.7 else self._value(0)
        text = json.dumps(data)
        return text if self._random.random() < 0.9 else text[: self._random.randrange(len(text))]

    def _request(self, method: str, path: str) -> dict[str, object]:
        """A request for a planned call, as it should be."""
        query = {"name": "drill"} if path.endswith("search") else {}
        body = {"tool_id": 4711, "days": 1} if method == "POST" else None
        return {"method": method, "path": path.replace("{tool_id}", "4711"), "query": query, "body": body}

    def _sensible(self) -> dict[str, object]:
        """All fields of all modules, mostly of the right kind."""
        pick = self._random.choice
        call = pick(CALLS)
        request = self._request(*pick(GOOD).split())
        steps = [{"call": pick(CALLS), "purpose": pick(TEXTS)} for _ in range(self._random.randrange(3))]
        data: dict[str, object] = {
            **{"signal": pick(["next", "continue", "end"]), "text": pick(TEXTS), "solved": pick([True, False])},
            **{"calls": steps, "steps": steps, "note": pick(TEXTS), "explanation": "because"},
            **request,
            **{
                "thought": "",
                "action": call,
                "input": pick(TEXTS),
                "good": pick([True, False, None]),
                "lesson": "learn",
            },
        }
        if self._random.random() < 0.4:
            data["answer"] = pick(TEXTS)
        return data

    def _value(self, depth: int) -> object:
        kind = self._random.randrange(6 if depth < 3 else 4)
        if kind == 4:
            return [self._value(depth + 1) for _ in range(self._random.randrange(4))]
        if kind == 5:
            return {name: self._value(depth + 1) for name in self._random.sample(FIELDS.split(), 4)}
        return self._random.choice([None, True, 12, -1.5e300, *TEXTS])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 12), marks=pytest.mark.slow)], ids=["few", "many"])
def test_nothing_a_model_writes_breaks_a_run(strategy, seeds):
    spec = spec_from_document(document())
    ends, sent = set(), 0
    for seed in seeds:
        service = Service()
        client = RestClient(spec, transport=service, limits=HttpLimits(retries=0))
        limits = RunLimits(sub_tasks=4, continues=2, calls=6, tokens=60_000)
        answer = Agent(spec, Chaos(seed), client, strategy, limits, confirm=lambda _: True).ask("Rent a drill, id 4711")
        assert answer.text and json.dumps(answer.record()) and answer.page()
        assert all(request.url.host == "rental.test" for request in service.requests)
        assert all(spec.match(request.method, request.url.path) for request in service.requests)
        assert len(service.requests) <= 6
        ends.add(answer.status)
        sent += len(service.requests)
    assert ends <= {"answered", "could_not", "limit", "model_error"}
    assert len(seeds) < 5 or sent > 1
