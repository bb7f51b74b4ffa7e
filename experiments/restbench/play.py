"""Lets a model work on one task: the planner of `toolkit.restgpt` over a simulated service, and the HTTP log as truth.

The log is kept at the service, not in the planner's trace, so that calls which a model only claims to have made are
not in it. `replay` makes the same log again from what a record keeps of it. Judges nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict
from urllib.parse import urlsplit

import httpx2

from experiments.restbench.scenario import Sitting
from experiments.restbench.service import Episode
from toolkit.errors import RunError
from toolkit.models.completion import CompletionModel
from toolkit.restgpt.budget import RunLimits
from toolkit.restgpt.exchange import Exchange
from toolkit.restgpt.http import RestClient
from toolkit.restgpt.run import Agent, Answer
from toolkit.restgpt.spec import Spec

KEPT_DIGITS = 16


class HttpRecord(TypedDict):
    """What a record keeps of one request: enough to send it again and to know that the answer is the same.

    `endpoint` is `METHOD /path/{template}`, None when the service has no such endpoint; `url` a path with its query;
    `body` the JSON sent, None without one; `digest` the first 16 hex digits of the answer's SHA-256.
    """

    endpoint: str | None
    method: str
    url: str
    body: Any
    status: int
    digest: str


@dataclass(frozen=True)
class Rules:
    """How every episode of a variant is played."""

    strategy: str
    limits: RunLimits


def play(sitting: Sitting, question: str, spec: Spec, model: CompletionModel, rules: Rules) -> Answer:
    """One episode; what was sent is in `sitting.episode.log`. Writes are allowed: the account is simulated."""
    with RestClient(spec, transport=transport(sitting.episode)) as client:
        agent = Agent(spec, model, client, rules.strategy, rules.limits, confirm=lambda _: True)
        return agent.ask(question)


def transport(episode: Episode) -> Callable[[httpx2.Request], httpx2.Response]:
    """The episode as a transport of the REST client; it adds the credentials and keeps the log."""

    def send(request: httpx2.Request) -> httpx2.Response:
        content = request.read()
        entry = episode.request(request.method, _relative(str(request.url)), body=json.loads(content or b"null"))
        headers = {"content-type": "application/json"} if entry.text else {}
        return httpx2.Response(entry.status or 500, headers=headers, content=(entry.text or "").encode())

    return send


def record(log: Sequence[Exchange]) -> list[HttpRecord]:
    """The log as records keep it."""
    return [
        {
            "endpoint": entry.endpoint,
            "method": entry.method,
            "url": entry.url or "",
            "body": entry.sent,
            "status": entry.status or 0,
            "digest": _digest(entry),
        }
        for entry in log
    ]


def replay(sitting: Sitting, http: Sequence[HttpRecord]) -> None:
    """Send the recorded requests again. Raises RunError when the service answers something else than it did."""
    for number, sent in enumerate(http, 1):
        entry = sitting.episode.request(sent["method"], sent["url"], body=sent["body"])
        if (entry.status, _digest(entry)) != (sent["status"], sent["digest"]):
            raise RunError(
                f"request {number} ({sent['method']} {sent['url']}) is answered otherwise than in the record"
            )


def _digest(entry: Exchange) -> str:
    return hashlib.sha256((entry.text or "").encode()).hexdigest()[:KEPT_DIGITS]


def _relative(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
