"""RestBench as the generic verbs see it: a sample is an episode, a cell the tasks of one gold length (or description).

Rows of a matrix are scenarios; columns are lengths of the published gold path, or, for the noise curve, numbers of
endpoints in the description. Loads no model by itself, and knows nothing of files beyond RestBench's folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

from experiments.base import Answered, Item, Preview, Stream
from experiments.config import validated
from experiments.records import CallEntry, Sample
from experiments.restbench.backends import Backend, open_backend
from experiments.restbench.config import PlannerModel, RestBenchConfig
from experiments.restbench.data import COMMIT, SCENARIOS, Scenario, locate
from experiments.restbench.deviations import DEVIATIONS
from experiments.restbench.noise import with_endpoints
from experiments.restbench.play import Rules, play, record
from experiments.restbench.preview import first_prompt
from experiments.restbench.record import RestSample, digest, spent
from experiments.restbench.scenario import Bench, Sitting, World
from experiments.restbench.scoring import SCORERS, judge
from toolkit.errors import UserError
from toolkit.plugins.fragment import Fragment, Segment
from toolkit.restgpt.exchange import Exchange
from toolkit.restgpt.run import Answer
from toolkit.restgpt.spec import Spec

SHOWN_OF_ANSWER = 240


class RestBench:
    """All episodes of one configuration. `open_model` replaces the real back ends in tests."""

    growing: ClassVar[tuple[str, ...]] = ("models", "strategies", "worlds", "noise.endpoints")
    free: ClassVar[tuple[str, ...]] = ("title", "data", "deviations", "models.*.per_second", "models.*.key_env")

    def __init__(
        self, config: RestBenchConfig, folder: Path, open_model: Callable[[PlannerModel], Backend] = open_backend
    ) -> None:
        self.config = config
        self.benches: dict[Scenario, Bench] = {name: Bench(name, folder) for name in SCENARIOS}
        self._open, self._backends = open_model, dict[str, Backend]()
        self._described: dict[str, dict[str, Any]] = {}
        self._specs: dict[tuple[Scenario, int], Spec] = {}
        self.cells = {(name, column): tasks for name in config.scenarios for column, tasks in self._columns(name)}

    @classmethod
    def from_config(cls, data: Mapping[str, Any], path: Path) -> RestBench:
        """The experiment of a configuration read from `path`."""
        config = validated(RestBenchConfig, data, str(path))
        experiment = cls(config, locate(config.data))
        for column in config.noise.endpoints if config.noise else ():
            experiment.spec(config.scenarios[0], column)
        return experiment

    def _columns(self, scenario: Scenario) -> Iterator[tuple[int, list[int]]]:
        """The columns of a scenario, each with its tasks."""
        bench = self.benches[scenario]
        chosen = self.config.tasks.get(scenario, range(len(bench.tasks)))
        if wrong := [index for index in chosen if index >= len(bench.tasks)]:
            fix = f"{scenario} has the tasks 0 to {len(bench.tasks) - 1}"
            raise UserError(f"there is no task {wrong[0]}", f"tasks.{scenario}", fix)
        if self.config.noise:
            for size in self.config.noise.endpoints:
                yield size, list(chosen)
            return
        lengths = {index: len(bench.published_paths[index].steps) for index in chosen}
        for length in sorted(set(lengths.values())):
            yield length, [index for index in chosen if lengths[index] == length]

    @property
    def resolved(self) -> dict[str, Any]:
        """The configuration with all defaults."""
        return self.config.model_dump(mode="json")

    def header(self) -> dict[str, Any]:
        """What reports show and re-scoring needs."""
        report = {
            "title": self.config.title,
            "axes": {"rows": "scenario", "columns": "endpoints" if self.config.noise else "gold length"},
            "models": [model.name for model in self.config.models],
            "variants": list(self.config.strategies),
            "skills": list(self.config.scenarios),
            "deviations": [*DEVIATIONS, *self.config.deviations],
        }
        return {"report": report, "suite": {"name": "restbench", "commit": COMMIT}}

    def items(self) -> Iterator[Item]:
        """Model by model, strategy by strategy, cell by cell, then world by world the cell's tasks."""
        for model in self.config.models:
            for strategy in self.config.strategies:
                for (scenario, column), tasks in self.cells.items():
                    for trial in range(self.config.worlds * len(tasks)):
                        yield Item(model.name, strategy, column, scenario, trial)

    def streams(self, items: Sequence[Item]) -> Iterator[Stream]:
        """Model by model and strategy by strategy; every episode is kept at once, for it may take minutes."""
        groups: dict[str, list[Item]] = {}
        for item in items:
            groups.setdefault(f"{item.model}.{item.variant}", []).append(item)
        for file, members in groups.items():
            yield Stream(file, tuple(members), flush=1)

    def prepare(self, stream: Stream) -> None:
        """Open the model of the stream; one local model is in memory at a time."""
        name = stream.items[0].model
        if name not in self._backends:
            self._backends.clear()
            config = next(model for model in self.config.models if model.name == name)
            self._backends[name] = self._open(config)
            self._described[name] = self._backends[name].description

    def answer(self, stream: Stream) -> Iterator[Answered]:
        """Play the episodes one after the other."""
        for item in stream.items:
            bench, task, world = self._asked(item)
            sitting = Sitting(bench.scenario, world)
            model = self._backends[item.model].model(bench, task, world, sitting)
            spec = self.spec(bench.scenario, item.shots)
            answer = play(sitting, task.query, spec, model, Rules(item.variant, self.config.limits.limits))
            fragment = _listing(spec)
            sample = self._sample(item, answer, sitting.episode.log, fragment.digest)
            timing = {"id": item.id, "model": sum(step["took"] for step in answer.trace.of("model"))}
            yield Answered(cast(Sample, sample), (fragment,), timing)

    def spec(self, scenario: Scenario, column: int) -> Spec:
        """The description that the model reads in a column."""
        bench, noise = self.benches[scenario], self.config.noise
        if noise is None:
            return bench.spec
        if (scenario, column) not in self._specs:
            other = next(bench for name, bench in self.benches.items() if name != scenario)
            self._specs[scenario, column] = with_endpoints(bench.spec, other.spec, noise.core, column, noise.seed)
        return self._specs[scenario, column]

    def _asked(self, item: Item) -> tuple[Bench, Any, World]:
        """The bench, task and world of an item."""
        bench = self.benches[cast(Scenario, item.skill)]
        tasks = self.cells[bench.scenario, item.shots]
        turn, place = divmod(item.trial, len(tasks))
        return bench, bench.tasks[tasks[place]], World(self.config.first_world + turn, self.config.counterfactual)

    def _sample(self, item: Item, answer: Answer, log: Sequence[Exchange], prefix: str) -> RestSample:
        """An episode as its record, scored."""
        bench, task, world = self._asked(item)
        gold = bench.published_paths[task.index].steps
        about = {"scenario": bench.scenario, "index": task.index, "world": world.seed}
        sample: RestSample = {
            "id": item.id,
            "model": item.model,
            "variant": item.variant,
            "shots": item.shots,
            "skill": item.skill,
            "trial": item.trial,
            "order": world.seed - self.config.first_world,
            "seed": world.seed,
            "prefix": prefix,
            "held_out": False,
            "question": task.query,
            "prompt": task.query,
            "truth": " > ".join(gold),
            "expect": {"kind": task.kind, "answerable": task.answerable},
            "ids": [],
            "source": "",
            "text": answer.text,
            "calls": [_entry(entry) for entry in log],
            "finish": answer.status,
            "answer": answer.text,
            "task": {**about, "counterfactual": world.counterfactual},
            "http": record(log),
            "trace": digest(answer),
            "spent": spent(answer),
        }
        judge(sample, bench)
        return sample

    def models(self) -> dict[str, dict[str, Any]]:
        """Descriptions of the models opened so far."""
        return dict(self._described)

    def score(self, samples: Iterable[Sample], scorer: str | None) -> Iterator[Sample]:
        """The samples judged again, each by replaying its requests in its world."""
        if scorer is not None and scorer not in SCORERS:
            raise UserError(f"no scorer is named {scorer!r}", "--scorer", f"use {', '.join(SCORERS)}")
        for sample in samples:
            episode = cast(RestSample, sample)
            judge(episode, self.benches[episode["task"]["scenario"]], SCORERS if scorer is None else (scorer,))
            yield sample

    def previews(self) -> Iterator[Preview]:
        """The first prompt of each strategy and cell."""
        for strategy in self.config.strategies:
            for scenario, column in self.cells:
                item = Item(self.config.models[0].name, strategy, column, scenario, 0)
                bench, task, _ = self._asked(item)
                spec = self.spec(bench.scenario, column)
                yield Preview(item, *first_prompt(spec, task.query, strategy, self.config.models))

    @property
    def speeds(self) -> dict[str, float | None]:
        """Episodes per second by model as the configuration states them."""
        return {model.name: model.per_second for model in self.config.models}


def _listing(spec: Spec) -> Fragment:
    """The endpoints that a description offers, as what stands before the question."""
    return Fragment((Segment("rest", "".join(f"{endpoint.key}\n" for endpoint in spec.endpoints)),))


def _entry(entry: Exchange) -> CallEntry:
    """A request as reports show calls; the visible answer has no place for it, so it starts and ends at 0."""
    body = "" if entry.sent is None else f" {entry.sent}"
    good = entry.status is not None and 200 <= entry.status < 300
    shown = f"{entry.status} {(entry.text or '')[:SHOWN_OF_ANSWER]}"
    return {
        "name": entry.endpoint or entry.method,
        "arguments": f"{entry.url}{body}",
        "status": "ok" if good else "error",
        "result": shown,
        "start": 0,
        "end": 0,
    }
