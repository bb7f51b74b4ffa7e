"""Which examples stand before a question and in what order, and the question itself: protocol sections 2, 3 and 7.

`strict` draws a fixed number of orders per set of examples and one question per trial, so that cells are paired;
`paper` draws both anew for every sample. Everything is a function of the seed and of names. Knows nothing of tokens.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from random import Random

from experiments.base import Item
from experiments.operators.config import Design, Variant
from experiments.suites.suite import Exchange, Question, Skill, Suite
from toolkit.calls.syntax import SYNTAXES
from toolkit.plugins.examples import example_fragment, turn
from toolkit.plugins.fragment import Fragment, join

CALL = re.compile(r"\[[A-Za-z_][^\]]*\] ?")


def number(*key: object) -> int:
    """A 63-bit number that depends on nothing but the key."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, key)).encode()).digest()[:8], "big") >> 1


@lru_cache(maxsize=256)
def shown(exchange: Exchange, syntax: str) -> Fragment:
    """An example in a syntax; with `none`, the example without its calls."""
    question, answer = exchange
    if syntax == "none":
        return example_fragment(question, CALL.sub("", answer))
    return example_fragment(question, answer, SYNTAXES[syntax])


@lru_cache(maxsize=1024)
def all_shown(exchanges: tuple[Exchange, ...], syntax: str) -> tuple[tuple[Fragment, ...], str]:
    """Examples in a syntax, and the digest of them one after the other."""
    parts = tuple(shown(exchange, syntax) for exchange in exchanges)
    return parts, join(parts).digest


@dataclass(frozen=True)
class Asked:
    """One item made concrete: examples in order, the question, and what identifies and seeds the sample.

    `prefix` is the digest of all examples together.
    """

    item: Item
    parts: tuple[Fragment, ...]
    prefix: str
    order: int
    held_out: bool
    question: Question
    seed: int

    @property
    def prompt(self) -> str:
        """What follows the examples: `<Guest> question`, a newline, `<AI>`."""
        return turn(self.question.text)


@dataclass(frozen=True)
class Prompts:
    """Makes questions and prompts of one configuration."""

    suite: Suite
    introduction: tuple[str, ...]
    design: Design
    seed: int
    orders: int
    _drawn: dict[tuple[tuple[str, ...], int], tuple[Exchange, ...]] = field(default_factory=dict, repr=False)

    @cached_property
    def _skills(self) -> dict[str, Skill]:
        return {skill.name: skill for skill in self.suite.skills}

    @cached_property
    def shots(self) -> tuple[int, ...]:
        """All numbers of shots that the design has."""
        most = len(self.introduction)
        return (most - 1, most) if self.design == "leave-one-out" else tuple(range(most + 1))

    def introduced(self, shots: int, skill: str) -> tuple[str, ...]:
        """The skills whose examples are shown when `skill` is asked.

        Triangular: the first `shots` of the order of introduction. Leave-one-out: all of it, or all but the asked one.
        """
        if self.design == "triangular":
            return self.introduction[:shots]
        return tuple(name for name in self.introduction if shots == len(self.introduction) or name != skill)

    def examples(self, item: Item) -> tuple[Exchange, ...]:
        """The exchanges that stand before the item's question, in order."""
        names = self.introduced(item.shots, item.skill)
        if Variant.parse(item.variant).protocol == "paper":
            return self._shuffled(names, "shuffle", item.id)
        key = names, self.order(item)
        if key not in self._drawn:
            self._drawn[key] = self._shuffled(names, "order", ",".join(names), key[1])
        return self._drawn[key]

    def _shuffled(self, names: tuple[str, ...], *key: object) -> tuple[Exchange, ...]:
        exchanges = [*(self._skills[name].example for name in names), *self.suite.controls]
        Random(number(self.seed, *key)).shuffle(exchanges)
        return tuple(exchanges)

    def order(self, item: Item) -> int:
        """The number of the item's order: one of `orders` under `strict`, its own under `paper`."""
        return item.trial if Variant.parse(item.variant).protocol == "paper" else item.trial % self.orders

    def ask(self, item: Item) -> Asked:
        """The sample's examples, question and seed."""
        variant = Variant.parse(item.variant)
        parts, prefix = all_shown(self.examples(item), variant.syntax)
        key = item.id if variant.protocol == "paper" else f"t{item.trial}"
        question = self._skills[item.skill].ask(Random(number(self.seed, "item", key)))
        held_out = item.skill not in self.introduced(item.shots, item.skill)
        return Asked(item, parts, prefix, self.order(item), held_out, question, number(self.seed, item.id))
