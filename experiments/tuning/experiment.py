"""The tuning experiment as the generic verbs see it: columns of adapters over the operator experiment's questions.

Each column asks the very questions that the operator experiment asks under `strict-arrow`; only what stands before them
differs. Loads no model and reads no adapter by itself until an answer is wanted. Knows nothing of files of a run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

from experiments.base import Answered, Item, Preview, Stream
from experiments.config import validated
from experiments.operators.config import ModelConfig, OperatorsConfig
from experiments.operators.experiment import OperatorTransfer
from experiments.operators.prompts import Asked, number
from experiments.records import Sample
from experiments.suites.load import load_suite
from experiments.suites.suite import Suite
from experiments.tuning.config import VARIANT, Column, TuningConfig
from experiments.tuning.retention import NAME, NoCall, judge_no_call
from toolkit.errors import UserError

if TYPE_CHECKING:
    from experiments.operators.live import Answers
    from toolkit.decoding.request import Reply

Open = Callable[[ModelConfig, Column, Suite, OperatorsConfig], tuple["Answers", dict[str, Any]]]


class Tuning:
    """Adapters over one suite. `open_engine` replaces real engines in tests."""

    growing: ClassVar[tuple[str, ...]] = ("models", "columns", "shots", "skills", "trials")
    free: ClassVar[tuple[str, ...]] = ("title", "slots", "deviations", "models.*.per_second")

    def __init__(self, config: TuningConfig, suite: Suite, where: str, open_engine: Open | None = None) -> None:
        self.config = config
        suite = suite if config.controls else replace(suite, controls=())
        self.suite = replace(suite, skills=(*suite.skills, NoCall())) if config.retention else suite
        operators = config.operators()
        if config.retention and operators["skills"] is not None:
            operators["skills"] = [*operators["skills"], NAME]
        self.inner = OperatorTransfer(OperatorsConfig.model_validate(operators), self.suite, where)
        self.columns = {column.name: column for column in config.columns}
        self._open = open_engine
        self._live: Any = None
        self._engines: dict[tuple[str, str], Answers] = {}
        self._described: dict[str, dict[str, Any]] = {}

    @classmethod
    def from_config(cls, data: Mapping[str, Any], path: Path) -> Tuning:
        """The experiment of a configuration read from `path`."""
        config = validated(TuningConfig, data, str(path))
        try:
            suite = load_suite(config.suite, path.parent)
        except UserError as error:
            if error.where == "suite":
                raise UserError(error.what, f"{path}: suite", error.fix) from error
            raise
        return cls(config, suite, str(path))

    @property
    def resolved(self) -> dict[str, Any]:
        """The configuration with all defaults, the suite by digest."""
        shared = {key: self.inner.resolved[key] for key in ("suite", "shots", "skills", "introduction")}
        return self.config.model_dump(mode="json") | shared

    def header(self) -> dict[str, Any]:
        """What reports show and re-scoring needs; the costs of each column as its adapter states them."""
        report = self.inner.header()["report"] | {
            "variants": list(self.columns),
            "deviations": list(self.config.deviations),
            "costs": {name: costs(column) for name, column in self.columns.items()},
        }
        return {"report": report, "suite": self.suite.describe()}

    def items(self) -> Iterator[Item]:
        """Model by model, column by column, then shots, trials and skills."""
        for model in self.config.models:
            for column in self.columns:
                for item in self.inner.items():
                    if item.model == model.name:
                        yield replace(item, variant=column)

    def streams(self, items: Sequence[Item]) -> Iterator[Stream]:
        """Per model and column, items with the same examples side by side."""
        for model in self.config.models:
            for column in self.columns:
                own = [replace(i, variant=VARIANT) for i in items if (i.model, i.variant) == (model.name, column)]
                for stream in self.inner.streams(own):
                    named = tuple(replace(item, variant=column) for item in stream.items)
                    yield Stream(f"{model.name}.{column}", named, stream.flush)

    def prepare(self, stream: Stream) -> None:
        """Load the model of the stream with its adapter."""
        self._engine(stream.items[0].model, stream.items[0].variant)

    def answer(self, stream: Stream) -> Iterator[Answered]:
        """Answer with the engine of the stream's model and column."""
        engine = self._engine(stream.items[0].model, stream.items[0].variant)
        under_way: dict[str, Asked] = {}
        started = perf_counter()

        def asked() -> Iterator[Asked]:
            for item in stream.items:
                under_way[item.id] = one = self.ask(item)
                yield one

        for reply in engine.answer(asked()):
            one = under_way.pop(reply.id)
            timing = {"id": reply.id, "at": perf_counter() - started}
            yield Answered(self.sample(one, reply), one.parts, timing)

    def ask(self, item: Item) -> Asked:
        """The item's examples and question; held out is what neither the prompt nor the adapter's training showed."""
        asked = self.inner.prompts.ask(replace(item, variant=VARIANT))
        held_out = asked.held_out and item.skill not in trained(self.columns[item.variant])
        skill = self.suite.skill(item.skill)
        question = skill.of_trial(item.trial) if isinstance(skill, NoCall) else asked.question
        seed = number(self.config.seed, item.id)
        return replace(asked, item=item, held_out=held_out, question=question, seed=seed)

    def sample(self, asked: Asked, reply: Reply) -> Sample:
        """A reply as its record, scored."""
        sample = self.inner.sample(replace(asked, item=replace(asked.item, variant=VARIANT)), reply)
        sample["id"], sample["variant"] = asked.item.id, asked.item.variant
        self._judge(sample)
        return sample

    def _judge(self, sample: Sample) -> None:
        if sample["skill"] == NAME:
            judge_no_call(sample, self.suite.skills)

    def _engine(self, model: str, column: str) -> Answers:
        """The engine of a model and column; one is in memory at a time."""
        key = model, column
        if key not in self._engines:
            self._engines.clear()
            config = next(entry for entry in self.config.models if entry.name == model)
            self._engines[key], facts = self._make(config, self.columns[column])
            self._described.setdefault(model, self._engines[key].description)
            self._described[f"{model} + {column}"] = facts
        return self._engines[key]

    def _make(self, model: ModelConfig, column: Column) -> tuple[Answers, dict[str, Any]]:
        if self._open is not None:
            return self._open(model, column, self.suite, self.inner.config)
        from experiments.tuning.live import Columns

        if self._live is None or self._live.model != model:
            self._live = Columns(model, self.suite, self.inner.config)
        opened: tuple[Answers, dict[str, Any]] = self._live.open(column, self.config.retention)
        return opened

    def models(self) -> dict[str, dict[str, Any]]:
        """Descriptions of the models and adapters loaded so far."""
        return dict(self._described)

    def score(self, samples: Iterable[Sample], scorer: str | None) -> Iterator[Sample]:
        """The samples judged again."""
        for sample in self.inner.score(samples, scorer):
            self._judge(sample)
            yield sample

    def previews(self) -> Iterator[Preview]:
        """The prompt of trial 0 of each cell; positions of a soft prompt are not counted."""
        for column in self.columns:
            for preview in self.inner.previews():
                asked = self.ask(replace(preview.item, variant=column))
                yield replace(preview, item=asked.item, held_out=asked.held_out)

    @property
    def speeds(self) -> dict[str, float | None]:
        """Questions per second by model as the configuration states them."""
        return self.inner.speeds


def facts_of(column: Column) -> dict[str, Any]:
    """What the adapter's folder says of its training; empty where it says nothing or is not there."""
    path = Path(column.adapter or "") / "tuning.json"
    if column.adapter is None or not path.is_file():
        return {}
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        return dict(facts)
    except (ValueError, TypeError, OSError) as error:
        raise UserError(f"this cannot be read: {error}", str(path), "restore it, or train the adapter again") from error


def trained(column: Column) -> frozenset[str]:
    """Operators that the column's training showed, and `no-call` if it showed exchanges without a call."""
    if column.trained is not None:
        return frozenset(column.trained)
    facts = facts_of(column)
    quiet = facts.get("config", {}).get("data", {}).get("plain", 0) > 0
    return frozenset(facts.get("data", {}).get("seen", ())) | ({NAME} if quiet else set())


def costs(column: Column) -> dict[str, Any] | None:
    """Method, operators seen, trainable parameters, tokens seen and seconds; None without an adapter."""
    if column.adapter is None:
        return None
    facts = facts_of(column)
    cost = {key: facts.get(key) for key in ("trainable", "tokens", "seconds", "steps")}
    method = facts.get("method", {}).get("kind")
    return {"method": method, "trained": sorted(trained(column) - {NAME}), **cost}
