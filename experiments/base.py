"""What the generic verbs ask of an experiment: its items, how to answer a stream of them, how to score a sample again.

`operators` lives here today; `restbench` and `tuning` plug in the same way. This file knows nothing of any of them
beyond the name of their class, and imports none until a configuration asks for it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from experiments.config import override, read_yaml
from experiments.records import Sample
from toolkit.errors import UserError
from toolkit.plugins.fragment import Fragment

CLASSES = {
    "operators": "experiments.operators.experiment:OperatorTransfer",
    "restbench": "experiments.restbench.experiment:RestBench",
    "tuning": "experiments.tuning.experiment:Tuning",
}


@dataclass(frozen=True)
class Source:
    """Where an experiment came from: the configuration's path and its content as typed, `--set` applied."""

    path: Path
    typed: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return str(self.typed["experiment"])


@dataclass(frozen=True, slots=True)
class Item:
    """One sample to make. `id` is `model/variant/N<shots>/skill/t<trial>` and fixes everything about it."""

    model: str
    variant: str
    shots: int
    skill: str
    trial: int

    @property
    def id(self) -> str:
        """The sample's id."""
        return f"{self.model}/{self.variant}/N{self.shots}/{self.skill}/t{self.trial:03d}"

    @property
    def cell(self) -> tuple[str, str, int, str]:
        """The cell that the sample belongs to."""
        return self.model, self.variant, self.shots, self.skill


@dataclass(frozen=True)
class Stream:
    """Items that are answered in one go and written to `samples/<file>.jsonl`, at the latest every `flush` of them."""

    file: str
    items: tuple[Item, ...]
    flush: int = 64


@dataclass
class Answered:
    """What answering one item yields: the sample, its fragment's examples in order, and what is known of time."""

    sample: Sample
    fragment: tuple[Fragment, ...] = ()
    timing: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Ready:
    """Who answers is ready to: descriptions of the models that are loaded, by name."""

    models: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Made:
    """One item was answered; it belongs in `samples/<file>.jsonl`."""

    file: str
    answered: Answered


@dataclass(frozen=True)
class Preview:
    """One cell as `toolkit plan` shows it: a whole prompt and its length in tokens by model (None: not known)."""

    item: Item
    prompt: str
    held_out: bool
    tokens: Mapping[str, int | None]


class Experiment(Protocol):
    """One experiment, made from a configuration."""

    growing: ClassVar[tuple[str, ...]]  # keys of `resolved` that may gain elements (or grow) when a run is resumed
    free: ClassVar[tuple[str, ...]]  # keys that may change at will: they decide speed, not results

    @classmethod
    def from_config(cls, data: Mapping[str, Any], path: Path) -> Experiment:
        """The experiment that a configuration describes; UserError for any mistake in it."""
        ...

    @property
    def resolved(self) -> dict[str, Any]:
        """The configuration with every default filled in, as JSON data."""
        ...

    def header(self) -> dict[str, Any]:
        """The parts of a run header that only the experiment knows: `report`, and whatever else it wants kept."""
        ...

    def items(self) -> Iterator[Item]:
        """All items in a fixed order."""
        ...

    def streams(self, items: Sequence[Item]) -> Iterator[Stream]:
        """The items in groups that can be answered in one go, in an order that is good to answer them in."""
        ...

    def prepare(self, stream: Stream) -> None:
        """Load what the stream needs, if it is not loaded yet; kept apart from `answer`, which is timed."""
        ...

    def answer(self, stream: Stream) -> Iterator[Answered]:
        """Answer the items of a prepared stream as they are done, in any order; items are made concrete when needed."""
        ...

    def models(self) -> dict[str, dict[str, Any]]:
        """What is known of the models loaded so far, by name (revision, hash of weights, dtype, device)."""
        ...

    def score(self, samples: Iterable[Sample], scorer: str | None) -> Iterator[Sample]:
        """The samples scored again, by one scorer or by all."""
        ...

    @property
    def speeds(self) -> dict[str, float | None]:
        """Samples per second by model, as far as the configuration states them; for `plan`."""
        ...

    def previews(self) -> Iterator[Preview]:
        """The first prompt of each cell. Must not load a model."""
        ...


def load(path: Path, assignments: Iterable[str] = ()) -> tuple[Experiment, dict[str, Any]]:
    """The experiment of a configuration file with `--set` applied, and the configuration as typed."""
    typed = override(read_yaml(path), assignments)
    return make(typed, path), typed


def make(data: Mapping[str, Any], path: Path) -> Experiment:
    """The experiment that `data`, read from `path`, describes."""
    name = data.get("experiment")
    if not isinstance(name, str) or name not in CLASSES:
        what = "the key is missing" if name is None else f"no experiment is named {name!r}"
        raise UserError(what, f"{path}: experiment", f"use {' or '.join(CLASSES)}")
    module, _, attribute = CLASSES[name].partition(":")
    kind: type[Experiment] = getattr(importlib.import_module(module), attribute)
    return kind.from_config(data, path)
