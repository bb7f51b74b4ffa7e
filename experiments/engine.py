"""The run loop: what is missing is answered in streams, and answers are on disk every few seconds.

Generic over experiments and over who answers (`Answers`: this process, or a cluster); `watch` hears of progress, so
that this file prints nothing. A process killed at any moment loses what it had not written yet, a stopped one nothing.
Samples do not depend on which others are made beside them, except where two tokens' logits differ by no more than
rounding does.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, Protocol

from experiments.base import Answered, Experiment, Item, Made, Ready, Source, Stream
from experiments.header import check_models, new_header, resumed_header
from experiments.records import HEADER, RunWriter, Sample, read_header, shard_folders, write_header
from toolkit.errors import RunError, UserError

FLUSH_SECONDS = 5.0


class Watch(Protocol):
    """Hears of progress."""

    def begin(self, total: int, done: int, items: Iterable[Item]) -> None:
        """`done` of `total` samples are there; `items` are to be made."""
        ...

    def answered(self, item_id: str) -> None:
        """One sample was made (it is on disk at the next `saved`)."""
        ...

    def saved(self, samples: Sequence[Sample]) -> None:
        """These samples are on disk."""
        ...


class Answers(Protocol):
    """Who answers."""

    def answers(self, streams: Iterable[Stream]) -> Iterator[Ready | Made]:
        """Answers to all items in any order; before those of a model, a `Ready` that describes it."""
        ...


class Local:
    """Answers in this process, stream by stream."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment

    def answers(self, streams: Iterable[Stream]) -> Iterator[Ready | Made]:
        """Each stream's model is loaded when its turn comes."""
        for stream in streams:
            self.experiment.prepare(stream)
            yield Ready(self.experiment.models())
            for answer in self.experiment.answer(stream):
                yield Made(stream.file, answer)


@dataclass(frozen=True)
class Done:
    """How a run ended: samples made now, samples there before, samples of the plan, seconds."""

    made: int
    before: int
    planned: int
    seconds: float


@dataclass
class Recorder:
    """Keeps answers until they are written: every `flush` of them, or after `FLUSH_SECONDS`."""

    writer: RunWriter
    header: dict[str, Any]
    watch: Watch
    made: int = 0
    waiting: dict[str, list[Answered]] = field(default_factory=dict)
    written: float = field(default_factory=monotonic)

    def take(self, streams: Sequence[Stream], answers: Answers) -> None:
        """Have the streams answered and write the answers, also those at hand when something fails or a stop comes."""
        most = max((stream.flush for stream in streams), default=1)
        try:
            for event in answers.answers(streams):
                if isinstance(event, Ready):
                    self._note(event)
                    continue
                self.waiting.setdefault(event.file, []).append(event.answered)
                self.watch.answered(event.answered.sample["id"])
                if self._count() >= most or monotonic() - self.written > FLUSH_SECONDS:
                    self.flush()
        finally:
            self.flush()
        asked = sum(len(stream.items) for stream in streams)
        if self.made != asked:
            raise RunError(f"{self.made} answers to {asked} questions")

    def _count(self) -> int:
        return sum(map(len, self.waiting.values()))

    def _note(self, event: Ready) -> None:
        """Check and keep what the models are."""
        if not self.waiting:
            self.written = monotonic()  # the time of loading is no answer's
        self.header = note_models(self.writer.folder, self.header, event.models)

    def flush(self) -> None:
        """Write what is waiting; each sample's `seconds` is its share of the time since the last write."""
        waiting, self.waiting = self.waiting, {}
        count = sum(map(len, waiting.values()))
        if not count:
            return
        share = (monotonic() - self.written) / count
        for file, answers in waiting.items():
            known = self.writer.prefixes
            new = {answer.sample["prefix"]: answer.fragment for answer in answers if answer.fragment}
            self.writer.write_prefixes(parts for prefix, parts in new.items() if prefix not in known)
            timings = [{**answer.timing, "id": answer.sample["id"], "seconds": share} for answer in answers]
            samples = [answer.sample for answer in answers]
            self.writer.write(file, samples, sorted(timings, key=_id))
            self.watch.saved(samples)
        self.made += count
        self.written = monotonic()


def _id(record: Mapping[str, Any]) -> str:
    return str(record["id"])


def run(
    experiment: Experiment,
    source: Source,
    folder: Path,
    watch: Watch,
    limit: int | None = None,
    answers: Answers | None = None,
) -> Done:
    """Answer everything that `folder` lacks. `limit` asks for the first so many trials of each cell only.

    `answers` gives the answers; by default they are made in this process.
    """
    started = perf_counter()
    with RunWriter(folder) as writer:
        header, planned = open_run(experiment, source, folder, writer)
        wanted, todo = missing(experiment, writer.done, limit)
        watch.begin(wanted, wanted - len(todo), todo)
        recorder = Recorder(writer, header, watch)
        recorder.take(list(experiment.streams(todo)), answers or Local(experiment))
    return Done(recorder.made, wanted - len(todo), planned, perf_counter() - started)


def missing(experiment: Experiment, done: Container[str], limit: int | None) -> tuple[int, list[Item]]:
    """How many samples are asked for, and the items that are not `done`."""
    wanted, todo = 0, []
    for item in experiment.items():
        if limit is None or item.trial < limit:
            wanted += 1
            if item.id not in done:
                todo.append(item)
    return wanted, todo


def open_run(experiment: Experiment, source: Source, folder: Path, writer: RunWriter) -> tuple[dict[str, Any], int]:
    """Write the header of this start, once it is clear that the folder may be used, and merge what shards there are.

    Returns the header and the number of samples of the whole plan.
    """
    planned = sum(1 for _ in experiment.items())
    if not planned:
        raise UserError("the configuration asks for no samples", str(folder), "give models, shots, skills and trials")
    if (folder / HEADER).exists():
        header = resumed_header(read_header(folder), experiment, source, folder)
    elif writer.done:
        raise UserError("the folder holds samples but no run.json", str(folder), "restore it or choose another --out")
    else:
        header = new_header(experiment, source)
    write_header(folder, header)
    return merge_shards(writer, header), planned


def merge_shards(writer: RunWriter, header: dict[str, Any]) -> dict[str, Any]:
    """Take over what the processes of a run made, each in its shard; the header, with the models they described."""
    for shard in shard_folders(writer.folder):
        if (shard / HEADER).exists():
            header = note_models(writer.folder, header, read_header(shard)["models"])
        writer.adopt(shard)
    return header


def note_models(folder: Path, header: dict[str, Any], models: Mapping[str, Any]) -> dict[str, Any]:
    """Write descriptions of newly loaded models into the header; other weights than before are refused."""
    check_models(header["models"], models, folder)
    if all(name in header["models"] for name in models):
        return header
    header = header | {"models": models | header["models"]}
    write_header(folder, header)
    return header
