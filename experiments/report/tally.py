"""One pass over the samples of a run: per cell, the counts and the few facts that paired statistics need.

A cell is (model, variant, shots, skill). A sample leaves behind a tuple of four fields, so that a hundred thousand of
them fit in tens of megabytes. This file knows the sample record but nothing of statistics or layout.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Sample = Mapping[str, Any]

ASKED_OUTCOMES = frozenset({"right_by_call", "right_call_wrong_answer", "wrong_operands"})
OTHER_CALLED = {
    "right_without_call": "no call",
    "no_call": "no call",
    "malformed_call": "malformed",
    "unknown_api": "unknown API",
    "tool_error": "tool error",
    "cut_by_budget": "cut",
}


class CellKey(NamedTuple):
    """What a cell is identified by."""

    model: str
    variant: str
    shots: int
    skill: str


class Trial(NamedTuple):
    """What is kept of one sample. `passed` is by the scorer of its variant; None when that scorer gave no verdict."""

    order: int
    passed: bool | None
    held_out: bool
    question: str


@dataclass
class Cell:
    """Counts of one cell. `scored` and `passes` are per scorer; `trials` maps the trial number to what was kept."""

    scored: Counter[str] = field(default_factory=Counter)
    passes: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    called: Counter[str] = field(default_factory=Counter)
    with_call: int = 0
    with_valid_call: int = 0
    passed_with_valid_call: int = 0
    trials: dict[int, Trial] = field(default_factory=dict)

    @property
    def counts(self) -> tuple[int, int]:
        """(k, n) by the variant's own scorer; trials without a verdict are not in n."""
        verdicts = [trial.passed for trial in self.trials.values() if trial.passed is not None]
        return sum(verdicts), len(verdicts)

    @property
    def held_out(self) -> bool | None:
        """Whether the skill's own example was left out; None where trials of the cell differ in that."""
        kinds = {trial.held_out for trial in self.trials.values()}
        return kinds.pop() if len(kinds) == 1 else None


def scorer_of(variant: str, scores: Iterable[str]) -> str:
    """The scorer that decides a variant's matrix: the one its name starts with (`paper-arrow`), else `strict`.

    Episodes of services have neither: there it is `success`.
    """
    available = list(scores)
    for name in (variant.split("-")[0], "strict", "success"):
        if name in available:
            return name
    return sorted(available)[0] if available else "strict"


def called_skill(sample: Sample) -> str:
    """Which skill the reply called: the asked one, another, or why there was none."""
    outcome = sample["outcome"]
    if outcome == "wrong_operator":
        return str(sample.get("called") or "other")
    if outcome in ASKED_OUTCOMES:  # a call can return the truth by accident: 11 + 20 for 11 | 20
        return str(sample.get("called") or sample["skill"])
    return str(OTHER_CALLED.get(outcome, outcome))


class Tally:
    """Cells by key in order of first appearance, the prefixes used, and (model, variant, reply tokens) by sample id."""

    def __init__(self) -> None:
        self.cells: dict[CellKey, Cell] = {}
        self.samples = 0
        self.prefixes: set[str] = set()
        self.tokens: dict[str, tuple[str, str, int]] = {}

    def add(self, sample: Sample) -> None:
        """Count one sample."""
        key = CellKey(sample["model"], sample["variant"], sample["shots"], sample["skill"])
        cell = self.cells.setdefault(key, Cell())
        scores = sample["scores"]
        for scorer, verdict in scores.items():
            if verdict is not None:
                cell.scored[scorer] += 1
                cell.passes[scorer] += bool(verdict)
        passed = scores.get(scorer_of(key.variant, scores))
        cell.outcomes[sample["outcome"]] += 1
        cell.called[called_skill(sample)] += 1
        valid = any(call["status"] == "ok" for call in sample["calls"])
        cell.with_call += bool(sample["calls"])
        cell.with_valid_call += valid
        cell.passed_with_valid_call += valid and bool(passed)
        cell.trials[sample["trial"]] = Trial(sample["order"], passed, sample["held_out"], sample["question"])
        self.samples += 1
        self.prefixes.add(sample["prefix"])
        self.tokens[sample["id"]] = (key.model, key.variant, len(sample["ids"]))

    @property
    def scorers(self) -> list[str]:
        """The scorers that gave any verdict, sorted."""
        return sorted({name for cell in self.cells.values() for name in cell.scored})


def tally(samples: Iterable[Sample]) -> Tally:
    """Count all samples."""
    result = Tally()
    for sample in samples:
        result.add(sample)
    return result
