"""Reflexion (appendix B): ReAct in two trials. After a trial that failed the model says what it learnt, and the next
trial has that in its prompt (verbal memory). What a failed trial changed at the service stays changed.
"""

from __future__ import annotations

from typing import Any

from toolkit.restgpt.asking import Module, NoAnswer, Unusable, prose, text_field
from toolkit.restgpt.strategies.react import ReAct
from toolkit.restgpt.workbench import Verdict, Workbench

TRIALS = 2  # Table 4's setting


class Reflexion:
    """Try, reflect, try again."""

    def solve(self, request: str, bench: Workbench) -> Verdict:
        """The verdict of the first trial that holds up, else that of the last."""
        lessons: tuple[str, ...] = ()
        verdict = Verdict("no trial was made", solved=False)
        for trial in range(1, TRIALS + 1):
            bench.trace.add("trial", number=trial, lessons=list(lessons))
            actor = ReAct(lessons)
            try:
                verdict = actor.solve(request, bench)
            except NoAnswer as problem:
                verdict = Verdict(str(problem), solved=False)
            if trial < TRIALS:
                good, lesson = self._reflect(request, verdict, actor, bench)
                if good:
                    break
                lessons += (lesson,)
        return verdict

    def _reflect(self, request: str, verdict: Verdict, actor: ReAct, bench: Workbench) -> tuple[bool, str]:
        """(whether the trial holds up, the lesson if not), as the model judges it."""
        schema = {
            "properties": {"good": {"type": "boolean"}, "lesson": prose(400)},
            "required": ["good", "lesson"],
        }

        def read(data: dict[str, Any]) -> tuple[bool, str]:
            if not isinstance(data.get("good"), bool):
                raise Unusable('the field "good" must be true or false')
            good = data["good"] and verdict.solved
            return good, "" if good else text_field(data, "lesson")

        ending = "Answer" if verdict.solved else "The trial failed"
        situation = f"Request: {request}\n{bench.told(actor.history)}\n{ending}: {verdict.text}"
        return bench.asker.ask(Module.load("reflect"), situation, read, schema)
