"""Answers reach the disk in small pieces while the stream goes on; prefixes are dropped behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from scripted_engine import Quiet, scripted
from tiny import tiny_folder

from experiments import engine
from experiments.base import Answered, Source, Stream, load
from experiments.engine import run
from experiments.operators.experiment import OperatorTransfer
from experiments.operators.live import LiveEngine
from experiments.records import Sample, read_header, read_samples, read_timings
from toolkit.errors import RunError


class Pieces(Quiet):
    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[tuple[int, int]] = []

    def saved(self, samples: Sequence[Sample]) -> None:
        super().saved(samples)
        self.pieces.append((len(samples), len(self.made)))


def test_answers_are_written_while_the_stream_goes_on(config: Path, tmp_path: Path) -> None:
    watch = Pieces()
    run(*scripted(config), tmp_path / "run", watch)
    assert all(size <= 2 * 4 for size, _ in watch.pieces) and [seen for _, seen in watch.pieces[:2]] == [8, 16]
    assert sum(size for size, _ in watch.pieces) == 48 == len(watch.made)


def test_a_slow_stream_is_written_after_some_seconds(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "FLUSH_SECONDS", -1.0)  # always over
    watch = Pieces()
    run(*scripted(config), tmp_path / "run", watch)
    assert [size for size, _ in watch.pieces] == [1] * 48
    assert all(0 <= timing["seconds"] < 60 for timing in read_timings(tmp_path / "run"))


def test_a_failure_keeps_what_was_answered_before(config: Path, tmp_path: Path) -> None:
    experiment, source = scripted(config)
    answer = experiment.answer

    def fails(stream: Stream) -> Iterator[Answered]:
        for number, one in enumerate(answer(stream)):
            if number == 11:
                raise RunError("the device is gone")
            yield one

    experiment.answer = fails  # type: ignore[method-assign]
    with pytest.raises(RunError, match="the device is gone"):
        run(experiment, source, tmp_path / "run", Quiet())
    assert sum(1 for _ in read_samples(tmp_path / "run")) == 11


def test_an_item_that_is_never_answered_is_noticed(config: Path, tmp_path: Path) -> None:
    experiment, source = scripted(config)
    answer = experiment.answer
    experiment.answer = lambda stream: iter(list(answer(stream))[1:])  # type: ignore[method-assign]
    with pytest.raises(RunError, match="46 answers to 48 questions"):
        run(experiment, source, tmp_path / "run", Quiet())


@pytest.mark.parametrize("variant", ["strict-arrow", "paper-arrow-t0.9"])
def test_prefixes_are_made_when_needed_and_dropped_behind_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        f"experiment: operators\nmodels: [{{name: tiny, path: {tiny_folder(tmp_path / 'model')}, model_tokens: 4, "
        f"segment_tokens: 4}}]\nvariants: [{variant}]\nshots: [0, 1]\nskills: ['+', '|']\ntrials: 12\norders: 4\n"
        "slots: 3\nmemory: 0.5\n"
    )
    experiment, typed = load(path)
    assert isinstance(experiment, OperatorTransfer)
    made: list[int] = []
    held: list[int] = []
    request = LiveEngine._request

    def watched(self: LiveEngine, *arguments: object) -> object:
        if not made:
            prefix = self.interceptor.prefix
            self.interceptor.prefix = lambda ids, after=None: made.append(len(ids)) or prefix(ids, after)  # type: ignore
        result = request(self, *arguments)  # type: ignore[arg-type]
        held.append(len(self.kept))
        return result

    monkeypatch.setattr(LiveEngine, "_request", watched)
    run(experiment, Source(path, typed), tmp_path / "run", Quiet())
    assert len(held) == 48 and max(held) <= 4  # no more than there are examples in a prompt
    if variant == "strict-arrow":
        assert max(held) == 1 and len(made) == len({one["prefix"] for one in read_samples(tmp_path / "run")})
    assert read_header(tmp_path / "run")["config"]["resolved"]["memory"] == 0.5
