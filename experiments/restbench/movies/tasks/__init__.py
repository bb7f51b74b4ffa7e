"""The 100 TMDB questions as tasks: reading them, checking an episode, and solving them by script."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from experiments.restbench.data import instructions
from experiments.restbench.expect import judge
from experiments.restbench.gold import answerable
from experiments.restbench.movies.tasks.expected import acceptable
from experiments.restbench.movies.tasks.solver_kinds import solve
from experiments.restbench.movies.world import World
from experiments.restbench.oracle import Check, HttpLog, Task, Verdict

__all__ = ["acceptable", "check", "load_tasks", "solve"]

_TABLE = Path(__file__).with_name("tasks.yaml")


def load_tasks(folder: Path) -> list[Task]:
    """The 100 tasks in the order of RestBench; `folder` holds its files (see `data.locate`)."""
    rows = _rows()
    tasks = []
    for item in instructions(folder, "tmdb"):
        params = dict(rows[item.index])
        kind = params.pop("kind")
        tasks.append(Task("tmdb", item.index, item.query.strip(), kind, params, answerable(item.index, "tmdb")))
    return tasks


def check(task: Task) -> Check:
    """The success check of a task: (world before, world after, HTTP log, final answer) -> verdict.

    The service only reads, so both worlds are the same; any request that is no GET is an attempted write and fails.
    """

    def judged(before: World, after: World, log: HttpLog, answer: str) -> Verdict:
        written = next((entry.method for entry in log if entry.method.upper() != "GET"), None)
        if written is not None:
            return Verdict(False, f"sent a {written} to a service that is only read")
        return judge(acceptable(after, task), log, answer)

    return judged


@cache
def _rows() -> dict[int, dict[str, Any]]:
    rows: dict[int, dict[str, Any]] = yaml.safe_load(_TABLE.read_text(encoding="utf-8"))
    return rows
