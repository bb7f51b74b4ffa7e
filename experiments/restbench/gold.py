"""Gold paths of RestBench: `gold_original` (the published paths, white space repaired and nothing else) and
`gold_v2` (for each task the set of acceptable paths, as partial orders). Every difference between the two stands in
`gold_v2.yaml` with its reason; a task that is not listed there keeps its published path. No scoring happens here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from experiments.restbench.data import Instruction, Scenario

_CHANGES = Path(__file__).with_name("gold_v2.yaml")


@dataclass(frozen=True)
class GoldPath:
    """Steps (`GET /movie/{movie_id}`) and the order among them: pairs (i, j) say that step i comes before step j."""

    steps: tuple[str, ...]
    order: frozenset[tuple[int, int]]

    def predecessors(self) -> list[int]:
        """For each step, the bit set of the steps that must come before it."""
        masks = [0] * len(self.steps)
        for first, second in self.order:
            masks[second] |= 1 << first
        return masks


@dataclass(frozen=True)
class Change:
    """What `gold_v2` changes for one task: acceptable paths (None: the published one stays) and why."""

    index: int
    reason: str
    paths: tuple[GoldPath, ...] | None
    answerable: bool


def chain(steps: Sequence[str]) -> GoldPath:
    """A path whose steps come strictly one after the other."""
    return GoldPath(tuple(steps), frozenset((i, i + 1) for i in range(len(steps) - 1)))


def gold_original(instruction: Instruction) -> GoldPath:
    """The published path with white space normalised: `GET  /movie/now_playing ` becomes `GET /movie/now_playing`.

    Wrong parameter names and endpoints that do not exist stay: they are part of the published benchmark.
    """
    return chain([" ".join(step.split()) for step in instruction.solution])


def gold_v2(instruction: Instruction, scenario: Scenario) -> tuple[GoldPath, ...]:
    """All acceptable paths of the task; the published one where the change log does not replace it."""
    change = changes(scenario).get(instruction.index)
    if change is None or change.paths is None:
        return (gold_original(instruction),)
    return change.paths


def answerable(index: int, scenario: Scenario) -> bool:
    """False where no endpoint can give the answer: there, saying so is the success."""
    change = changes(scenario).get(index)
    return change is None or change.answerable


@cache
def changes(scenario: Scenario) -> Mapping[int, Change]:
    """The change log of one scenario by task index. The returned mapping is shared: do not change it."""
    listed: dict[int, dict[str, Any]] = yaml.safe_load(_CHANGES.read_text(encoding="utf-8"))[scenario]
    return {index: _change(index, entry) for index, entry in listed.items()}


def _change(index: int, entry: Mapping[str, Any]) -> Change:
    listed = entry.get("paths")
    paths = None if listed is None else tuple(_path(item) for item in listed)
    return Change(index, entry["reason"], paths, entry.get("answerable", True))


def _path(item: str | Mapping[str, Any]) -> GoldPath:
    """A chain `/a > /b`, or `{first: /x, parallel: [/a > /b, /c], then: /d}`; GET unless a verb is written."""
    if isinstance(item, str):
        return chain(_steps(item))
    steps: list[str] = []
    order: set[tuple[int, int]] = set()
    if "first" in item:
        order |= _append(steps, _steps(item["first"]))
    start = len(steps)
    ends: list[int] = []
    for branch in item["parallel"]:
        if start:
            order.add((start - 1, len(steps)))
        order |= _append(steps, _steps(branch))
        ends.append(len(steps) - 1)
    if "then" in item:
        order |= {(end, len(steps)) for end in ends}
        order |= _append(steps, _steps(item["then"]))
    return GoldPath(tuple(steps), frozenset(order))


def _append(steps: list[str], branch: Sequence[str]) -> set[tuple[int, int]]:
    start = len(steps)
    steps.extend(branch)
    return {(i, i + 1) for i in range(start, len(steps) - 1)}


def _steps(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(" > ")]
    return [part if " " in part else f"GET {part}" for part in parts]
