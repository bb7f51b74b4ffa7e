"""Runs of the experiment: the same bytes every time, resumed, judged again by replay, and damage is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from erring_model import erring

from experiments import base, records
from experiments.cli import outcome
from experiments.engine import Done
from experiments.report.build import read
from experiments.report.verify import _verdicts
from experiments.restbench.scoring import OUTCOMES
from toolkit.errors import RunError, UserError

Play = Callable[..., Done]


def lines(run: Path) -> list[bytes]:
    return [path.read_bytes() for path in records.sample_files(run)]


def edit(run: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the first sample that has requests."""
    (path,) = records.sample_files(run)
    samples = [json.loads(line) for line in path.read_text().splitlines()]
    change(next(sample for sample in samples if sample["http"]))
    path.write_text("".join(map(records.dump, samples)))


def test_two_runs_and_a_resumed_one_are_the_same_bytes(typed: dict[str, Any], play: Play, tmp_path: Path) -> None:
    whole, again, resumed = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    assert play(typed, whole).made == 4
    play(typed, again)
    assert play({**typed, "tasks": typed["tasks"]}, resumed, limit=1).planned == 4
    play(typed, resumed)
    assert lines(whole) == lines(again)
    assert sorted(lines(whole)[0].splitlines()) == sorted(lines(resumed)[0].splitlines())
    assert _verdicts(read(whole)) == "verdicts: 4 samples judged again"


def test_a_run_grows_by_worlds_and_strategies_only(typed: dict[str, Any], play: Play, tmp_path: Path) -> None:
    small = {**typed, "scenarios": ["spotify"], "tasks": {"spotify": [44]}}
    play(small, tmp_path)
    assert play({**small, "worlds": 2, "strategies": ["restgpt", "react"]}, tmp_path).made == 3
    with pytest.raises(UserError, match="another configuration"):
        play({**small, "first_world": 2, "worlds": 2, "strategies": ["restgpt", "react"]}, tmp_path)
    with pytest.raises(UserError, match="another configuration"):
        play({**small, "worlds": 2, "strategies": ["restgpt", "react"], "tasks": {"spotify": [45]}}, tmp_path)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda sample: sample["http"].pop(), "judged again"),
        (lambda sample: sample["http"][0].update(digest="0" * 16), "answered otherwise"),
        (lambda sample: sample.update(text="It is someone else."), "judged again"),
        (lambda sample: sample.update(outcome="looped"), "judged again"),
        (lambda sample: sample["measures"].update(requests=99), "judged again"),
    ],
)
def test_damage_is_found(
    change: Callable[..., None], complaint: str, typed: dict[str, Any], play: Play, tmp_path: Path
) -> None:
    play({**typed, "scenarios": ["tmdb"], "tasks": {"tmdb": [16]}}, tmp_path)
    edit(tmp_path, change)
    with pytest.raises(RunError, match=complaint):
        _verdicts(read(tmp_path))


def test_scores_are_made_again(typed: dict[str, Any], play: Play, tmp_path: Path, capsys: Any) -> None:
    play({**typed, "scenarios": ["tmdb"], "tasks": {"tmdb": [16]}}, tmp_path)
    before = lines(tmp_path)
    edit(tmp_path, lambda sample: sample["scores"].update(success=False))
    assert outcome(["score", str(tmp_path)]) == 0 and lines(tmp_path) == before
    assert outcome(["score", str(tmp_path), "--scorer", "strict"]) == 2
    assert "use success, correct_path, correct_path_v2" in capsys.readouterr().err


def test_a_model_that_errs_is_recorded_and_verified(typed: dict[str, Any], play: Play, tmp_path: Path) -> None:
    about = {"tasks": {"tmdb": list(range(0, 100, 6))}, "scenarios": ["tmdb"], "limits": {"sub_tasks": 5, "calls": 8}}
    play({**typed, **about, "strategies": ["no-schema-parser"]}, tmp_path, erring)
    samples = list(records.read_samples(tmp_path))
    found = {sample["outcome"] for sample in samples}
    assert found <= set(OUTCOMES) and len(found) >= 4, found
    assert all((sample["outcome"] == "success") == sample["scores"]["success"] for sample in samples)
    assert all(sample["measures"]["delta_length"] is None for sample in samples if not sample["scores"]["success"])
    assert "judged again" in _verdicts(read(tmp_path))


def test_the_plan_shows_prompts_and_tokens_without_a_model(folder: Path, tmp_path: Path, capsys: Any) -> None:
    config = tmp_path / "small.yaml"
    config.write_text("{experiment: restbench, models: [{name: a, model: oracle}], tasks: {tmdb: [16], spotify: [3]}}")
    assert outcome(["plan", str(config), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["samples"] == 2 and len(plan["prompts"]) == 2
    assert "You are the Planner" in plan["prompts"][0]["prompt"] and "top-1 rated" in plan["prompts"][0]["prompt"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"strategies": ["magic"]}, "strategies: there is no strategy 'magic'"),
        ({"scenarios": ["imdb"]}, "scenarios.0"),
        ({"tasks": {"tmdb": [100]}}, "no task 100.*0 to 99"),
        ({"tasks": {"tmdb": [1, 1]}}, "there twice"),
        ({"scenarios": ["tmdb"], "tasks": {"spotify": [1]}}, "the scenario is not"),
        ({"noise": {"core": ["GET /search/movie"], "endpoints": [10]}}, "about one scenario"),
        ({"scenarios": ["tmdb"], "noise": {"core": ["GET /films"], "endpoints": [10]}}, "no endpoint 'GET /films'"),
        ({"scenarios": ["tmdb"], "noise": {"core": ["GET /search/movie"], "endpoints": [900]}}, "choose 1 to 294"),
        ({"wrolds": 3}, "did you mean 'worlds'"),
        ({"data": "/nowhere"}, "tmdb.json is missing"),
    ],
)
def test_mistakes_are_one_line(change: dict[str, Any], complaint: str, typed: dict[str, Any], folder: Path) -> None:
    typed = {key: value for key, value in typed.items() if key != "tasks"} | change
    with pytest.raises(UserError, match=complaint):
        base.make(typed, Path("x.yaml"))
