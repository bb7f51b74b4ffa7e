"""Compiling plugins into a prompt fragment: which examples, in which order, within which length.

Knows manifests, fragments and one method of a tokenizer; knows nothing of models, experiments or the command line.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from toolkit.calls.syntax import ARROW, Syntax
from toolkit.errors import UserError
from toolkit.plugins.examples import example_fragment
from toolkit.plugins.fragment import Fragment, Tokenizer, join
from toolkit.plugins.manifest import Manifest


@dataclass(frozen=True)
class Shot:
    """One example and where it comes from; `index` counts within the API."""

    plugin: str
    api: str
    index: int
    question: str
    answer: str


@dataclass(frozen=True)
class Budget:
    """At most `tokens` tokens of `tokenizer` for a fragment."""

    tokenizer: Tokenizer
    tokens: int

    @classmethod
    def of_context(cls, tokenizer: Tokenizer, context: int, reserve: int) -> Budget:
        """What a context of `context` tokens leaves when `reserve` are kept for question and reply."""
        if reserve >= context:
            raise UserError(f"{reserve} tokens kept for the reply leave nothing of a context of {context}")
        return cls(tokenizer, context - reserve)


def shots(
    plugins: Sequence[Manifest],
    syntax: Syntax = ARROW,
    *,
    first: int | None = None,
    seed: int | None = None,
    budget: Budget | None = None,
) -> list[Shot]:
    """The examples that a fragment holds, in its order.

    Plugins, APIs and examples come in the order given; `first` keeps that many examples of each plugin; `seed` shuffles
    what is kept; with a `budget`, examples are taken until the next one would exceed it, and none is skipped. Two
    plugins with an API of the same name are a UserError that names both.
    """
    refuse_duplicates(plugins)
    kept = [shot for plugin in plugins for shot in islice(_examples(plugin), first)]
    if seed is not None:
        random.Random(seed).shuffle(kept)
    return kept if budget is None else list(_within(kept, syntax, budget))


def compile_plugins(
    plugins: Sequence[Manifest],
    syntax: Syntax = ARROW,
    *,
    first: int | None = None,
    seed: int | None = None,
    budget: Budget | None = None,
) -> Fragment:
    """The prompt fragment of a set of plugins; the options are those of `shots`."""
    chosen = shots(plugins, syntax, first=first, seed=seed, budget=budget)
    return join(example_fragment(shot.question, shot.answer, syntax) for shot in chosen)


def refuse_duplicates(plugins: Sequence[Manifest]) -> None:
    """UserError when two plugins offer an API of the same name."""
    owner: dict[str, str] = {}
    for plugin in plugins:
        for name in plugin.apis:
            if name in owner:
                raise UserError(
                    f"the API {name} is offered by two plugins, {owner[name]!r} and {plugin.name!r}",
                    fix="leave one of them out or rename the API",
                )
            owner[name] = plugin.name


def _examples(plugin: Manifest) -> Iterator[Shot]:
    for name, api in plugin.apis.items():
        for index, (question, answer) in enumerate(api.examples):
            yield Shot(plugin.name, name, index, question, answer)


def _within(kept: Sequence[Shot], syntax: Syntax, budget: Budget) -> Iterator[Shot]:
    """The longest head of `kept` whose fragment fits."""
    used = 0
    for shot in kept:
        used += len(example_fragment(shot.question, shot.answer, syntax).ids(budget.tokenizer))
        if used > budget.tokens:
            return
        yield shot
