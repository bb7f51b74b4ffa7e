"""Offline introspective planning (appendix B): all calls are planned before the first one is made, then none changes.

It sees no result while planning, so it cannot react to anything; that is the point of the comparison.
"""

from __future__ import annotations

from toolkit.restgpt.asking import Module, Unusable
from toolkit.restgpt.planner import Done
from toolkit.restgpt.selector import ApiPlan, PlannedCall
from toolkit.restgpt.strategies.steps import STEPS_TOKENS, read_steps, steps_schema
from toolkit.restgpt.workbench import NOTHING, Verdict, Workbench


class Offline:
    """Plan once, execute in order, answer from the results."""

    def solve(self, request: str, bench: Workbench) -> Verdict:
        """The answer that the fixed plan leads to."""
        history: list[Done] = []
        for step in self._plan(request, bench):
            bench.budget.sub_task()
            bench.trace.add("api_plan", text=step.text)
            background = "\n".join(done.result for done in history) or NOTHING
            result = bench.executor.run(ApiPlan((step,)), step.purpose, background)
            history.append(Done(step.purpose, step.text, result))
        return bench.conclude(request, history)

    def _plan(self, request: str, bench: Workbench) -> tuple[PlannedCall, ...]:
        schema = {"properties": {"steps": steps_schema(bench.spec)}, "required": ["steps"]}

        def read(data: dict[str, object]) -> tuple[PlannedCall, ...]:
            steps = read_steps(bench.spec, data.get("steps"))
            if not steps:
                raise Unusable("the plan needs at least one step")
            return steps

        known = f"Endpoints:\n{bench.endpoints}"
        steps = bench.asker.ask(Module.load("offline"), f"Request: {request}", read, schema, known, STEPS_TOKENS)
        bench.trace.add("sub_task", signal="plan", text="; ".join(step.text for step in steps))
        return steps
