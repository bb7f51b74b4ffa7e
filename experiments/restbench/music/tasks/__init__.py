"""The 57 Spotify questions as tasks: reading them, checking an episode, and solving them by script."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from experiments.restbench.data import instructions
from experiments.restbench.expect import judge
from experiments.restbench.gold import answerable
from experiments.restbench.music.tasks import effects
from experiments.restbench.music.tasks.answers import acceptable
from experiments.restbench.music.tasks.solver import solve
from experiments.restbench.music.world import World
from experiments.restbench.oracle import Check, HttpLog, Task, Verdict

__all__ = ["acceptable", "check", "load_tasks", "solve"]

_TABLE = Path(__file__).with_name("tasks.yaml")


def load_tasks(folder: Path) -> list[Task]:
    """The 57 tasks in the order of RestBench; `folder` holds its files (see `data.locate`)."""
    rows = _rows()
    tasks = []
    for item in instructions(folder, "spotify"):
        params = dict(rows[item.index])
        kind = params.pop("kind")
        tasks.append(Task("spotify", item.index, item.query.strip(), kind, params, answerable(item.index, "spotify")))
    return tasks


def check(task: Task) -> Check:
    """The success check of a task: (world before, world after, HTTP log, final answer) -> verdict.

    A reading task needs a right, grounded answer and an untouched account; a changing one exactly the wished changes
    and some final word.
    """

    def judged(before: World, after: World, log: HttpLog, answer: str) -> Verdict:
        wished = task.params if task.kind == "change" else {}
        problem = effects.fault(before, after, log, wished)
        if problem is not None:
            return Verdict(False, problem)
        if task.kind != "change":
            return judge(acceptable(before, task), log, answer)
        return Verdict(True, "the wished changes") if answer.strip() else Verdict(False, "the answer is empty")

    return judged


@cache
def _rows() -> dict[int, dict[str, Any]]:
    rows: dict[int, dict[str, Any]] = yaml.safe_load(_TABLE.read_text(encoding="utf-8"))
    return rows
