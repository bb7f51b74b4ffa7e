from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest
from scripted_engine import Quiet, scripted

from experiments import records
from experiments.engine import run
from experiments.records import read_header, read_prefixes, read_samples
from toolkit.errors import UserError


def lines(folder: Path) -> list[bytes]:
    return sorted(line for path in records.sample_files(folder) for line in path.read_bytes().splitlines(keepends=True))


def complete(config: Path, folder: Path, *assignments: str) -> Quiet:
    watch = Quiet()
    run(*scripted(config, *assignments), folder, watch)
    return watch


def test_a_run_holds_every_sample_with_its_prompt_and_truth(config: Path, tmp_path: Path) -> None:
    watch = complete(config, tmp_path / "run")
    samples = list(read_samples(tmp_path / "run"))
    assert len(samples) == watch.total == 2 * 2 * 2 * 6 and len({one["id"] for one in samples}) == len(samples)
    prefixes = read_prefixes(tmp_path / "run")
    for one in samples:
        fragment = prefixes[one["prefix"]]
        assert fragment.text.count("<AI>") == one["shots"] + 3
        assert one["prompt"] == f"<Guest> {one['question']}\n<AI>"
        assert one["held_out"] == (f" {one['skill']} 456?" not in fragment.text)
        assert eval(one["expect"]["arguments"]) == int(one["truth"])
    header = read_header(tmp_path / "run")
    assert header["planned"] == len(samples) and header["models"] == {"tiny": {"weights_sha256": "scripted"}}
    assert header["report"]["skills"] == ["+", "-"] and header["config"]["typed"]["trials"] == 6
    timed = {timing["id"] for timing in records.read_timings(tmp_path / "run")}
    assert timed == {one["id"] for one in samples}


def test_a_second_run_answers_nothing(config: Path, tmp_path: Path) -> None:
    complete(config, tmp_path / "run")
    before = lines(tmp_path / "run")
    assert complete(config, tmp_path / "run").made == []
    assert lines(tmp_path / "run") == before and len(read_header(tmp_path / "run")["sessions"]) == 2


@pytest.mark.parametrize(
    "grown",
    [
        ["trials=9"],
        ["shots=[0, 1, 2, 5]"],
        ['skills=["+", "-", "|"]'],
        ["variants=[strict-arrow, paper-equals-t0.9, strict-none]"],
        ["models=[{name: tiny, path: /nowhere/at/all}, {name: other, path: /else}]"],
        ["slots=16"],
    ],
)
def test_growing_runs_only_the_difference(config: Path, tmp_path: Path, grown: list[str]) -> None:
    complete(config, tmp_path / "run")
    before = {one["id"] for one in read_samples(tmp_path / "run")}
    watch = complete(config, tmp_path / "run", *grown)
    assert not before & set(watch.made)
    complete(config, tmp_path / "fresh", *grown)
    assert lines(tmp_path / "run") == lines(tmp_path / "fresh")
    assert len(lines(tmp_path / "run")) == len(before) + len(watch.made)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("seed=6", "seed: 5 -> 6"),
        ("trials=5", "trials: 6 -> 5"),
        ("shots=[0]", "shots.2"),
        ("orders=4", "orders"),
        ("top_k=10", "top_k"),
        ("models.0.model_tokens=99", "models.tiny.model_tokens"),
        ("introduction=['-', '+']", "introduction"),
        ("suite=units", "suite"),
    ],
)
def test_a_change_that_would_mix_results_is_refused(config: Path, tmp_path: Path, change: str, key: str) -> None:
    complete(config, tmp_path / "run")
    before = lines(tmp_path / "run")
    changes = [change, "skills=[km-m]"] if change == "suite=units" else [change]
    with pytest.raises(UserError, match="another configuration") as caught:
        complete(config, tmp_path / "run", *changes)
    assert key in str(caught.value)
    assert lines(tmp_path / "run") == before


def test_other_weights_under_the_same_name_are_refused(config: Path, tmp_path: Path) -> None:
    complete(config, tmp_path / "run")
    header = read_header(tmp_path / "run")
    header["models"]["tiny"]["weights_sha256"] = "other"
    records.write_header(tmp_path / "run", header)
    with pytest.raises(UserError, match="not the one that this run began with"):
        complete(config, tmp_path / "run", "trials=7")


def test_limit_takes_the_first_trials_of_each_cell_and_can_be_lifted(config: Path, tmp_path: Path) -> None:
    watch = Quiet()
    run(*scripted(config), tmp_path / "run", watch, limit=2)
    assert {one["trial"] for one in read_samples(tmp_path / "run")} == {0, 1} and watch.total == 16
    complete(config, tmp_path / "run")
    complete(config, tmp_path / "fresh")
    assert lines(tmp_path / "run") == lines(tmp_path / "fresh")


def answer_in_child(config: Path, folder: Path, lifetime: float) -> bool:
    """Run in a forked process and kill it after `lifetime` seconds; whether the kill came before the end."""
    child = os.fork()
    if child == 0:
        try:
            experiment, source = scripted(config, "trials=30", pause=0.0005)
            run(experiment, source, folder, Quiet())
        finally:
            os._exit(0)
    time.sleep(lifetime)
    os.kill(child, signal.SIGKILL)  # a child that has ended is a zombie until it is waited for: nothing else is hit
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.slow
def test_twenty_kills_leave_the_same_bytes(config: Path, tmp_path: Path) -> None:
    complete(config, tmp_path / "whole", "trials=30")
    draw, kills, folder = random.Random(3), 0, tmp_path / "killed"
    while kills < 20:
        if answer_in_child(config, folder, draw.uniform(0.0, 0.4)):
            kills += 1
        else:
            shutil.rmtree(folder)  # it got to the end: begin anew until enough kills have been survived
    complete(config, folder, "trials=30")
    assert lines(folder) == lines(tmp_path / "whole")
    assert read_prefixes(folder) == read_prefixes(tmp_path / "whole")


def test_a_file_torn_at_any_byte_is_resumed_to_the_same_bytes(config: Path, tmp_path: Path) -> None:
    complete(config, tmp_path / "whole")
    whole = tmp_path / "whole"
    draw = random.Random(8)
    for round_ in range(12):
        torn = tmp_path / f"torn{round_}"
        shutil.copytree(whole, torn)
        for path in [*records.sample_files(torn), *(torn / "timings").glob("*.jsonl")]:
            data = path.read_bytes()
            path.write_bytes(data[: draw.randrange(len(data) + 1)])
        complete(config, torn)
        assert lines(torn) == lines(whole)
