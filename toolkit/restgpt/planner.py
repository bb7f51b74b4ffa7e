"""The Planner of RestGPT (section 3.2): turns the request, the plans so far and their results into the next sub-task.

It speaks natural language only and knows no endpoint. Besides a sub-task it may signal that the current one is not
complete (continue) or that the run is over (end); the signal is a field of its answer, not a word in its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from toolkit.restgpt.asking import Asker, Module, Unusable, prose, text_field

Signal = Literal["next", "continue", "end"]
HISTORY_SHARE = 0.4
TOKENS = 400
ANSWER_CHARACTERS = 1000
SUB_TASK_CHARACTERS = 300


@dataclass(frozen=True)
class Done:
    """One finished step: what was planned in words, the calls chosen for it, and what came of them."""

    plan: str
    calls: str
    result: str


@dataclass(frozen=True)
class Decision:
    """What the Planner wants: `text` is the sub-task, the instruction to go on with it, or the final answer.

    `solved` matters for "end" only: False says that the request could not be fulfilled and `text` says why.
    """

    signal: Signal
    text: str
    solved: bool = True


class Planner:
    """One prompt, one decision."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._module = Module.load("planner")

    def decide(self, request: str, history: Sequence[Done]) -> Decision:
        """The next sub-task, continue, or end. Raises `NoAnswer` when the model gives nothing usable."""
        # Without any result there is nothing to continue and, the service being unknown to it, nothing to answer.
        offered: tuple[Signal, ...] = get_args(Signal) if history else ("next",)
        text = prose(ANSWER_CHARACTERS if history else SUB_TASK_CHARACTERS)
        schema = {
            "properties": {"signal": {"enum": offered}, "text": text, "solved": {"type": "boolean"}},
            "required": ["signal", "text", "solved"],
        }

        def read(data: dict[str, Any]) -> Decision:
            decision = _decision(data)
            if not history and decision.signal == "continue":
                raise Unusable('there is nothing to continue yet: the field "signal" must be "next"')
            if not history and decision.signal == "end" and decision.solved:
                raise Unusable("nothing was called yet: an answer must come from the service; plan the first sub-task")
            return decision

        situation = f"Request: {request}\n{self._past(history)}"
        return self._asker.ask(self._module, situation, read, schema, tokens=TOKENS)

    def _past(self, history: Sequence[Done]) -> str:
        """The plans and results so far, every result within its share of the context."""
        each = self._asker.room(HISTORY_SHARE) // max(1, len(history))
        lines = []
        for number, done in enumerate(history, 1):
            lines.append(f"Plan step {number}: {self._asker.shorten(done.plan, each // 4)}")
            lines.append(f"Result {number}: {self._asker.shorten(done.result, each * 3 // 4)}")
        return "\n".join(lines) or "Nothing has been done yet."


def _decision(data: dict[str, Any]) -> Decision:
    """The decision that an answer states. Raises `Unusable`."""
    signal = next((each for each in get_args(Signal) if each == data.get("signal")), None)
    if signal is None:
        raise Unusable(f'the field "signal" must be one of {", ".join(get_args(Signal))}')
    solved = data.get("solved", True)
    if not isinstance(solved, bool):
        raise Unusable('the field "solved" must be true or false')
    return Decision(signal, text_field(data, "text"), solved)
