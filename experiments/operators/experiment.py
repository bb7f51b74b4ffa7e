"""The held-out experiment as the generic verbs see it: cells, streams, answers to samples, and what its reports show.

Loads no model by itself: the engine that answers is made on first use (or given by a test). Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

from experiments.base import Answered, Item, Preview, Stream
from experiments.config import validated
from experiments.operators.config import ModelConfig, OperatorsConfig, Variant
from experiments.operators.deviations import deviations, unlike_eval
from experiments.operators.prompts import Asked, Prompts
from experiments.operators.scoring import SCORERS, judge
from experiments.records import CallEntry, Sample, encode_source
from experiments.suites.load import load_suite
from experiments.suites.suite import Suite
from experiments.tokens import counter
from toolkit.errors import UserError
from toolkit.plugins.fragment import join
from toolkit.tools.arithmetic import Arithmetic

if TYPE_CHECKING:
    from experiments.operators.live import Answers
    from toolkit.decoding.request import Reply

Open = Callable[[ModelConfig, Variant, Suite, OperatorsConfig], "Answers"]


class OperatorTransfer:
    """Held-out transfer over one suite. `open_engine` replaces the real engine in tests."""

    growing: ClassVar[tuple[str, ...]] = ("models", "variants", "shots", "skills", "trials")
    free: ClassVar[tuple[str, ...]] = ("title", "slots", "memory", "deviations", "models.*.per_second")

    def __init__(self, config: OperatorsConfig, suite: Suite, where: str, open_engine: Open | None = None) -> None:
        self.config, self.suite = config, suite
        names = suite.names
        introduction = tuple(config.introduction or suite.introduction)
        _refuse_unknown(introduction, names, f"{where}: introduction")
        _refuse_unknown(config.skills or (), names, f"{where}: skills")
        self.skills = tuple(name for name in names if name in (config.skills or names))
        self.prompts = Prompts(suite, introduction, config.design, config.seed, config.orders)
        possible = self.prompts.shots
        self.shots = tuple(config.shots or possible)
        if wrong := [shots for shots in self.shots if shots not in possible]:
            fix = f"{len(introduction)} skills are introduced: use 0 to {len(introduction)}"
            raise UserError(f"there are no prompts with {wrong[0]} shots", f"{where}: shots", fix)
        self.variants = {name: Variant.parse(name) for name in config.variants}
        self._open = open_engine
        self._loaded: Any = None
        self._engines: dict[tuple[str, str], Answers] = {}
        self._described: dict[str, dict[str, Any]] = {}

    @classmethod
    def from_config(cls, data: Mapping[str, Any], path: Path) -> OperatorTransfer:
        """The experiment of a configuration read from `path`."""
        config = validated(OperatorsConfig, data, str(path))
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
        return self.config.model_dump(mode="json") | {
            "suite": self.suite.digest,
            "shots": list(self.shots),
            "skills": list(self.skills),
            "introduction": list(self.prompts.introduction),
        }

    def header(self) -> dict[str, Any]:
        """What reports show and re-scoring needs."""
        report = {
            "title": self.config.title,
            "axes": {"rows": self.suite.row_label, "columns": "shots"},
            "models": [model.name for model in self.config.models],
            "variants": list(self.config.variants),
            "skills": list(self.skills),
            "deviations": [*deviations(self.variants.values(), self.suite.name), *self.config.deviations],
        }
        return {"report": report, "suite": self.suite.describe()}

    def items(self) -> Iterator[Item]:
        """Model by model, variant by variant, then shots, trials and skills."""
        for model in self.config.models:
            for variant in self.config.variants:
                for shots in self.shots:
                    for trial in range(self.config.trials):
                        for skill in self.skills:
                            yield Item(model.name, variant, shots, skill, trial)

    def streams(self, items: Sequence[Item]) -> Iterator[Stream]:
        """Per model and variant, items with the same examples side by side."""
        groups: dict[tuple[str, str], list[Item]] = {}
        for item in items:
            groups.setdefault((item.model, item.variant), []).append(item)
        for (model, variant), members in groups.items():
            yield Stream(f"{model}.{variant}", tuple(sorted(members, key=self._place)), 2 * self.config.slots)

    def _place(self, item: Item) -> tuple[Any, ...]:
        return item.shots, self.prompts.examples(item), item.trial, self.skills.index(item.skill)

    def prepare(self, stream: Stream) -> None:
        """Load the model of the stream."""
        self._engine(stream.items[0].model, stream.items[0].variant)

    def answer(self, stream: Stream) -> Iterator[Answered]:
        """Answer with the engine of the stream's model and variant, which pulls question by question."""
        engine = self._engine(stream.items[0].model, stream.items[0].variant)
        under_way: dict[str, Asked] = {}
        started = perf_counter()

        def asked() -> Iterator[Asked]:
            for item in stream.items:
                under_way[item.id] = one = self.prompts.ask(item)
                yield one

        for reply in engine.answer(asked()):
            one = under_way.pop(reply.id)
            seconds = [call.outcome.seconds for call in reply.calls]
            timing = {"id": reply.id, "at": perf_counter() - started, "calls": seconds}
            yield Answered(self.sample(one, reply), one.parts, timing)

    def _engine(self, model: str, variant: str) -> Answers:
        """The engine of a model and variant; one model is in memory at a time."""
        key = model, variant
        if key not in self._engines:
            config = next(entry for entry in self.config.models if entry.name == model)
            if any(name != model for name, _ in self._engines):
                self._engines.clear()
            self._engines[key] = self._make(config, self.variants[variant])
            self._described[model] = self._engines[key].description
        return self._engines[key]

    def _make(self, model: ModelConfig, variant: Variant) -> Answers:
        if self._open is not None:
            return self._open(model, variant, self.suite, self.config)
        from experiments.operators.live import LiveEngine, Loaded

        if self._loaded is None or self._loaded.config != model:
            self._loaded = None
            self._loaded = Loaded(model)
        return LiveEngine(self._loaded, variant, self.suite, self.config)

    def sample(self, asked: Asked, reply: Reply) -> Sample:
        """A reply as its record, scored."""
        item, skill = asked.item, self.suite.skill(asked.item.skill)
        sample: Sample = {
            "id": item.id,
            "model": item.model,
            "variant": item.variant,
            "shots": item.shots,
            "skill": item.skill,
            "trial": item.trial,
            "order": asked.order,
            "seed": asked.seed,
            "prefix": asked.prefix,
            "held_out": asked.held_out,
            "question": asked.question.text,
            "prompt": asked.prompt,
            "truth": asked.question.truth,
            "expect": {"api": skill.api, "arguments": asked.question.arguments},
            "ids": list(reply.ids),
            "source": encode_source(reply.source),
            "text": reply.text,
            "calls": [_entry(call) for call in reply.calls],
            "finish": reply.finish,
        }
        if self.variants[item.variant].protocol == "paper" and (unlike := self._unlike_eval(sample["calls"])):
            sample["unlike_eval"] = unlike
        judge(sample, self.suite.skills)
        return sample

    def _unlike_eval(self, calls: Sequence[CallEntry]) -> list[str]:
        """Arguments of arithmetic calls on which the original's eval might have given another text (F7)."""
        arithmetic = [call for call in calls if isinstance(self.suite.tools.get(call["name"]), Arithmetic)]
        return [
            call["arguments"] for call in arithmetic if unlike_eval(call["arguments"], call["status"], call["result"])
        ]

    def models(self) -> dict[str, dict[str, Any]]:
        """Descriptions of the models loaded so far."""
        return dict(self._described)

    def score(self, samples: Iterable[Sample], scorer: str | None) -> Iterator[Sample]:
        """The samples judged again."""
        if scorer is not None and scorer not in SCORERS:
            raise UserError(f"no scorer is named {scorer!r}", "--scorer", f"use {', '.join(SCORERS)}")
        for sample in samples:
            judge(sample, self.suite.skills, tuple(SCORERS) if scorer is None else (scorer,))
            yield sample

    def previews(self) -> Iterator[Preview]:
        """The prompt of trial 0 of each cell, its tokens counted where the tokenizer is on this machine."""
        counters = {model.name: counter(model) for model in self.config.models}
        for variant in self.config.variants:
            for shots in self.shots:
                for skill in self.skills:
                    asked = self.prompts.ask(Item(self.config.models[0].name, variant, shots, skill, 0))
                    tokens = {name: count and count(asked.parts, asked.prompt) for name, count in counters.items()}
                    prompt = join(asked.parts).text + asked.prompt
                    yield Preview(asked.item, prompt, asked.held_out, tokens)

    @property
    def speeds(self) -> dict[str, float | None]:
        """Questions per second by model as the configuration states them."""
        return {model.name: model.per_second for model in self.config.models}


def _refuse_unknown(names: Sequence[str], known: Sequence[str], where: str) -> None:
    for name in names:
        if name not in known:
            raise UserError(f"no skill is named {name!r}", where, f"the suite has {', '.join(known)}")


def _entry(call: Any) -> CallEntry:
    return {
        "name": call.name,
        "arguments": call.arguments,
        "status": call.outcome.status,
        "result": call.outcome.text,
        "start": call.start,
        "end": call.end,
    }
