"""What a record keeps of an episode beyond the common fields, and how a planner's trace is digested into it.

A digest holds what each module wrote and what was wrong with it, bounded in size and without times and prompts, so that
errors can be classified from the record alone and the same episode gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.records import Sample
from experiments.restbench.play import HttpRecord
from toolkit.restgpt.run import Answer
from toolkit.restgpt.trace import Step

LONGEST_TEXT = 500
_KEPT: dict[str, tuple[str, ...]] = {
    "model": ("module", "text", "unusable"),
    "sub_task": ("signal", "text"),
    "api_plan": ("text",),
    "exchange": ("endpoint", "status", "error", "message"),
    "code": ("status", "error"),
    "result": ("text", "fallback"),
    "trial": ("number",),
    "limit": ("name",),
}


class RestSample(Sample, total=False):
    """One episode. Common fields: `text` and `answer` are the final answer, `question` and `prompt` the question,
    `prefix` the digest of the endpoint list that the model could choose from, `calls` the HTTP log in short, `finish`
    how the run says it ended, `truth` the published gold path, `order` the place of the world among those of the run.

    `task`: {"scenario", "index", "world", "counterfactual"}. `http`: the requests, see `play.HttpRecord`. `trace`: the
    digest, a list of {"kind", ...}. `spent`: requests handed to the client, tokens read and written, sub-tasks,
    continues. `measures`: {"requests", "tool_share", "delta_length" (None without success)}. `reason`: the verdict's.
    """

    task: dict[str, Any]
    http: list[HttpRecord]
    trace: list[dict[str, Any]]
    spent: dict[str, int]
    measures: dict[str, Any]
    reason: str


def digest(answer: Answer) -> list[dict[str, Any]]:
    """The steps of a trace as the record keeps them."""
    return [_step(step) for step in answer.trace.steps if step.kind in _KEPT]


def spent(answer: Answer) -> dict[str, int]:
    """What the episode used, time apart."""
    return {name: int(value) for name, value in answer.budget["spent"].items() if name != "seconds"}


def _step(step: Step) -> dict[str, Any]:
    kept = {name: _cut(step.data[name]) for name in _KEPT[step.kind] if step.data.get(name) is not None}
    return {"kind": step.kind, **kept}


def _cut(value: Any) -> Any:
    return value if not isinstance(value, str) or len(value) <= LONGEST_TEXT else f"{value[:LONGEST_TEXT]} ..."


def of_kind(trace: list[dict[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    """The digest's steps of one kind, in order."""
    return [step for step in trace if step["kind"] == kind]
