"""The two scenarios behind one face: tasks, description, gold paths, and an episode in a world of its own.

Everything that differs between the film and the music service ends here; the experiment above sees scenarios only.
Worlds are built once per seed and never change in place, so an episode starts from a clean one at no cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from experiments.restbench.data import Scenario, instructions, spec_file
from experiments.restbench.gold import GoldPath, gold_original, gold_v2
from experiments.restbench.movies import build as movies_world
from experiments.restbench.movies import tasks as movies_tasks
from experiments.restbench.movies.app import MoviesApp
from experiments.restbench.music import build as music_world
from experiments.restbench.music import tasks as music_tasks
from experiments.restbench.music.app import MusicApp
from experiments.restbench.oracle import Task, Verdict
from experiments.restbench.service import Episode
from toolkit.restgpt.spec import Spec, load_spec

KEPT_WORLDS = 6


@dataclass(frozen=True)
class World:
    """Which world: a seed, and whether its facts are permuted so that memory cannot answer."""

    seed: int
    counterfactual: bool = False


class Sitting:
    """One episode: a fresh service, its HTTP log, and the judgement over both worlds, the log and the answer."""

    def __init__(self, scenario: Scenario, world: World) -> None:
        self._before = _world(scenario, world)
        self._app: Any = _APPS[scenario](self._before)
        self._tasks = _TASKS[scenario]
        self.episode = Episode(self._app, self._app.credentials)

    def judge(self, task: Task, answer: str) -> Verdict:
        """Whether what happened so far, with this final answer, fulfils the task."""
        after = self._app.world if isinstance(self._app, MusicApp) else self._before
        verdict: Verdict = self._tasks.check(task)(self._before, after, self.episode.log, answer)
        return verdict

    def solve(self, task: Task) -> str:
        """Do the task by script, through the episode; returns the final answer."""
        return str(self._tasks.solve(task, self.episode))


@dataclass(frozen=True)
class Bench:
    """One scenario's data, read from the folder of RestBench's files."""

    scenario: Scenario
    folder: Path

    @cached_property
    def tasks(self) -> list[Task]:
        """All tasks in RestBench's order."""
        return _TASKS[self.scenario].load_tasks(self.folder)  # type: ignore[no-any-return]

    @cached_property
    def spec(self) -> Spec:
        """The description as published, mended by the loader."""
        return load_spec(spec_file(self.folder, self.scenario))

    @cached_property
    def published_paths(self) -> list[GoldPath]:
        """The published gold path of each task."""
        return [gold_original(item) for item in instructions(self.folder, self.scenario)]

    @cached_property
    def accepted_paths(self) -> list[tuple[GoldPath, ...]]:
        """All acceptable paths of each task (gold v2)."""
        return [gold_v2(item, self.scenario) for item in instructions(self.folder, self.scenario)]


_TASKS: dict[str, Any] = {"tmdb": movies_tasks, "spotify": music_tasks}
_APPS: dict[str, Callable[[Any], Any]] = {"tmdb": MoviesApp, "spotify": MusicApp}
_BUILD: dict[str, Callable[[int, bool], Any]] = {"tmdb": movies_world.build, "spotify": music_world.build}


@lru_cache(maxsize=KEPT_WORLDS)
def _world(scenario: Scenario, world: World) -> Any:
    return _BUILD[scenario](world.seed, world.counterfactual)
