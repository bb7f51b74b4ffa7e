"""What every planning strategy works with: the same model, selector, executor, limits and record.

A strategy gets a `Workbench` made for one question and returns a `Verdict`. Knows no strategy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from toolkit.restgpt.asking import Asker, Module, Unusable, prose, text_field
from toolkit.restgpt.budget import Budget
from toolkit.restgpt.evidence import Evidence
from toolkit.restgpt.executor import Executor
from toolkit.restgpt.planner import Done, Planner
from toolkit.restgpt.selector import Selector
from toolkit.restgpt.spec import Spec
from toolkit.restgpt.trace import Trace

NOTHING = "No background."


@dataclass(frozen=True)
class Verdict:
    """How a strategy ends: the answer, or why there is none (`solved` False)."""

    text: str
    solved: bool


@dataclass
class Workbench:
    """The parts for one question. `endpoints` is the endpoint list as the model reads it."""

    spec: Spec
    endpoints: str
    asker: Asker
    planner: Planner
    selector: Selector
    executor: Executor
    budget: Budget
    trace: Trace
    evidence: Evidence

    def conclude(self, request: str, history: list[Done]) -> Verdict:
        """A final answer from what was found, for strategies whose plan has no answer of its own."""
        schema = {
            "properties": {"solved": {"type": "boolean"}, "answer": prose(1500)},
            "required": ["solved", "answer"],
        }

        def read(data: dict[str, Any]) -> Verdict:
            if not isinstance(data.get("solved"), bool):
                raise Unusable('the field "solved" must be true or false')
            return Verdict(text_field(data, "answer"), data["solved"])

        return self.asker.ask(Module.load("conclude"), f"Request: {request}\n{self.told(history)}", read, schema)

    def told(self, history: list[Done], share: float = 0.4) -> str:
        """Steps and results as text within a share of the model's context."""
        each = self.asker.room(share) // max(1, len(history))
        lines = [
            f"Step {number}: {self.asker.shorten(done.calls or done.plan, each // 4)}\n"
            f"Result {number}: {self.asker.shorten(done.result, each * 3 // 4)}"
            for number, done in enumerate(history, 1)
        ]
        return "\n".join(lines) or "Nothing has been done yet."


class Strategy(Protocol):
    """A way of planning. `solve` may raise what the model, the limits and the executor raise; the run reports it."""

    def solve(self, request: str, bench: Workbench) -> Verdict:
        """Fulfil the request."""
        ...
