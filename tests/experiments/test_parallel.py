"""Several processes on one run: acted out in one process, and for real under `accelerate launch`."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from scripted_engine import Quiet, scripted
from tiny import tiny_folder

from experiments import records
from experiments.base import Source, load
from experiments.crew import Crew
from experiments.engine import run
from experiments.parallel import run_in_crew
from experiments.records import RunWriter, read_header, read_prefixes, read_samples, read_timings
from toolkit.errors import RunError, UserError

REPOSITORY = Path(__file__).resolve().parents[2]


def lines(folder: Path) -> list[bytes]:
    return sorted(line for path in records.sample_files(folder) for line in path.read_bytes().splitlines(keepends=True))


@dataclass(frozen=True)
class Acted(Crew):
    """A crew whose other member does its work while the first one waits for it."""

    others: Callable[[], Any] = lambda: None

    def join(self) -> None:
        pass

    def from_first(self, value: Any = None) -> Any:
        return 0 if value is None else value

    def gather(self, value: Any) -> list[Any]:
        return [value, self.others()]


def second(config: Path, folder: Path) -> None:
    experiment, source = scripted(config)
    run_in_crew(Acted(1, 2), experiment, source, folder, Quiet())


def first(config: Path, folder: Path, others: Callable[[], Any]) -> Quiet:
    experiment, source = scripted(config)
    watch = Quiet()
    run_in_crew(Acted(0, 2, others), experiment, source, folder, watch)
    return watch


@pytest.fixture
def whole(config: Path, tmp_path: Path) -> Path:
    run(*scripted(config), tmp_path / "whole", Quiet())
    return tmp_path / "whole"


def test_two_processes_make_the_samples_of_one_and_keep_strangers_out(
    config: Path, tmp_path: Path, whole: Path
) -> None:
    folder = tmp_path / "run"

    def others() -> None:
        with pytest.raises(UserError, match="another process"):
            run(*scripted(config), folder, Quiet())
        second(config, folder)

    watch = first(config, folder, others)
    assert 10 < len(watch.made) < 38  # each had its share
    assert lines(folder) == lines(whole) and read_prefixes(folder) == read_prefixes(whole)
    assert sorted(one["id"] for one in read_timings(folder)) == sorted(one["id"] for one in read_samples(whole))
    assert read_header(folder)["models"] == read_header(whole)["models"]
    assert not (folder / "shards").exists()


def test_what_a_killed_process_wrote_is_merged_by_the_next_start(config: Path, tmp_path: Path, whole: Path) -> None:
    def killed() -> None:
        second(config, tmp_path / "run")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        first(config, tmp_path / "run", killed)
    assert lines(tmp_path / "run") == [] and len(list((tmp_path / "run" / "shards").iterdir())) == 2
    watch = Quiet()
    run(*scripted(config), tmp_path / "run", watch)
    assert watch.made == [] and lines(tmp_path / "run") == lines(whole)


def test_a_merge_that_was_cut_off_is_taken_up_again(
    config: Path, tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda path: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            first(config, folder, lambda: second(config, folder))
    path = next(iter(records.sample_files(folder)))
    path.write_bytes(path.read_bytes()[:-40])  # the last line that was merged is torn
    watch = Quiet()
    run(*scripted(config), folder, watch)
    assert watch.made == [] and lines(folder) == lines(whole) and read_prefixes(folder) == read_prefixes(whole)


def test_a_process_that_fails_is_named_and_nothing_is_lost(config: Path, tmp_path: Path, whole: Path) -> None:
    with pytest.raises(RunError, match="process 1 of 2: out of memory"):
        first(config, tmp_path / "run", lambda: "process 1 of 2: out of memory")
    kept = lines(tmp_path / "run")
    assert kept and set(kept) < set(lines(whole))
    with pytest.raises(RunError, match="samples are missing"):
        first(config, tmp_path / "run", lambda: None)


def test_other_weights_in_a_shard_are_refused(config: Path, tmp_path: Path) -> None:
    def others() -> None:
        second(config, tmp_path / "run")
        shard = records.shard_folder(tmp_path / "run", 1, 2)
        records.write_header(shard, read_header(shard) | {"models": {"tiny": {"weights_sha256": "other"}}})

    with pytest.raises(UserError, match="not the one"):
        first(config, tmp_path / "run", others)


def test_every_item_is_taken_by_exactly_one_process() -> None:
    ids = [f"m/v/N0/+/t{number:03d}" for number in range(3000)]
    shares = [{one for one in ids if Crew(rank, 3).takes(one)} for rank in range(3)]
    assert set.union(*shares) == set(ids) and sum(map(len, shares)) == len(ids)
    assert min(map(len, shares)) > 850


def test_a_shard_with_nothing_to_do_still_merges(config: Path, tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run") as writer:
        empty = records.shard_folder(tmp_path / "run", 0, 2)
        empty.mkdir(parents=True)
        writer.adopt(empty)
    assert lines(tmp_path / "run") == [] and not empty.exists()


@pytest.mark.slow
def test_accelerate_launch_makes_the_same_samples(tmp_path: Path) -> None:
    tiny_folder(tmp_path / "model")
    config = tmp_path / "c.yaml"
    config.write_text(
        f"experiment: operators\nmodels: [{{name: tiny, path: {tmp_path / 'model'}, model_tokens: 8}}]\n"
        "variants: [strict-arrow-t1.0]\nshots: [0, 2]\nskills: ['+', '|']\ntrials: 4\norders: 2\nslots: 3\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes=2", "--num_machines=1"]
    command += ["--mixed_precision=no", "--dynamo_backend=no", f"--main_process_port={port}"]
    command += ["-m", "experiments.cli", "run", str(config), "--out", str(tmp_path / "run"), "--json"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *command], cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert '"made": 16' in done.stdout and done.stdout.count("made") == 1
    experiment, typed = load(config)
    run(experiment, Source(config, typed), tmp_path / "whole", Quiet())
    assert lines(tmp_path / "run") == lines(tmp_path / "whole") != []
