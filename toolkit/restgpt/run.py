"""Answers one question over one service: puts the parts together, runs a strategy, and reports honestly how it ended.

The Python API. A strategy's end, a limit that was hit, a model that gave nothing and a dry run all become an `Answer`;
only mistakes of the user (`UserError`) leave here as exceptions. Knows nothing of the command line.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from toolkit.models.completion import CompletionModel, ModelError, open_model
from toolkit.restgpt.asking import Asker, NoAnswer
from toolkit.restgpt.budget import Budget, LimitReached, RunLimits
from toolkit.restgpt.caller import Caller
from toolkit.restgpt.evidence import Evidence
from toolkit.restgpt.executor import Confirm, DryRun, Executor
from toolkit.restgpt.http import RestClient, credentials_from_environment
from toolkit.restgpt.parser import Parser
from toolkit.restgpt.planner import Planner
from toolkit.restgpt.render import render_endpoints
from toolkit.restgpt.sandbox import protections
from toolkit.restgpt.selector import Selector
from toolkit.restgpt.spec import Spec, load_spec
from toolkit.restgpt.strategies import Method, find_strategy
from toolkit.restgpt.trace import Step, Trace
from toolkit.restgpt.workbench import Verdict, Workbench

ENDPOINTS_SHARE = 0.3
Status = Literal["answered", "could_not", "limit", "model_error", "dry_run"]


@dataclass(frozen=True)
class Answer:
    """How a run ended. `text` is always fit to show to the user; `trace` has every step.

    `status` "answered" means that the strategy says it fulfilled the request and at least one call succeeded.
    """

    question: str
    text: str
    status: Status
    strategy: str
    model: str
    budget: dict[str, dict[str, float]]
    trace: Trace = field(repr=False)

    @property
    def solved(self) -> bool:
        """Whether the request was fulfilled, as far as the run can tell."""
        return self.status == "answered"

    def record(self) -> dict[str, Any]:
        """The answer with its whole trace as JSON data."""
        data = {name: getattr(self, name) for name in _RECORDED}
        return {**data, "trace": self.trace.record()}

    def page(self) -> str:
        """The trace as a readable, self-contained HTML page."""
        spent = ", ".join(f"{value:g} {name.replace('_', '-')}" for name, value in self.budget["spent"].items())
        header = {"strategy": self.strategy, "model": self.model, "spent": spent, "sandbox": ", ".join(protections())}
        return self.trace.page(self.question, self.text, self.status, header)


_RECORDED = ("question", "text", "status", "strategy", "model", "budget")


def never(_: Any) -> bool:
    """The default for writes when nobody can be asked: do not send."""
    return False


@dataclass(frozen=True)
class Agent:
    """Answers questions over one service with one model; make it once and ask often.

    Writes are sent only if `confirm` says so. With `dry_run` nothing is sent at all.
    """

    spec: Spec
    model: CompletionModel
    client: RestClient
    strategy: str = "restgpt"
    limits: RunLimits = field(default_factory=RunLimits)
    confirm: Confirm = never
    dry_run: bool = False

    def ask(self, question: str, listener: Callable[[Step], None] | None = None) -> Answer:
        """Answer one question; `listener` hears of every step. Raises `UserError` for an unknown strategy only."""
        method = find_strategy(self.strategy)
        trace, budget = Trace(listener), Budget(self.limits)
        status: Status
        try:
            verdict = method.make().solve(question, self._bench(question, method, budget, trace))
            status, text = _judge(verdict, trace)
        except LimitReached as limit:
            trace.add("limit", name=limit.name, limit=limit.limit, text=str(limit))
            status, text = "limit", f"Could not finish: {limit}.{_last_result(trace)}"
        except NoAnswer as problem:
            status, text = "could_not", f"Could not go on: {problem}.{_last_result(trace)}"
        except ModelError as problem:
            status, text = "model_error", f"Could not go on: {problem}.{_last_result(trace)}"
        except DryRun:
            status, text = "dry_run", "Dry run: the requests above were not sent."
        trace.add("answer", status=status, text=text)
        return Answer(question, text, status, method.name, self.model.name, budget.record(), trace)

    def _bench(self, question: str, method: Method, budget: Budget, trace: Trace) -> Workbench:
        """The parts for one question."""
        asker, evidence = Asker(self.model, trace, budget), Evidence(question)
        endpoints = render_endpoints(self.spec, asker.room(ENDPOINTS_SHARE), self.model.count, question)
        parser = Parser(asker, self.spec, trace, method.parser)
        caller = Caller(asker, self.spec, self.client)
        executor = Executor(caller, self.client, parser, budget, trace, evidence, self.confirm, self.dry_run)
        selector = Selector(asker, self.spec, endpoints)
        return Workbench(self.spec, endpoints, asker, Planner(asker), selector, executor, budget, trace, evidence)


def ask(
    question: str, spec: str | Path, model: str, server: str | None = None, strategy: str = "restgpt", **options: Any
) -> Answer:
    """Answer one question from names alone: a description file or URL and a model string.

    Credentials come from the environment. `options` are further fields of `Agent`. Raises `UserError` for an unusable
    spec, model, server or strategy.
    """
    description = load_spec(spec)
    with RestClient(description, server, credentials_from_environment(description, os.environ)) as client:
        return Agent(description, open_model(model), client, strategy, **options).ask(question)


def _judge(verdict: Verdict, trace: Trace) -> tuple[Status, str]:
    """Status and text of a verdict; an answer that no successful call supports is not passed off as one."""
    if not verdict.solved:
        return "could_not", f"Could not: {verdict.text}"
    if not any(exchange["error"] is None for exchange in trace.of("exchange")):
        return "could_not", f"Could not: no call to the service succeeded. The model's own words: {verdict.text}"
    return "answered", verdict.text


def _last_result(trace: Trace) -> str:
    """What was found last, for answers that had to stop early."""
    results = trace.of("result")
    return f" Found so far: {results[-1]['text'][:600]}" if results else ""
