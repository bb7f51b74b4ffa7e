"""DEPS (appendix B): describe, explain, plan, select. A plan is made, its next step carried out, and after every step
the model describes what happened, explains what it means and writes the remaining steps anew, until it has the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from toolkit.restgpt.asking import Module, Unusable, prose, text_field
from toolkit.restgpt.budget import LimitReached
from toolkit.restgpt.planner import Done
from toolkit.restgpt.selector import ApiPlan, PlannedCall
from toolkit.restgpt.strategies.steps import STEPS_TOKENS, read_steps, steps_schema
from toolkit.restgpt.workbench import NOTHING, Verdict, Workbench

MOST_ROUNDS = 10  # Table 4's setting


@dataclass(frozen=True)
class _Revision:
    """What the model makes of the situation: the remaining steps, or the verdict when there are none."""

    explanation: str
    steps: tuple[PlannedCall, ...]
    verdict: Verdict | None


class Deps:
    """Plan, act, explain, plan again."""

    def solve(self, request: str, bench: Workbench) -> Verdict:
        """The answer after at most ten steps."""
        history: list[Done] = []
        for _ in range(MOST_ROUNDS):
            revision = self._revise(request, history, bench)
            bench.trace.add("sub_task", signal="plan", text=revision.explanation)
            if revision.verdict:
                return revision.verdict
            bench.budget.sub_task()
            step = revision.steps[0]
            bench.trace.add("api_plan", text="; ".join(each.text for each in revision.steps))
            background = "\n".join(done.result for done in history) or NOTHING
            result = bench.executor.run(ApiPlan((step,)), step.purpose, background)
            history.append(Done(step.purpose, step.text, result))
        raise LimitReached("deps_steps", MOST_ROUNDS)

    def _revise(self, request: str, history: list[Done], bench: Workbench) -> _Revision:
        schema = {
            "properties": {
                "explanation": prose(600),
                "steps": steps_schema(bench.spec),
                "solved": {"type": "boolean"},
                "answer": prose(1000),
            },
            "required": ["explanation", "steps", "solved", "answer"],
        }

        def read(data: dict[str, Any]) -> _Revision:
            explanation, steps = text_field(data, "explanation"), read_steps(bench.spec, data.get("steps", []))
            if steps:
                return _Revision(explanation, steps, None)
            if not history and data.get("solved"):
                raise Unusable("nothing was called yet: plan at least one step")
            return _Revision(explanation, (), Verdict(text_field(data, "answer"), data.get("solved") is True))

        situation = f"Request: {request}\n{bench.told(history)}"
        known = f"Endpoints:\n{bench.endpoints}"
        return bench.asker.ask(Module.load("deps"), situation, read, schema, known, STEPS_TOKENS)
