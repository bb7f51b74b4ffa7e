"""Answers questions with a real model through the interceptor: loads it, shares prefixes, makes requests.

Rows that follow the same examples share one prefix, in which the leading tokens that all questions of a suite have in
common (`<Guest> What is`) are included. Under `paper` each question has its own order of examples, so rows share only
as many leading examples as enough of their neighbours begin with; the rest of the prompt is computed per row. What that
protocol costs: with 126 trials and 64 slots all of the examples' text is shared at N = 0, 35 % of it at N = 5. This is
the one file of the experiment that imports torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from experiments.operators.config import ModelConfig, OperatorsConfig, Variant
from experiments.operators.prompts import Asked
from experiments.suites.suite import Suite
from toolkit.decoding.interceptor import Interceptor
from toolkit.decoding.policy import PAPER, STRICT
from toolkit.decoding.prefix import Prefix
from toolkit.decoding.request import GREEDY, Limits, Reply, Request, Sampling
from toolkit.errors import UserError
from toolkit.models.describe import describe
from toolkit.models.load import load
from toolkit.models.spec import ModelSpec
from toolkit.plugins.examples import turn
from toolkit.plugins.fragment import Fragment
from toolkit.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from toolkit.models.constrained_calls import CallGrammar  # needs the extra `rest`

CALLS = {"strict": 4, "paper": 16}  # calls of one reply; far above use, which needs one (F8)
WINDOW = 512  # rows that are looked at together for common examples
ENOUGH = 3  # rows that must begin alike before `paper` holds their common examples as a prefix
Parts = tuple[Fragment, ...]


class Answers(Protocol):
    """What the experiment asks of an engine; tests put a scripted one in its place."""

    description: dict[str, Any]

    def answer(self, asked: Iterable[Asked]) -> Iterator[Reply]:
        """Replies in any order; `Reply.id` is the item's id. Takes the next question only when it can begin it."""
        ...


def spec_of(model: ModelConfig) -> ModelSpec:
    """The part of a model's configuration that loading needs."""
    return ModelSpec(**{name: getattr(model, name) for name in ModelSpec.model_fields})


class Loaded:
    """A model in memory, with an interceptor per variant."""

    def __init__(self, model: ModelConfig) -> None:
        self.config = model
        self.model, self.tokenizer = load(spec_of(model))
        self.description: dict[str, Any] = describe(self.model, self.tokenizer, spec_of(model))


class LiveEngine:
    """Answers the questions of one variant with one model.

    `base`, if set, is a prefix that stands before everything else: what prompt or prefix tuning has learned.
    """

    def __init__(self, loaded: Loaded, variant: Variant, suite: Suite, config: OperatorsConfig) -> None:
        from toolkit.calls.syntax import ARROW, SYNTAXES

        self.description, self.tokenizer, self.variant = loaded.description, loaded.tokenizer, variant
        self.interceptor = Interceptor(
            loaded.model,
            loaded.tokenizer,
            Toolbox({} if variant.syntax == "none" else suite.tools),
            SYNTAXES.get(variant.syntax, ARROW),
            PAPER if variant.protocol == "paper" else STRICT,
            config.slots,
            config.memory,
        )
        self.grammar = call_grammar(loaded.model, loaded.tokenizer, variant, suite) if variant.constrained else None
        budget = loaded.config.segment_tokens if variant.protocol == "paper" else loaded.config.model_tokens
        self.limits = Limits(model_tokens=budget, calls=CALLS[variant.protocol])
        self.sampling = (
            GREEDY if variant.temperature is None else Sampling(variant.temperature, config.top_k, config.top_p)
        )
        self.base: Prefix | None = None
        self.lead = common_lead(self.tokenizer, suite)
        self.kept: dict[tuple[tuple[str, ...], bool], Prefix] = {}

    def answer(self, asked: Iterable[Asked]) -> Iterator[Reply]:
        """Replies as their rows finish. Questions with the same leading examples must stand together."""
        return self.interceptor.run(self._requests(iter(asked)))

    def _requests(self, asked: Iterator[Asked]) -> Iterator[Request]:
        self.kept = {}
        if self.variant.protocol != "paper":
            for one in asked:
                yield self._request(one, len(one.parts))
            return
        while window := list(islice(asked, WINDOW)):
            for one, depth in zip(window, shared_parts([one.parts for one in window]), strict=True):
                yield self._request(one, depth)

    def _request(self, one: Asked, depth: int) -> Request:
        prompt = self.tokenizer.encode(one.prompt, add_special_tokens=False)
        rest = [token for part in one.parts[depth:] for token in part.ids(self.tokenizer)]
        leads = depth == len(one.parts) and prompt[: len(self.lead)] == self.lead
        prefix = self._prefix(one.parts, depth, self.lead if leads else [])
        return Request(
            one.item.id,
            [*rest, *(prompt[len(self.lead) :] if leads else prompt)],
            prefix=prefix,
            seed=one.seed,
            limits=self.limits,
            sampling=self.sampling,
            constraint=None if self.grammar is None else self.grammar.constraint,
        )

    def _prefix(self, parts: Parts, depth: int, lead: list[int]) -> Prefix | None:
        """The prefix of the first `depth` examples and the leading tokens, computed once.

        Only prefixes that these examples begin with are kept; rows hold on to theirs until they are done.
        """
        if not depth and not lead:
            return self.base
        digests = tuple(part.digest for part in parts)
        self.kept = {key: kept for key, kept in self.kept.items() if digests[: len(key[0])] == key[0]}
        key = digests[:depth], bool(lead)
        if key not in self.kept:
            ids = [token for part in parts[:depth] for token in part.ids(self.tokenizer)]
            self.kept[key] = self.interceptor.prefix([*ids, *lead], self.base)
        return self.kept[key]


def call_grammar(model: Any, tokenizer: Any, variant: Variant, suite: Suite) -> CallGrammar:
    """The calls that a suite's APIs take, for `-constrained` variants. UserError without the library for grammars."""
    from toolkit.calls.syntax import SYNTAXES

    try:
        from toolkit.models.constrained_calls import CallGrammar
    except ModuleNotFoundError as error:
        fix = "pip install 'heldout-toolkit[rest]'"
        raise UserError(f"constrained calls need {error.name}", f"variant {variant.name}", fix) from error
    patterns = {name: suite.patterns.get(name) for name in suite.tools}
    width = int(model.config.get_text_config().vocab_size)
    return CallGrammar(tokenizer, width, SYNTAXES[variant.syntax], patterns)


def common_lead(tokenizer: Any, suite: Suite) -> list[int]:
    """Leading tokens that all questions of a suite have in common, judged by a fixed draw; never a whole prompt."""
    prompts = [
        tokenizer.encode(turn(skill.ask(Random(draw)).text), add_special_tokens=False)
        for skill in suite.skills
        for draw in range(16)
    ]
    first, last = min(prompts), max(prompts)
    length = 0
    while length < min(len(first), len(last)) - 1 and first[length] == last[length]:
        length += 1
    return list(first[:length])


def shared_parts(rows: Sequence[Parts]) -> list[int]:
    """For each row, how many leading examples it shares with at least `ENOUGH` rows of the batch, itself included."""
    shared = [0] * len(rows)

    def descend(members: list[int], depth: int) -> None:
        deeper = [index for index in members if len(rows[index]) > depth]
        deeper.sort(key=lambda index: rows[index][depth].digest)
        for _, group in groupby(deeper, key=lambda index: rows[index][depth].digest):
            alike = list(group)
            if len(alike) >= ENOUGH:
                for index in alike:
                    shared[index] = depth + 1
                descend(alike, depth + 1)

    descend(list(range(len(rows))), 0)
    return shared
