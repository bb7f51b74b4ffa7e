"""A small world in which random models call tools often: a mask that leaves few tokens, and tools of every temper."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from toolkit.decoding.request import Limits, Request, Sampling
from toolkit.tools.outcome import Outcome, Turn
from toolkit.tools.toolbox import Toolbox

TEXT = ["[", "Ġ[", "1", "Ġis", "Ġ", "]", "Ã", "©", "(", "Ċ"]
NAME = ["MATH(", "MATH(", "X("]
ARGUMENTS = ["1", "5", "+", ")", ")]", ").", "(", "Ġ5", "'"]


class Few:
    """A constraint that leaves few tokens, so that a random model writes calls; one object serves one row."""

    def __init__(self, tokenizer: object) -> None:
        vocabulary = tokenizer.get_vocab()
        self._masks = []
        for tokens in (TEXT, NAME, ARGUMENTS):
            mask = torch.zeros(len(tokenizer), dtype=torch.bool)
            mask[[vocabulary[token] for token in tokens if token in vocabulary]] = True
            self._masks.append(mask)
        self._openers = {vocabulary["["], vocabulary["Ġ["]}
        self._closers = {vocabulary[token] for token in (")", ")]", ").") if token in vocabulary}
        self._now = 0

    def mask(self) -> torch.Tensor:
        return self._masks[self._now]

    def advance(self, token: int) -> None:
        assert self._masks[self._now][token]
        if self._now == 0:
            self._now = 1 if token in self._openers else 0
        elif self._now == 1 or token in self._closers:
            self._now = 2 if self._now == 1 else 0


@dataclass
class Echo:
    """Answers with its argument `times` over; fails on an argument that holds a "5"; sleeps when it is slow."""

    name: str = "MATH"
    inline: bool = True
    seconds: float = 0.0
    times: int = 1

    def run(self, arguments: str, history: Sequence[Turn]) -> Outcome:
        if self.seconds:
            time.sleep(random.random() * self.seconds)
        if "5" in arguments:
            return Outcome("error", "fives")
        if arguments == "":
            return Outcome("ok", "")
        return Outcome("ok", f"{arguments} {len(arguments)}" * self.times)


def toolbox(**options: object) -> Toolbox:
    return Toolbox({"MATH": Echo(**options)})


def requests(tokenizer: object, count: int, *, prefix_of=None, temperature: float | None = 1.0, **limits: object):
    """Requests with prompts of many lengths; `prefix_of(n)` names the prefix of the n-th."""
    settings = Sampling() if temperature is None else Sampling(temperature, top_k=12, top_p=0.98)
    for n in range(count):
        prompt = tokenizer.encode(f"{'word ' * (n % 4)}What is {n}?\n<AI>", add_special_tokens=False)
        yield Request(
            id=f"r{n}",
            prompt=prompt,
            prefix=None if prefix_of is None else prefix_of(n),
            seed=n,
            limits=Limits(**{"model_tokens": 30, "calls": 3, **limits}),
            sampling=settings,
            constraint=lambda: Few(tokenizer),
        )


def plain(reply) -> tuple:
    """What must be equal; wall times are not."""
    calls = [(c.name, c.arguments, c.outcome.status, c.outcome.text, c.start, c.end) for c in reply.calls]
    return reply.id, reply.ids, reply.source, reply.text, calls, reply.finish
