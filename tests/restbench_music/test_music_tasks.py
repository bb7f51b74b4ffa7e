"""The 57 tasks: each can be done in three worlds along its gold path, and nothing less than doing it passes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.restbench.data import instructions
from experiments.restbench.expect import Both, Names
from experiments.restbench.gold import gold_v2
from experiments.restbench.metrics import correct_path, delta_length, endpoints
from experiments.restbench.music.app import MusicApp
from experiments.restbench.music.build import build
from experiments.restbench.music.tasks import acceptable, check, load_tasks, solve
from experiments.restbench.music.world import World
from experiments.restbench.oracle import Task, Verdict
from experiments.restbench.service import Episode

SEEDS = (1, 2, 3)
INDICES = range(57)


@pytest.fixture(scope="module")
def tasks(shared_data: Path) -> list[Task]:
    return load_tasks(shared_data / "restbench")


class Run:
    """One episode by the scripted solver, or by something that tampers with it."""

    def __init__(self, task: Task, world: World, tamper: Callable[[Any], Any] | None = None) -> None:
        self.app = MusicApp(world)
        self.episode = Episode(self.app, self.app.credentials)
        self.task, self.before = task, world
        self.answer = solve(task, Tampered(self.episode, world, tamper) if tamper else self.episode)  # type: ignore[arg-type]

    def judge(self, answer: str | None = None, world: World | None = None) -> Verdict:
        before, after = (self.before, self.app.world) if world is None else (world, world)
        return check(self.task)(before, after, self.episode.log, self.answer if answer is None else answer)


class Tampered:
    """An episode that carries out every write with other values."""

    def __init__(self, episode: Episode, world: World, tamper: Callable[[Any], Any]) -> None:
        self.episode, self.tamper = episode, tamper

    def get(self, path: str, **query: Any) -> Any:
        return self.episode.get(path, **query)

    def request(self, method: str, path: str, query: Any = None, body: Any = None) -> Any:
        return self.episode.request(method, *self.tamper((path, query, body)))


def swap(world: World) -> Callable[[Any], Any]:
    """Replaces every entity, name and setting of a write by another one of its kind."""
    known = world.catalogue
    other = {}
    for table in (known.tracks, known.albums, known.artists):
        keys = list(table)
        other |= dict(zip(keys, keys[len(keys) // 2 :] + keys[: len(keys) // 2], strict=True))
    other |= {"pause": "next", "next": "previous"}
    own = [each.id for each in world.state.playlists]
    other |= dict(zip(own, own[1:] + own[:1], strict=True))

    def change(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: change(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(change(item) for item in value)
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return value + 47 if value < 50 else value - 31
        if not isinstance(value, str):
            return value
        if value.startswith(("/", "artist")):
            return "/".join(other.get(part, part) for part in value.split("/"))
        swapped = ",".join(":".join(other.get(piece, piece) for piece in part.split(":")) for part in value.split(","))
        return swapped if swapped != value else f"{value}s"

    return change


@pytest.mark.parametrize("index", INDICES)
def test_solver_succeeds_along_the_gold_path(index: int, tasks: list[Task], shared_data: Path) -> None:
    gold = gold_v2(instructions(shared_data / "restbench", "spotify")[index], "spotify")
    for seed in SEEDS:
        run = Run(tasks[index], build(seed))
        assert run.judge().ok, (seed, run.judge().reason, run.answer)
        made = endpoints(run.episode.log)
        assert len(made) == len(run.episode.log), "a request was refused"
        assert correct_path(made, gold), made
        assert delta_length(len(made), made, gold) <= 1


@pytest.mark.parametrize("index", INDICES)
def test_answers_without_the_work_fail(index: int, tasks: list[Task]) -> None:
    run, idle = Run(tasks[index], build(1)), MusicApp(build(1))
    assert not run.judge("").ok and not run.judge("  ").ok
    assert not check(tasks[index])(idle.world, idle.world, [], run.answer).ok


@pytest.mark.parametrize("index", INDICES)
def test_wrong_entities_fail(index: int, tasks: list[Task]) -> None:
    task, world = tasks[index], build(1)
    if task.kind == "change":
        wrong = Run(task, world, swap(world))
        assert not wrong.judge().ok, [(entry.method, entry.url, entry.sent) for entry in wrong.episode.log]
        return
    run = Run(task, world)
    form = acceptable(world, task)[0].form
    names = form.first if isinstance(form, Both) else form
    assert isinstance(names, Names)
    rivals = [name for name in names.rivals if name not in names.values]
    assert not run.judge(f"It is {', '.join(rivals[-4:-1]) or 'someone else'}.").ok
    assert not rivals or not run.judge(f"One of these: {', '.join([*names.values[:9], *rivals[:9]])}.").ok


@pytest.mark.parametrize("index", INDICES)
def test_one_write_too_many_fails(index: int, tasks: list[Task]) -> None:
    world = build(1)
    stranger = next(each.id for each in world.catalogue.artists.values() if each.name == "Bar Havana")
    for path, query in (
        ("/me/following", {"type": "artist", "ids": stranger}),
        ("/me/following", {"type": "user", "ids": "0" * 22}),
        ("/me/tracks", {"ids": world.catalogue.tracks_of[stranger][0]}),
    ):
        run = Run(tasks[index], world)
        assert run.episode.request("PUT", path, query).status in (200, 204)
        assert not run.judge().ok


@pytest.mark.parametrize("index", INDICES)
def test_an_episode_of_another_world_fails(index: int, tasks: list[Task]) -> None:
    run = Run(tasks[index], build(1))
    assert not run.judge(world=build(2)).ok
    assert not run.judge(world=build(1)).ok or tasks[index].kind != "change" or index in (6, 19, 28)


def test_the_table_covers_every_question_once(tasks: list[Task]) -> None:
    assert [task.index for task in tasks] == list(INDICES) and all(task.answerable for task in tasks)


def test_trusting_the_first_hit_often_fails(tasks: list[Task]) -> None:
    world, right = build(1), 0
    searching = [task for task in tasks if "artist " in str(task.params) or "album " in str(task.params)]
    for task in searching:
        app = MusicApp(world)
        episode = Episode(app, app.credentials)
        answer = solve(task, episode, exact=False)
        right += check(task)(world, app.world, episode.log, answer).ok
    assert right < len(searching) / 3


def test_memory_of_the_ordinary_world_fails_in_the_counterfactual_one(tasks: list[Task]) -> None:
    reading = [task for task in tasks if task.kind != "change" and task.index != 18]
    known, other = build(1), build(1, True)
    answers = [Run(task, known).answer for task in reading]
    right = 0
    for task, answer in zip(reading, answers, strict=True):
        right += Run(task, other).judge(answer).ok
    assert right <= 3
