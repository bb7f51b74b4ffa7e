"""ReAct (appendix B): one thought and one call in turn, each written after the result of the last, until it can answer.

There is no Planner: the same prompt thinks, picks the endpoint and decides when to stop. Also the ablation "without
planner".
"""

from __future__ import annotations

from typing import Any

from toolkit.restgpt.asking import Module, Unusable, prose, text_field
from toolkit.restgpt.call_text import calls_pattern
from toolkit.restgpt.planner import Done
from toolkit.restgpt.selector import ApiPlan, PlannedCall, checked_call
from toolkit.restgpt.workbench import NOTHING, Verdict, Workbench

FINISH = "finish"


class ReAct:
    """`lessons` are what earlier trials taught (Reflexion); plain ReAct has none."""

    def __init__(self, lessons: tuple[str, ...] = ()) -> None:
        self._lessons = lessons
        self.history: list[Done] = []

    def solve(self, request: str, bench: Workbench) -> Verdict:
        """Think and act until the model finishes."""
        while True:
            action = self._act(request, bench)
            if isinstance(action, Verdict):
                return action
            bench.budget.sub_task()
            bench.trace.add("api_plan", text=action.text)
            background = "\n".join(done.result for done in self.history) or NOTHING
            result = bench.executor.run(ApiPlan((action,)), action.purpose, background)
            self.history.append(Done(action.purpose, action.text, result))

    def _act(self, request: str, bench: Workbench) -> PlannedCall | Verdict:
        """The next thought and action."""
        calls = calls_pattern(bench.spec, bench.spec.endpoints)
        schema = {
            "properties": {
                "thought": prose(400),
                "action": {"type": "string", "pattern": f"^({FINISH}|{calls})$"},
                "input": prose(1000),
                "solved": {"type": "boolean"},
            },
            "required": ["thought", "action", "input", "solved"],
        }

        def read(data: dict[str, Any]) -> PlannedCall | Verdict:
            action = text_field(data, "action")
            if action == FINISH:
                solved = data.get("solved", True) is True
                if solved and not self.history:
                    raise Unusable("nothing was called yet: an answer must come from the service")
                return Verdict(text_field(data, "input"), solved)
            return checked_call(bench.spec, action, data.get("input"), bench.evidence)

        lines = [f"Lesson of an earlier trial: {lesson}" for lesson in self._lessons]
        situation = "\n".join([f"Request: {request}", *lines, bench.told(self.history)])
        known = f"Endpoints:\n{bench.endpoints}"
        return bench.asker.ask(Module.load("react"), situation, read, schema, known)
