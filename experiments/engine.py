"""The run loop: what is missing is answered batch by batch, and each batch is on disk before the next begins.

Generic over experiments; `watch` hears of progress, so that this file prints nothing. A process killed at any moment
loses the batch it was working on; batches are cut from the whole plan, so a resumed run repeats that very batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from experiments.base import Answered, Batch, Experiment, Item, Source
from experiments.header import check_models, new_header, resumed_header
from experiments.records import HEADER, RunWriter, read_header, write_header
from toolkit.errors import RunError, UserError


class Watch(Protocol):
    """Hears of progress."""

    def begin(self, total: int, done: int, items: Iterable[Item]) -> None:
        """`done` of `total` samples are there; `items` are to be made."""
        ...

    def answered(self, item_id: str) -> None:
        """One sample was made (it is on disk at the next `saved`)."""
        ...

    def saved(self, batch: Batch) -> None:
        """A batch is on disk."""
        ...


@dataclass(frozen=True)
class Done:
    """How a run ended: samples made now, samples there before, samples of the plan, seconds."""

    made: int
    before: int
    planned: int
    seconds: float


def run(experiment: Experiment, source: Source, folder: Path, watch: Watch, limit: int | None = None) -> Done:
    """Answer everything that `folder` lacks. `limit` asks for the first so many trials of each cell only."""
    planned = list(experiment.items())
    if not planned:
        raise UserError("the configuration asks for no samples", str(folder), "give models, shots, skills and trials")
    started = perf_counter()
    with RunWriter(folder) as writer:
        header = _header(experiment, source, folder, writer)
        wanted = {item.id for item in planned if limit is None or item.trial < limit}
        todo = wanted - writer.done
        before = len(wanted) - len(todo)
        watch.begin(len(wanted), before, (item for item in planned if item.id in todo))
        for whole in experiment.batches(planned) if todo else ():
            batch = Batch(whole.file, tuple(item for item in whole.items if item.id in todo))
            if batch.items:
                header = _run_batch(experiment, batch, folder, writer, header, watch)
    return Done(len(todo), before, len(planned), perf_counter() - started)


def _header(experiment: Experiment, source: Source, folder: Path, writer: RunWriter) -> dict[str, Any]:
    """Write the header of this start, once it is clear that the folder may be used."""
    if (folder / HEADER).exists():
        header = resumed_header(read_header(folder), experiment, source, folder)
    elif writer.done:
        raise UserError("the folder holds samples but no run.json", str(folder), "restore it or choose another --out")
    else:
        header = new_header(experiment, source)
    write_header(folder, header)
    return header


def _run_batch(
    experiment: Experiment, batch: Batch, folder: Path, writer: RunWriter, header: dict[str, Any], watch: Watch
) -> dict[str, Any]:
    """Answer and store one batch; the header, with the batch's model described."""
    experiment.prepare(batch)
    header = _note_models(experiment, folder, header)
    started = perf_counter()
    answers: list[Answered] = []
    for answer in experiment.answer(batch):
        answers.append(answer)
        watch.answered(answer.sample["id"])
    if {answer.sample["id"] for answer in answers} != {item.id for item in batch.items}:
        raise RunError(f"{batch.file}: {len(answers)} answers to {len(batch.items)} questions")
    share = (perf_counter() - started) / len(answers)
    writer.write_prefixes(answer.fragment for answer in answers if answer.fragment)
    timings = sorted(({**answer.timing, "id": answer.sample["id"], "seconds": share} for answer in answers), key=_id)
    writer.write(batch.file, [answer.sample for answer in answers], timings)
    watch.saved(batch)
    return header


def _id(record: Mapping[str, Any]) -> str:
    return str(record["id"])


def _note_models(experiment: Experiment, folder: Path, header: dict[str, Any]) -> dict[str, Any]:
    """Write descriptions of newly loaded models into the header; other weights than before are refused."""
    models = experiment.models()
    check_models(header["models"], models, folder)
    if models.items() <= header["models"].items():
        return header
    header = header | {"models": header["models"] | models}
    write_header(folder, header)
    return header
