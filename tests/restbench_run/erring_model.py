"""A model that knows the way but errs at random."""

from __future__ import annotations

import random
from typing import Any

from experiments.restbench.backends import Backend, oracle
from toolkit.models.completion import Completion, CompletionModel, Limits, ModelError, Prompt, Shape, Usage

JUNK = (
    '{"signal": "end", "text": "It is Paris.", "solved": true}',
    '{"calls": [{"call": "GET /movie/popular", "purpose": "to look"}], "note": ""}',
    '{"calls": [{"call": "GET /movie/987654", "purpose": "to look"}], "note": ""}',
    '{"calls": [{"call": "GET /person/{person_id}/images", "purpose": "to look"}], "note": ""}',
    '{"calls": [{"call": "PUT /me/player/pause", "purpose": "to stop"}], "note": ""}',
    '{"method": "GET", "path": "/movie/popular", "query": {"page": "x"}, "output": ""}',
    "```python\nprint(data['nothing'])\n```",
    "```python\nprint('id 12345')\n```",
    "no JSON at all",
    '{"text": "\ud800"}',
    "",
)


class Erring:
    """The oracle, except that one reply in three is junk, drawn from a seed; now and then it is gone."""

    name = "erring"

    def __init__(self, inner: CompletionModel, seed: int) -> None:
        self._inner, self._random = inner, random.Random(seed)
        self.context = inner.context

    def complete(
        self, prompts: list[Prompt], stop: Any, limits: Limits, shape: Shape | None = None
    ) -> list[Completion]:
        draw = self._random.random()
        if draw < 0.01:
            raise ModelError("the model has gone")
        if draw < 0.34:
            return [Completion(self._random.choice(JUNK), None, Usage(10, 10), "stop")]
        try:
            return self._inner.complete(prompts, stop, limits, shape)
        except (ModelError, IndexError):
            return [Completion(self._random.choice(JUNK), None, Usage(10, 10), "stop")]

    def count(self, text: str) -> int:
        return self._inner.count(text)


def erring(_: Any) -> Backend:
    """A back end of models that err."""
    return Backend({"model": "erring"}, lambda *about: Erring(oracle(*about), about[1].index))
