"""RestGPT's coarse-to-fine online planning (section 3.2): the loop of Planner, API selector and executor.

Every round the Planner says in words what to do next, the selector turns that into calls, the executor carries them
out, and the result goes back to the Planner, which may continue the sub-task or end. All of it within hard limits.
"""

from __future__ import annotations

from toolkit.restgpt.asking import NoAnswer
from toolkit.restgpt.planner import Decision, Done
from toolkit.restgpt.workbench import NOTHING, Verdict, Workbench


class RestGPT:
    """The paper's method."""

    def solve(self, request: str, bench: Workbench) -> Verdict:
        """Plan and execute until the Planner ends the run."""
        history: list[Done] = []
        sub_task, tried = "", 0
        while True:
            decision = bench.planner.decide(request, history)
            if decision.signal == "end":
                return Verdict(decision.text, decision.solved)
            if decision.signal == "next":
                bench.budget.sub_task()
                sub_task, tried = decision.text, 0
            else:
                bench.budget.proceed()
            bench.trace.add("sub_task", signal=decision.signal, text=decision.text)
            history.append(self._carry_out(sub_task, decision, history, tried, bench))
            tried += 1

    def _carry_out(self, sub_task: str, decision: Decision, history: list[Done], tried: int, bench: Workbench) -> Done:
        """One round below the Planner: API plan and execution. The last `tried` steps are of the same sub-task."""
        before, attempts = history[: len(history) - tried], history[len(history) - tried :]
        background = "\n".join(done.result for done in before) or NOTHING
        instruction = decision.text if decision.signal == "continue" else ""
        try:
            plan = bench.selector.select(sub_task, background, bench.evidence, attempts, instruction)
        except NoAnswer as problem:
            return Done(decision.text, "none", f"No suitable call was found ({problem.reason}).")
        bench.trace.add("api_plan", text=plan.text)
        known = "\n".join([background, *(done.result for done in attempts)])
        return Done(decision.text, plan.text, bench.executor.run(plan, instruction or sub_task, known))
