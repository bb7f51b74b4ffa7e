"""The Ray engine on a local cluster of two workers, one of which is killed on the way."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from scripted_engine import Quiet
from tiny import tiny_folder

from experiments import records
from experiments.base import Source, Stream, load
from experiments.engine import run
from experiments.ray_engine import RayAnswers, Shard, resources
from experiments.records import Sample, read_timings
from toolkit.errors import RunError, UserError

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `ray`")


def lines(folder: Path) -> list[bytes]:
    return sorted(line for path in records.sample_files(folder) for line in path.read_bytes().splitlines(keepends=True))


class Killer(Quiet):
    """Kills the worker of the first samples that are on disk."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.killed: int | None = None

    def saved(self, samples: Sequence[Sample]) -> None:
        super().saved(samples)
        if self.killed is None:
            self.killed = next(read_timings(self.folder))["worker"]
            assert self.killed != os.getpid()
            os.kill(self.killed, signal.SIGKILL)


@pytest.fixture
def cluster() -> Iterator[None]:
    ray = import_module("ray")
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


@pytest.mark.slow
def test_a_killed_worker_loses_and_doubles_nothing(tmp_path: Path, cluster: None) -> None:
    tiny_folder(tmp_path / "model")
    config = tmp_path / "c.yaml"
    config.write_text(
        f"experiment: operators\nmodels: [{{name: tiny, path: {tmp_path / 'model'}, model_tokens: 8}}]\n"
        "variants: [strict-arrow-t1.0]\nshots: [0, 2]\nskills: ['+', '|']\ntrials: 24\norders: 2\nslots: 3\n"
    )
    experiment, typed = load(config)
    source, folder = Source(config, typed), tmp_path / "run"
    watch = Killer(folder)
    done = run(experiment, source, folder, watch, answers=RayAnswers(source, resources("CPU=1")))
    assert watch.killed is not None and done.made == 96
    assert sorted(watch.made) == sorted(item.id for item in experiment.items())
    assert {one["worker"] for one in read_timings(folder)} - {watch.killed}
    assert len(records.read_header(folder)["models"]["tiny"]["weights_sha256"]) == 64
    run(experiment, source, tmp_path / "whole", Quiet())
    assert lines(folder) == lines(tmp_path / "whole")
    with pytest.raises(UserError, match="no room for a worker of CPU=64"):
        list(RayAnswers(source, resources("CPU=64")).answers([]))
    config.write_text(config.read_text().replace("/model,", "/gone,"))
    with pytest.raises(UserError, match="gone: there is no such model folder"):
        broken, typed = load(config)
        run(broken, Source(config, typed), tmp_path / "broken", Quiet(), answers=RayAnswers(Source(config, typed), {}))


def test_shards_cover_a_stream_in_order_and_forget_what_arrived(config: Path) -> None:
    experiment, typed = load(config)
    (stream, *_) = experiment.streams(list(experiment.items()))
    cut = list(RayAnswers(Source(config, typed), {})._cut([stream], workers=1))
    assert [item for shard in cut for item in shard.stream.items] == list(stream.items) and len(cut) == 3
    shard = Shard(Stream("f", stream.items[:2]), deaths=2)
    shard.without([Made(stream.items[0].id)])  # type: ignore[list-item]
    assert shard.stream.items == stream.items[1:2] and shard.deaths == 0


class Made:
    """As much of an answer as a shard looks at."""

    def __init__(self, identity: str) -> None:
        self.sample = {"id": identity}


def test_a_shard_that_kills_every_worker_is_given_up(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray: Any = import_module("ray")
    experiment, typed = load(config)
    answers = RayAnswers(Source(config, typed), {})
    sent: list[Shard] = []

    def send(shard: Shard) -> Iterator[Any]:
        sent.append(shard)
        return iter(["reference"])

    def get(reference: object) -> Any:
        raise ray.exceptions.WorkerCrashedError

    monkeypatch.setattr(answers, "_send", send)
    monkeypatch.setattr(ray, "wait", lambda tasks, num_returns: (tasks[:1], []))
    monkeypatch.setattr(ray, "get", get)
    (stream, *_) = experiment.streams(list(experiment.items()))
    with pytest.raises(RunError, match="3 workers died on the same shard"):
        list(answers._collect([Shard(stream)]))
    assert len(sent) == 3


@pytest.mark.parametrize("text", ["CPU", "CPU=many", "", "CPU=1,,", "GPU=-1", "GPU=nan"])
def test_resources_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="no amount"):
        resources(text)
    assert resources("CPU=4, GPU=0.5") == {"CPU": 4.0, "GPU": 0.5}
