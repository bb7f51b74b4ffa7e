"""What tuning may cost: calls where none is needed, and how well ordinary text is still predicted.

The questions are data of toolkit/tuning, disjoint from training; the text is ours. Knows nothing of models.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

from experiments.operators.scoring import Verdict, outcome
from experiments.records import Sample
from experiments.suites.suite import Exchange, Question, Skill
from toolkit.calls.syntax import ARROW
from toolkit.tuning.exchanges import plain

NAME = "no-call"
TEXT = Path(__file__).with_name("ordinary_text.txt")


@dataclass(frozen=True)
class NoCall:
    """The skill of not calling: questions that need no tool. Right is a reply without a call, whatever it says."""

    name: str = NAME
    api: str = ""
    example: Exchange = ("What are you?", "I'm a science project.")

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """All questions in a fixed order that mixes their kinds."""
        found = [Question(one.question, "", one.answer) for one in plain("plain_test")]
        Random(NAME).shuffle(found)
        return tuple(found)

    def ask(self, rng: Random) -> Question:
        """Any of the questions."""
        return self.questions[rng.randrange(len(self.questions))]

    def of_trial(self, trial: int) -> Question:
        """The question of a trial; no question comes twice before all have come."""
        return self.questions[trial % len(self.questions)]

    def read(self, arguments: str) -> str | None:
        """No call is of this skill."""
        return None


def judge_no_call(sample: Sample, skills: tuple[Skill, ...]) -> None:
    """Set scores and outcome of a sample of `no-call`: right when nothing was called or attempted."""
    attempted = bool(sample["calls"]) or ARROW.opener in sample["text"]
    verdict = Verdict(None, not attempted)
    sample["scores"] = {"strict": verdict.passed, "paper": None, "call": None}
    sample["answer"] = verdict.answer
    kind, called = outcome(sample, skills)
    sample.pop("called", None)
    if not attempted:
        sample["outcome"] = "right_without_call"
        return
    sample["outcome"] = "wrong_operator" if kind.startswith("right") else kind
    if called is not None:
        sample["called"] = called
