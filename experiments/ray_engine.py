"""Answers a run's items on a Ray cluster: `toolkit run --engine ray`, extra `ray`.

Streams are cut into shards; each is a Ray task with a resource request that streams its answers to the driver, which
alone writes. A shard whose worker dies is sent out again with what is missing of it. Ray's own retries are off: they
replay a task from its start and want the same answers in the same order. Knows nothing of files.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from time import monotonic
from typing import Any

from experiments.base import Answered, Experiment, Made, Ready, Source, Stream, make
from toolkit.errors import RunError, UserError

PER_WORKER = 4  # shards of one stream that each worker gets: more even out the end, fewer keep more rows side by side
FUTILE = 3  # deaths in a row without an answer after which a shard is given up
SEND_SECONDS = 1.0  # answers wait at most this long for others to travel with


@dataclass
class Shard:
    """Part of a stream on its way: what is still to be answered, and how often it died since it last answered."""

    stream: Stream
    deaths: int = 0

    def without(self, answered: Iterable[Answered]) -> None:
        """Take out what has arrived."""
        there = {answer.sample["id"] for answer in answered}
        rest = tuple(item for item in self.stream.items if item.id not in there)
        self.stream, self.deaths = replace(self.stream, items=rest), 0


@lru_cache(maxsize=1)
def _experiment(typed: str, path: str) -> Experiment:
    """The worker's experiment, with the model it holds, kept from shard to shard."""
    return make(json.loads(typed), Path(path))


def answer_shard(typed: str, path: str, stream: Stream) -> Iterator[Any]:
    """Runs in a worker: first what the models are, then answers, some at a time."""
    experiment = _experiment(typed, path)
    experiment.prepare(stream)
    yield experiment.models()
    together: list[Answered] = []
    sent = monotonic()
    for answer in experiment.answer(stream):
        answer.timing["worker"] = os.getpid()
        together.append(answer)
        if len(together) >= stream.flush or monotonic() - sent > SEND_SECONDS:
            yield together
            together, sent = [], monotonic()
    if together:
        yield together


class RayAnswers:
    """The `Answers` of a run that a Ray cluster gives. `resources` is what one worker takes, e.g. `{"CPU": 4}`.

    The cluster is the one of RAY_ADDRESS, one that runs on this machine, or one started here for this run.
    """

    def __init__(self, source: Source, resources: Mapping[str, float]) -> None:
        if find_spec("ray") is None:
            raise UserError(
                "Ray is not installed", "--engine ray", "install the extra: pip install heldout-toolkit[ray]"
            )
        self.typed, self.path = json.dumps(source.typed), str(source.path.resolve())
        self.resources = dict(resources)

    def answers(self, streams: Iterable[Stream]) -> Iterator[Ready | Made]:
        """Answers of all streams as they arrive; RunError when a shard fails."""
        ray = _ray()
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ours = not ray.is_initialized()
        if ours:
            ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False)
        try:
            shards = list(self._cut(streams, self._workers(ray.cluster_resources())))
            yield from self._collect(shards)
        finally:
            if ours:
                ray.shutdown()

    def _workers(self, there: Mapping[str, float]) -> int:
        """How many workers the cluster has room for; `resources` gains a GPU where there are any and none was said."""
        if there.get("GPU") and "GPU" not in self.resources:
            self.resources["GPU"] = 1
        self.resources.setdefault("CPU", 1)
        fits = (int(there.get(name, 0) // amount) for name, amount in self.resources.items() if amount)
        room = min(fits, default=1)
        if not room:
            asked = ", ".join(f"{name}={amount:g}" for name, amount in self.resources.items())
            raise UserError(f"the Ray cluster has no room for a worker of {asked}", "--per-worker", "ask for less")
        return room

    def _cut(self, streams: Iterable[Stream], workers: int) -> Iterator[Shard]:
        """Neighbours stay together, because they share prefixes."""
        for stream in streams:
            size = max(stream.flush, ceil(len(stream.items) / (PER_WORKER * workers)))
            for start in range(0, len(stream.items), size):
                yield Shard(replace(stream, items=stream.items[start : start + size]))

    def _send(self, shard: Shard) -> Any:
        ray = _ray()
        amounts = dict(self.resources)
        options = {"num_cpus": amounts.pop("CPU"), "num_gpus": amounts.pop("GPU", 0), "resources": amounts}
        task = ray.remote(max_retries=0, **options)(answer_shard)
        return task.remote(self.typed, self.path, shard.stream)

    def _collect(self, shards: list[Shard]) -> Iterator[Ready | Made]:
        """Send all shards out and hand on what comes back, until nothing is missing."""
        ray = _ray()
        under_way = {self._send(shard): shard for shard in shards}
        while under_way:
            task = ray.wait(list(under_way), num_returns=1)[0][0]
            shard = under_way[task]
            try:
                arrived = ray.get(next(task))
            except StopIteration:
                del under_way[task]
                if shard.stream.items:
                    raise RunError(f"{shard.stream.file}: a worker left {len(shard.stream.items)} items out") from None
            except ray.exceptions.RayTaskError as error:
                raise _cause(error) from error
            except ray.exceptions.RayError as error:
                del under_way[task]
                shard.deaths += 1
                if shard.deaths >= FUTILE:
                    raise RunError(f"{shard.stream.file}: {FUTILE} workers died on the same shard: {error}") from error
                if shard.stream.items:
                    under_way[self._send(shard)] = shard
            else:
                yield from _handed_on(shard, arrived)


def resources(text: str) -> dict[str, float]:
    """`CPU=4,GPU=1` as amounts by name; UserError for anything else."""
    amounts = {}
    for part in text.split(","):
        name, _, amount = part.partition("=")
        if not re.fullmatch(r"\d+(\.\d+)?", amount.strip()):
            fix = "write names and amounts, e.g. CPU=4,GPU=1"
            raise UserError(f"{part!r} is no amount of a resource", "--per-worker", fix)
        amounts[name.strip()] = float(amount)
    return amounts


def _ray() -> Any:
    """The library, imported when it is needed; untyped, because it is an extra."""
    return import_module("ray")


def _handed_on(shard: Shard, arrived: Any) -> Iterator[Ready | Made]:
    if isinstance(arrived, dict):
        yield Ready(arrived)
        return
    shard.without(arrived)
    for answer in arrived:
        yield Made(shard.stream.file, answer)


def _cause(error: Any) -> Exception:
    """What went wrong in the worker, as the same kind of error."""
    if isinstance(error.cause, UserError | RunError):
        return error.cause
    return RunError(f"a Ray worker failed: {type(error.cause).__name__}: {error.cause}")
