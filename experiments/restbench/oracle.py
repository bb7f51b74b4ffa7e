"""How an episode on a simulated service is judged: the types every oracle shares, and grounding, that is, the proof
that a value came from a response of this very episode and not from memory. It knows neither service; what a task
expects is said by `movies/` and `music/`.

A check is a function (world before, world after, HTTP log, final answer) -> Verdict. Reads ask for the right values
and their evidence in the log; writes compare the two worlds. A log entry is a `toolkit.restgpt.exchange.Exchange`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl, urlsplit

from experiments.restbench.data import Scenario
from experiments.restbench.matching import normalise


class HttpEntry(Protocol):
    """One request of the episode, as `toolkit.restgpt.exchange.Exchange` records it."""

    @property
    def method(self) -> str:
        """Upper-case verb."""

    @property
    def endpoint(self) -> str | None:
        """`METHOD /path/{template}`, None when no endpoint was meant."""

    @property
    def url(self) -> str | None:
        """The URL with its query, None when nothing was sent."""

    @property
    def sent(self) -> Any:
        """The JSON body of the request, None without one."""

    @property
    def status(self) -> int | None:
        """HTTP status, None when no answer came."""

    @property
    def json(self) -> Any:
        """The parsed body of the answer, None without one."""


HttpLog = Sequence[HttpEntry]


def succeeded(entry: HttpEntry) -> bool:
    """Whether the request was answered with a 2xx status."""
    return entry.status is not None and 200 <= entry.status < 300


class Verdict(NamedTuple):
    """The judgement; `reason` says in one clause what was right or what was missing."""

    ok: bool
    reason: str


_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT")
Check = Callable[[Any, Any, HttpLog, str], Verdict]


@dataclass(frozen=True)
class Task:
    """One question: its RestBench index, the kind of check that judges it and the parameters of that check."""

    scenario: Scenario
    index: int
    query: str
    kind: str
    params: Mapping[str, Any] = field(default_factory=dict)
    answerable: bool = True


@dataclass(frozen=True)
class Leaf:
    """Evidence: this text (name, date, path) stood as a whole value, or within one, in a successful response."""

    value: str


@dataclass(frozen=True)
class Fact:
    """Evidence: a successful response held an object with this `id` whose field `key` had this value."""

    owner: int | str
    key: str
    value: str | int | float | bool | None


Evidence = Leaf | Fact


class Seen:
    """Everything the successful responses of an episode showed."""

    def __init__(self, log: HttpLog) -> None:
        self._leaves: set[str] = set()
        self._facts: set[tuple[Any, str, Any]] = set()
        for entry in log:
            if succeeded(entry):
                self._read(entry.json, _asked(entry.url))
        self._text = " | ".join(sorted(self._leaves))

    def missing(self, evidence: Sequence[Evidence]) -> Evidence | None:
        """The first piece of evidence that no response showed; None when all were shown."""
        return next((item for item in evidence if not self.shows(item)), None)

    def shows(self, item: Evidence) -> bool:
        """Whether a successful response showed this. What only repeats the agent's own search text is not shown."""
        if isinstance(item, Fact):
            return (item.owner, item.key, item.value) in self._facts
        wanted = normalise(item.value)
        return wanted in self._leaves or (bool(wanted) and f" {wanted} " in self._text)

    def repeated(self, text: str) -> int:
        """How many different values of the responses (of four letters or more) stand in the text."""
        words = f" {normalise(text)} "
        return sum(len(leaf) >= 4 and f" {leaf} " in words for leaf in self._leaves)

    def _read(self, body: Any, asked: Sequence[str]) -> None:
        for owner, key, value in _scalars(body):
            if isinstance(value, str):
                leaf = normalise(value)
                if not any(leaf and f" {leaf} " in f" {text} " for text in asked):
                    self._leaves.add(leaf)
                    if _TIMESTAMP.match(value):
                        self._leaves.add(normalise(value[:10]))
            self._facts.add((owner, key, value))


def _asked(url: str | None) -> list[str]:
    """The agent's own words in a request: its query values, normalised."""
    return [normalise(value) for _, value in parse_qsl(urlsplit(url or "").query)]


def _scalars(body: Any) -> Iterator[tuple[Any, str, Any]]:
    """Every scalar of a JSON value with its key and the `id` of the nearest enclosing object; no recursion."""
    stack: list[tuple[Any, str, Any]] = [(None, "", body)]
    while stack:
        owner, key, value = stack.pop()
        if isinstance(value, dict):
            own = value.get("id")
            inner = own if isinstance(own, int | str) else owner
            stack.extend((inner, name, item) for name, item in value.items())
        elif isinstance(value, list):
            stack.extend((owner, key, item) for item in value)
        else:
            yield owner, key, value
